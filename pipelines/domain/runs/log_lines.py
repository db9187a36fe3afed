"""Lines of a run's log: time, level, component, run, and what there is to say. A line of another form, as of a stack
trace or of what an interceptor prints, belongs to the line before it; both together are a record."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from typing import NamedTuple
from zlib import crc32


class LogLevel(StrEnum):
    """From the least to the most important."""

    DEBUG = "DEBUG"
    INFO = "INFO"
    WARNING = "WARNING"
    ERROR = "ERROR"
    CRITICAL = "CRITICAL"


_RANKS = {level: rank for rank, level in enumerate(LogLevel)}
_HEAD = re.compile(r"(\d{4}-\d\d-\d\dT[\d:.]+Z) +(DEBUG|INFO|WARNING|ERROR|CRITICAL) +(\S+)")
ADDRESS = r"^\d{4}-\d\d-\d\dT[\d:.]{8,12}Z~[0-9a-f]{8}$"
MOST_LINES = 1_000
"""Of a record; what follows is another one with the same head."""


class Head(NamedTuple):
    """What the first line of a record states."""

    stamp: str
    level: LogLevel
    component: str


def head_of(line: str) -> Head | None:
    """What a line states; None where it belongs to the line before it."""
    match = _HEAD.match(line)
    return Head(match[1], LogLevel(match[2]), match[3].rstrip(":")[:63]) if match else None


def address_of(line: str) -> str:
    """What finds the record that begins with a line, as long as its file is kept; empty where it begins none."""
    head = head_of(line)
    return f"{head.stamp}~{crc32(line.rstrip().encode()):08x}" if head else ""


def stamp_of(moment: datetime) -> str:
    """A time as lines state it; as texts such times have their order."""
    return f"{moment.astimezone(UTC):%Y-%m-%dT%H:%M:%S}.{moment.microsecond // 1000:03}Z"


@dataclass
class Record:
    """Lines that belong together, each with where it ends. Without a head where that was not read."""

    head: Head | None
    lines: list[tuple[int, str]] = field(default_factory=list)


def records(lines: Iterable[tuple[int, str]]) -> Iterator[Record]:
    """Lines with where they end, as records."""
    record = Record(None)
    for end, line in lines:
        head = head_of(line)
        if record.lines and (head or len(record.lines) == MOST_LINES):
            yield record
            record = Record(record.head)
        record.head = head or record.head
        record.lines.append((end, line))
    if record.lines:
        yield record


@dataclass(frozen=True)
class LogFilter:
    """Which records: of a level or a more important one, of a component, since a time (as lines state it), with a text
    in any of their lines in any case of letters."""

    level: LogLevel | None = None
    component: str | None = None
    since: str | None = None
    find: str | None = None

    @property
    def is_empty(self) -> bool:
        """Whether every record is wanted."""
        return self == LogFilter()

    def takes(self, record: Record) -> bool:
        """Whether a record is wanted. Without its head nothing says that it is not important."""
        return self._takes_head(record.head) and self._takes_text(record)

    def _takes_head(self, head: Head | None) -> bool:
        if head is None:
            return self.component is None and self.since is None
        return (
            (self.level is None or _RANKS[head.level] >= _RANKS[self.level])
            and self.component in (None, head.component)
            and (self.since is None or head.stamp >= self.since)
        )

    def _takes_text(self, record: Record) -> bool:
        wanted = self.find.casefold() if self.find else ""
        return not wanted or any(wanted in line.casefold() for _, line in record.lines)
