"""When batches begin that wait for more events, and into how many files they are divided."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest

from pipelines.domain.base.positions import PartitionRange, TopicPartition
from pipelines.domain.definitions.sources.push_source import Limits
from pipelines.domain.ledger.journal import Planned
from workers.agent.base.batch_limits import BatchLimits
from workers.agent.components.source.kafka import _bounds
from workers.agent.files.sizes import Layout, Sizes
from workers.agent.files.tail_reader import TailReader
from workers.agent.positions.checkpoint import Offsets
from workers.agent.push import frames
from workers.agent.push.log import IngestBuffer
from workers.agent.push.reader import IngestBufferReader
from workers.agent.ranges.ranges import Pace, RangeReader, Slice
from workers.agent.ranges.sequence import SequenceReader

KEY = TopicPartition("t", 0)


class Growing(RangeReader):
    """A log that ends where it is told; offsets count events."""

    def __init__(self) -> None:
        self.end = 0

    def ends(self) -> Offsets:
        return {KEY: self.end}

    def limit(self, start: Offsets, end: Offsets, max_events: int) -> Offsets:
        return {KEY: min(end[KEY], start.get(KEY, 0) + max_events)}

    def batches(self, part: Slice) -> Iterator[pa.RecordBatch]:
        raise NotImplementedError


class Query:
    """Looks at the log at given times; `reached` is where its last batch ended."""

    def __init__(self, limits: BatchLimits) -> None:
        self.log, self.now, self.limits, self.reached = Growing(), 0.0, limits, 0
        self._pace = Pace(self.log, limits, lambda: self.now, self._sleep)

    def _sleep(self, seconds: float) -> None:
        self.now += seconds

    def look(self, at: float, end: int) -> int:
        self.now, self.log.end = at, end
        self.reached = self._pace.advance({KEY: self.reached}, self.limits.most)[KEY]
        return self.reached


def test_events_wait_for_a_full_batch_and_no_longer_than_the_interval() -> None:
    query = Query(BatchLimits(100, 30.0))
    assert query.look(0, 3) == 3, "the first batch of a run waits for nothing"
    assert [query.look(at, 10) for at in (1, 15, 29.4)] == [3, 3, 3]
    assert query.look(30, 12) == 12
    assert query.look(31, 111) == 12
    assert query.look(32, 112) == 112, "it is full"
    assert query.look(61, 113) == 112, "the interval counts from the last batch"
    assert query.look(62, 113) == 113


def test_the_last_half_second_is_slept_through() -> None:
    query = Query(BatchLimits(100, 30.0))
    assert [query.look(at, end) for at, end in ((0, 3), (29.6, 4))] == [3, 4]
    assert query.now == 30.0
    assert query.look(59.4, 5) == 4
    assert query.now == 59.4


def test_batches_of_a_backlog_follow_each_other_at_once() -> None:
    query = Query(BatchLimits(100, 30.0))
    assert [query.look(at / 10, 250) for at in range(4)] == [100, 200, 250, 250]
    assert query.look(1, 251) == 250


def test_an_interval_of_zero_never_waits() -> None:
    query = Query(BatchLimits(100))
    assert [query.look(0, end) for end in (1, 1, 2, 300)] == [1, 1, 2, 102]


def test_a_batch_that_has_enough_waits_for_nothing() -> None:
    query = Query(BatchLimits(100, 30.0, full=10))
    assert [query.look(at, 9) for at in (0, 1)] == [9, 9]
    assert query.look(2, 18) == 9
    assert query.look(3, 19) == 19
    assert query.look(4, 200) == 119, "it takes as many as it may"


def test_spark_reads_kafka_by_the_same_rule() -> None:
    assert _bounds(BatchLimits(500)) == {"maxOffsetsPerTrigger": "500"}
    assert _bounds(BatchLimits(500, 0.25)) == {
        "maxOffsetsPerTrigger": "500",
        "minOffsetsPerTrigger": "500",
        "maxTriggerDelay": "250ms",
    }
    assert _bounds(BatchLimits(500, 0.25, full=20))["minOffsetsPerTrigger"] == "20"


def test_a_sequence_with_more_partitions_than_a_batch_has_events_serves_all_of_them_in_turn() -> None:
    options = {"topic": "t", "rate": 0, "limit": 50, "began": 0.0, "body": "{n}", "partitions": 10}
    reader = SequenceReader(json.dumps(options))
    pace, sizes = Pace(reader, BatchLimits(4)), []
    reached: Offsets = {}
    for _ in range(13):
        end = pace.advance(reached, 4)
        sizes.append(sum(end.values()) - sum(reached.values()))
        reached = end
    assert sizes == [4] * 12 + [2]
    assert set(reached.values()) == {5}


def test_a_followed_file_is_full_by_its_bytes() -> None:
    reader = TailReader(json.dumps({"registry": "/x", "labels": {}, "headers": {}, "longest": 1, "share": 0}))
    assert [reader.is_full({KEY: 1000}, {KEY: end}, 10) for end in (2999, 3000)] == [False, True]


def _append(log: IngestBuffer, count: int, size: int) -> None:
    rows = [{"key": None, "body": b"x" * size, "headers": None, "problem": None}] * count
    log.append(pa.RecordBatch.from_pylist(rows, schema=frames.SCHEMA))


@pytest.mark.parametrize(("count", "size", "full"), [(40, 10, False), (50, 10, True), (10, 5_000, True)])
def test_an_ingest_buffer_that_is_half_full_is_read(tmp_path: Path, count: int, size: int, full: bool) -> None:
    log = IngestBuffer(tmp_path, Limits(capacity=1000, transaction_capacity=100, byte_capacity=1 << 20), durable=False)
    _append(log, 100, size)
    read = log.end
    _append(log, count, size)
    config = {"directory": str(tmp_path), "topic": "t", "full_events": 50, "full_bytes": 40_000}
    reader = IngestBufferReader(json.dumps(config))
    assert reader.is_full({KEY: read}, reader.ends(), 100_000) is full, "what was read does not count"


class Writer:
    """Batches of one source, each with an attempt or more, on a clock."""

    def __init__(self, size: int) -> None:
        self.now = 0.0
        self.sizes = Sizes(size, lambda: self.now)
        self.sampled = 0
        self.sample = 100.0
        self.slots = 1
        self.attempt: Any = None

    def layout(self, number: int, offsets: int, source: str = "shop") -> Layout:
        attempt: Any = SimpleNamespace(
            planned=Planned(
                source=source,
                channel="lake",
                batch=number,
                ranges=[PartitionRange(topic="t", partition=0, start=0, end=offsets)],
            ),
            counts=SimpleNamespace(delivered=offsets),
        )
        self.attempt = attempt
        return self.sizes.layout(attempt, self._sample, self.slots)

    def _sample(self, _attempt: Any) -> float:
        self.sampled += 1
        return self.sample

    def wrote(self, parts: Mapping[str, int], seconds: float = 1.0) -> None:
        self.now += seconds
        self.sizes.learn(self.attempt, parts)


def test_a_batch_has_one_writer_for_each_file_that_it_fills() -> None:
    writer = Writer(1_000_000)
    assert writer.layout(0, 50_000) == Layout(1, 10_000), "the first one is sampled"
    writer.wrote({"part-00000-a-c000.json": 1_000_000, "part-00000-a-c001.json": 1_500_000})
    assert writer.layout(1, 10_000) == Layout(1, 20_000), "fifty bytes each"
    writer.wrote({"day=1/part-00000-b.json": 500_000})
    assert writer.layout(2, 70_000) == Layout(3, 20_000)
    assert writer.sampled == 1


def test_a_sink_that_is_behind_writes_with_all_slots_as_long_as_files_are_large_enough() -> None:
    writer = Writer(1_000_000)
    writer.slots = 4
    assert writer.layout(0, 10_000).writers == 1, "nothing is known of it"
    writer.wrote({"part-00000-a.parquet": 1_000_000})
    assert writer.layout(1, 10_000).writers == 4, "it begins where the last one ends"
    writer.wrote({f"part-0000{number}-b.parquet": 250_000 for number in range(4)})
    assert writer.layout(2, 2000).writers == 3, "200,000 bytes in files of a sixteenth of the size"
    writer.wrote({f"part-0000{number}-c.parquet": 66_667 for number in range(3)})
    assert writer.layout(3, 1000).writers == 1
    writer.wrote({"part-00000-d.parquet": 100_000})
    writer.now += 0.6
    assert writer.layout(4, 10_000).writers == 1, "it has waited for more than half of the time that the last one took"
    assert writer.layout(4, 10_000, "other").writers == 1


def test_a_slow_batch_has_more_writers_and_one_that_is_tried_again_all_of_them() -> None:
    writer = Writer(1_000_000)
    writer.layout(0, 1000)
    assert writer.layout(0, 1000).writers > 100, "one may have been too slow"
    writer.wrote({"part-00000-a.json": 1000, "part-00001-a.json": 1000}, seconds=20.0)
    assert writer.layout(1, 1000).writers == 4
    writer.wrote({"part-00000-a.json": 2000}, seconds=5.0)
    assert writer.layout(2, 1000).writers == 1


def test_events_that_are_not_written_and_sources_that_count_bytes_are_allowed_for() -> None:
    writer = Writer(1_000_000)
    writer.layout(0, 100_000)
    writer.attempt.counts.delivered = 1000
    writer.wrote({"part-00000-a.json": 500_000})
    assert writer.layout(1, 400_000) == Layout(2, 2000)
    assert writer.layout(0, 400_000, source="other") == Layout(1, 10_000), "each source has its own events"


def test_a_sample_without_events_divides_nothing() -> None:
    writer = Writer(1)
    writer.sample = 0.0
    assert writer.layout(0, 10).events_per_file > 1_000_000_000
