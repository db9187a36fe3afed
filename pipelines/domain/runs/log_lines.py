"""Lines of a run's log: time, level, component, run, and what there is to say. A line of another form, as of a stack
trace or of what an interceptor prints, belongs to the line before it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from enum import StrEnum


class LogLevel(StrEnum):
    """From the least to the most important."""

    DEBUG = "DEBUG"
    INFO = "INFO"
    WARNING = "WARNING"
    ERROR = "ERROR"
    CRITICAL = "CRITICAL"


_RANKS = {level: rank for rank, level in enumerate(LogLevel)}
_LINE = re.compile(r"\d{4}-\d\d-\d\dT[\d:.]+Z +(DEBUG|INFO|WARNING|ERROR|CRITICAL) ")


def level_of(line: str) -> LogLevel | None:
    """The level that a line states; None where it belongs to the line before it."""
    match = _LINE.match(line)
    return LogLevel(match[1]) if match else None


def at_least(lines: Iterable[str], level: LogLevel) -> Iterator[str]:
    """The lines of a level or a more important one. What precedes the first line that states one is kept, since nothing
    says that it is not important."""
    shown = True
    for line in lines:
        stated = level_of(line)
        if stated is not None:
            shown = _RANKS[stated] >= _RANKS[level]
        if shown:
            yield line
