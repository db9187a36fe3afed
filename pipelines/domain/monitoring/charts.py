"""Charts of a pipeline over a range of time: the points of a range, and what is known laid over them. Pure.

A point is a window of `step` seconds. What nobody has measured is None, never 0.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from pipelines.domain.base.findings import Finding

STEPS = (5, 10, 30, 60, 300, 900, 1_800, 3_600, 7_200, 21_600, 43_200, 86_400)
"""Seconds of one point, from which a range takes the finest that gives few enough points."""
MOST_POINTS = 500
SHORTEST = timedelta(minutes=1)
LONGEST = timedelta(days=90)
AHEAD = timedelta(minutes=1)
"""How far a clock of a client may be ahead."""
_SETTLED = 2.0
"""Seconds until what an agent has journaled is in the ledger."""
_INSTANT = 1e-6
_LEAST = 5.0
"""Seconds of a last window that goes on, so that a rate can be told of it."""


class Span(NamedTuple):
    """From when until when, in seconds since 1970."""

    start: float
    end: float


class Held(NamedTuple):
    """A measurement at a time, and for how many seconds it holds unless another follows."""

    at: float
    seconds: float
    value: float | None


@dataclass(frozen=True)
class Grid:
    """The windows of a range: `size` of them, each of `step` seconds, from `start` on. `now`: when the last one ends at
    the latest."""

    start: int
    step: int
    size: int
    now: float

    @classmethod
    def of(cls, since: datetime, until: datetime, now: datetime, most: int = MOST_POINTS) -> Grid:
        """The finest windows that cover a range in at most so many points, and one for where it begins within one."""
        step = step_of((until - since).total_seconds(), most)
        start = int(since.timestamp()) // step * step
        known = now.timestamp() - _SETTLED
        end = min(until.timestamp(), known)
        whole, rest = divmod(max(0.0, end - start), step)
        goes_on = bool(rest) if end < known else rest >= _LEAST
        return cls(start, step, int(whole) + goes_on, known)

    @property
    def span(self) -> Span:
        """All of it."""
        return Span(self.start, self.start + self.size * self.step)

    def times(self) -> list[datetime]:
        """When each window begins."""
        return [datetime.fromtimestamp(self.start + number * self.step, UTC) for number in range(self.size)]

    def nothing(self) -> list[float | None]:
        """Nothing known of any window."""
        return [None] * self.size

    def seconds(self, number: int) -> float:
        """How much of a window is over."""
        begin = self.start + number * self.step
        return max(1.0, min(self.step, self.now - begin))

    def windows(self, span: Span) -> range:
        """The windows that a span touches; it ends before its end."""
        first = max(0, int((span.start - self.start) // self.step))
        last = min(self.size - 1, int((max(span.start, span.end - _INSTANT) - self.start) // self.step))
        return range(first, last + 1)

    def shares(self, span: Span) -> list[tuple[int, float]]:
        """Windows, each with its share of what is spread evenly over a span; all of it at once where that is none."""
        seconds = span.end - span.start
        found = []
        for number in self.windows(span):
            begin = self.start + number * self.step
            part = min(span.end, begin + self.step) - max(span.start, begin)
            found.append((number, part / seconds if seconds > 0 else 1.0))
        return found

    def touched(self, spans: Iterable[Span]) -> list[bool]:
        """Whether any of the spans lies in each window."""
        found = [False] * self.size
        for span in spans:
            for number in self.windows(span):
                found[number] = True
        return found

    def reach(self, at: float, seconds: float, following: float) -> tuple[int | None, range]:
        """The window in which a measurement was made, where that is one of them, and those in which it holds still: for
        so many seconds, and no longer than until the one that follows."""
        found = self.windows(Span(at, max(at, min(at + seconds, following, self.now))))
        return (None, found) if at < self.start or not found else (found[0], found[1:])

    def held(self, rows: Sequence[Held]) -> list[float | None]:
        """The most that was measured in each window; where nothing was, what held at its beginning. `rows`: oldest
        first."""
        column = Column.of(self.size)
        for row, following in zip(rows, [*(each.at for each in rows[1:]), self.now], strict=False):
            column.put(*self.reach(row.at, row.seconds, following), row.value)
        return column.values()


@dataclass(frozen=True)
class Column:
    """One series of values: measured in each window, and held over from the one before."""

    measured: list[float | None]
    held_over: list[float | None]

    @classmethod
    def of(cls, size: int) -> Column:
        """Nothing is known yet."""
        return cls([None] * size, [None] * size)

    def put(self, window: int | None, others: range, value: float | None) -> None:
        """Note what was measured in a window, and holds in others."""
        if value is None:
            return
        if window is not None:
            before = self.measured[window]
            self.measured[window] = value if before is None or before < value else before
        for other in others:
            self.held_over[other] = value

    def values(self) -> list[float | None]:
        """What was measured, else what holds."""
        return first_known([self.measured, self.held_over])


def step_of(seconds: float, most_points: int = MOST_POINTS) -> int:
    """The finest step that shows so many seconds in at most so many points."""
    return next((step for step in STEPS if seconds <= step * most_points), STEPS[-1])


def most(one: float | None, other: float | None) -> float | None:
    """The larger of those that are known."""
    return other if one is None else one if other is None else max(one, other)


def first_known(series: Sequence[Sequence[float | None]]) -> list[float | None]:
    """Of several series of the same windows, the first value that is known in each."""
    return [next((value for value in values if value is not None), None) for values in zip(*series, strict=True)]


def range_findings(since: datetime, until: datetime, now: datetime) -> list[Finding]:
    """What is wrong with a range."""
    found = []
    if until > now + AHEAD:
        found.append(_finding("until", "in_the_future", "The range ends in the future.", "Leave it out for now."))
    if since > now:
        found.append(_finding("since", "in_the_future", "The range begins in the future.", "Write 1h, for example."))
    if since >= until:
        found.append(_finding("since", "after_until", "The range begins after its end.", "Exchange since and until."))
    elif until - since < SHORTEST:
        found.append(_finding("since", "range_too_short", "The range is shorter than a minute.", "Begin it earlier."))
    if until - since > LONGEST:
        found.append(
            _finding("since", "range_too_long", f"The range is longer than {LONGEST.days} days.", "Begin it later.")
        )
    return found


def _finding(path: str, code: str, message: str, suggestion: str) -> Finding:
    return Finding(path=path, code=code, message=message, suggestion=suggestion)
