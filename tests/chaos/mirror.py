"""A mirror of one topic, as MirrorMaker 2 copies it: same partitions, keys, values and times, and its offset syncs."""

from __future__ import annotations

import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from confluent_kafka import Consumer, KafkaException, Message, Producer, TopicPartition

from controlplane.devstack import topics
from tests.chaos.installation import wait_for

LAG_MAX = 100
"""Records of a partition between two syncs, as `offset.lag.max` has it by default."""
SYNCS = "mm2-offset-syncs.there.internal"
_PAIRED_WITHIN = 60.0
_SETTINGS = {"retention.ms": "86400000"}


@dataclass
class Mirror(threading.Thread):
    """Copies `topic` from one cluster to another, behind `junk` records of each partition that are there already.
    `paired`: the partitions of which the offset syncs have a pair."""

    topic: str
    here: str
    there: str
    partitions: int
    failure: BaseException | None = None
    paired: set[int] = field(default_factory=set)
    _synced: dict[int, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        super().__init__(name="mirror", daemon=True)
        self._over = threading.Event()

    def __hash__(self) -> int:
        return id(self)

    def prepare(self) -> None:
        """Both topics, with other offsets on the new cluster."""
        topics.create(self.there, [self.topic], partitions=self.partitions, config=_SETTINGS)
        topics.create(self.here, [SYNCS], partitions=1, config=_SETTINGS)
        producer = Producer({"bootstrap.servers": self.there})
        for partition in range(self.partitions):
            for _ in range(37 * (partition + 1)):
                producer.produce(self.topic, b"junk", partition=partition)
        assert producer.flush(30) == 0

    def run(self) -> None:
        try:
            self._copy()
        except BaseException as error:
            self.failure = error

    def _copy(self) -> None:
        consumer = Consumer(
            {"bootstrap.servers": self.here, "group.id": "mirror", "enable.auto.commit": False, "fetch.wait.max.ms": 20}
        )
        copies = Producer({"bootstrap.servers": self.there, "enable.idempotence": True, "linger.ms": 5})
        syncs = Producer({"bootstrap.servers": self.here})
        consumer.assign([TopicPartition(self.topic, number, 0) for number in range(self.partitions)])
        while not self._over.is_set():
            for message in consumer.consume(1000, 0.05):
                self._send(message, copies, syncs)
            copies.poll(0)
            syncs.poll(0)
        assert copies.flush(30) == syncs.flush(30) == 0
        consumer.close()

    def _send(self, message: Message, copies: Producer, syncs: Producer) -> None:
        if message.error():
            raise KafkaException(message.error())
        partition, upstream = int(message.partition() or 0), int(message.offset() or 0)

        def copied(error: Any, copy: Message) -> None:
            if error:
                raise KafkaException(error)
            self._sync(syncs, partition, upstream, int(copy.offset() or 0))

        copies.produce(
            self.topic,
            message.value(),
            message.key(),
            partition=partition,
            timestamp=message.timestamp()[1],
            on_delivery=copied,
        )

    def _sync(self, syncs: Producer, partition: int, upstream: int, downstream: int) -> None:
        last = self._synced.get(partition)
        if last is not None and downstream - (last + 1) < LAG_MAX:
            return
        self._synced[partition] = downstream
        name = self.topic.encode()
        key = struct.pack(">h", len(name)) + name + struct.pack(">i", partition)

        def written(error: Any, _: Message) -> None:
            if error:
                raise KafkaException(error)
            self.paired.add(partition)

        syncs.produce(SYNCS, struct.pack(">qq", upstream, downstream), key, on_delivery=written)

    def stop(self) -> None:
        """End, and say what went wrong."""
        self._over.set()
        self.join(60)
        if self.failure:
            raise self.failure


@contextmanager
def mirrored(topic: str, here: str, there: str, partitions: int) -> Iterator[Mirror]:
    """Copy a topic for as long as the context lasts; it begins when there is a pair of each partition."""
    mirror = Mirror(topic, here, there, partitions)
    mirror.prepare()
    mirror.start()
    try:
        wait_for(lambda: mirror.failure or len(mirror.paired) == partitions, _PAIRED_WITHIN, "pairs of all partitions")
        yield mirror
    finally:
        mirror.stop()
