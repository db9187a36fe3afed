"""The few things that the demo asks of a Kafka broker; every call is bounded."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping

from confluent_kafka import Consumer, KafkaError, KafkaException
from confluent_kafka import TopicPartition as ClientPartition
from confluent_kafka.admin import AdminClient, NewTopic

from controlplane.install.tools.errors import SetupError
from pipelines.domain.base.positions import TopicPartition
from workers.agent.kafka.admin import KafkaCluster

TIMEOUT = 30.0  # seconds for one request
READ_TIMEOUT = 120.0  # seconds to read a whole topic
POLL_SIZE = 10_000


def admin(servers: str) -> AdminClient:
    return AdminClient({"bootstrap.servers": servers, "log_level": 0})


def create(servers: str, topics: list[str], *, partitions: int, config: dict[str, str]) -> None:
    """Create the topics; one that exists stays as it is. Raises SetupError when the broker does not answer."""
    client = admin(servers)
    wanted = [NewTopic(name, partitions, 1, config=config) for name in topics]
    for name, future in client.create_topics(wanted, request_timeout=TIMEOUT).items():
        try:
            future.result(TIMEOUT)
        except KafkaException as error:
            if error.args[0].code() != KafkaError.TOPIC_ALREADY_EXISTS:
                raise SetupError(f"The topic {name} could not be created: {error.args[0]}", _hint(servers)) from error


def delete(servers: str, topics: list[str]) -> None:
    """Delete the topics and wait until they are gone. Raises SetupError when they stay."""
    client = admin(servers)
    for future in client.delete_topics(topics, request_timeout=TIMEOUT).values():
        try:
            future.result(TIMEOUT)
        except KafkaException as error:
            if error.args[0].code() != KafkaError.UNKNOWN_TOPIC_OR_PART:
                raise SetupError(f"A topic could not be deleted: {error.args[0]}", _hint(servers)) from error
    deadline = time.monotonic() + TIMEOUT
    while set(topics) & set(client.list_topics(timeout=TIMEOUT).topics):
        if time.monotonic() > deadline:
            raise SetupError(f"The topics {', '.join(topics)} were not deleted in {TIMEOUT:.0f} s.", _hint(servers))
        time.sleep(0.1)


def delete_group(servers: str, group: str) -> None:
    """Delete a group without members, with its committed offsets. Raises SetupError when that is refused."""
    client = admin(servers)
    for future in client.delete_consumer_groups([group], request_timeout=TIMEOUT).values():
        try:
            future.result(TIMEOUT)
        except KafkaException as error:
            raise SetupError(f"The group {group} could not be deleted: {error.args[0]}", _hint(servers)) from error


def end_offsets(servers: str, topic: str) -> dict[int, int]:
    """The next offset of each partition. Raises SetupError when the topic does not exist or the broker is away."""
    try:
        partitions = admin(servers).list_topics(topic, timeout=TIMEOUT).topics[topic]
        if partitions.error is not None:
            raise KafkaException(partitions.error)
        keys = [TopicPartition(topic, partition) for partition in partitions.partitions]
        ends = KafkaCluster.of(servers, {}, None).latest(keys, TIMEOUT)
        return {key.partition: end for key, end in ends.items()}
    except KafkaException as error:
        raise SetupError(f"The offsets of {topic} could not be read: {error.args[0]}", _hint(servers)) from error


def read_all(servers: str, topic: str) -> Iterator[bytes]:
    """The value of every record from the beginning to the present end. Raises SetupError after READ_TIMEOUT."""
    return read(servers, topic, {})


def read(servers: str, topic: str, since: Mapping[int, int], until: Mapping[int, int] | None = None) -> Iterator[bytes]:
    """The values of the records of each partition, from 0 and to the present end unless given. Raises SetupError after
    READ_TIMEOUT."""
    found = end_offsets(servers, topic) if until is None else until
    ends = {partition: end for partition, end in found.items() if end > since.get(partition, 0)}
    consumer = Consumer(
        {
            "bootstrap.servers": servers,
            "group.id": "headgate.readback",
            "enable.auto.commit": False,
            "log_level": 3,
            "auto.offset.reset": "error",
        }
    )
    consumer.assign([ClientPartition(topic, partition, since.get(partition, 0)) for partition in ends])
    deadline = time.monotonic() + READ_TIMEOUT
    try:
        while ends:
            if time.monotonic() > deadline:
                raise SetupError(f"{topic} was not read to its end in {READ_TIMEOUT:.0f} s.", _hint(servers))
            for message in consumer.consume(POLL_SIZE, timeout=1.0):
                if message.error() is not None:
                    raise SetupError(f"{topic} could not be read: {message.error()}", _hint(servers))
                if (message.offset() or 0) < ends.get(message.partition() or 0, 0):
                    yield message.value() or b""
            for place in consumer.position([ClientPartition(topic, partition) for partition in ends]):
                if place.offset >= ends[place.partition]:
                    del ends[place.partition]
    finally:
        consumer.close()


def _hint(servers: str) -> str:
    return f"Is the broker at {servers} up, and may you use it?"
