"""Apache Flume 1.11: Kafka source, memory channel, Kafka sink, two of each end, which is faster than one."""

from __future__ import annotations

from bench import peers
from bench.records import PATTERN
from bench.systems.base import (
    BATCH_BYTES,
    BUFFER_BYTES,
    COMPRESSION,
    Running,
    System,
    Work,
    properties,
    start_java,
)

FLAGS = ["-Xms256m", "-Xmx1g"]
_SOURCES, _SINKS = 2, 2


class Flume(System):
    """The memory channel loses what it holds in a crash; that is the price of its speed."""

    name = "flume"

    def start(self, work: Work) -> Running:
        """Write the agent's properties and start it."""
        work.directory.mkdir(parents=True, exist_ok=True)
        file = work.directory / "flume.properties"
        file.write_text(properties(_agent(work)))
        arguments = ["org.apache.flume.node.Application", "-n", "a", "-f", str(file), "--no-reload-conf"]
        return start_java(work, FLAGS, peers.class_path(peers.FLUME), arguments)


def _agent(work: Work) -> dict[str, object]:
    agent: dict[str, object] = {
        "a.sources": " ".join(f"r{n}" for n in range(_SOURCES)),
        "a.sinks": " ".join(f"k{n}" for n in range(_SINKS)),
        "a.channels": "c",
        "a.channels.c.type": "memory",
        "a.channels.c.capacity": 200_000,
        "a.channels.c.transactionCapacity": 10_000,
    }
    for number in range(_SOURCES):
        agent |= {f"a.sources.r{number}.{key}": value for key, value in _source(work).items()}
    for number in range(_SINKS):
        agent |= {f"a.sinks.k{number}.{key}": value for key, value in _sink(work).items()}
    return agent


def _source(work: Work) -> dict[str, object]:
    return {
        "type": "org.apache.flume.source.kafka.KafkaSource",
        "channels": "c",
        "batchSize": 10_000,
        "batchDurationMillis": 10 if work.hurry else 1000,
        "kafka.bootstrap.servers": work.servers,
        "kafka.topics": work.source,
        "kafka.consumer.group.id": f"bench-{work.run}",
        "kafka.consumer.auto.offset.reset": "earliest",
        "kafka.consumer.max.poll.records": 10_000,
        "interceptors": "timestamp origin filter",
        "interceptors.timestamp.type": "timestamp",
        "interceptors.origin.type": "static",
        "interceptors.origin.key": "origin",
        "interceptors.origin.value": f"bench/in/out/{work.source}",
        "interceptors.filter.type": "regex_filter",
        "interceptors.filter.regex": PATTERN,
    }


def _sink(work: Work) -> dict[str, object]:
    return {
        "type": "org.apache.flume.sink.kafka.KafkaSink",
        "channel": "c",
        "flumeBatchSize": 1 if work.hurry else 10_000,
        "kafka.bootstrap.servers": work.servers,
        "kafka.topic": work.sink,
        "header.timestamp": "timestamp",
        "header.origin": "origin",
        "allowTopicOverride": "false",
        "kafka.producer.acks": "all",
        "kafka.producer.compression.type": COMPRESSION,
        "kafka.producer.linger.ms": work.linger_ms,
        "kafka.producer.batch.size": BATCH_BYTES,
        "kafka.producer.buffer.memory": BUFFER_BYTES,
    }
