"""The Kafka sink, source and channel do what Flume's do with records, fact by fact."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Message
from pyspark.sql import SparkSession

from pipelines.domain.definitions.parts import registry
from tests.agent.sinks import Given, Sink, sink_of
from tests.agent.test_kafka_as_people_run_it import headers_of, kafka_source, read, records
from tests.agent.topics import Topics
from tests.unit.flume.agents import kafka_sink
from tests.unit.flume.agents import kafka_source as imported_source
from tests.vectors import Vector, drives
from workers.agent.base import flume_avro
from workers.agent.graph.component import ChannelBuilder, Place, builder

TOPIC_HEADER = "topic"
"""The header that chooses the topic in Flume where none is named."""


@pytest.fixture
def written(topics: Topics, session: SparkSession) -> Callable[[Vector, Mapping[str, Any]], Message]:
    """Write one event with Flume's configuration of a sink; the record, with the test's own prefix off its topic."""

    def own(name: str) -> str:
        return f"{topics.name}.{name}"

    def write(vector: Vector, given: Mapping[str, Any]) -> Message:
        expected = vector.expected.get("topic", "custom-topic")
        keys = kafka_sink(vector.config).definition["sinks"]["k"]
        keys |= {"bootstrap_servers": topics.servers, "topic": own(keys["topic"]), "write_timeout": "20s"}
        chooser = vector.config.get("topicHeader", TOPIC_HEADER)
        headers = dict(given["headers"])
        if vector.config.get("allowTopicOverride", True) and chooser in headers:
            headers[chooser] = own(headers[chooser])
            keys |= {"topic_header": chooser, "allowed_topics": [headers[chooser]]}
        for name in {keys["topic"], own(expected)}:
            topics.create(name, 1)
        counts = sink_of(session, keys).write([Given(given["body"].encode(), headers)])
        assert counts.delivered == 1
        (record,) = records(topics, own(expected), 1)
        return record

    return write


@drives("KK-003", "KK-004", "KK-006", "KK-007")
def test_an_event_reaches_the_topic_of_the_sink_or_of_its_header(
    vector: Vector, topics: Topics, written: Callable[[Vector, Mapping[str, Any]], Message]
) -> None:
    (given,) = vector.input_events
    record = written(vector, given)
    assert str(record.topic()).removeprefix(f"{topics.name}.") == vector.expected["topic"]
    assert record.value() == given["body"].encode()
    if "key" in vector.expected:
        assert (record.key() or b"").decode() == vector.expected["key"]


@drives("KK-009")
def test_an_event_goes_out_as_flume_packs_it(
    vector: Vector, written: Callable[[Vector, Mapping[str, Any]], Message]
) -> None:
    (given,) = vector.input_events
    record = written(vector, given)
    headers, body = flume_avro.decoded(record.value() or b"")
    packed = {name: value.decode() for name, value in headers}
    envelope = vector.expected["envelope"]
    assert (record.key() or b"").decode() == vector.expected["record_key"]
    assert body.decode() == envelope["body"]
    assert {name: packed[name] for name in envelope["headers"]} == envelope["headers"]


@drives("KK-013", "KK-014")
def test_the_partition_of_a_header_comes_before_the_one_of_the_sink(
    vector: Vector, topics: Topics, session: SparkSession
) -> None:
    five = f"{topics.name}-five"
    topics.create(five, 5)
    keys = kafka_sink(vector.config).definition["sinks"]["k"] | {"bootstrap_servers": topics.servers, "topic": five}
    events = [Given(b"%d" % number, skewed(number, vector.steps[0])) for number in range(50)]
    assert sink_of(session, keys).write(events).delivered == 50
    found = Counter(message.partition() for message in records(topics, five, 5))
    assert {number: found[int(number)] for number in vector.expected["counts"]} == vector.expected["counts"]
    assert found.total() == sum(vector.expected["counts"].values())


def skewed(number: int, step: str) -> dict[str, str]:
    """The header of an event, as the words of the vector say."""
    words = "header partition-header: i%5==0 -> 4, else i%3==0 -> 3, else no header"
    if not step.endswith(words):
        assert step == "50 events"
        return {}
    chosen = "4" if number % 5 == 0 else "3" if number % 3 == 0 else ""
    return {"partition-header": chosen} if chosen else {}


@drives("KS-016")
def test_a_record_without_a_key_has_no_header_for_it(vector: Vector, topics: Topics, session: SparkSession) -> None:
    assert vector.steps == ["produce key null"]
    topics.produce(1, key=None)
    rows = read(session, kafka_source(topics, key_header="key"))
    assert len(rows) == vector.expected["events"]
    assert {True: "absent"}["key" not in headers_of(rows[0])] == vector.expected["key_header"]
    assert rows[0]["key"] is None


@drives("KS-025")
def test_headers_have_the_names_that_are_chosen(vector: Vector, topics: Topics, session: SparkSession) -> None:
    (step,) = vector.steps
    name, _, value = step.rpartition(" ")[2].partition("=")
    topics.produce(1, headers=[(name, value.encode())], timestamp=1_700_000_000_123)
    keys = imported_source({"kafka.topics": "t", **vector.config}).definition["sources"]["s"]
    source = kafka_source(topics, topic_header=keys["topic_header"], timestamp_header="timestamp")
    (row,) = read(session, source)
    meanings = {"T as text": "1700000000123", "<topic name>": topics.source}
    expected = vector.expected["headers"]
    chosen = {header: meanings[expected[header]] for header in ("timestamp", "customTopicHeader")}
    assert {header: text.decode() for header, text in headers_of(row).items()} == chosen | {name: value}


Restart = Callable[[], ChannelBuilder]


@pytest.fixture(scope="module")
def channel(broker: str, session: SparkSession) -> Restart:
    """A Kafka channel with 50 numbered events in it, as often as it is started."""
    topics = Topics(broker)
    keys = {"type": "kafka", "bootstrap_servers": broker, "topic": topics.sink}

    def made() -> ChannelBuilder:
        spec = registry.get("channel", "kafka").model_validate(keys)
        started: ChannelBuilder = builder(spec, Place("orders", 1, "channels.audit", Path()))
        started.probe()
        return started

    inlet: Any = made().inlet()
    inlet.initialise(session)
    assert Sink(session, inlet).write([Given(b"%d" % number) for number in range(50)]).delivered == 50
    return made


def taken(session: SparkSession, channel: ChannelBuilder) -> Counter[int]:
    return Counter(int(row["body"]) for row in read(session, channel.outlet()))  # type: ignore[arg-type]


@drives("KC-002")
def test_a_channel_that_is_started_again_gives_every_event_once(
    vector: Vector, session: SparkSession, channel: Restart
) -> None:
    put, restart, take = vector.steps
    assert (put.split()[:2], restart, take) == (["put", "50"], "stop, new channel object, start", "take")
    found = taken(session, channel())
    assert len(found) == vector.expected["taken"]
    assert len(set(range(50)) - found.keys()) == vector.expected["missing"]
    assert found.total() - len(found) == vector.expected["repeated"]


@drives("KC-003", "KC-016")
def test_events_that_were_read_and_not_delivered_are_read_again(
    vector: Vector, session: SparkSession, channel: Restart
) -> None:
    assert vector.steps[0] in {
        "as KC-002, roll back 10 takes then retry",
        "put 50, take with rollbacks, concurrent or after",
    }
    outlet: Any = channel().outlet()
    log = outlet.log_ranges()
    starts = {key: at.start for key, at in log.items()}
    for end in ({key: min(at.end, at.start + 3) for key, at in log.items()}, {k: at.end for k, at in log.items()}):
        frame, event = outlet.past(session, starts, end)
        bodies = {int(row["body"]) for row in frame.select(*event.columns()).collect()}
    assert len(bodies) == vector.expected.get("taken", vector.expected.get("final_set"))
    assert len(set(range(50)) - bodies) == vector.expected.get("missing", 0)
