"""Numbered records at a steady rate, and now and then one that cannot be delivered."""

from __future__ import annotations

import json
import os
import threading
import time

from confluent_kafka import Consumer, KafkaError, KafkaException, Producer
from confluent_kafka.admin import AdminClient, NewPartitions

from controlplane.devstack.records import body

HUGE = 10 * 1000 * 1000
POISON_HEADER = "at"
"""Names a partition of the sink's topic; poison names none."""
_TICK = 0.1
_MEMBERS = 4
_MEMBERSHIP = 1.0
"""Seconds that a member of another group reads."""
_FLUSH_WITHIN = 60.0
_BEHIND = 10.0
"""Seconds by which the load may be late: a partition that was just added is not known at once."""


class Load(threading.Thread):
    """Appends to a topic until it is told to end; what it could not append yet waits."""

    def __init__(self, servers: str, topic: str, rate: float, partitions: int) -> None:
        super().__init__(daemon=True)
        self.topic, self.partitions = topic, partitions
        self.produced = 0
        """Numbers from 0 on."""
        self.undeliverable = 0
        self.failures: list[str] = []
        self._rate = rate
        self._started_at = time.monotonic()
        self._over = threading.Event()
        self._servers = servers
        self._lock = threading.Lock()
        self._producer = Producer(
            {
                "bootstrap.servers": servers,
                "enable.idempotence": True,
                "linger.ms": 20,
                "compression.type": "lz4",
                "message.max.bytes": 2 * HUGE,
                "message.timeout.ms": 0,
                "topic.metadata.refresh.interval.ms": 1000,
                "log_level": 0,
            }
        )

    def run(self) -> None:
        self._started_at = time.monotonic()
        while not self._over.wait(_TICK):
            for number in range(self.produced, self._due()):
                if self._append(body(number), number % self.partitions):
                    self.produced = number + 1
            self._producer.poll(0)

    def _due(self) -> int:
        return int((time.monotonic() - self._started_at) * self._rate)

    def poison(self, count: int) -> None:
        """Records that the sink refuses for ever."""
        for _ in range(count):
            self._append(json.dumps({"poison": self.undeliverable}).encode(), 0, {POISON_HEADER: b"nowhere"})
            self._count_undeliverable()

    def huge(self) -> None:
        """A record that is larger than the sink takes."""
        filler = os.urandom(HUGE // 2).hex()
        self._append(json.dumps({"huge": filler}).encode(), 0)
        self._count_undeliverable()

    def _count_undeliverable(self) -> None:
        with self._lock:
            self.undeliverable += 1

    def add_partition(self) -> None:
        """Give the topic one more, and use it."""
        client = AdminClient({"bootstrap.servers": self._servers, "log_level": 0})
        for future in client.create_partitions([NewPartitions(self.topic, self.partitions + 1)]).values():
            future.result(20)
        self._await_leader(client)
        self.partitions += 1

    def churn_group(self) -> None:
        """Members of a group that is not ours join, read, commit, and leave one after the other."""
        for _ in range(_MEMBERS):
            member = Consumer(
                {
                    "bootstrap.servers": self._servers,
                    "group.id": f"others.{self.topic}",
                    "auto.offset.reset": "earliest",
                    "log_level": 0,
                }
            )
            member.subscribe([self.topic])
            member.consume(100, timeout=_MEMBERSHIP)
            member.close()

    def _await_leader(self, client: AdminClient) -> None:
        deadline = time.monotonic() + 20
        while time.monotonic() < deadline:
            known = client.list_topics(self.topic, timeout=10).topics[self.topic].partitions
            if len(known) > self.partitions and all(each.leader >= 0 for each in known.values()):
                return
            time.sleep(0.2)
        raise KafkaException(f"the new partition of {self.topic} has no leader")

    def _append(self, value: bytes, partition: int, headers: dict[str, str | bytes | None] | None = None) -> bool:
        """Whether it was done: an end of the load ends every wait."""
        while not self._over.is_set():
            try:
                self._producer.produce(
                    self.topic, value, partition=partition, headers=headers or {}, on_delivery=self._delivered
                )
                return True
            except BufferError:
                self._producer.poll(0.1)
            except KafkaException as error:
                if error.args[0].code() != KafkaError._UNKNOWN_PARTITION:
                    raise
                self._producer.poll(0.1)  # a new one, which the producer has not heard of
        return False

    def _delivered(self, error: object, _: object) -> None:
        if error is not None:
            self.failures.append(str(error))

    def end(self) -> int:
        """Stop, and wait until the broker has everything; returns how many numbers there are."""
        if not self.is_alive() or self.produced < self._due() - self._rate * _BEHIND:
            self.failures.append("the load did not keep its rate")
        self._over.set()
        self.join(_FLUSH_WITHIN)
        left = self._producer.flush(_FLUSH_WITHIN)
        if left or self.failures:
            raise RuntimeError(f"{left} records of {self.topic} were not produced: {self.failures[:3]}")
        return self.produced
