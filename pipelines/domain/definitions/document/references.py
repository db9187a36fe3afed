"""References in a definition, resolved on the host at launch: `${secret:NAME}`, `${vault:MOUNT/PATH#KEY}`,
`${env:NAME}`, `${file:NAME}`."""

from __future__ import annotations

import copy
import re
from collections.abc import Iterator, Mapping
from typing import Any, Literal

from pipelines.domain.base.findings import PathParts, dotted
from pipelines.domain.base.positions import Frozen
from pipelines.domain.definitions.document.spec import Definition

ReferenceKind = Literal["secret", "vault", "env", "file"]
ALWAYS_SECRET = frozenset({"secret", "vault"})
"""Kinds whose values are secrets wherever they stand, and exist for nothing that they are not bound to."""

_PLAIN = r"[A-Za-z0-9][A-Za-z0-9._/-]{0,127}"
_PART = r"[A-Za-z0-9_][A-Za-z0-9._-]*"
VAULT = rf"(?=[^}}]{{3,120}}(?:\}}|$)){_PART}(?:/{_PART})+#{_PART}"
"""`mount/path#key`: no part is empty or begins with a dot, and so none leads elsewhere."""
REFERENCE = re.compile(rf"\$\{{(secret|vault|env|file):((?<!vault:){_PLAIN}|(?<=vault:){VAULT})\}}")
WRONG_REFERENCE = re.compile(r"\$\{[^}]*\}?")

_PROSE = frozenset({"description", "regex", "labels"})
TESTS = "tests"
"""The part of a definition that no agent reads."""


class Reference(Frozen):
    """Where a definition refers to something that only the host knows."""

    path: str
    kind: ReferenceKind
    name: str

    @property
    def bound(self) -> str:
        """The name under which its value is bound."""
        return bound_name(self.kind, self.name)


def bound_name(kind: str, name: str) -> str:
    """The name under which a value is bound: that of a stored secret, else `vault:mount/path#key` and so on."""
    return name if kind == "secret" else f"{kind}:{name}"


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
    """Every text that may hold a reference, with its path. Prose, regular expressions and tests may not."""
    if isinstance(value, str):
        yield path, value
    elif isinstance(value, Mapping):
        for key, item in value.items():
            if key not in _PROSE and (path or key != TESTS):
                yield from texts(item, (*path, key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from texts(item, (*path, index))
