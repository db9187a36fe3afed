"""What a sink gets, read while it gets it."""

from __future__ import annotations

from typing import Self

from confluent_kafka import Consumer, KafkaException, TopicPartition

from bench.records import number_of
from bench.topics import PARTITIONS, client

_CONSUME = 10_000
_WAIT = 0.1


class Arrivals:
    """`appended`: the millisecond at which each number was first appended; `newest`: the highest number so far.

    The broker collects records for half a second before it answers, so that looking on costs little.
    """

    def __init__(self, servers: str, topic: str) -> None:
        self.appended: dict[int, int] = {}
        self.newest = -1
        self._consumer = Consumer(
            {
                **client(servers),
                "group.id": "bench-arrivals",
                "enable.auto.commit": False,
                "fetch.min.bytes": 1_000_000,
                "fetch.wait.max.ms": 500,
            }
        )
        self._consumer.assign([TopicPartition(topic, number, 0) for number in range(PARTITIONS)])

    def reached(self, number: int) -> bool:
        """Read on for a moment; whether this number or a higher one has arrived."""
        for message in self._consumer.consume(_CONSUME, timeout=_WAIT):
            if message.error():
                raise KafkaException(message.error())
            found, at = number_of(message.value() or b""), message.timestamp()[1]
            self.appended[found] = min(at, self.appended.get(found, at))
            self.newest = max(self.newest, found)
        return self.newest >= number

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._consumer.close()
