"""Records of Kafka topics (Flume's KafkaSource), read by Spark."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

from pydantic import Discriminator, Tag

from pipelines.domain.client_options import ConsumerOptions
from pipelines.domain.component import Spec, field
from pipelines.domain.positions import Offset
from pipelines.domain.registry import TAG_MARK
from pipelines.domain.source import SourceSpec
from pipelines.domain.values import BootstrapServers, GroupId, Instant, PartitionNumber, Topic


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
    Annotated[Literal["earliest", "latest"], Tag(f"{TAG_MARK}name")]
    | Annotated[StartAtTimestamp, Tag(f"{TAG_MARK}timestamp")]
    | Annotated[StartAtOffsets, Tag(f"{TAG_MARK}offsets")],
    Discriminator(
        _start_form,
        custom_error_type="bad_start_from",
        custom_error_message="start_from is earliest, latest, {timestamp: …} or {offsets: …}.",
    ),
]


class KafkaSource(SourceSpec):
    """Reads topics. Positions are kept in Headgate's ledger; the group is only a mirror for tools that show lag."""

    title: ClassVar[str] = "Kafka"
    type: Literal["kafka"] = field("Chooses this source.", example="kafka")
    bootstrap_servers: BootstrapServers = field(
        "Brokers to ask first, as host:port with commas between.", example="broker:9092"
    )
    topics: list[Topic] = field("The topics to read.", example=["orders"], min_length=1, max_length=100)
    group_id: GroupId = field(
        "The consumer group to which positions are mirrored for lag tools. No two sources may share one.",
        example="headgate.orders",
    )
    start_from: StartFrom = field(
        "Where the very first start begins; afterwards positions come from the ledger. It has no default on purpose: "
        "earliest may repeat, latest may skip.",
        example="earliest",
    )
    options: ConsumerOptions = field(
        "Further settings of the Kafka client, out of a list of allowed ones.",
        default={},
        example={"security.protocol": "SASL_SSL", "sasl.password": "${secret:shop-kafka}"},
    )
