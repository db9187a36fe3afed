"""Room on a file system that holds runs: when it is full, when it is low, and when an agent can start on it."""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

from pipelines.domain.base.values import byte_size

DISK_FULL = "DISK_FULL"
"""Code of the finding and, in lower case, the reason of phases and conditions."""
DISK_LOW = "DISK_LOW"
ADVICE = "Free space or add some. Headgate then continues by itself; change no file of the run."

_FULL = 1 << 20
_FULL_SHARE = 100
"""Less than 1 MiB, or than a hundredth of a small disk: status.json and a page of the journal need a few KiB."""
_START = 16 << 20
_START_SHARE = 20
"""What an agent unpacks before its first batch, or a twentieth of a small disk."""
_FEWEST_FILES = 8
_MARGIN = 1 << 30
_MARGIN_SHARE = 5.0
_PERCENT = re.compile(r"(\d{1,2}(?:\.\d+)?)\s*%")
_ERRORS = frozenset({errno.ENOSPC, errno.EDQUOT})
_WORDS = re.compile(r"No space left on device|Disk quota exceeded|\[Errno (?:28|122)\]")


class DiskState(StrEnum):
    """OK: there is room. LOW: less than the margin is left. FULL: agents cannot write any more."""

    OK = "OK"
    LOW = "LOW"
    FULL = "FULL"


@dataclass(frozen=True)
class Margin:
    """How much room is left when Headgate warns: bytes, a share in percent, or the smaller of both; None is no limit of
    its own."""

    size: int | None = _MARGIN
    percent: float | None = _MARGIN_SHARE

    @classmethod
    def parse(cls, text: str) -> Margin:
        """From `2GiB`, `10%` or `1GiB,5%`; 0 never warns. Raises ValueError."""
        parts = [part.strip() for part in text.split(",") if part.strip()]
        shares = [float(match[1]) for part in parts if (match := _PERCENT.fullmatch(part))]
        sizes = [byte_size(int(part) if part.isdigit() else part) for part in parts if not _PERCENT.fullmatch(part)]
        if not parts or len(shares) > 1 or len(sizes) > 1:
            raise ValueError("is not a size, a percentage or both, such as 1GiB,5%")
        return cls(sizes[0] if sizes else None, shares[0] if shares else None)

    def __str__(self) -> str:
        size = [] if self.size is None else [_written(self.size)]
        return ",".join([*size, *([] if self.percent is None else [f"{self.percent:g}%"])])

    def of(self, total: int) -> int:
        """Bytes, on a disk of so many."""
        limits = [self.size, None if self.percent is None else int(total * self.percent / 100)]
        return min((limit for limit in limits if limit is not None), default=0)


@dataclass(frozen=True)
class DiskSpace:
    """A file system as its user finds it. `free` and `total` in bytes; `files`: how many more it can have, None where
    it has no limit."""

    path: str
    free: int
    total: int
    files: int | None = None

    @classmethod
    def of(cls, path: str | Path) -> DiskSpace | None:
        """Ask the kernel; None where the path does not exist. What only root can use is free for root alone."""
        try:
            found = os.statvfs(path)
        except OSError:
            return None
        root = os.geteuid() == 0
        files = (found.f_ffree if root else found.f_favail) if found.f_files else None
        free = found.f_bfree if root else found.f_bavail
        return cls(str(path), free * found.f_frsize, found.f_blocks * found.f_frsize, files)

    @property
    def full(self) -> bool:
        """Whether an agent cannot go on."""
        return self.free < min(_FULL, self.total // _FULL_SHARE) or self._out_of_files

    @property
    def startable(self) -> bool:
        """Whether an agent can start, which takes more than to continue: at the limit, none starts again and again."""
        return self.free >= min(_START, self.total // _START_SHARE) and not self._out_of_files

    @property
    def _out_of_files(self) -> bool:
        return self.files is not None and self.files < _FEWEST_FILES

    def state(self, margin: Margin) -> DiskState:
        """In a word."""
        if self.full:
            return DiskState.FULL
        return DiskState.LOW if self.free < margin.of(self.total) else DiskState.OK


def _written(size: int) -> str:
    for unit, factor in (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
        if size and size % factor == 0:
            return f"{size // factor}{unit}"
    return str(size)


def scarcest(found: Iterable[DiskSpace | None]) -> DiskSpace | None:
    """The one that is full, or else has the least room."""
    known = [space for space in found if space is not None]
    return min(known, key=lambda space: (not space.full, space.startable, space.free), default=None)


def full_words(path: str) -> str:
    """What a full disk means, without figures, which change all the time."""
    return f"The disk of {path} is full, so no further batch starts. Nothing is lost."


def disk_finding(path: str, words: str = "") -> dict[str, Any]:
    """The finding of a full disk."""
    message = words or full_words(path)
    return {"path": path, "code": DISK_FULL, "message": message, "suggestion": ADVICE, "retryable": True}


def is_disk_full(*errors: BaseException | str | None) -> bool:
    """Whether one of these errors, or what it was raised from, says that a disk or a quota has no room."""
    return any(_says_full(error) for error in errors if error is not None)


def _says_full(error: BaseException | str) -> bool:
    if isinstance(error, str):
        return _WORDS.search(error) is not None
    if isinstance(error, OSError) and error.errno in _ERRORS:
        return True
    cause = error.__cause__
    return _WORDS.search(str(error)) is not None or (cause is not None and _says_full(cause))
