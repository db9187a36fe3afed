"""Headgate's reader of Kafka partitions and Spark's give the same records, and refuse the same, whatever the log is."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from subprocess import Popen
from typing import Any

import pytest
from confluent_kafka import Consumer, Producer
from confluent_kafka import TopicPartition as ClientPartition
from confluent_kafka.admin import AdminClient, NewTopic
from pyspark.sql import DataFrame, Row, SparkSession

from controlplane.install.services.child import running
from controlplane.install.services.kafka import kafka_service, running_kafka
from controlplane.install.services.ports import free_port
from tests.agent.topics import COMPACTED, Topics
from tests.waiting import wait_for
from workers.agent.components.source.kafka import _FORMATS

PARTITION = 0
LOST = "data may have been lost"
FEW = 10
"""Records of a poll, so that each range takes several."""
MANY = 5000
"""Records of a range that is larger than what lies between a reader and who waits behind it."""
LARGE = b"x" * 200

Frame = Callable[..., DataFrame]
Read = Callable[..., list[Any]]


@pytest.fixture(params=sorted(_FORMATS))
def frame(request: pytest.FixtureRequest, session: SparkSession, topics: Topics) -> Frame:
    """Of a range of offsets of one partition."""

    def of(
        start: int, end: int, topic: str = "", partition: int = PARTITION, servers: str = "", **options: str
    ) -> DataFrame:
        name = topic or topics.source
        given = {
            "kafka.bootstrap.servers": servers or topics.servers,
            "includeHeaders": "true",
            "failOnDataLoss": "true",
            "kafka.max.poll.records": str(FEW),
            "kafka.isolation.level": "read_committed",
            "kafkaConsumer.pollTimeoutMs": "1500",
            "groupIdPrefix": f"{request.param}-{topics.name}",
            "assign": json.dumps({name: [partition]}),
            "startingOffsets": json.dumps({name: {str(partition): start}}),
            "endingOffsets": json.dumps({name: {str(partition): end}}),
        }
        return session.read.format(_FORMATS[request.param]).options(**{**given, **options}).load()

    return of


@pytest.fixture
def read(frame: Frame) -> Read:
    """Rows of a range, in the order of the reader."""
    return lambda *given, **options: frame(*given, **options).collect()


def read_while(change: Callable[[], None], records: DataFrame, gate: Path) -> list[int]:
    """The offsets of records, of which the first are read before a change, and the last behind it."""
    begun, goes_on = gate / "begun", gate / "goes-on"

    def through(rows: Iterable[Row]) -> Iterable[Row]:
        for number, row in enumerate(rows):
            if number == FEW:
                begun.touch()
                wait_for(goes_on.exists, "the change", 60)
            yield row

    with ThreadPoolExecutor(1) as pool:
        reading = pool.submit(records.select("offset", "value").rdd.mapPartitions(through).collect)
        wait_for(lambda: begun.exists() or reading.done(), "the first records", 60)
        try:
            change()
        finally:
            goes_on.touch()
        return offsets(reading.result(120))


def offsets(rows: list[Any]) -> list[int]:
    return [row["offset"] for row in rows]


def send(
    topics: Topics, *values: bytes, topic: str = "", partition: int = PARTITION, servers: str = "", **extra: Any
) -> None:
    producer = Producer({"bootstrap.servers": servers or topics.servers})
    for value in values:
        producer.produce(topic or topics.source, value, partition=partition, **extra)
    assert producer.flush(30) == 0


def test_a_range_comes_whole_and_in_order_with_all_its_columns(read: Read, topics: Topics) -> None:
    send(topics, *(b"%d" % number for number in range(95)), key=b"k", headers=[("a", b"1"), ("a", None)])
    rows = read(3, 88)
    assert [(row["offset"], bytes(row["value"])) for row in rows] == [(at, b"%d" % at) for at in range(3, 88)]
    first = rows[0]
    assert (bytes(first["key"]), first["topic"], first["partition"]) == (b"k", topics.source, PARTITION)
    assert [(pair["key"], pair["value"]) for pair in first["headers"]] == [("a", bytearray(b"1")), ("a", None)]
    assert offsets(read(88, 95)) == list(range(88, 95))
    assert offsets(read(0, 20)) == list(range(20))
    assert read(40, 40) == []


@pytest.mark.parametrize("headers", ["true", "false"])
@pytest.mark.parametrize("kind", ["CreateTime", "LogAppendTime"])
def test_what_a_record_may_lack_is_missing_in_its_row(
    session: SparkSession, topics: Topics, kind: str, headers: str
) -> None:
    """The rows of both readers are equal in all columns, and each is a row of its own where many are collected."""
    any_time = dict.fromkeys(("message.timestamp.before.max.ms", "message.timestamp.after.max.ms"), str(2**62))
    topics.configure(topics.source, {"message.timestamp.type": kind, **any_time})
    producer = Producer({"bootstrap.servers": topics.servers})
    for more in (
        {"value": b"v"},
        {"key": b"k"},
        {"value": b"", "key": b"", "headers": [("", b""), ("h\u00e4", None), ("h\u00e4", b"2")]},
        {"value": b"early", "timestamp": 1},
        {"value": b"late", "timestamp": 4_102_444_800_123},
    ):
        producer.produce(topics.source, partition=PARTITION, **more)
    assert producer.flush(30) == 0
    given = {
        "kafka.bootstrap.servers": topics.servers,
        "includeHeaders": headers,
        "failOnDataLoss": "true",
        "kafkaConsumer.pollTimeoutMs": "5000",
        "assign": json.dumps({topics.source: [PARTITION]}),
        "startingOffsets": json.dumps({topics.source: {str(PARTITION): 0}}),
        "endingOffsets": json.dumps({topics.source: {str(PARTITION): 5}}),
    }
    own, sparks = (session.read.format(_FORMATS[name]).options(**given).load().collect() for name in sorted(_FORMATS))
    assert len(own) == 5
    assert own == sparks
    assert [row["value"] for row in own] == [b"v", None, b"", b"early", b"late"]


def test_records_that_are_larger_than_a_fetch_come_whole(read: Read, topics: Topics) -> None:
    large = b"x" * 300_000
    send(topics, b"before", large, b"behind")
    rows = read(0, 3, **{"kafka.max.partition.fetch.bytes": "1000", "kafka.fetch.max.bytes": "1000"})
    assert [bytes(row["value"]) for row in rows] == [b"before", large, b"behind"]


def test_transactions_leave_holes_that_are_no_loss(read: Read, topics: Topics) -> None:
    producer = Producer({"bootstrap.servers": topics.servers, "transactional.id": topics.name})
    producer.init_transactions(30)
    for commits, count in ((True, 2), (False, 25), (True, 1), (False, 3)):
        producer.begin_transaction()
        for number in range(count):
            producer.produce(topics.source, b"%d" % number, partition=PARTITION)
        producer.flush(30)
        producer.commit_transaction(30) if commits else producer.abort_transaction(30)
    topics.wait_committed(topics.source)
    # 0, 1, marker, 3 to 27 aborted, marker, 29, marker, 31 to 33 aborted, marker
    assert offsets(read(0, 35)) == [0, 1, 29]
    assert offsets(read(0, 29)) == [0, 1]
    assert offsets(read(5, 31)) == [29]
    assert read(4, 20) == []
    assert read(31, 35) == []
    assert offsets(read(0, 35, **{"kafka.isolation.level": "read_uncommitted"})) == [
        at for at in range(35) if at not in (2, 28, 30, 34)
    ]


def test_a_transaction_that_is_open_is_waited_for_no_longer_than_a_poll(read: Read, topics: Topics) -> None:
    send(topics, b"committed")
    producer = Producer({"bootstrap.servers": topics.servers, "transactional.id": topics.name})
    producer.init_transactions(30)
    producer.begin_transaction()
    producer.produce(topics.source, b"open", partition=PARTITION)
    producer.flush(30)
    with pytest.raises(Exception, match=LOST):
        read(0, 2)
    producer.commit_transaction(30)
    wait_for(lambda: offsets(read(0, 2)) == [0, 1], "the transaction to be seen")


def test_what_was_deleted_ahead_of_a_range_or_inside_it_is_a_loss(read: Read, topics: Topics) -> None:
    send(topics, *(b"%d" % number for number in range(100)))
    topics.trim(PARTITION, 30)
    for start, end in ((0, 100), (0, 20), (29, 31)):
        with pytest.raises(Exception, match=LOST):
            read(start, end)
    assert offsets(read(30, 100)) == list(range(30, 100))


def test_offsets_that_the_log_does_not_have_are_a_loss(read: Read, topics: Topics) -> None:
    send(topics, *(b"%d" % number for number in range(20)))
    for start, end in ((10, 25), (20, 22), (30, 40)):
        with pytest.raises(Exception, match=LOST):
            read(start, end)


def test_a_topic_that_was_made_again_with_fewer_records_is_a_loss(read: Read, topics: Topics) -> None:
    send(topics, *(b"%d" % number for number in range(50)))
    assert offsets(read(0, 50)) == list(range(50))
    topics.make_again(topics.source)
    send(topics, *(b"%d" % number for number in range(10)))

    def is_lost() -> bool:
        try:
            read(5, 50)
        except Exception as error:
            return LOST in str(error)
        return False

    wait_for(is_lost, "the reader to see the new topic", timeout=60)


def test_partitions_that_are_added_while_a_range_is_read_are_none_of_its_business(
    frame: Frame, topics: Topics, tmp_path: Path
) -> None:
    send(topics, *[LARGE] * MANY)
    found = read_while(lambda: topics.add_partitions(topics.source, 9), frame(0, MANY), tmp_path)
    assert found == list(range(MANY))
    send(topics, b"first", partition=8)
    assert [bytes(row["value"]) for row in frame(0, 1, partition=8).collect()] == [b"first"]


def test_what_is_deleted_while_a_range_is_read_is_a_loss(frame: Frame, topics: Topics, tmp_path: Path) -> None:
    send(topics, *[LARGE] * MANY)
    records = frame(0, MANY, **{"kafka.max.partition.fetch.bytes": "1000"})
    with pytest.raises(Exception, match=LOST):
        read_while(lambda: topics.trim(PARTITION, MANY - 1), records, tmp_path)


@dataclass(frozen=True)
class Pair:
    """Two brokers: one that is the controller, too, and one that a test may kill."""

    servers: str
    second: Popen[bytes]


@pytest.fixture
def pair(tmp_path: Path) -> Iterator[Pair]:
    first, second = tmp_path / "first", tmp_path / "second"
    with running_kafka(first) as servers:
        identity = properties(first / "log" / "meta.properties")
        voters = properties(first / "server.properties")["controller.quorum.voters"]
        (second / "log").mkdir(parents=True)
        (second / "log" / "meta.properties").write_text(f"version=1\nnode.id=2\ncluster.id={identity['cluster.id']}\n")
        joins = f"process.roles=broker\nnode.id=2\ncontroller.quorum.voters={voters}\n"
        joins += "listeners=PLAINTEXT://{host}:{port}\n"
        service = kafka_service(data_dir=second, port=free_port(), extra=joins)
        with running(service, tmp_path / "second.log") as child:
            yield Pair(servers, child.process)


def properties(file: Path) -> dict[str, str]:
    return dict(line.split("=", 1) for line in file.read_text().splitlines() if "=" in line)


def test_a_range_is_read_on_from_the_next_leader(frame: Frame, topics: Topics, pair: Pair, tmp_path: Path) -> None:
    """The broker that leads the partition dies without a word."""
    topic = "led"
    admin = AdminClient({"bootstrap.servers": pair.servers})
    wait_for(lambda: len(admin.list_topics(timeout=10).brokers) == 2, "both brokers", 60)
    admin.create_topics([NewTopic(topic, num_partitions=1, replica_assignment=[[2, 1]])])[topic].result(30)
    send(topics, *[LARGE] * MANY, topic=topic, servers=pair.servers)

    def leader() -> int:
        return admin.list_topics(topic, timeout=10).topics[topic].partitions[PARTITION].leader

    def kill() -> None:
        pair.second.kill()
        wait_for(lambda: leader() == 1, "the other broker to lead", 60)

    assert leader() == 2
    few = {"kafka.max.partition.fetch.bytes": "1000", "kafkaConsumer.pollTimeoutMs": "60000"}
    found = read_while(kill, frame(0, MANY, topic, servers=pair.servers, **few), tmp_path)
    assert found == list(range(MANY))


@pytest.fixture(scope="module")
def compacted(broker: str) -> tuple[str, int]:
    """A topic of which the broker has compacted something, and where its log ends."""
    topics = Topics(broker)
    topic = f"{topics.name}-compacted"
    topics.create(topic, 1, COMPACTED)
    for number in range(60):
        send(topics, b"%d" % number, topic=topic, key=b"k%d" % (number % 3))
    sent = 60

    def is_compacted() -> bool:
        nonlocal sent
        send(topics, b"last", topic=topic, key=b"last")
        sent += 1
        consumer = Consumer({"bootstrap.servers": broker, "group.id": topics.name, "enable.partition.eof": True})
        consumer.assign([ClientPartition(topic, 0, 0)])
        found = consumer.consume(sent + 1, timeout=5)
        consumer.close()
        return len(found) < sent - 20

    wait_for(is_compacted, "the log to be compacted", timeout=90)
    return topic, sent


def test_a_compacted_log_comes_without_what_is_gone(read: Read, compacted: tuple[str, int]) -> None:
    topic, end = compacted
    last = {bytes(row["key"]): bytes(row["value"]) for row in read(0, end, topic)}
    assert last == {b"k0": b"57", b"k1": b"58", b"k2": b"59", b"last": b"last"}
