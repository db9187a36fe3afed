"""Records of Kafka topics (Flume's KafkaSource), read by Spark."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

from pydantic import AfterValidator, Discriminator, Field, Tag, model_validator

from pipelines.domain.base.positions import Offset
from pipelines.domain.base.values import (
    BootstrapServers,
    GroupId,
    HeaderName,
    Instant,
    PartitionNumber,
    Syntax,
    Topic,
    refuse,
)
from pipelines.domain.definitions.parts.client_options import ConsumerOptions
from pipelines.domain.definitions.parts.component import Spec, field
from pipelines.domain.definitions.parts.registry import TAG_MARK
from pipelines.domain.definitions.sources.source import SourceSpec
from pipelines.domain.regex.safety import safe_regex


class StartAtTimestamp(Spec):
    """The first record of each partition at or after an instant; the end of the log where there is none."""

    timestamp: Instant = field(
        "An instant: RFC 3339 with an offset, or milliseconds since 1970.", example="2026-01-31T12:00:00Z"
    )


class StartAtOffsets(Spec):
    """An explicit offset for every partition."""

    offsets: dict[Topic, dict[PartitionNumber, Offset]] = field(
        "For each topic and partition, the first offset to read.",
        example={"orders": {"0": 1200, "1": 1180}},
        min_length=1,
    )


def _start_form(value: Any) -> str | None:
    if isinstance(value, str):
        return f"{TAG_MARK}name"
    keys = value.keys() if isinstance(value, dict) else type(value).model_fields if isinstance(value, Spec) else ()
    return next((f"{TAG_MARK}{key}" for key in ("timestamp", "offsets") if key in keys), None)


StartFrom = Annotated[
    Annotated[Literal["earliest", "latest", "group"], Tag(f"{TAG_MARK}name")]
    | Annotated[StartAtTimestamp, Tag(f"{TAG_MARK}timestamp")]
    | Annotated[StartAtOffsets, Tag(f"{TAG_MARK}offsets")],
    Discriminator(
        _start_form,
        custom_error_type="bad_start_from",
        custom_error_message="start_from is earliest, latest, group, {timestamp: …} or {offsets: …}.",
    ),
]


TopicsPattern = Annotated[
    str,
    Syntax(
        "invalid_pattern",
        r"[A-Za-z0-9._\[\]()|*+?^$\\-]{1,249}",
        "Use the characters of topic names and . * + ? [ ] ( ) | ^ $ of regular expressions.",
    ),
    AfterValidator(safe_regex),
]


class KafkaSource(SourceSpec):
    """Reads topics. Positions are kept in Headgate's ledger; the group is only a mirror for tools that show lag."""

    title: ClassVar[str] = "Kafka"
    read_again: ClassVar[bool] = True
    type: Literal["kafka"] = field("Chooses this source.", example="kafka")
    bootstrap_servers: BootstrapServers = field(
        "Brokers to ask first, as host:port with commas between.",
        example="broker:9092",
        reach="servers",
    )
    topics: Annotated[list[Topic], Field(max_length=100)] = field("The topics to read.", default=[], example=["orders"])
    topics_pattern: TopicsPattern | None = field(
        "A Java regular expression instead; topics whose whole name matches are read, new ones from their beginning.",
        default=None,
        example="orders[.][a-z]+",
    )
    group_id: GroupId = field(
        "The consumer group to which positions are mirrored for lag tools. No two sources may share one.",
        example="headgate.orders",
    )
    start_from: StartFrom = field(
        "Where the very first start begins; afterwards positions come from the ledger. It has no default on purpose: "
        "earliest may repeat, latest may skip. `group` takes over what another system has committed to `group_id`.",
        example="earliest",
    )
    topic_header: HeaderName | None = field(
        "The event header that gets the record's topic. None of these five is set unless it is named: each is written "
        "by every sink that writes headers, and costs throughput there.",
        default=None,
        example="topic",
    )
    partition_header: HeaderName | None = field(
        "The event header that gets the record's partition.", default=None, example="partition"
    )
    offset_header: HeaderName | None = field(
        "The event header that gets the record's offset.", default=None, example="offset"
    )
    key_header: HeaderName | None = field(
        "The event header that gets the record's key as text, where it has one.", default=None, example="key"
    )
    timestamp_header: HeaderName | None = field(
        "The event header that gets the record's time in milliseconds since 1970.", default=None, example="timestamp"
    )
    parse_as_flume_event: bool = field(
        "Records are AvroFlumeEvents, as Flume's KafkaSink with useFlumeEventFormat writes them: take headers and body "
        "out. Their headers win over the record's, and over the five above, with the same name. One that cannot be "
        "read becomes a dead letter.",
        default=False,
        example=True,
    )
    options: ConsumerOptions = field(
        "Further settings of the Kafka client, out of a list of allowed ones.",
        default={},
        example={"security.protocol": "SASL_SSL", "sasl.password": "${secret:shop-kafka}"},
        secret=True,
    )

    @model_validator(mode="after")
    def _one_way_to_name_topics(self) -> KafkaSource:
        if not self.topics and not self.topics_pattern:
            refuse("missing_key", "topics is missing.", "List topics, or give topics_pattern.")
        if self.topics and self.topics_pattern:
            refuse("both_topics", "topics and topics_pattern exclude each other.", "Remove one of them.")
        return self
