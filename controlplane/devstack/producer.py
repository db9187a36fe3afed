"""A paced producer of numbered records.

`python -m controlplane.devstack.producer --servers HOST:PORT --topic TOPIC --rate 1000 [--count 200000]`; without a
count it goes on until SIGTERM, and numbers begin after the last record of the topic, or with --first if that is higher.
"""

from __future__ import annotations

import argparse
import signal
import threading
import time

from confluent_kafka import KafkaError, Message, Producer

from controlplane.devstack.records import body, number_in
from controlplane.devstack.topics import end_offsets, read

TICK = 0.02  # seconds between two bursts
FLUSH_TIMEOUT = 60.0
_CONFIG = {"linger.ms": 5, "compression.type": "lz4", "enable.idempotence": True, "log_level": 0}


def produce(servers: str, topic: str, *, first: int, rate: float, count: int | None, stopped: threading.Event) -> int:
    """Produce `rate` records a second until `count` or `stopped`. Returns the number of undelivered records."""
    failures: list[KafkaError] = []
    producer = Producer({"bootstrap.servers": servers, "error_cb": _report, **_CONFIG})
    started, sent = time.monotonic(), 0
    while not stopped.is_set() and (count is None or sent < count):
        due = int((time.monotonic() - started) * rate) + 1
        for number in range(sent, due if count is None else min(due, count)):
            _send(producer, topic, body(first + number), failures)
        sent = max(sent, due if count is None else min(due, count))
        producer.poll(0)
        stopped.wait(TICK)
    return int(producer.flush(FLUSH_TIMEOUT)) + len(failures)


def _report(error: KafkaError) -> None:
    """Once per loss of the broker; the client connects again by itself."""
    if error.code() == KafkaError._ALL_BROKERS_DOWN:
        print("the broker is unreachable; records wait", flush=True)


def _send(producer: Producer, topic: str, value: bytes, failures: list[KafkaError]) -> None:
    """A full queue is back-pressure: serve deliveries until there is room, for as long as a delivery may take."""

    def delivered(error: KafkaError | None, _: Message) -> None:
        if error is not None:
            failures.append(error)

    deadline = time.monotonic() + FLUSH_TIMEOUT
    while True:
        try:
            producer.produce(topic, value=value, on_delivery=delivered)
            return
        except BufferError:
            if time.monotonic() > deadline:
                raise
            producer.poll(0.1)


def next_number(servers: str, topic: str) -> int:
    """The number after those of the topic's last records; 0 where it has none."""
    ends = end_offsets(servers, topic)
    last = read(servers, topic, {partition: end - 1 for partition, end in ends.items() if end})
    return 1 + max(map(number_in, last), default=-1)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--servers", required=True)
    parser.add_argument("--topic", required=True)
    parser.add_argument("--rate", type=float, default=1000.0, help="records a second")
    parser.add_argument("--first", type=int, help="the first number; without a count the lowest that it may be")
    parser.add_argument("--count", type=int, help="end after so many")
    arguments = parser.parse_args()
    stopped = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stopped.set())
    servers, topic, first = arguments.servers, arguments.topic, arguments.first
    if arguments.count is None or first is None:
        first = max(first or 0, next_number(servers, topic))
    undelivered = produce(servers, topic, first=first, rate=arguments.rate, count=arguments.count, stopped=stopped)
    if undelivered:
        print(f"{undelivered} records were not delivered to {arguments.topic}", flush=True)
    return 1 if undelivered else 0


if __name__ == "__main__":
    raise SystemExit(main())
