"""Topics of a benchmark: filled with numbered records, paced, watched, and read back."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence

from confluent_kafka import Consumer, KafkaException, Producer
from confluent_kafka import TopicPartition as ClientPartition
from confluent_kafka.admin import AdminClient, NewTopic, OffsetSpec

from bench.records import SHOP_HEADER, Delivered, body, sent_ns_of, shop
from pipelines.domain.base.positions import TopicPartition

PARTITIONS = 4
_TIMEOUT = 30.0
_CONSUME = 10_000
_LOG_LEVEL = 2  # what is worse than a broker that goes away at the end
_SILENCE = 60.0  # seconds without a record before a read-back is given up


class Topics:
    """One broker's topics. Every log appends its own clock's time, so that arrivals are seen without a consumer."""

    def __init__(self, servers: str) -> None:
        self.servers = servers
        self._admin = AdminClient(client(servers))

    def create(self, *names: str) -> None:
        """Make topics with four partitions."""
        settings = {"message.timestamp.type": "LogAppendTime", "retention.ms": "-1"}
        wanted = [NewTopic(name, PARTITIONS, 1, config=settings) for name in names]
        for future in self._admin.create_topics(wanted).values():
            future.result(_TIMEOUT)

    def delete(self, *names: str) -> None:
        """Remove topics and their data."""
        for future in self._admin.delete_topics(list(names)).values():
            future.result(_TIMEOUT)

    def size(self, *names: str) -> int:
        """How many records have been appended to the topics."""
        return sum(self._ends(names).values())

    def _ends(self, names: Sequence[str]) -> dict[TopicPartition, int]:
        latest = OffsetSpec.latest()  # type: ignore[no-untyped-call]
        wanted = {ClientPartition(name, number): latest for name in names for number in range(PARTITIONS)}
        answers = self._admin.list_offsets(wanted, request_timeout=_TIMEOUT)
        return {
            TopicPartition(at.topic, at.partition): future.result(_TIMEOUT).offset for at, future in answers.items()
        }

    def fill(self, name: str, count: int, *, with_shop: bool = False) -> None:
        """Append `count` numbered records, spread over the partitions, compressed with lz4."""
        producer = Producer(
            {
                **client(self.servers),
                "linger.ms": 50,
                "batch.size": 1_000_000,
                "compression.type": "lz4",
                "queue.buffering.max.messages": 500_000,
                "queue.buffering.max.kbytes": 262_144,
                "acks": "all",
            }
        )
        for number in range(count):
            headers: dict[str, str | bytes | None] = {SHOP_HEADER: shop(number)} if with_shop else {}
            _append(producer, name, number, body(number), headers)
        if producer.flush(600):
            raise RuntimeError(f"{name} could not be filled")

    def read(self, names: Sequence[str], count: int, *, latencies_from: int | None = None) -> Delivered:
        """Everything that the topics hold. `latencies_from`: the first number whose latency counts.

        The log's clock counts whole milliseconds; half of one is added, so that the mean is right.
        """
        delivered = Delivered(count)
        ends = self._ends(names)
        left = sum(ends.values())
        consumer = Consumer(
            {
                **client(self.servers),
                "group.id": "bench-read",
                "enable.auto.commit": False,
                "fetch.message.max.bytes": 8_000_000,
                "queued.max.messages.kbytes": 131_072,
            }
        )
        try:
            consumer.assign([ClientPartition(name, number, 0) for name, number in ends])
            last_message_at = time.monotonic()
            while left > 0:
                messages = consumer.consume(_CONSUME, timeout=1)
                last_message_at = time.monotonic() if messages else last_message_at
                if time.monotonic() > last_message_at + _SILENCE:
                    raise RuntimeError(f"{left} records of {', '.join(names)} could not be read back")
                left -= len(messages)
                for message in messages:
                    if message.error():
                        raise KafkaException(message.error())
                    value, appended_ms = message.value() or b"", message.timestamp()[1]
                    delivered.add(value, appended_ms)
                    if latencies_from is not None and int(value[6:16]) >= latencies_from:
                        delivered.latencies_ms.append(appended_ms + 0.5 - sent_ns_of(value) / 1e6)
        finally:
            consumer.close()
        return delivered


class Pacer(threading.Thread):
    """Sends `rate` records a second to a topic, each with the instant it was sent, until it is told to end. `first`:
    the number of the first one."""

    def __init__(self, servers: str, topic: str, rate: int, first: int = 0) -> None:
        super().__init__(name="pacer", daemon=True)
        self._producer = Producer({**client(servers), "linger.ms": 0, "acks": 1})
        self._topic, self._rate = topic, rate
        self._over = threading.Event()
        self.sent = first

    def run(self) -> None:
        """Send one by one; after a late one the next ones follow at once."""
        due = time.monotonic()
        while not self._over.wait(max(0.0, due - time.monotonic())):
            _append(self._producer, self._topic, self.sent, body(self.sent, time.time_ns()), {})
            self._producer.poll(0)
            self.sent += 1
            due += 1 / self._rate

    def end(self) -> int:
        """Stop; returns how many records were sent in all, those before the first one included."""
        self._over.set()
        self.join(_TIMEOUT)
        if self._producer.flush(_TIMEOUT):
            raise RuntimeError("the paced records could not be sent")
        return self.sent


def client(servers: str) -> dict[str, str | int | float | bool]:
    """What every client of a broker is told."""
    return {"bootstrap.servers": servers, "log_level": _LOG_LEVEL}


def _append(producer: Producer, topic: str, number: int, value: bytes, headers: dict[str, str | bytes | None]) -> None:
    deadline = time.monotonic() + _TIMEOUT
    while True:
        try:
            producer.produce(topic, value, partition=number % PARTITIONS, headers=headers)
            return
        except BufferError:
            if time.monotonic() > deadline:
                raise
            producer.poll(0.1)
