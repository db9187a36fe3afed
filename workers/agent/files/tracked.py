"""What is known of a growing file, and how the registry keeps it."""

from __future__ import annotations

import os
import zlib
from dataclasses import dataclass, field

from workers.agent.files.registry import of_type


@dataclass(frozen=True)
class Print:
    """A few bytes that tell one content from another: the CRC-32 of [at, at + size)."""

    at: int = 0
    size: int = 0
    crc: int = 0

    @classmethod
    def of(cls, descriptor: int, at: int, size: int) -> Print:
        """Of an open file."""
        return cls(at, size, zlib.crc32(os.pread(descriptor, size, at)))

    def fits(self, descriptor: int) -> bool:
        """Whether the file has the same bytes there."""
        return Print.of(descriptor, self.at, self.size) == self


@dataclass
class Span:
    """Offsets [begin, end) of an earlier content, which stands in the file `inode` from its first byte; 0: it is gone,
    and `cause` says how."""

    start_at: int
    end: int
    inode: int
    path: str
    cause: str = ""


@dataclass
class Tracked:
    """A file: its present content begins at offset `base`, has whole lines up to offset `end`, and `size` bytes."""

    path: str
    base: int = 0
    end: int = 0
    size: int = -1
    changed_ns: int = 0
    head: Print = field(default_factory=Print)
    tail: Print = field(default_factory=Print)
    past: list[Span] = field(default_factory=list)
    present: bool = True

    @property
    def whole(self) -> int:
        """Bytes in whole lines."""
        return self.end - self.base

    def start(self) -> int:
        """The lowest offset from which everything up to the end can be read."""
        if not self.present:
            return self.end
        gone = [span.end for span in self.past if not span.inode]
        return max(gone, default=self.past[0].start_at if self.past else self.base)


def tracked(written: dict[str, object]) -> Tracked:
    """A file out of the JSON that the registry keeps. Raises KeyError, TypeError or ValueError where it is damaged."""
    known = of_type(Tracked, written)
    prints = {name: Print(**of_type(Print, known[name])) for name in ("head", "tail")}
    file = Tracked(**{**known, **prints, "past": [Span(**of_type(Span, each)) for each in known["past"]]})
    if file.end < file.base:
        raise ValueError(f"{file.path} ends before it begins")
    return file
