"""The ladder of control.json: when the driver gets SIGTERM and when everything of the run gets SIGKILL."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from workers.keeper import files

Rung = Literal["token", "sigterm", "sigkill"]
_STOPS = {"stop", "drain_and_stop"}


@dataclass(frozen=True)
class Order:
    """What control.json asks for; times are CLOCK_BOOTTIME seconds, infinity for never."""

    seq: int = 0
    stop: bool = False
    term_at: float = math.inf
    kill_at: float = math.inf
    reason: str = ""

    def due(self, now: float) -> Rung | None:
        """The highest rung that is due."""
        if now >= self.kill_at:
            return "sigkill"
        if now >= self.term_at:
            return "sigterm"
        return "token" if self.stop else None


def parse(document: dict[str, Any], boot_id: str) -> Order:
    """Read an order. Raises KeyError, TypeError or ValueError for anything that is not one, or is of another boot."""
    if document["boot_id"] != boot_id:
        raise ValueError(f"it is of boot {document['boot_id']}")
    return Order(
        seq=int(document["seq"]),
        stop=document["command"] in _STOPS,
        term_at=_time(document.get("term_at")),
        kill_at=_time(document.get("kill_at")),
        reason=str(document.get("reason") or ""),
    )


def _time(value: float | None) -> float:
    seconds = math.inf if value is None else float(value)
    if math.isnan(seconds):
        raise ValueError("not a time")
    return seconds


class ControlFile:
    """control.json, read again only when the file was replaced; a damaged one leaves the last good order in force."""

    def __init__(self, path: Path, boot_id: str) -> None:
        self._path = path
        self._boot_id = boot_id
        self._seen: tuple[int, int, int] | None = None
        self.order = Order()
        self.complaint = ""

    def poll(self) -> bool:
        """Look at the file; True where there is a new complaint about it."""
        try:
            stat = self._path.stat()
        except OSError:
            return False
        seen = (stat.st_ino, stat.st_mtime_ns, stat.st_size)
        if seen == self._seen:
            return False
        self._seen = seen
        return not self._read()

    def _read(self) -> bool:
        document = files.read(self._path)
        try:
            if document is None:
                raise ValueError("it is not a whole JSON object")
            self.order = parse(document, self._boot_id)
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            self.complaint = f"control.json is ignored: {error!r}"
            return False
        return True
