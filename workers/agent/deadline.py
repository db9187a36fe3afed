"""A bound on the Spark jobs of one attempt to write."""

from __future__ import annotations

import threading
from types import TracebackType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark import SparkContext


class DeadlineExceeded(Exception):
    """The write did not end in time; its jobs were cancelled, and tasks that cannot be interrupted were abandoned."""


class Deadline:
    """Cancels the jobs that its thread starts inside the block once `seconds` are over.

    Cancelling makes the driver's call return at once, also where a task hangs in a call that nothing interrupts; such a
    task keeps its slot until it ends.
    """

    def __init__(self, context: SparkContext, group: str, seconds: float) -> None:
        self._context, self._group, self._seconds = context, group, seconds
        self._expired = False
        self._timer = threading.Timer(seconds, self._cancel)
        self._timer.daemon = True

    def __enter__(self) -> None:
        self._context.setJobGroup(self._group, self._group, interruptOnCancel=True)
        self._timer.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._timer.cancel()
        if self._expired and isinstance(error, Exception):
            raise DeadlineExceeded(f"the write did not end within {self._seconds:.0f} s and was cancelled") from error

    def _cancel(self) -> None:
        self._expired = True
        self._context.cancelJobGroup(self._group)
