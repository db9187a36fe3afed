"""A few of many things in each tick, and all of them in turn: a supervisor's own agents wait meanwhile."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TypeVar
from zlib import crc32

from django.db.models import Model

T = TypeVar("T", bound=Model)


@dataclass
class Turns:
    """What one tick does of lists that may be long.

    `host`: whose supervisor it is; several begin at different places of the same list, so that they are not in each
    other's way. `most`: of all lists of a tick together. `unfinished`: whether this tick has left something of a list.
    """

    host: str
    most: int
    unfinished: bool = False
    _left: int = 0
    _had: dict[str, set[int]] = field(default_factory=dict)

    def begin(self) -> None:
        """Another tick."""
        self._left, self.unfinished = self.most, False

    def some(self, name: str, rows: Iterable[T]) -> list[T]:
        """As many rows of the list as this tick has left. The next tick is given others, until each has had its turn:
        one that cannot be helped keeps nobody waiting."""
        had = self._had.setdefault(name, set())
        waiting = [row for row in rows if row.pk not in had]
        first = crc32(self.host.encode()) % max(1, len(waiting))
        found = (waiting[first:] + waiting[:first])[: self._left]
        self._left -= len(found)
        if len(found) < len(waiting):
            self.unfinished = True
            had.update(row.pk for row in found)
        else:
            del self._had[name]
        return found
