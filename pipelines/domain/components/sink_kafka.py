"""Events as records of a Kafka topic (Flume's KafkaSink)."""

from __future__ import annotations

from typing import ClassVar, Literal

from pipelines.domain.client_options import ProducerOptions
from pipelines.domain.component import SinkSpec, field
from pipelines.domain.values import BootstrapServers, Duration, Topic


class KafkaSink(SinkSpec):
    """Writes to a topic, at least once, acknowledged by all replicas. Records carry their origin in headers."""

    title: ClassVar[str] = "Kafka"
    type: Literal["kafka"] = field("Chooses this sink.", example="kafka")
    bootstrap_servers: BootstrapServers = field(
        "Brokers to ask first: host:port, with commas between.", example="broker:9092"
    )
    topic: Topic = field("The topic to write to.", example="orders.clean")
    compression: Literal["none", "gzip", "snappy", "lz4", "zstd"] = field(
        "How batches of records are compressed.", default="lz4", example="zstd"
    )
    linger_ms: int = field(
        "How long the producer waits for more records before it sends a batch.",
        default=5, example=20, unit="ms", ge=0, le=10_000,
    )  # fmt: skip
    write_timeout: Duration = field(
        "The deadline of a record's delivery, retries included. A sink that is away is noticed after this time.",
        default=30.0, example="10s", unit="seconds",
    )  # fmt: skip
    options: ProducerOptions = field(
        "Further settings of the Kafka client, out of a list of allowed ones.",
        default={}, example={"security.protocol": "SSL"},
    )  # fmt: skip
