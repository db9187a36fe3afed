"""Lag: how many records wait in a partition, and how old the oldest of them is. Pure.

The age comes without a request and without a look at any record: where the log ended at earlier looks says when a
record was appended. Its precision is the distance of two looks (10 s while a pipeline runs); where the position is
older than all looks, one request of offsets by time for all partitions together narrows it down.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

STEPS = (60, 300, 3600)
"""Seconds of one point: minutes, rolled up to five minutes, rolled up to hours."""

MOST_POINTS = 1_500
MOST_CELLS = 20_000
"""Points, and partitions in all of them, of one answer."""

QUIET_SECONDS = 900
"""Where nothing waits and nothing moves, a point is repeated so often only; until then the one before it holds."""


class PartitionLag(NamedTuple):
    """One partition as a point of the series has it; `source` and `channel` are empty for a consumer group.

    `position`: the next offset to read, `end`: of the log, both as last seen. `records`, `seconds`: the most in the
    window. None: not known.
    """

    source: str
    channel: str
    topic: str
    partition: int
    position: int | None
    end: int | None
    records: int | None
    seconds: float | None

    @property
    def key(self) -> tuple[str, str, str, int]:
        """What stays the same over time."""
        return self[:4]


def most(values: Iterable[float | None]) -> float | None:
    """The largest of those that are known."""
    return max((value for value in values if value is not None), default=None)


def total(values: Iterable[int | None]) -> int | None:
    """The sum; None where one is not known, or there is none."""
    known = list(values)
    return None if not known or None in known else sum(value for value in known if value is not None)


def rolled_up(windows: Sequence[Sequence[PartitionLag]]) -> list[PartitionLag]:
    """Several windows as one: positions and ends of the last one that has a partition, the most of everything else."""
    latest: dict[tuple[str, str, str, int], PartitionLag] = {}
    for each in (each for window in windows for each in window):
        before = latest.get(each.key)
        peaks = (each.records, each.seconds)
        if before is not None:
            peaks = (_more(before.records, each.records), _more(before.seconds, each.seconds))
        latest[each.key] = each._replace(records=peaks[0], seconds=peaks[1])
    return [latest[key] for key in sorted(latest)]


def _more(one: Any, other: Any) -> Any:
    return other if one is None else one if other is None else max(one, other)


def window_of(at: datetime, step: int) -> datetime:
    """The beginning of the window of `step` seconds that an instant lies in."""
    return datetime.fromtimestamp(int(at.timestamp()) // step * step, UTC)


def step_for(span: timedelta) -> int:
    """The finest step that shows a span of time in at most MOST_POINTS points."""
    return next((step for step in STEPS if span.total_seconds() / step <= MOST_POINTS), STEPS[-1])


_LONGEST = 240
_FINEST = 5.0
_RELATIVE = 0.02


@dataclass
class Appended:
    """Where the log of one partition ended at which times, so far as it was seen: `(first, last, end)`, oldest first.

    Bounded: old points are kept further apart, so that the error is at most about 2 % of the age.
    """

    points: list[tuple[float, float, int]] = field(default_factory=list)

    def saw(self, at: float, end: int) -> None:
        """The log ended at `end` at the time `at` (seconds). A log that is shorter than before begins a new history."""
        if self.points and end < self.points[-1][2]:
            self.points.clear()
        if self.points and end == self.points[-1][2]:
            first, last, _ = self.points[-1]
            self.points[-1] = (first, max(last, at), end)
            return
        self.points.append((at, at, end))
        if len(self.points) > _LONGEST:
            self._thin(at)

    def learn(self, at: float, offset: int) -> None:
        """`offset` is the first one whose record is of the time `at` or later; the end of the log, where none is.

        Records may be older than the looks that met them first, so looks that say otherwise of older offsets give way.
        """
        kept = [point for point in self.points if point[2] >= offset or point[1] <= at]
        place = bisect_right(kept, offset, key=lambda point: point[2])
        later = kept[place][0] if place < len(kept) else at
        if place and kept[place - 1][2] == offset:
            first, last, _ = kept[place - 1]
            kept[place - 1] = (min(first, at), max(last, min(at, later)), offset)
        elif at <= later:
            kept.insert(place, (at, at, offset))
        self.points = kept

    def _thin(self, now: float) -> None:
        kept: list[tuple[float, float, int]] = []
        for point in self.points[:-1]:
            if not kept or point[0] - kept[-1][1] >= max(_FINEST, _RELATIVE * (now - point[0])):
                kept.append(point)
        self.points = [*kept[-_LONGEST + 1 :], self.points[-1]]

    def between(self, position: int) -> tuple[float | None, float | None]:
        """The times between which the record at `position` was appended; None: before, or after, all looks."""
        place = bisect_right(self.points, position, key=lambda point: point[2])
        before = self.points[place - 1][1] if place else None
        after = self.points[place][0] if place < len(self.points) else None
        return before, after

    def before(self, at: float) -> int | None:
        """The last end of the log that was surely reached at the time `at`; None where no look is so old."""
        return max((end for first, _, end in self.points if first <= at), default=None)

    def age(self, position: int, now: float) -> float | None:
        """Seconds since the record at `position` was appended, interpolated; 0 where there is none yet, None where it
        is older than everything that was seen."""
        before, after = self.between(position)
        if after is None:
            return 0.0
        if before is None:
            return None
        place = bisect_right(self.points, position, key=lambda point: point[2])
        low, high = self.points[place - 1][2], self.points[place][2]
        return max(0.0, now - (before + (after - before) * (position - low) / (high - low)))

    def at_least(self, position: int, now: float) -> float:
        """The age of the record at `position` where it is known, else that of the oldest look, which is younger."""
        age = self.age(position, now)
        return max(0.0, now - self.points[0][0]) if age is None else age

    def question(self, position: int, now: float, oldest: float) -> float | None:
        """A time to ask the log about, so that the age of `position` gets known better; None where it is well enough.

        Halves what lies between `oldest` seconds ago and now.
        """
        before, after = self.between(position)
        if after is None:
            return None
        low = now - oldest if before is None else before
        if after - low <= max(60.0, _RELATIVE * (now - after)):
            return None
        return low + (after - low) / 2


def as_rows(partitions: Iterable[PartitionLag]) -> list[list[Any]]:
    """As a point stores them."""
    return [list(each) for each in partitions]


def from_rows(rows: Iterable[Sequence[Any]]) -> list[PartitionLag]:
    """What `as_rows` made."""
    return [PartitionLag(*row) for row in rows]


def positions_of(partitions: Iterable[PartitionLag]) -> Mapping[tuple[str, str, str, int], int]:
    """Known positions by (source, channel, topic, partition)."""
    return {each.key: each.position for each in partitions if each.position is not None}
