"""What a sink's topic holds of a batch is found by its origins, and left out of the next delivery."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable

import pytest
from confluent_kafka import Producer
from pyspark.errors import SparkRuntimeException
from pyspark.sql import SparkSession

from pipelines.domain.base.positions import PartitionRange, TopicPartition
from pipelines.domain.ledger.journal import Planned, Resolved
from tests.agent import sinks
from tests.agent.conftest import MakePipeline
from tests.agent.harness import Pipeline, Run
from tests.agent.topics import Topics
from tests.chaos.extent import WHOLE, whole_only
from tests.counts import not_once
from tests.figures import RecordProperty, report_arrival
from tests.waiting import wait_for
from workers.agent.delivery.delivery import cause_of
from workers.agent.graph.component import Resolution, Unverifiable
from workers.agent.kafka import tail
from workers.agent.kafka.admin import jvm_options
from workers.agent.kafka.short_tail import ShortTail
from workers.agent.kafka.tail import Tail
from workers.agent.positions.held import BITS, Bits, Copies, Held, joined, union
from workers.agent.spark import repeats

COUNT = 200_000
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


@pytest.mark.parametrize("records_in_a_slice", [250_000, 7, None])
def test_the_tail_of_a_topic_is_read_for_the_events_of_one_batch(
    session: SparkSession, topics: Topics, monkeypatch: pytest.MonkeyPatch, records_in_a_slice: int | None
) -> None:
    """By Spark in slices, and without it where the tail is short."""
    monkeypatch.setattr(tail, "_SLICE", records_in_a_slice)

    def look(batch: Planned, told: tail.Told) -> tail.Seen:
        after = topics.ends(topics.sink)
        if records_in_a_slice is None:
            return ShortTail({"bootstrap.servers": topics.servers}, batch, PREFIX).read(before, after, told)
        return Tail(jvm_options(topics.servers, {}), batch, PREFIX).read(session, before, after, told)

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
    seen = look(planned, lambda *each: told.append(each))
    assert {key: bits.count for key, bits in seen.held.offsets.items()} == {
        Copies(HERE, 0): 3,
        Copies(HERE, 1): 1,
        Copies(TopicPartition("with/slash", 0), 0): 1,
    }
    assert (seen.held.events, seen.held.records, seen.gaps) == (5, 6, 0)
    open_ended = planned.model_copy(update={"open_ended": True})
    seen_so_far = look(open_ended, lambda *_: None)
    assert (seen_so_far.held.events, seen_so_far.held.records) == (6, 7), "and offset 20, but not the forged one"
    assert told[-1] == (len(origins), len(origins))
    if records_in_a_slice is not None:
        assert len(told) == -(-len(origins) // records_in_a_slice)


def test_a_tail_that_ends_with_markers_of_somebody_elses_transaction_is_read_to_its_end(
    session: SparkSession, topics: Topics
) -> None:
    before = topics.ends(topics.sink)
    other = Producer({"bootstrap.servers": topics.servers, "transactional.id": topics.sink})
    other.init_transactions(30)
    for commit in (True, False):
        other.begin_transaction()
        other.produce(topics.sink, b"x", partition=0, headers=[("headgate.origin", f"{PREFIX}/orders/0/{commit:d}")])
        assert other.flush(30) == 0
        (other.commit_transaction if commit else other.abort_transaction)(30)
    planned = Planned(
        source="shop", channel="lake", batch=1, ranges=[PartitionRange(topic="orders", partition=0, start=0, end=9)]
    )
    wait_for(lambda: sum(topics.ends(topics.sink).values()) - sum(before.values()) == 4, "two records, two markers", 30)
    after = topics.ends(topics.sink)
    connection = {"bootstrap.servers": topics.servers}
    short = ShortTail(connection, planned, PREFIX).read(before, after, lambda *_: None)
    whole = Tail(jvm_options(topics.servers, {}), planned, PREFIX).read(session, before, after, lambda *_: None)
    assert (short.held.records, short.gaps) == (whole.held.records, whole.gaps) == (2, 2)


GONE = {
    "deleted by retention": "4 records of the topic were deleted since",
    "created again": "the topic {} was deleted since, with what it had of the batch",
    "rewritten without headers": "the topic {} was deleted since, with what it had of the batch",
    **({"compacted": "the topic is compacted, and 7 of its records are gone"} if WHOLE else {}),
}
"""Kafka takes half a minute before it compacts a topic."""
HASTY = {
    "cleanup.policy": "compact",
    "segment.ms": "100",
    "min.cleanable.dirty.ratio": "0.01",
    "min.compaction.lag.ms": "0",
}


@pytest.mark.parametrize("gone", GONE)
def test_a_sink_whose_tail_lost_records_says_so_and_its_bound_contains_what_was_there(
    session: SparkSession, topics: Topics, gone: str
) -> None:
    made = sinks.sink(session, "kafka", bootstrap_servers=topics.servers, topic=topics.sink)
    before = made.builder.ends()
    made.write([sinks.Given(b"%010d" % number, key=b"same") for number in range(8)])
    ranges = [PartitionRange(topic="in", partition=number, start=0, end=8) for number in range(2)]
    batch = sinks.planned(0, 8).model_copy(update={"sink_ends": {"lake": before}, "ranges": ranges})
    assert made.builder.resolve(batch) == Resolution(8)
    assert made.builder.look(batch, session, None, lambda *_: None).held.records == 8
    lose(session, topics, gone)
    with pytest.raises(Unverifiable) as raised:
        made.builder.look(batch, session, None, lambda *_: None)
    assert str(raised.value) == GONE[gone].format(topics.sink)
    said = made.builder.resolve(batch)
    assert not said.complete
    assert said.delivered_before >= 8


def lose(session: SparkSession, topics: Topics, how: str) -> None:
    """Some of what the sink's topic had is gone; all of it has one key and is in one partition."""
    (written,) = [key for key, end in topics.ends(topics.sink).items() if end]
    if how == "deleted by retention":
        topics.trim(written.partition, 4, topics.sink)
        return
    if how == "compacted":
        topics.configure(topics.sink, HASTY)
        append(topics, key=b"same", partition=written.partition, count=1)
        wait_for(lambda: _count(session, topics) < 9, "the topic is compacted")
        return
    topics.make_again(topics.sink)
    if how != "created again":
        append(topics, key=b"same", partition=written.partition, count=12)


def _count(session: SparkSession, topics: Topics) -> int:
    options = {"kafka.bootstrap.servers": topics.servers, "subscribe": topics.sink}
    return session.read.format("kafka").options(**options).load().count()


def append(topics: Topics, *, key: bytes, partition: int, count: int) -> None:
    """As another producer does."""
    producer = Producer({"bootstrap.servers": topics.servers})
    for number in range(count):
        producer.produce(topics.sink, b"%010d" % number, key=key, partition=partition)
    assert producer.flush(60) == 0


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
    pipeline = make_pipeline(max_events_per_batch=COUNT)
    topics.produce(COUNT)
    for victim in ("jvm", "driver"):
        run = pipeline.start()
        before = topics.delivered()
        wait_for(lambda: topics.delivered() > before + 1000 or run.exit, "the sink has a part of the batch")  # noqa: B023
        run.kill(victim)
        run.wait_exit()
    assert 0 < topics.delivered() <= COUNT
    run = pipeline.start()
    run.wait_read(topics.ends(topics.source))
    assert run.stop().exit_code == 0
    assert not not_once(Counter(topics.numbers()), range(COUNT))
    pipeline.ingest()
    assert pipeline.possible_duplicates == 0


def expire(topics: Topics) -> None:
    """Do what retention does."""
    for key, end in topics.ends(topics.sink).items():
        topics.trim(key.partition, end, topics.sink)


def create_again(topics: Topics) -> None:
    topics.make_again(topics.sink)


def rewrite(topics: Topics) -> None:
    """Do what a tool does that copies a topic without the headers of its records."""
    numbers, ends = topics.numbers(), topics.ends(topics.sink)
    topics.make_again(topics.sink)
    producer = Producer({"bootstrap.servers": topics.servers, "queue.buffering.max.messages": 1_000_000})
    for place, number in enumerate(numbers):
        producer.produce(topics.sink, b"%010d " % number, partition=place % len(ends))
    assert producer.flush(60) == 0


LOSSES: dict[str, Callable[[Topics], None]] = {"expired": expire, "created again": create_again, "rewritten": rewrite}


def break_off(pipeline: Pipeline, topics: Topics) -> int:
    """Kill an agent that has delivered a part of its only batch; returns how many records the sink's logs have had."""
    before = topics.delivered()
    run = pipeline.start()
    wait_for(lambda: topics.delivered() > before + 1000 or run.exit, "the sink has a part of the batch")
    run.kill("jvm")
    run.wait_exit()
    return topics.delivered()


def deliver(pipeline: Pipeline, topics: Topics) -> Run:
    """Let a run deliver the rest."""
    run = pipeline.start()
    run.wait_read(topics.ends(topics.source), 240)
    assert run.stop().exit_code == 0
    pipeline.ingest()
    return run


def unknown(run: Run) -> list[Resolved]:
    """What a run said of sinks that it could not ask."""
    return [each for each in run.of_kind(Resolved) if not each.complete]


@whole_only
@pytest.mark.parametrize("on_unknown", ["deliver", "wait"])
@pytest.mark.parametrize("loss", LOSSES)
def test_a_tail_that_is_gone_is_said_and_the_bound_contains_what_was_delivered_twice(
    loss: str, on_unknown: str, topics: Topics, make_pipeline: MakePipeline, record_property: RecordProperty
) -> None:
    """Another agent dies behind the loss: what it has left in the new log is no less unknown."""
    topics.produce(COUNT)
    pipeline = make_pipeline(max_events_per_batch=COUNT, on_unknown=on_unknown)
    ever = break_off(pipeline, topics)
    LOSSES[loss](topics)
    written_by_others = topics.delivered() if loss != "expired" else ever
    break_off(pipeline, topics)
    run = deliver(pipeline, topics)
    assert [bool(each.cause) and each.delivered_before >= COUNT for each in unknown(run)] == [True]
    ever += topics.delivered() - written_by_others
    report_arrival(record_property, topics.numbers(), range(COUNT), pipeline.possible_duplicates)
    assert set(topics.numbers()) == set(range(COUNT))
    assert 0 < ever - COUNT <= pipeline.possible_duplicates
