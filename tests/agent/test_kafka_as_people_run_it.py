"""Topics, keys, partitions and Flume's events on the way out; patterns, transactions and compaction on the way in."""

from __future__ import annotations

import itertools
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, KafkaError, Message, Producer
from confluent_kafka import TopicPartition as ClientPartition
from pyspark.sql import SparkSession

from pipelines.domain.base.positions import TopicPartition
from pipelines.domain.definitions.parts import registry
from pipelines.domain.ledger.ledger import total
from tests.agent.conftest import MakePipeline
from tests.agent.sinks import Given, numbered, planned, sink
from tests.agent.topics import Topics
from tests.counts import is_balanced
from tests.waiting import wait_for
from workers.agent.base import flume_avro
from workers.agent.base.findings import Refused
from workers.agent.components.sink import kafka
from workers.agent.components.source.kafka import Builder as Source
from workers.agent.graph.component import Place, builder


def records(topics: Topics, topic: str, partitions: int = 4) -> list[Message]:
    """All records of a topic."""
    consumer = Consumer(
        {
            "bootstrap.servers": topics.servers,
            "group.id": "look",
            "enable.auto.commit": False,
            "enable.partition.eof": True,
        }
    )
    consumer.assign([ClientPartition(topic, number, 0) for number in range(partitions)])
    found: list[Message] = []
    left = partitions
    deadline = time.monotonic() + 60
    while left:
        assert time.monotonic() < deadline
        for message in consumer.consume(1000, timeout=1):
            error = message.error()
            if error is None:
                found.append(message)
            else:
                assert error.code() == KafkaError._PARTITION_EOF
                left -= 1
    consumer.close()
    return found


@pytest.fixture
def to_kafka(session: SparkSession, topics: Topics) -> Callable[..., Any]:
    def make(**keys: Any) -> Any:
        defaults: dict[str, Any] = {"bootstrap_servers": topics.servers, "topic": topics.sink, "write_timeout": "20s"}
        return sink(session, "kafka", **(defaults | keys))

    return make


def test_the_header_chooses_among_allowed_topics_and_existing_partitions(
    topics: Topics, to_kafka: Callable[..., Any]
) -> None:
    other = f"{topics.name}.cz"
    topics.create(other)
    made = to_kafka(
        topic_header="topic", allowed_topics=[other], key="header.key", partition=3, partition_header="part"
    )
    counts = made.write(
        [
            Given(b"0", {"topic": other, "key": "k", "part": "1"}),
            Given(b"1"),
            Given(b"2", {"topic": "elsewhere"}),
            Given(b"3", {"part": "x"}),
            Given(b"4", {"part": "4"}),
            Given(b"5", {"part": "-1"}),
            Given(b"x" * 2_000_000),
            Given(b"7", {"h": "x" * 1_100_000}),
            Given(b"8", {"topic": ""}),
        ]
    )
    assert (counts.delivered, counts.dead_lettered, is_balanced(counts)) == (3, 6, True)
    causes = made.refused()
    assert sorted(causes) == [2, 3, 4, 5, 6, 7]
    assert "not allowed" in causes[2]
    assert "not a number" in causes[3]
    assert "no partition 4" in causes[4]
    assert "more than 1048576" in causes[6]
    (chosen,) = records(topics, other)
    assert (chosen.value(), chosen.key(), chosen.partition()) == (b"0", b"k", 1)
    assert sorted((m.value(), m.key(), m.partition()) for m in records(topics, topics.sink)) == [
        (b"1", None, 3),
        (b"8", None, 3),
    ]


def test_flume_events_go_out_and_come_in_as_they_were(
    topics: Topics, to_kafka: Callable[..., Any], session: SparkSession
) -> None:
    bodies = [b"", b"x", b"y" * 63, b"z" * 64, b"w" * 9000, b"\xff\x00"]
    events = [Given(body, {"header1": "v\u00e4", "long": "l" * 200}) for body in bodies] + [Given(b"bare")]
    to_kafka(use_flume_event_format=True).write(events)
    found = {
        body: dict(headers)
        for headers, body in (flume_avro.decoded(m.value() or b"") for m in records(topics, topics.sink))
    }
    assert found == {body: {"header1": "v\u00e4".encode(), "long": b"l" * 200} for body in bodies} | {b"bare": {}}

    producer = Producer({"bootstrap.servers": topics.servers})
    producer.produce(topics.sink, value=b"\x03not avro", partition=0)
    own = b"\x04\x02a\x08avro\x08from\x10envelope\x00\x06own"
    producer.produce(topics.sink, value=own, headers=[("a", b"kafka"), ("b", b"kafka"), ("from", b"kafka")])
    producer.flush(20)
    source = kafka_source(
        topics, topics=[topics.sink], parse_as_flume_event=True, topic_header="from", key_header="key"
    )
    rows = read(session, source)
    good = {bytes(row["body"]): headers_of(row) for row in rows if row["problem"] is None}
    own_headers = good.pop(b"own")
    chosen = {name: own_headers[name] for name in ("a", "b", "from")}
    assert chosen == {"a": b"avro", "b": b"kafka", "from": b"envelope"}
    assert set(good) == {*bodies, b"bare"}
    assert good[b"x"]["header1"] == "v\u00e4".encode()
    assert {headers["from"] for headers in good.values()} == {topics.sink.encode()}
    (bad,) = [row for row in rows if row["problem"] is not None]
    assert (bytes(bad["body"]), bad["problem"]["component"]) == (b"\x03not avro", "sources.shop")
    assert "not a Flume event" in bad["problem"]["cause"]


def kafka_source(world: Topics, **keys: Any) -> Source:
    """The builder of a source."""
    defaults = world.as_source() | keys
    spec = registry.get("source", "kafka").model_validate(defaults)
    source: Source = builder(spec, Place("orders", 1, "sources.shop", Path()))
    source.probe()
    return source


def read(session: SparkSession, source: Source) -> list[Any]:
    """Everything that the source can read now."""
    log = source.log_ranges()
    frame, event = source.past(
        session, {key: at.start for key, at in log.items()}, {k: at.end for k, at in log.items()}
    )
    return frame.select(*event.columns()).collect()


def headers_of(row: Any) -> dict[str, bytes]:
    return {pair["key"]: bytes(pair["value"]) for pair in row["headers"] or []}


def test_headers_of_a_record_are_set_when_they_are_named(topics: Topics, session: SparkSession) -> None:
    topics.produce(1, key=b"k", headers=[("own", b"1")], timestamp=1_700_000_000_123)
    plain = read(session, kafka_source(topics))
    assert headers_of(plain[0]) == {"own": b"1"}
    names = {f"{name}_header": name for name in ("topic", "partition", "offset", "key", "timestamp")}
    (row,) = read(session, kafka_source(topics, **names))
    assert headers_of(row) == {
        "own": b"1",
        "topic": topics.source.encode(),
        "partition": b"0",
        "offset": b"0",
        "key": b"k",
        "timestamp": b"1700000000123",
    }


def test_a_group_is_taken_over_and_a_missing_commit_is_never_guessed(topics: Topics) -> None:
    topics.produce(40)
    source = kafka_source(topics, start_from="group")
    log = source.log_ranges()
    with pytest.raises(Refused) as refused:
        source.first_positions(sorted(log), log)
    assert refused.value.findings[0].code == "GROUP_LOST"
    topics.commit(f"headgate.{topics.name}", {number: number + 1 for number in range(4)})
    positions, origin = source.first_positions(sorted(log), log)
    assert positions == {TopicPartition(topics.source, number): number + 1 for number in range(4)}
    assert origin == f"start_from: group headgate.{topics.name}"


def test_a_source_warns_of_what_may_lose_data_and_starts(topics: Topics) -> None:
    source = kafka_source(topics)
    codes = [warning.code for warning in source.warnings]
    assert "REPLICATION_ONE" in codes
    assert "SETTINGS_NOT_CHECKED" not in codes
    assert all(warning.suggestion and warning.path for warning in source.warnings)


def test_aborted_and_compacted_records_balance_in_the_books(
    topics: Topics, make_pipeline: MakePipeline, to_kafka: Callable[..., Any]
) -> None:
    """Offsets have gaps: markers, aborted records and compacted ones. Rows are counted, and a new topic is found."""
    compacted = f"{topics.name}-pattern-compacted"
    settings = {
        "cleanup.policy": "compact",
        "segment.ms": "100",
        "min.cleanable.dirty.ratio": "0.01",
    }
    topics.create(compacted, 1, settings)
    transactional = f"{topics.name}-pattern-tx"
    topics.create(transactional)
    producer = Producer({"bootstrap.servers": topics.servers, "transactional.id": topics.name})
    producer.init_transactions(30)
    for number in range(30):
        producer.begin_transaction()
        for partition in range(4):
            producer.produce(transactional, b"%010d" % (number * 4 + partition), partition=partition)
        producer.flush(20)
        producer.abort_transaction(30) if number % 3 == 2 else producer.commit_transaction(30)
    last = produce_until_compacted(topics, compacted)
    pipeline = make_pipeline(
        source={"topics": [], "topics_pattern": f"{topics.name}-pattern-.*"}, max_events_per_batch=50
    )
    run = pipeline.start()
    run.wait_status(lambda s: bool(s.queries) and s.queries[0].lag == 0, "all records", 120)
    assert run.stop().exit_code == 0
    pipeline.ingest()
    counts = total(done.counts for ledger in pipeline.ledger.values() for done in ledger.done)
    arrived = sorted(int(m.value() or b"") for m in records(topics, topics.sink))
    assert [n for n in arrived if n < 1000] == [n for n in range(120) if (n // 4) % 3 != 2]
    assert last in arrived
    assert len([n for n in arrived if n >= 1000]) < last - 999
    assert is_balanced(counts)
    assert counts.delivered == counts.read == len(arrived)


def produce_until_compacted(topics: Topics, topic: str) -> int:
    """Append numbers from 1000 on to five keys until the cleaner has removed some; returns the last one."""
    producer = Producer({"bootstrap.servers": topics.servers})
    numbers = itertools.count(1000)
    last = 0

    def fewer() -> bool:
        nonlocal last
        for _ in range(50):
            last = next(numbers)
            producer.produce(topic, b"%010d" % last, key=b"%d" % (last % 5))
        assert producer.flush(20) == 0
        return len(records(topics, topic, 1)) < last - 999

    wait_for(fewer, "the cleaner to compact", 120)
    return last


def test_topics_and_pattern_exclude_each_other(topics: Topics) -> None:
    wrongs: tuple[dict[str, Any], ...] = (
        {"topics": []},
        {"topics_pattern": "a.*"},
        {"topics": [], "topics_pattern": "(a+)+$"},
    )
    for wrong in wrongs:
        with pytest.raises(ValueError, match="topics"):
            registry.get("source", "kafka").model_validate(topics.as_source() | wrong)


def test_numbers_are_spread_by_key_only(topics: Topics, to_kafka: Callable[..., Any]) -> None:
    to_kafka(key="body").write(numbered(50))
    found = records(topics, topics.sink)
    assert {m.key() for m in found} == {m.value() for m in found}
    assert len({m.partition() for m in found}) > 1


def test_records_without_a_key_take_turns_on_partitions_and_keep_their_order_there(
    topics: Topics, to_kafka: Callable[..., Any]
) -> None:
    made = to_kafka()
    made.write([Given(b"%d" % number) for number in range(6000)])
    made.write([Given(b"%d" % number, key=b"same") for number in range(6000, 6100)])
    found = records(topics, topics.sink)
    assert Counter(int(message.value() or b"") for message in found) == Counter(range(6100))
    turns = Counter(message.partition() for message in found if message.key() is None)
    assert turns == Counter((number % 2 + number // 1000) % 4 for number in range(6000))
    assert len({message.partition() for message in found if message.key()}) == 1
    for source in (0, 1):
        for partition in range(4):
            of_one = [m.value() for m in found if m.partition() == partition and m.key() is None]
            own = [number for value in of_one if (number := int(value or b"")) % 2 == source]
            assert own == sorted(own)


def test_what_reached_a_partition_that_is_newer_than_the_plan_is_counted(
    topics: Topics, to_kafka: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    made = to_kafka()
    before = made.builder.ends()
    topics.add_partitions(topics.sink, 6)
    batch = planned(0, 12_000).model_copy(update={"sink_ends": {made.builder.place.name: before}})
    both = [range_.model_copy(update={"partition": number}) for range_ in batch.ranges for number in (0, 1)]
    monkeypatch.setattr(kafka, "_CHECK_SECONDS", 0.0)
    assert len(made.builder.ends()) == 6
    made.write([Given(b"%d" % number) for number in range(12_000)])
    assert len({message.partition() for message in records(topics, topics.sink, 6)}) == 6
    found = made.builder.resolve(batch.model_copy(update={"ranges": both}))
    assert (found.delivered_before, found.complete) == (12_000, True)
