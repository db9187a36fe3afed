"""Logs that are read by range: what a source offers that is no broker, and how it hands out events.

A range of a partition holds the same events whenever it is read. Nothing here needs Spark.
"""

from __future__ import annotations

import json
import math
import re
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from pipelines.domain.base.positions import TopicPartition
from workers.agent.base.batch_limits import BatchLimits
from workers.agent.positions.checkpoint import Offsets, dump

_HEADER = pa.struct([("key", pa.string()), ("value", pa.binary())])
HEADERS = pa.list_(pa.field("element", _HEADER))
EVENTS = pa.schema(
    [
        ("key", pa.binary()),
        ("value", pa.binary()),
        ("headers", HEADERS),
        ("topic", pa.string()),
        ("partition", pa.int64()),
        ("offset", pa.int64()),
        ("problem", pa.string()),
    ]
)
"""What `batches` yields. `value` is the body; `problem`: why the event cannot be used, null where it can."""


@dataclass(frozen=True)
class Slice:
    """The half-open range [start, end) of one partition; handed to the task that reads it."""

    key: TopicPartition
    start: int
    end: int


class RangeLost(Exception):
    """A range that was promised can no longer be read."""


_REST = 0.5
_LOST = re.compile(r"RangeLost: (.*)")


def lost_in(error: Exception) -> str:
    """What a failure says of a range that can no longer be read, in this process or in a task; empty where it is
    another failure."""
    if isinstance(error, RangeLost):
        return str(error)
    found = _LOST.search(str(error))
    return found[1] if found else ""


class RangeReader(ABC):
    """Reads one log; made anew in every process that plans or reads, out of one JSON configuration."""

    @abstractmethod
    def ends(self) -> Offsets:
        """Where each partition ends now."""

    @abstractmethod
    def limit(self, start: Offsets, end: Offsets, max_events: int) -> Offsets:
        """The furthest ends that hold about `max_events` events from `start`; at least one event where there is any."""

    def rank(self, key: TopicPartition) -> tuple[Any, ...]:
        """By which partitions are sorted: which of them are planned and read first."""
        return key

    def is_full(self, start: Offsets, end: Offsets, max_events: int) -> bool:
        """Whether what lies between makes a full batch; asked several times a second, so that a guess is enough."""
        return waiting(start, end) >= max_events

    @abstractmethod
    def batches(self, part: Slice) -> Iterator[pa.RecordBatch]:
        """The events of a range, as EVENTS. Raises RangeLost where they are gone."""


def load(written: dict[str, dict[str, int]]) -> Offsets:
    """The reverse of `dump`."""
    return {
        TopicPartition(topic, int(number)): offset
        for topic, numbers in written.items()
        for number, offset in numbers.items()
    }


def waiting(start: Offsets, end: Offsets) -> int:
    """How many offsets lie between."""
    return sum(at - start.get(key, 0) for key, at in end.items())


class Pace:
    """When the next batch of a query begins, and where it ends. A batch that is full waits for nothing, nor does one
    behind a batch that has left something; any other waits until the interval has passed since the last one."""

    def __init__(
        self,
        reader: RangeReader,
        limits: BatchLimits,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._reader = reader
        self._limits = limits
        self._clock = clock
        self._sleep = sleep
        self._last = -math.inf
        self._left_some = False

    def advance(self, start: Offsets, most: int | None) -> Offsets:
        """The ends of the next batch, or `start`. What is known stays known and never goes back; what is new begins
        at 0."""
        self._sleep_through_the_rest()
        ends = {**start, **{key: max(end, start.get(key, 0)) for key, end in self._reader.ends().items()}}
        if ends == start or self._waits(start, ends):
            return start
        found = ends if most is None else {**ends, **self._reader.limit(start, ends, most)}
        self._last, self._left_some = self._clock(), found != ends
        return found

    def _sleep_through_the_rest(self) -> None:
        """Nothing is looked at in the last half second before the next batch is due: it begins on time."""
        left = self._last + self._limits.interval - self._clock()
        if not self._left_some and 0 < left <= _REST:
            self._sleep(left)

    def _waits(self, start: Offsets, ends: Offsets) -> bool:
        limits = self._limits
        if self._left_some or self._clock() - self._last >= limits.interval:
            return False
        return limits.enough is None or not self._reader.is_full(start, ends, limits.enough)


def slices(start: Offsets, end: Offsets, rank: Callable[[TopicPartition], tuple[Any, ...]] = tuple) -> list[Slice]:
    """What lies between two offsets, without empty ranges, in the order of `rank`."""
    moved = [key for key, at in end.items() if at > start.get(key, 0)]
    return [Slice(key, start.get(key, 0), end[key]) for key in sorted(moved, key=rank)]


def as_json(offsets: Offsets) -> str:
    """`dump` as text."""
    return json.dumps(dump(offsets))
