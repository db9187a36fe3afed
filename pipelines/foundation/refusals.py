"""What strangers have sent and was refused, in the log: who can write to Redis must not fill it."""

from __future__ import annotations

import time

import structlog

SECONDS = 60.0

log = structlog.get_logger(__name__)


class Refusals:
    """Counts what is refused, and writes a line a minute."""

    def __init__(self, event: str) -> None:
        self._event = event
        self._count = 0
        self._told_at = -SECONDS

    def add(self, cause: str) -> None:
        """One more, and why."""
        self._count += 1
        if time.monotonic() - self._told_at >= SECONDS:
            log.warning(self._event, count=self._count, cause=cause)
            self._count, self._told_at = 0, time.monotonic()
