"""Topics of one test: numbered records in, and what came out."""

from __future__ import annotations

import threading
import time
import uuid
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, Producer
from confluent_kafka import TopicPartition as ClientPartition
from confluent_kafka.admin import (
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    NewPartitions,
    NewTopic,
    ResourceType,
)

from pipelines.domain.base.positions import PartitionPosition, TopicPartition
from tests.waiting import wait_for
from workers.agent.kafka.admin import KafkaCluster

_PARTITIONS = 4
_READ_WITHIN = 120.0
COMPACTED = {
    "cleanup.policy": "compact",
    "segment.ms": "100",
    "min.cleanable.dirty.ratio": "0.01",
    "max.compaction.lag.ms": "100",
    "min.compaction.lag.ms": "0",
}
"""Settings of a topic that the broker compacts as soon as it can."""
EVERY_MS = 1000
"""Between two batches of an agent that is fed all the time: one costs half a second of CPU as long as little of it is
compiled, so that two a second keep a core busy."""


@dataclass
class Out:
    """What a sink holds: how often each number, and one record of each with its headers."""

    numbers: Counter[int] = field(default_factory=Counter)
    headers: dict[int, dict[str, bytes]] = field(default_factory=dict)
    keys: dict[int, bytes | None] = field(default_factory=dict)

    @property
    def duplicates(self) -> int:
        """Records that are there more often than once."""
        return sum(self.numbers.values()) - len(self.numbers)

    def missing(self, count: int) -> set[int]:
        """Numbers below `count` that never arrived."""
        return set(range(count)) - self.numbers.keys()


class Topics:
    """A fresh input and output topic."""

    def __init__(self, servers: str, name: str | None = None) -> None:
        self.servers = servers
        self.name = name or f"t-{uuid.uuid4().hex[:8]}"
        self.source, self.sink = f"{self.name}-in", f"{self.name}-out"
        self.produced = 0
        self._admin = AdminClient({"bootstrap.servers": servers})
        self._producer = _producer(servers)
        self.create(self.source)
        self.create(self.sink)

    def create(self, topic: str, partitions: int = _PARTITIONS, settings: dict[str, str] | None = None) -> None:
        """Make a topic, and wait until it can be used: the broker hears of it after the controller has answered."""
        for future in self._admin.create_topics([NewTopic(topic, partitions, 1, config=settings or {})]).values():
            future.result(30)
        wait_for(lambda: self._is_led(topic, range(partitions)), f"{topic} to be led")

    def add_partitions(self, topic: str, total: int) -> None:
        """Give a topic more partitions, and wait until they can be used."""
        for future in self._admin.create_partitions([NewPartitions(topic, total)]).values():
            future.result(30)
        wait_for(lambda: self._is_led(topic, range(total)), f"{topic} to have {total} partitions")

    def _is_led(self, topic: str, partitions: range) -> bool:
        try:
            known = self._admin.list_topics(topic, timeout=10).topics[topic].partitions
            KafkaCluster.of(self.servers, {}, None).latest([TopicPartition(topic, number) for number in partitions])
        except KafkaException:
            return False
        return len(known) == len(partitions)

    def configure(self, topic: str, settings: dict[str, str]) -> None:
        """Set what differs from the broker's defaults, and wait until the broker says so."""
        changes = [
            ConfigEntry(name, value, incremental_operation=AlterConfigOpType.SET) for name, value in settings.items()
        ]
        resource = ConfigResource(ResourceType.TOPIC, topic, incremental_configs=changes)
        for future in self._admin.incremental_alter_configs([resource]).values():
            future.result(30)
        wait_for(lambda: settings.items() <= self._settings(topic).items(), f"the settings of {topic}")

    def _settings(self, topic: str) -> dict[str, str]:
        return KafkaCluster.of(self.servers, {}, None).settings_of([topic]).get(topic, {})

    def delete(self, topic: str) -> None:
        """Remove a topic."""
        for future in self._admin.delete_topics([topic]).values():
            future.result(30)

    def make_again(self, topic: str) -> None:
        """Delete a topic, and make one of the same name as soon as the broker allows it."""
        self.delete(topic)
        wait_for(lambda: self._made(topic), f"{topic} is there again")
        self._producer = _producer(self.servers)

    def _made(self, topic: str) -> bool:
        try:
            self.create(topic)
        except KafkaException:
            return False
        return True

    def trim(self, partition: int, before: int, topic: str = "") -> None:
        """Do what retention does, to the source's topic or another."""
        at = ClientPartition(topic or self.source, partition, before)
        for future in self._admin.delete_records([at]).values():
            future.result(30)

    def commit(self, group: str, offsets: Mapping[int, int], metadata: str = "") -> None:
        """Commit offsets of the source's partitions for a group without members, as a tool does."""
        positions = [
            PartitionPosition(topic=self.source, partition=number, offset=offset) for number, offset in offsets.items()
        ]
        KafkaCluster.of(self.servers, {}, None).commit(group, positions, metadata)

    def commit_everywhere(self, offset: int, metadata: str = "") -> None:
        """Commit one offset for every partition to the declared group."""
        self.commit(f"headgate.{self.name}", dict.fromkeys(range(_PARTITIONS), offset), metadata)

    def as_source(self) -> dict[str, Any]:
        """The source of a definition."""
        return {
            "type": "kafka",
            "bootstrap_servers": self.servers,
            "topics": [self.source],
            "group_id": f"headgate.{self.name}",
            "start_from": "earliest",
        }

    def as_sink(self) -> dict[str, Any]:
        """The sink of a definition."""
        return {"type": "kafka", "channel": "lake", "bootstrap_servers": self.servers, "topic": self.sink}

    def produce(self, count: int, *, size: int = 20, **extra: Any) -> None:
        """Append `count` numbered records, spread over the partitions."""
        filler = b"x" * max(0, size - 11)
        for number in range(self.produced, self.produced + count):
            self._append(number, filler, extra)
        self.produced += count
        assert self._producer.flush(60) == 0

    def _append(self, number: int, filler: bytes, extra: dict[str, Any]) -> None:
        while True:
            try:
                self._producer.produce(
                    self.source, b"%010d " % number + filler, partition=number % _PARTITIONS, **extra
                )
                return
            except BufferError:
                self._producer.poll(0.1)

    def read(self, topic: str | None = None) -> Out:
        """Everything that the sink's topic holds now."""
        out = Out()
        for message in self.messages(topic or self.sink):
            number = _number_in(message)
            out.numbers[number] += 1
            out.headers[number] = dict(message.headers() or [])  # type: ignore[arg-type]
            out.keys[number] = message.key()
        return out

    def numbers(self) -> Counter[int]:
        """How often each number is in the sink's topic now: of a million records, what can be read in seconds."""
        return Counter(map(_number_in, self.messages(self.sink)))

    def messages(self, topic: str) -> Iterator[Message]:
        """Every record that a topic holds now; what ends transactions is none."""
        settings = {"bootstrap.servers": self.servers, "group.id": "read", "enable.auto.commit": False}
        consumer = Consumer(settings | {"enable.partition.eof": True})
        ends = self.ends(topic)
        starts = KafkaCluster.of(self.servers, {}, None).earliest(ends)
        consumer.assign([ClientPartition(*key, start) for key, start in starts.items()])
        left = {key for key, end in ends.items() if starts[key] < end}
        deadline = time.monotonic() + _READ_WITHIN
        while left:
            assert time.monotonic() < deadline, f"{topic} was not read to its end: {sorted(left)}"
            for message in consumer.consume(10_000, timeout=1):
                at = TopicPartition(topic, int(message.partition() or 0))
                error, offset = message.error(), int(message.offset() or 0)
                if error and error.code() != KafkaError._PARTITION_EOF:
                    raise KafkaException(error)
                if error or offset + 1 >= ends[at]:
                    left.discard(at)
                if not error and offset < ends[at]:
                    yield message
        consumer.close()

    def groups(self) -> set[str]:
        """Consumer groups that the broker knows."""
        return {group.group_id for group in self._admin.list_consumer_groups().result(30).valid}

    def ends(self, topic: str) -> dict[TopicPartition, int]:
        """Where the log of each partition ends now."""
        return KafkaCluster.of(self.servers, {}, None).latest(_partitions(topic))

    def wait_committed(self, topic: str) -> None:
        """Wait until readers see what transactions have left: the end of one is answered before it is in the log."""
        cluster, partitions = KafkaCluster.of(self.servers, {}, None), _partitions(topic)
        wait_for(lambda: cluster.latest_committed(partitions) == cluster.latest(partitions), "transactions to be seen")

    def delivered(self) -> int:
        """How many records the sink's topic holds now."""
        return sum(self.ends(self.sink).values())

    def mirrored(self) -> dict[int, int]:
        """What the declared group's commits say."""
        consumer = Consumer({"bootstrap.servers": self.servers, "group.id": f"headgate.{self.name}"})
        committed = consumer.committed([ClientPartition(self.source, n) for n in range(_PARTITIONS)], timeout=10)
        consumer.close()
        return {at.partition: at.offset for at in committed}


def _number_in(message: Message) -> int:
    return int((message.value() or b"")[:10])


def _producer(servers: str) -> Producer:
    return Producer(
        {
            "bootstrap.servers": servers,
            "linger.ms": 20,
            "batch.size": 500_000,
            "compression.type": "lz4",
            "queue.buffering.max.messages": 1_000_000,
        }
    )


def _partitions(topic: str) -> list[TopicPartition]:
    return [TopicPartition(topic, number) for number in range(_PARTITIONS)]


class Pacer(threading.Thread):
    """Produces `rate` records a second until it is told to end."""

    def __init__(self, topics: Topics, rate: int) -> None:
        super().__init__(daemon=True)
        self._topics, self._rate = topics, rate
        self._ended = threading.Event()

    def run(self) -> None:
        """Append a tenth of a second's worth at a time."""
        due = time.monotonic()
        while not self._ended.is_set():
            self._topics.produce(self._rate // 10)
            due += 0.1
            self._ended.wait(max(0.0, due - time.monotonic()))

    def end(self) -> int:
        """Stop; returns how many records were produced in all."""
        self._ended.set()
        self.join()
        return self._topics.produced
