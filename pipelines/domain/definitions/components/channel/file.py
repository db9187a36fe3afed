"""Flume's FileChannel: a log on the owning host between source and sink."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from pipelines.domain.base.values import ByteSize
from pipelines.domain.definitions.parts.component import ChannelSpec, field
from pipelines.domain.definitions.sources.push_source import Limits


class FileChannel(ChannelSpec, Limits):
    """Copies events into a log on the local disk, a batch at a time, each safe before the source moves on, and feeds
    the sink from it. The log stays on the host, so a pipeline that moves has to drain it first."""

    buffers: ClassVar[bool] = True
    on_host: ClassVar[bool] = True
    title: ClassVar[str] = "File"
    type: Literal["file"] = field("Chooses this channel.", example="file")
    capacity: int = field(
        "The most events that the log holds. When it is full, the source waits; nothing is dropped.",
        default=1_000_000,
        example=1_000_000,
        unit="events",
        ge=1,
        le=1_000_000_000,
    )
    transaction_capacity: int = field(
        "The most events in one transaction, which is one batch of the source.",
        default=50_000,
        example=10_000,
        unit="events",
        ge=1,
        le=10_000_000,
    )
    byte_capacity: Annotated[ByteSize, Field(ge=1 << 16)] = field(
        "The most bytes that the log holds; only bodies count, and a part is kept free for headers "
        "(`byte_capacity_buffer_percentage`).",
        default=1 << 30,
        example="2GiB",
        unit="bytes",
    )
