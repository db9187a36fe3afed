"""Kafka Connect 4.3, standalone: MirrorMaker's source connector with two tasks and two header transforms."""

from __future__ import annotations

from bench import peers
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
from controlplane.install.services.ports import LOOPBACK, free_port

# Those of Kafka's own start script.
FLAGS = [
    "-Xms256m",
    "-Xmx2g",
    "-server",
    "-XX:+UseG1GC",
    "-XX:MaxGCPauseMillis=20",
    "-XX:InitiatingHeapOccupancyPercent=35",
    "-XX:+ExplicitGCInvokesConcurrent",
    "-Djava.awt.headless=true",
]
_TASKS = 2
_BYTES = "org.apache.kafka.connect.converters.ByteArrayConverter"
_INSERT = "org.apache.kafka.connect.transforms.InsertHeader"


class Connect(System):
    """It has no transform that looks into a body: its two header transforms stand for header and filter."""

    name = "connect"

    def start(self, work: Work) -> Running:
        """Write the worker's and the connector's properties and start both in one process."""
        work.directory.mkdir(parents=True, exist_ok=True)
        worker, connector = work.directory / "worker.properties", work.directory / "connector.properties"
        worker.write_text(properties(_worker(work)))
        connector.write_text(properties(_connector(work)))
        arguments = ["org.apache.kafka.connect.cli.ConnectStandalone", str(worker), str(connector)]
        return start_java(work, FLAGS, peers.class_path(peers.CONNECT), arguments)


def _worker(work: Work) -> dict[str, object]:
    return {
        "bootstrap.servers": work.servers,
        "key.converter": _BYTES,
        "value.converter": _BYTES,
        "header.converter": "org.apache.kafka.connect.storage.StringConverter",
        "offset.storage.file.filename": work.directory / "offsets",
        "listeners": f"http://{LOOPBACK}:{free_port()}",
        "plugin.discovery": "service_load",
        "producer.acks": "all",
        "producer.compression.type": COMPRESSION,
        "producer.linger.ms": work.linger_ms,
        "producer.batch.size": BATCH_BYTES,
        "producer.buffer.memory": BUFFER_BYTES,
    }


def _connector(work: Work) -> dict[str, object]:
    return {
        "name": "mirror",
        "connector.class": "org.apache.kafka.connect.mirror.MirrorSourceConnector",
        "tasks.max": _TASKS,
        "source.cluster.alias": work.run,
        "target.cluster.alias": "target",
        "source.cluster.bootstrap.servers": work.servers,
        "target.cluster.bootstrap.servers": work.servers,
        "topics": work.source,
        "offset-syncs.topic.replication.factor": 1,
        "sync.topic.configs.enabled": "false",
        "sync.topic.acls.enabled": "false",
        "transforms": "timestamp,origin",
        "transforms.timestamp.type": _INSERT,
        "transforms.timestamp.header": "timestamp",
        "transforms.timestamp.value.literal": "1763709743123",
        "transforms.origin.type": _INSERT,
        "transforms.origin.header": "origin",
        "transforms.origin.value.literal": f"bench/in/out/{work.source}",
    }
