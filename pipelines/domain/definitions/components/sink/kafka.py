"""Events as records of Kafka topics (Flume's KafkaSink)."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import Field, model_validator

from pipelines.domain.base.values import BootstrapServers, Duration, HeaderName, Syntax, Topic, refuse
from pipelines.domain.definitions.parts.client_options import ProducerOptions
from pipelines.domain.definitions.parts.component import SinkSpec, field

RecordKey = Annotated[
    str,
    Syntax(
        "invalid_key",
        r"record|body|none|header\.[A-Za-z0-9_.:/-]{1,128}",
        "Write record (the key that the event has), body, none, or header.NAME.",
    ),
]
TopicPrefix = Annotated[
    str,
    Syntax("invalid_topic", r"[A-Za-z0-9._-]{1,200}", "Use letters, digits, dots, hyphens and underscores."),
]


class KafkaSink(SinkSpec):
    """Writes to topics, exactly once, acknowledged by all replicas. Each record carries its origin in a header."""

    title: ClassVar[str] = "Kafka"
    once: ClassVar[bool] = True
    deduplicates: ClassVar[bool] = True
    condition: ClassVar[str] = (
        "The topic keeps every record, with the header headgate.origin, until an unfinished batch has been checked: "
        "it is not compacted, and its retention is longer than an outage."
    )
    type: Literal["kafka"] = field("Chooses this sink.", example="kafka")
    bootstrap_servers: BootstrapServers = field(
        "Brokers to ask first: host:port, with commas between.",
        example="broker:9092",
        reach="servers",
    )
    topic: Topic = field(
        "The topic to write to; with `topic_header`, for events without that header.", example="orders.clean"
    )
    topic_header: HeaderName | None = field(
        "A header that names the topic instead, out of `allowed_topics` or beginning with `allowed_topic_prefix`. "
        "Any other topic is refused and the event becomes a dead letter.",
        default=None,
        example="topic",
    )
    allowed_topics: Annotated[list[Topic], Field(max_length=1000)] = field(
        "The topics that the header may choose, beside `topic`.", default=[], example=["orders.cz", "orders.us"]
    )
    allowed_topic_prefix: TopicPrefix | None = field(
        "Topics that begin so may be chosen by the header, too. One that does not exist holds its batch.",
        default=None,
        example="orders.",
    )
    key: RecordKey = field(
        "The record's key: `record` (the one that the event has from Kafka), `header.NAME`, `body` or `none`.",
        default="record",
        example="header.key",
    )
    partition: int | None = field(
        "The partition of every record; without it, the key decides, and records without one take turns, a thousand of "
        "a partition at a time.",
        default=None,
        example=3,
        ge=0,
        le=1_000_000,
    )
    partition_header: HeaderName | None = field(
        "A header that has the number of the partition; it goes before `partition`. An event whose number is none, or "
        "that the topic does not have, becomes a dead letter.",
        default=None,
        example="partition",
    )
    use_flume_event_format: bool = field(
        "Write headers and body as one AvroFlumeEvent, as Flume's useFlumeEventFormat does; record headers have only "
        "the origin then.",
        default=False,
        example=True,
    )
    compression: Literal["none", "gzip", "snappy", "lz4", "zstd"] = field(
        "How batches of records are compressed.", default="lz4", example="zstd"
    )
    linger_ms: int = field(
        "How long the producer waits for more records before it sends a batch. The end of a batch of events is sent at "
        "once.",
        default=20,
        example=5,
        unit="ms",
        ge=0,
        le=10_000,
    )
    write_timeout: Duration = field(
        "The deadline of a record's delivery, retries included. A sink that is unreachable is noticed after this time.",
        default=30.0,
        example="10s",
        unit="seconds",
    )
    options: ProducerOptions = field(
        "Further settings of the Kafka client, out of a list of allowed ones.",
        default={},
        example={"security.protocol": "SSL"},
        secret=True,
    )

    @model_validator(mode="after")
    def _header_has_choices(self) -> KafkaSink:
        if self.topic_header and not (self.allowed_topics or self.allowed_topic_prefix):
            refuse(
                "missing_allowed_topics",
                "A header may not choose any topic of the cluster.",
                "List allowed_topics, or give allowed_topic_prefix.",
            )
        if (self.allowed_topics or self.allowed_topic_prefix) and not self.topic_header:
            refuse("unused_allowed_topics", "Only topic_header chooses a topic.", "Add topic_header, or remove it.")
        return self
