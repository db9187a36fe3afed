"""A topic for dead letters."""

from __future__ import annotations

from typing import ClassVar, Literal

from pipelines.domain.base.values import BootstrapServers, Topic
from pipelines.domain.definitions.parts.client_options import ProducerOptions
from pipelines.domain.definitions.parts.component import DeadLetterSpec, field


class KafkaDeadLetters(DeadLetterSpec):
    """Writes each dead letter to a topic: key, body and headers as they were, and headers with the cause."""

    title: ClassVar[str] = "Kafka"
    type: Literal["kafka"] = field("Chooses a topic.", example="kafka")
    topic: Topic = field("The topic that takes dead letters. It has to exist.", example="orders.dead")
    bootstrap_servers: BootstrapServers | None = field(
        "Brokers to ask first, as host:port with commas between; without it, those of the first Kafka source, with its "
        "security settings.",
        default=None,
        example="broker:9092",
        reach="servers",
    )
    options: ProducerOptions = field(
        "Further settings of the Kafka client, out of a list of allowed ones.",
        default={},
        example={"security.protocol": "SSL"},
        secret=True,
    )
