"""What the streams of one event loop have in common."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Hashable
from time import monotonic
from typing import Any, Generic, TypeVar
from weakref import WeakKeyDictionary

from pipelines.foundation.database import in_database

T = TypeVar("T")


class Period:
    """Periods of the clock, which begin for all streams at the same moment."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self.number = monotonic() // seconds

    def due(self) -> bool:
        """Whether another period has begun since it was last due; not in the one it was made in."""
        number = monotonic() // self._seconds
        begun, self.number = number != self.number, number
        return begun


class Shared:
    """Asks once per period, however many streams have the same question: the tabs of one browser have one session, and
    their streams wake together."""

    def __init__(self) -> None:
        self._period = 0.0
        self._asked: dict[Hashable, asyncio.Task[Any]] = {}

    async def ask(self, period: float, question: Hashable, read: Callable[[], T]) -> T:
        """The answer of this period. Raises the database's errors."""
        if period != self._period:
            self._period, self._asked = period, {}
        if question not in self._asked:
            self._asked[question] = asyncio.create_task(in_database(read))
        answer: T = await asyncio.shield(self._asked[question])  # the client that was the first to ask may leave
        return answer


class PerLoop(Generic[T]):
    """One object for each event loop."""

    def __init__(self, make: Callable[[], T]) -> None:
        self._make = make
        self._loops: WeakKeyDictionary[asyncio.AbstractEventLoop, T] = WeakKeyDictionary()

    def here(self) -> T:
        """That of the running loop."""
        return self._loops.setdefault(asyncio.get_running_loop(), self._make())
