"""Flume's KafkaChannel: a topic between source and sink."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import AfterValidator

from pipelines.domain.base.findings import quote
from pipelines.domain.base.values import BootstrapServers, GroupId, Topic, refuse
from pipelines.domain.definitions.parts.client_options import PRODUCER, ConsumerOptions
from pipelines.domain.definitions.parts.component import ChannelSpec, field


def _for_both(options: dict[str, str]) -> dict[str, str]:
    """A channel writes and reads with the same settings."""
    for name in sorted(options.keys() - PRODUCER):
        refuse(
            "option_not_allowed",
            f"{quote(name)} is a setting of consumers alone; the channel also writes.",
            "Remove it.",
        )
    return options


class KafkaChannel(ChannelSpec):
    """Copies events into a topic, and feeds the sink from it. What is in the topic survives the host; the topic has to
    belong to this channel alone."""

    buffers: ClassVar[bool] = True
    title: ClassVar[str] = "Kafka"
    type: Literal["kafka"] = field("Chooses this channel.", example="kafka")
    bootstrap_servers: BootstrapServers = field(
        "Brokers to ask first: host:port, with commas between.",
        example="broker:9092",
        reach="servers",
    )
    topic: Topic = field("The topic that holds the events. It has to exist.", example="orders.audit-channel")
    group_id: GroupId | None = field(
        "The consumer group to which the position in the topic is mirrored for lag tools; without it, "
        "`headgate.PIPELINE.CHANNEL`.",
        default=None,
        example="headgate.orders.audit",
    )
    compression: Literal["none", "gzip", "snappy", "lz4", "zstd"] = field(
        "How batches of records are compressed.", default="lz4", example="zstd"
    )
    options: Annotated[ConsumerOptions, AfterValidator(_for_both)] = field(
        "Further settings of the Kafka clients that write and read, out of a list of allowed ones.",
        default={},
        example={"security.protocol": "SSL"},
        secret=True,
    )
