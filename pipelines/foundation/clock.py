"""Wall time, for what people read and what the database orders. Deadlines between processes use CLOCK_BOOTTIME."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial

_read: Callable[[], datetime] = partial(datetime.now, UTC)


def now() -> datetime:
    """The present, in UTC."""
    return _read()


def follow(read: Callable[[], datetime]) -> None:
    """Take the present of this process from elsewhere from now on: a simulation has a time of its own."""
    global _read
    _read = read
