"""Why the command of an exec source is down: written by the process that runs it, read by the agent."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

FILE = "command.txt"
_LONGEST = 500
"""Characters of the last line that are kept."""
_BLOCK = 64 * 1024
_LAST = 5.0
"""Seconds in which what a command wrote before its end arrives; a child of it may hold its standard error open."""


def write(directory: Path, failure: str) -> None:
    """Replace what is known; an empty text says that the command runs, or has done what it should."""
    draft = directory / f".{FILE}"
    draft.write_text(failure)
    draft.replace(directory / FILE)


def forget(directory: Path) -> None:
    """What an earlier run has left says nothing of this one."""
    (directory / FILE).unlink(missing_ok=True)


def read(directory: Path) -> str:
    """Why the command is down; empty where it is not, or where nothing is known."""
    with suppress(OSError):
        return (directory / FILE).read_text(errors="replace")
    return ""


def ended_with(code: int) -> str:
    """An exit status, or the signal that ended it."""
    if code >= 0:
        return f"exit status {code}"
    with suppress(ValueError):
        return f"signal {-code} ({signal.Signals(-code).name})"
    return f"signal {-code}"


class LastLine(threading.Thread):
    """Reads the standard error of a command to its end, hands it on, and keeps the last line that is not blank."""

    def __init__(self, stream: BinaryIO, hand_on: Callable[[bytes], object]) -> None:
        super().__init__(name="standard error", daemon=True)
        self._stream = stream
        self._hand_on = hand_on
        self._kept = b""

    def run(self) -> None:
        """Until nobody holds it open any more."""
        rest = b""
        with self._stream:
            while block := self._stream.read1(_BLOCK):  # type: ignore[attr-defined]
                with suppress(OSError):
                    self._hand_on(block)
                *whole, rest = (rest + block).split(b"\n")
                rest = rest[:_LONGEST]
                self._kept = next((line for line in [rest, *reversed(whole)] if line.strip()), self._kept)

    def text(self) -> str:
        """The line, once all of it was read."""
        self.join(_LAST)
        return self._kept.decode(errors="replace").strip()[:_LONGEST]
