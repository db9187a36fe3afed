"""Takes the thread dump that a JVM prints on SIGQUIT out of the output that it shares with everything else of a run.

A dump is a line with the time, `Full thread dump …`, the threads, deadlocks if there are any, and last the heap, whose
lines are indented and end with an empty one.
"""

from __future__ import annotations

import re
import threading
from enum import Enum

_TIME = re.compile(rb"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\s*")
_HEAD = b"Full thread dump"
_HEAP = b"Heap"
_MOST = 8 << 20
"""Bytes of one dump that are kept."""


class _At(Enum):
    """Where in the stream the catcher is."""

    REST = 0
    WAITING = 1
    TIME = 2
    THREADS = 3
    HEAP = 4


class JvmDump:
    """`feed` is called by the one thread that reads the output, the rest by the one that asks for dumps.

    While no dump is expected nothing is looked at.
    """

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._at = _At.REST
        self._line = b""
        self._taken: list[bytes] = []
        self._size = 0

    def expect(self) -> None:
        """A SIGQUIT is about to be sent."""
        with self._changed:
            self._at, self._taken, self._size = _At.WAITING, [], 0

    def over(self, timeout: float) -> bool:
        """Whether the dump is there whole, or is within `timeout` seconds."""
        with self._changed:
            return self._changed.wait_for(lambda: self._at is _At.REST, timeout)

    def take(self, timeout: float) -> bytes:
        """The dump, or what has come of it within `timeout` seconds; what follows belongs to the log again."""
        with self._changed:
            self._changed.wait_for(lambda: self._at is _At.REST, timeout)
            self._at = _At.REST
            return b"".join(self._taken)

    def feed(self, chunk: bytes) -> bytes:
        """Takes what belongs to a dump that is expected; returns what belongs to the log."""
        with self._changed:
            if self._at is _At.REST and not self._line:
                return chunk
            *lines, rest = (self._line + chunk).splitlines(keepends=True) or [b""]
            if rest.endswith(b"\n"):
                lines, rest = [*lines, rest], b""
            shown = b"".join(line for line in lines if not self._belongs(line))
            self._line = rest if self._at is not _At.REST else b""
            return shown if self._line else shown + rest

    def flush(self) -> bytes:
        """The rest for the log, when nothing more will come."""
        with self._changed:
            rest, self._line = self._line, b""
            return rest

    def _belongs(self, line: bytes) -> bool:
        if self._at is _At.REST:
            return False
        if self._at is _At.WAITING:
            return self._starts(line)
        if self._at is _At.TIME and not line.startswith(_HEAD):
            self._at, self._taken, self._size = _At.WAITING, [], 0
            return False
        if self._at is _At.HEAP and not line.startswith(b" "):
            self._end()
            return not line.strip()
        self._at = _At.HEAP if self._at is _At.HEAP or line.rstrip() == _HEAP else _At.THREADS
        self._keep(line)
        return True

    def _starts(self, line: bytes) -> bool:
        if not _TIME.fullmatch(line):
            return False
        self._at = _At.TIME
        self._keep(line)
        return True

    def _keep(self, line: bytes) -> None:
        self._taken.append(line)
        self._size += len(line)
        if self._size > _MOST:
            self._end()

    def _end(self) -> None:
        self._at = _At.REST
        self._changed.notify_all()
