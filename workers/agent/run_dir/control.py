"""control.json, looked at often and read only when it was replaced."""

from __future__ import annotations

import math
from pathlib import Path

from pipelines.domain.runs.protocol import Control


class ControlFile:
    """The supervisor's orders; a damaged or older file leaves the last good one in force, and so does one of a
    supervisor whose lease another has taken since."""

    def __init__(self, path: Path, boot_id: str) -> None:
        self._path = path
        self._boot_id = boot_id
        self._seen: tuple[int, int, int] | None = None
        self._seq = 0
        self._owner = 0
        self._lease_until = math.inf

    def expired(self, now: float) -> bool:
        """Whether the run's lease has ended (CLOCK_BOOTTIME)."""
        return now >= self._lease_until

    def poll(self) -> Control | None:
        """A new order, or None."""
        try:
            stat = self._path.stat()
        except OSError:
            return None
        seen = (stat.st_ino, stat.st_mtime_ns, stat.st_size)
        if seen == self._seen:
            return None
        self._seen = seen
        order = Control.load(self._path)
        if order is None or order.owner < self._owner or order.seq < self._seq or order.boot_id != self._boot_id:
            return None
        self._owner = order.owner
        self._lease_until = math.inf if order.lease_until is None else order.lease_until
        if order.seq == self._seq:
            return None
        self._seq = order.seq
        return order
