"""The differences between two definitions."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

from pipelines.domain.findings import PathParts, dotted


@dataclass(frozen=True)
class Change:
    """One difference; `path` is dotted as in findings."""

    path: str
    op: Literal["add", "remove", "change"]
    old: Any = None
    new: Any = None


def diff(old: Any, new: Any) -> list[Change]:
    """What has to change for `old` to become `new`, both plain JSON data; sorted by path."""
    return sorted(_changes((), old, new), key=lambda change: change.path)


def _changes(path: PathParts, old: Any, new: Any) -> Iterator[Change]:
    if isinstance(old, dict) and isinstance(new, dict):
        yield from _entries(path, old, new)
    elif isinstance(old, list) and isinstance(new, list):
        yield from _entries(path, dict(enumerate(old)), dict(enumerate(new)))
    elif type(old) is not type(new) or old != new:
        yield Change(dotted(path), "change", old, new)


def _entries(path: PathParts, old: dict[Any, Any], new: dict[Any, Any]) -> Iterator[Change]:
    for key in [*old, *(key for key in new if key not in old)]:
        here = (*path, key)
        if key not in new:
            yield Change(dotted(here), "remove", old=old[key])
        elif key not in old:
            yield Change(dotted(here), "add", new=new[key])
        else:
            yield from _changes(here, old[key], new[key])
