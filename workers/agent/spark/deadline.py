"""A bound on the Spark jobs of one attempt to write, and on what may be left behind by attempts that were cancelled."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark import SparkContext

_LETTING_GO = 10.0
"""Seconds in which cancelled tasks may end; Spark kills a Python worker two seconds after its task was cancelled."""
_LOOK = 0.1


class DeadlineExceeded(Exception):
    """The write did not end in time; its jobs were cancelled, and tasks that cannot be interrupted were abandoned."""


class SlotsLost(Exception):
    """Cancelled writes that nothing can interrupt hold too many slots: only another process has all of them."""


class Deadline:
    """Cancels the jobs that its thread starts inside the block once `seconds` are over.

    Cancelling makes the driver's call return at once, also where a task hangs in a call that nothing interrupts; such a
    task keeps its slot until it ends. `expired`: they were canceled.
    """

    def __init__(self, context: SparkContext, group: str, seconds: float) -> None:
        self._context, self._group, self._seconds = context, group, seconds
        self.expired = False
        self._timer = threading.Timer(seconds, self.expire)
        self._timer.daemon = True

    def __enter__(self) -> None:
        self._context.setJobGroup(self._group, self._group, interruptOnCancel=True)
        self._timer.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._timer.cancel()
        if self.expired and isinstance(error, Exception):
            raise DeadlineExceeded(f"the write did not end within {self._seconds:.0f} s and was canceled") from error

    def expire(self) -> None:
        """Cancel now what has not ended."""
        self.expired = True
        self._context.cancelJobGroup(self._group)


def lost_slots(context: SparkContext) -> int:
    """Tasks that run on although their job was cancelled or has failed: each holds its slot until it ends.

    Spark's scheduler keeps them in task sets that it calls zombies; the status tracker counts all tasks alike.
    """
    running = context._jsc.sc().taskScheduler().taskIdToTaskSetManager().elements()
    return sum(tasks.isZombie() for tasks in context._jvm.java.util.Collections.list(running))  # type: ignore[union-attr]


def check_slots(context: SparkContext, share: int, wait: Callable[[float], None]) -> None:
    """Give cancelled tasks a little time to end where they hold as many slots as a channel has: with one attempt more,
    a sink that hangs would take those of its neighbours.

    Raises SlotsLost where they do not end, and whatever `wait` raises.
    """
    deadline = time.monotonic() + _LETTING_GO
    while (lost := lost_slots(context)) >= share:
        if time.monotonic() > deadline:
            raise SlotsLost(f"canceled writes that cannot be interrupted hold {lost} task slots")
        wait(_LOOK)
