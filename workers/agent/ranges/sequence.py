"""Numbered events that exist because they are counted: event n of a sequence is the same whenever it is made."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator

import pyarrow as pa

from pipelines.domain.base.positions import TopicPartition
from workers.agent.positions.checkpoint import Offsets
from workers.agent.ranges.ranges import EVENTS, RangeReader, Slice

_ROWS = 20_000
ENDLESS = (1 << 53) - 1


def due(rate: int, limit: int | None, started: float, now: float) -> int:
    """How many events there are at `now`, wall seconds, of a sequence that began at `began`."""
    last = ENDLESS if limit is None else limit
    return last if rate == 0 else min(last, max(0, int((now - started) * rate)))


class SequenceReader(RangeReader):
    """Deals the events out to partitions in turn: event n is offset n // partitions of partition n % partitions.

    Configuration: `{"topic", "rate", "limit", "began", "body", "partitions"}`.
    """

    def __init__(self, config: str) -> None:
        options = json.loads(config)
        self._topic: str = options["topic"]
        self._partitions: int = options["partitions"]
        self._body: str = options["body"]
        self._rate, self._limit, self._started = options["rate"], options["limit"], options["began"]

    def ends(self, now: float | None = None) -> Offsets:
        """By the clock, or at another time in seconds."""
        count = due(self._rate, self._limit, self._started, time.time() if now is None else now)
        each, more = divmod(count, self._partitions)
        return {TopicPartition(self._topic, number): each + (number < more) for number in range(self._partitions)}

    def limit(self, start: Offsets, end: Offsets, max_events: int) -> Offsets:
        """The same share for every partition; one event of those that are furthest behind, where there are more
        partitions than events."""
        behind = sorted(end, key=lambda key: (start.get(key, 0), key))
        share = max(1, max_events // self._partitions)
        served = {key: min(end[key], start.get(key, 0) + share) for key in behind[: max(1, max_events)]}
        return {key: start.get(key, 0) for key in end} | served

    def batches(self, part: Slice) -> Iterator[pa.RecordBatch]:
        """Make them."""
        for first in range(part.start, part.end, _ROWS):
            yield self._made(part.key.partition, first, min(part.end, first + _ROWS))

    def _made(self, partition: int, first: int, end: int) -> pa.RecordBatch:
        rows = end - first
        numbers = range(first * self._partitions + partition, end * self._partitions + partition, self._partitions)
        before, mark, after = self._body.partition("{n}")
        bodies = [f"{before}{n if mark else ''}{after}".encode() for n in numbers]
        columns = [
            pa.nulls(rows, pa.binary()),
            pa.array(bodies, pa.binary()),
            pa.nulls(rows, EVENTS.field("headers").type),
            pa.repeat(pa.scalar(self._topic), rows),
            pa.repeat(pa.scalar(partition, pa.int64()), rows),
            pa.array(range(first, end), pa.int64()),
            pa.nulls(rows, pa.string()),
        ]
        return pa.record_batch(columns, schema=EVENTS)
