"""Pump of the driver's output into agent.log, rotated by size.

Keeper, driver and JVM write lines of one form: time, level, component, run, and what there is to say. What others print
passes as it is; such lines belong to the line before them.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import threading
import time
from collections.abc import Iterable
from pathlib import Path

from workers.keeper import files
from workers.keeper.jvm_dump import JvmDump
from workers.keeper.redaction import Redactor

_CHUNK = 64 * 1024
_PIPE_SIZE = 1024 * 1024
"""What the driver can say while the disk hangs, before it has to wait."""


class LogPump(threading.Thread):
    """Copies a pipe into `path`; `files` older files of at most `size` bytes are kept as path.1, path.2 and so on.
    `run`: how lines of its own name the run.

    The texts of `masked` are taken out on the way, and thread dumps of the JVM where `jvm` expects one. A full disk
    never blocks the writer of the pipe: what cannot be written is dropped, counted, and the count is written as soon as
    there is room again.
    """

    def __init__(self, path: Path, *, size: int, files: int, masked: Iterable[bytes] = (), run: str = "-") -> None:
        super().__init__(name="log", daemon=True)
        self._path = path
        self.label = run
        self._size = size
        self._files = files
        self._redactor = Redactor(masked)
        self.jvm = JvmDump()
        self._lost = 0
        self._lock = threading.Lock()
        self._source, self.sink = os.pipe()
        with contextlib.suppress(OSError):
            fcntl.fcntl(self.sink, fcntl.F_SETPIPE_SZ, _PIPE_SIZE)

    def run(self) -> None:
        """Copy until every writer has closed the pipe."""
        while chunk := os.read(self._source, _CHUNK):
            self.write(self.jvm.feed(self._redactor.feed(chunk)))
        self.write(self.jvm.feed(self._redactor.flush()) + self.jvm.flush())

    def say(self, text: str, level: str = "INFO") -> None:
        """A line of the keeper's own."""
        self.write(self._line(text, level))

    def _line(self, text: str, level: str) -> bytes:
        now = time.time()
        stamp = f"{time.strftime('%Y-%m-%dT%H:%M:%S', time.gmtime(now))}.{int(now % 1 * 1000):03d}Z"
        return f"{stamp} {level:<7} keeper {self.label}: {text}\n".encode()

    def write(self, chunk: bytes) -> None:
        """Append to the log, or count what could not be written."""
        if not chunk:
            return
        with self._lock:
            try:
                self._append(chunk)
            except OSError:
                self._lost += len(chunk)

    def close(self, timeout: float) -> None:
        """Wait until the pipe is drained, at most `timeout` seconds."""
        with contextlib.suppress(OSError):
            os.close(self.sink)
        self.join(timeout)

    def _append(self, chunk: bytes) -> None:
        if self._path.is_file() and self._path.lstat().st_size + len(chunk) > self._size:
            self._rotate()
        with files.append_to(self._path) as file:
            if self._lost:
                words = f"{self._lost} bytes of output were lost: the log could not be written"
                file.write(b"\n" + self._line(words, "WARNING"))
                self._lost = 0
            self._lost += len(chunk) - file.write(chunk)

    def _rotate(self) -> None:
        for number in range(self._files, 0, -1):
            older = self._path if number == 1 else self._path.with_name(f"{self._path.name}.{number - 1}")
            if older.exists():
                files.put(older, self._path.with_name(f"{self._path.name}.{number}"))
