"""What a sink's topic holds of a batch is found by its origins, and left out of the next delivery."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import pytest
from confluent_kafka import Producer
from pyspark.errors import SparkRuntimeException
from pyspark.sql import SparkSession

from pipelines.domain.base.positions import PartitionRange, TopicPartition
from pipelines.domain.ledger.journal import Planned
from tests.agent.conftest import MakePipeline
from tests.agent.topics import Topics
from tests.counts import not_once
from tests.waiting import wait_for
from workers.agent.delivery.delivery import cause_of
from workers.agent.kafka import tail
from workers.agent.kafka.admin import jvm_options
from workers.agent.kafka.tail import Tail
from workers.agent.positions.held import BITS, Bits, Copies, Held, joined, union
from workers.agent.spark import repeats

PREFIX = "p/shop/lake"
HERE = TopicPartition("orders", 0)


def bits_of(offsets: Iterable[int]) -> list[tuple[int, bytes]]:
    """Bitmaps as Spark makes them."""
    made: dict[int, bytearray] = {}
    for offset in offsets:
        bitmap = made.setdefault(offset // BITS, bytearray(BITS // 8))
        bitmap[offset % BITS // 8] |= 1 << offset % 8
    return [(number, bytes(bitmap)) for number, bitmap in made.items()]


def holding(offsets: Iterable[int], *, key: TopicPartition = HERE, copy: int = 0) -> Held:
    numbers = list(offsets)
    bitmaps = [(Copies(key, copy), number, bitmap) for number, bitmap in bits_of(numbers)]
    return joined(bitmaps, len(numbers))


def test_an_event_is_held_where_its_bit_is_set(session: SparkSession) -> None:
    held = union([holding([7, 8, 40_000, 70_001]), holding([7], key=TopicPartition("orders", 3), copy=2)])
    assert (held.events, held.records) == (5, 5)
    rows = [("orders", 0, offset, 0) for offset in (0, 6, 7, 8, 9, 39_999, 40_000, 70_001, 70_002, 10**9)]
    rows += [("orders", 3, 7, 2), ("orders", 3, 7, 0), ("other", 0, 7, 0), ("orders", 1, 7, 0)]
    frame = session.createDataFrame(rows, "topic string, partition int, offset long, copy int")
    column = held.column(copies=True)
    assert column is not None
    found = {tuple(row) for row in frame.where(column).collect()}
    assert found == {("orders", 0, n, 0) for n in (7, 8, 40_000, 70_001)} | {("orders", 3, 7, 2)}
    column = held.column(copies=False)
    assert column is not None
    plain = frame.where("copy = 0").drop("copy")
    assert {row["offset"] for row in plain.where(column).collect()} == {7, 8, 40_000, 70_001}


def test_what_several_sinks_hold_is_joined() -> None:
    both = holding(range(10)) | holding(range(5, 40_000))
    assert (both.events, both.records) == (40_000, 10 + 39_995)
    assert holding([]).column(copies=False) is None
    assert Bits(8, b"\x01") | Bits(0, b"\x80") == Bits(0, b"\x80\x01")


@pytest.mark.parametrize("records_in_a_slice", [250_000, 7])
def test_the_tail_of_a_topic_is_read_for_the_events_of_one_batch(
    session: SparkSession, topics: Topics, monkeypatch: pytest.MonkeyPatch, records_in_a_slice: int
) -> None:
    monkeypatch.setattr(tail, "_SLICE", records_in_a_slice)
    before = topics.ends(topics.sink)
    origins = [f"{PREFIX}/orders/0/{n}" for n in (5, 10, 11, 12, 12, 20)]
    origins += [f"{PREFIX}/orders/0/11+1", f"{PREFIX}/with/slash/0/10", f"{PREFIX}/orders/1/10", f"{PREFIX}/orders/0/x"]
    origins += ["other/shop/lake/orders/0/13", "", "p", f"{PREFIX}/orders/0/{2**62}"]
    producer = Producer({"bootstrap.servers": topics.servers})
    for number, origin in enumerate(origins):
        headers: list[tuple[str, str | bytes | None]] = [("headgate.origin", origin.encode())] if origin else []
        producer.produce(topics.sink, b"x", partition=number % 4, headers=headers)
    assert producer.flush(60) == 0
    ranges = [PartitionRange(topic=name, partition=0, start=10, end=20) for name in ("orders", "with/slash")]
    planned = Planned(source="shop", channel="lake", batch=1, ranges=ranges)
    told: list[tuple[int, int]] = []
    seen = Tail(jvm_options(topics.servers, {}), planned, PREFIX).read(
        session, before, topics.ends(topics.sink), lambda *each: told.append(each)
    )
    assert {key: bits.count for key, bits in seen.held.offsets.items()} == {
        Copies(HERE, 0): 3,
        Copies(HERE, 1): 1,
        Copies(TopicPartition("with/slash", 0), 0): 1,
    }
    assert (seen.held.events, seen.held.records, seen.gaps) == (5, 6, 0)
    open_ended = planned.model_copy(update={"open_ended": True})
    seen_so_far = Tail(jvm_options(topics.servers, {}), open_ended, PREFIX).read(
        session, before, topics.ends(topics.sink), lambda *_: None
    )
    assert (seen_so_far.held.events, seen_so_far.held.records) == (6, 7), "and offset 20, but not the forged one"
    assert told[-1] == (len(origins), len(origins))
    assert len(told) == -(-len(origins) // records_in_a_slice)


def test_a_task_that_spark_runs_again_fails_before_its_first_record(
    session: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(repeats, "is_local", lambda _: False)
    rows = session.range(0, 1000, numPartitions=4)
    assert repeats.refused(rows).count() == 1000
    monkeypatch.setattr(repeats, "_FIRST_RUN", r" for task \d+\.1 in stage \d+\.0 ")
    with pytest.raises(SparkRuntimeException, match="ExecutorLostFailure") as raised:
        repeats.refused(rows).count()
    assert cause_of(raised.value).startswith("An executor of Spark ended")


def test_an_agent_that_is_killed_in_mid_write_doubles_nothing(make_pipeline: MakePipeline, topics: Topics) -> None:
    """Twice in one batch, of driver and JVM: what the sink has of it is not delivered again."""
    count = 200_000
    pipeline = make_pipeline(max_events_per_batch=count)
    topics.produce(count)
    for victim in ("jvm", "driver"):
        run = pipeline.start()
        before = topics.delivered()
        wait_for(lambda: topics.delivered() > before + 1000 or run.exit, "the sink has a part of the batch")  # noqa: B023
        run.kill(victim)
        run.wait_exit()
    assert 0 < topics.delivered() <= count
    run = pipeline.start()
    run.wait_read(topics.ends(topics.source))
    assert run.stop().exit_code == 0
    assert not not_once(Counter(topics.numbers()), range(count))
    pipeline.ingest()
    assert pipeline.possible_duplicates == 0
