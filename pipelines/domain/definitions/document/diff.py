"""What changed between two definitions, in their own terms: not lines of text, but keys and components."""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, Literal

from pipelines.domain.base.findings import PathParts, dotted
from pipelines.domain.base.positions import Frozen
from pipelines.domain.definitions.document.references import REFERENCE
from pipelines.domain.definitions.document.spec import Definition

HIDDEN = "[hidden]"

_SECRET_KEY = re.compile(r"password|secret|token|credential|keystore\.key", re.IGNORECASE)


class Change(Frozen):
    """One difference. `old` is None where something was added, `new` where something was removed."""

    path: str
    op: Literal["add", "remove", "change"]
    old: Any = None
    new: Any = None


def diff(old: Definition | Mapping[str, Any], new: Definition | Mapping[str, Any]) -> list[Change]:
    """Every difference, sorted by path. Values under keys that name secrets are hidden, references are shown."""
    changes = _compare(_plain(old), _plain(new), ())
    return sorted(changes, key=lambda change: (change.path, change.op))


def _plain(definition: Definition | Mapping[str, Any]) -> Any:
    return definition.plain() if isinstance(definition, Definition) else definition


def _compare(old: Any, new: Any, path: PathParts) -> Iterator[Change]:
    if old == new and type(old) is type(new):
        return
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        yield from _compare_mappings(old, new, path)
    elif _are_components(old) and _are_components(new):
        yield from _compare_lists(old, new, path)
    elif old != new:
        yield _change(path, "change", old, new)


def _compare_mappings(old: Mapping[str, Any], new: Mapping[str, Any], path: PathParts) -> Iterator[Change]:
    for key in sorted(old.keys() | new.keys()):
        here = (*path, key)
        if key not in new:
            yield _change(here, "remove", old[key], None)
        elif key not in old:
            yield _change(here, "add", None, new[key])
        else:
            yield from _compare(old[key], new[key], here)


def _are_components(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(item, Mapping) for item in value)


def _compare_lists(old: list[Any], new: list[Any], path: PathParts) -> Iterator[Change]:
    """Components in order: an insertion is one change, not a change of everything after it."""
    matcher = difflib.SequenceMatcher(None, _texts(old), _texts(new), autojunk=False)
    for op, i1, i2, j1, j2 in matcher.get_opcodes():
        if op == "equal":
            continue
        paired = min(i2 - i1, j2 - j1)
        for offset in range(paired):
            yield from _compare(old[i1 + offset], new[j1 + offset], (*path, j1 + offset))
        for index in range(i1 + paired, i2):
            yield _change((*path, index), "remove", old[index], None)
        for index in range(j1 + paired, j2):
            yield _change((*path, index), "add", None, new[index])


def _texts(items: list[Any]) -> list[str]:
    return [json.dumps(item, sort_keys=True) for item in items]


def names_secret(key: str) -> bool:
    """Whether a key names a secret, so that its value is shown to nobody."""
    return _SECRET_KEY.search(key) is not None


def _change(path: PathParts, op: Literal["add", "remove", "change"], old: Any, new: Any) -> Change:
    key = str(path[-1]) if path else ""
    return Change(path=dotted(path), op=op, old=_masked(old, key), new=_masked(new, key))


def _masked(value: Any, key: str) -> Any:
    if isinstance(value, Mapping):
        return {name: _masked(item, name) for name, item in value.items()}
    if isinstance(value, list):
        return [_masked(item, key) for item in value]
    if isinstance(value, str) and names_secret(key) and not REFERENCE.fullmatch(value):
        return HIDDEN
    return value


def masked(value: Any) -> Any:
    """Data with the values under keys that name secrets hidden; references stay."""
    return _masked(value, "")
