"""References in a definition, resolved on the host at launch: `${secret:NAME}`, `${env:NAME}`, `${file:NAME}`."""

from __future__ import annotations

import copy
import re
from collections.abc import Iterator, Mapping
from typing import Any, Literal

from pipelines.domain.base.findings import PathParts, dotted
from pipelines.domain.base.positions import Frozen
from pipelines.domain.definitions.document.spec import Definition

REFERENCE = re.compile(r"\$\{(secret|env|file):([A-Za-z0-9][A-Za-z0-9._/-]{0,127})\}")
WRONG_REFERENCE = re.compile(r"\$\{[^}]*\}?")

_PROSE = frozenset({"description", "regex", "labels"})


class Reference(Frozen):
    """Where a definition refers to something that only the host knows."""

    path: str
    kind: Literal["secret", "env", "file"]
    name: str


def references(definition: Definition | Mapping[str, Any]) -> list[Reference]:
    """Every reference, in the order of the paths."""
    data = definition.plain() if isinstance(definition, Definition) else definition
    found = [
        Reference.model_validate({"path": dotted(path), "kind": kind, "name": name})
        for path, text in texts(data)
        for kind, name in REFERENCE.findall(text)
    ]
    return sorted(found, key=lambda reference: (reference.path, reference.kind, reference.name))


def substituted(definition: Mapping[str, Any], values: Mapping[str, str]) -> dict[str, Any]:
    """A copy with every reference replaced by its value; `values` is keyed by references as they are written."""
    copied: dict[str, Any] = copy.deepcopy(dict(definition))
    for path, text in texts(definition):
        tree: Any = copied
        for part in path[:-1]:
            tree = tree[part]
        tree[path[-1]] = REFERENCE.sub(lambda match: values.get(match[0], match[0]), text)
    return copied


def texts(value: Any, path: PathParts = ()) -> Iterator[tuple[PathParts, str]]:
    """Every text that may hold a reference, with its path. Prose and regular expressions may not."""
    if isinstance(value, str):
        yield path, value
    elif isinstance(value, Mapping):
        for key, item in value.items():
            if key not in _PROSE:
                yield from texts(item, (*path, key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from texts(item, (*path, index))
