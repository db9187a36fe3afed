"""The ladder of control.json: when the driver is told, when it is interrupted, and when everything is killed."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from workers.keeper import files

StopStage = Literal["DRAIN", "INTERRUPT", "KILL"]
_STOPS = {"stop", "drain_and_stop"}
_LEAST_INTERVAL = 0.5
"""Seconds between two interrupts, however short the interval that was asked for."""


@dataclass(frozen=True)
class Due:
    """A rung that is due. `number` counts the interrupts of one order from 1."""

    stop_stage: StopStage
    number: int = 0


@dataclass(frozen=True)
class Order:
    """What control.json asks for; times are CLOCK_BOOTTIME seconds, infinity for never. `fence_at`: when everything is
    killed unless the supervisor, whose lease has the epoch `owner`, renews the run's lease before."""

    seq: int = 0
    stop: bool = False
    term_at: float = math.inf
    term_every: float = math.inf
    kill_at: float = math.inf
    fence_at: float = math.inf
    owner: int = 0
    reason: str = ""

    def due(self, now: float) -> Due | None:
        """The highest rung that is due."""
        if now >= min(self.kill_at, self.fence_at):
            return Due("KILL")
        if now >= self.term_at:
            return Due("INTERRUPT", 1 + math.floor((now - self.term_at) / self.term_every))
        return Due("DRAIN") if self.stop else None


def parse(document: dict[str, Any], boot_id: str) -> Order:
    """Read an order. Raises KeyError, TypeError or ValueError for anything that is not one, or is of another boot."""
    if document["boot_id"] != boot_id:
        raise ValueError(f"it is of boot {document['boot_id']}")
    return Order(
        seq=int(document["seq"]),
        stop=document["command"] in _STOPS,
        term_at=_time(document.get("term_at")),
        term_every=max(_LEAST_INTERVAL, _time(document.get("term_every"))),
        kill_at=_time(document.get("kill_at")),
        fence_at=_time(document.get("fence_at")),
        owner=int(document.get("owner", 0)),
        reason=str(document.get("reason") or ""),
    )


def _time(value: float | None) -> float:
    seconds = math.inf if value is None else float(value)
    if math.isnan(seconds):
        raise ValueError("not a time")
    return max(0.0, seconds)


class WatchedFile:
    """A file of the run directory, read again only when it was replaced."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._seen: tuple[int, int, int] | None = None

    def changed(self) -> bool:
        """Whether it is there and another one than at the last look."""
        try:
            stat = self._path.lstat()
        except OSError:
            return False
        seen = (stat.st_ino, stat.st_mtime_ns, stat.st_size)
        if seen == self._seen:
            return False
        self._seen = seen
        return True

    def read(self) -> dict[str, Any] | None:
        """What it says; None where that is not a whole JSON object."""
        return files.read(self._path)


class ControlFile:
    """control.json; a damaged one leaves the last good order in force."""

    def __init__(self, path: Path, boot_id: str) -> None:
        self._file = WatchedFile(path)
        self._boot_id = boot_id
        self.order = Order()
        self.complaint = ""

    def poll(self) -> bool:
        """Look at the file; True where there is a new complaint about it."""
        return self._file.changed() and not self._read()

    def _read(self) -> bool:
        document = self._file.read()
        try:
            if document is None:
                raise ValueError("it is not a complete JSON object")
            order = parse(document, self._boot_id)
            if order.owner < self.order.owner:
                raise ValueError("it is of a supervisor that has lost its lease")
            self.order = order
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            self.complaint = f"control.json is ignored: {error!r}"
            return False
        return True


class DumpFile:
    """dump.json: somebody asks for the stacks."""

    def __init__(self, path: Path) -> None:
        self._file = WatchedFile(path)
        self._last = ""

    def poll(self) -> tuple[str, str] | None:
        """A new order's id and the rung that its dump is filed under. The same order written again is none."""
        if not self._file.changed() or (document := self._file.read()) is None:
            return None
        order = str(document.get("id", ""))[:64]
        if order == self._last:
            return None
        self._last = order
        return order, _word(document.get("stop_stage"))


def _word(stop_stage: object) -> str:
    """It becomes part of a file's name."""
    return (
        stop_stage
        if isinstance(stop_stage, str) and stop_stage.isascii() and stop_stage.isalpha() and len(stop_stage) <= 16
        else "live"
    )
