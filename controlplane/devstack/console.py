"""The stack's terminal: every line with the name of who said it, in colour where somebody looks."""

from __future__ import annotations

import io
import sys
import threading
from typing import IO, TextIO

COLOURS = {"headgate": 36, "redis": 31, "kafka": 35, "worker": 32, "web": 34, "producer": 33}
WIDTH = max(len(name) for name in COLOURS)


class Console:
    """Writes whole lines, from any thread."""

    def __init__(self, out: TextIO | None = None) -> None:
        self._out = out or sys.stdout
        self._lock = threading.Lock()
        self._coloured = self._out.isatty()

    def say(self, text: str) -> None:
        """A message of the stack itself, of one line or several."""
        for line in text.splitlines():
            self.line("headgate", line)

    def line(self, name: str, text: str) -> None:
        prefix = f"{name:<{WIDTH}} |"
        if self._coloured:
            prefix = f"\x1b[{COLOURS.get(name, 37)}m{prefix}\x1b[0m"
        with self._lock:
            self._write(f"{prefix} {text}\n")

    def pump(self, name: str, stream: IO[bytes]) -> threading.Thread:
        """Write a child's output line by line until it ends."""
        thread = threading.Thread(target=self._pump, args=(name, stream), name=f"pump-{name}", daemon=True)
        thread.start()
        return thread

    def _pump(self, name: str, stream: IO[bytes]) -> None:
        with stream:
            for raw in stream:
                self.line(name, raw.decode(errors="replace").rstrip())

    def _write(self, text: str) -> None:
        """A closed terminal is no reason to stop the stack."""
        try:
            self._out.write(text)
            self._out.flush()
        except (OSError, ValueError):
            self._out = io.StringIO()
