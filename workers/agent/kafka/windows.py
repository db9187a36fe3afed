"""Records of exact ranges of offsets, read beside everything else: nothing is joined, committed or kept."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterator, Mapping

from confluent_kafka import TIMESTAMP_LOG_APPEND_TIME, Consumer, KafkaError, KafkaException, Message
from confluent_kafka import TopicPartition as ClientPartition

from pipelines.domain.base.positions import TopicPartition
from pipelines.domain.positions.cluster_move import Seen
from workers.agent.kafka.admin import KafkaCluster

SECONDS = 15.0
"""How long the records of one question may take."""
_AT_ONCE = 1000
_POLL = 0.01
"""Seconds; a client waits so long even where it has everything but `_AT_ONCE` records, and data may wait for it."""
_CLIENT = {
    # Only names the client to the broker: nothing is joined or committed.
    "group.id": "headgate.look",
    "enable.auto.commit": False,
    "enable.partition.eof": True,
    "auto.offset.reset": "error",
    "isolation.level": "read_committed",
    "fetch.wait.max.ms": 20,
    # What is fetched ahead of the ranges is thrown away.
    "queued.max.messages.kbytes": 8192,
}

Ranges = Mapping[TopicPartition, tuple[int, int]]
"""The first offset of each partition, and the one behind the last."""


def messages(
    cluster: KafkaCluster, ranges: Ranges, *, seconds: float = SECONDS, committed: bool = True
) -> Iterator[Message]:
    """Every record of the ranges, or every committed one; of each partition in order. Raises KafkaException, also where
    it takes longer than `seconds`."""
    left = {key: end for key, (start, end) in ranges.items() if end > start}
    if not left:
        return
    deadline = time.monotonic() + seconds
    level = {} if committed else {"isolation.level": "read_uncommitted"}
    consumer = Consumer({**cluster.settings, **_CLIENT, **level})
    try:
        consumer.assign([ClientPartition(*key, ranges[key][0]) for key in left])
        while left:
            if time.monotonic() > deadline:
                raise KafkaException(KafkaError(KafkaError._TIMED_OUT))
            for message in consumer.consume(_AT_ONCE, _POLL):
                yield from _taken(consumer, message, left)
    finally:
        consumer.close()


def _taken(consumer: Consumer, message: Message, left: dict[TopicPartition, int]) -> Iterator[Message]:
    """The message, where it is wanted; a partition that has no more to give is let go."""
    error, key = message.error(), _key(message)
    if error is not None and error.code() != KafkaError._PARTITION_EOF:
        raise KafkaException(error)
    if key not in left:
        return
    offset = message.offset() or 0
    if error is None and offset < left[key]:
        yield message
    if error is not None or offset + 1 >= left[key]:
        del left[key]
        consumer.incremental_unassign([ClientPartition(*key)])


def seen(cluster: KafkaCluster, ranges: Ranges) -> dict[TopicPartition, list[Seen]]:
    """What is to be known of each record to tell it from others; no value leaves this function."""
    found: dict[TopicPartition, list[Seen]] = {key: [] for key in ranges}
    for message in messages(cluster, ranges):
        kind, timestamp = message.timestamp()
        found[_key(message)].append(
            Seen(int(message.offset() or 0), timestamp, _digest(message), kind == TIMESTAMP_LOG_APPEND_TIME)
        )
    return found


def _key(message: Message) -> TopicPartition:
    return TopicPartition(str(message.topic()), int(message.partition() or 0))


def _digest(message: Message) -> str:
    made = hashlib.blake2b(digest_size=16)
    for part in (message.key(), message.value()):
        data = part.encode() if isinstance(part, str) else part or b""
        made.update((-1 if part is None else len(data)).to_bytes(8, "big", signed=True))
        made.update(data)
    return made.hexdigest()
