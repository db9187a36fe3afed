"""What the sources have in common that are pushed to: the limits of their ingest buffer."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal, Self

from pydantic import Field, model_validator

from pipelines.domain.base.values import ByteSize, Duration, refuse
from pipelines.domain.definitions.parts.component import Spec, field
from pipelines.domain.definitions.sources.source import SourceSpec


def check_transactions_fit(transaction_capacity: int, capacity: int) -> None:
    """Refuse a transaction that no empty store could take (Flume's MemoryChannel and FileChannel)."""
    if transaction_capacity > capacity:
        refuse(
            "transaction_capacity_too_large",
            f"transaction_capacity ({transaction_capacity}) is higher than capacity ({capacity}).",
            "Lower transaction_capacity, or raise capacity.",
        )


class Limits(Spec):
    """How much an ingest buffer holds (Flume's MemoryChannel and FileChannel)."""

    capacity: int = field(
        "The most events that the buffer holds. When it is full, clients have to wait; nothing is dropped.",
        default=100_000,
        example=1_000_000,
        unit="events",
        ge=1,
        le=1_000_000_000,
    )
    transaction_capacity: int = field(
        "The most events in one transaction, which is one request or one flush; not more than the capacity.",
        default=10_000,
        example=1000,
        unit="events",
        ge=1,
        le=10_000_000,
    )
    byte_capacity: Annotated[ByteSize, Field(ge=1 << 16)] = field(
        "The most bytes that the buffer holds; only bodies count, and a part is kept free for headers "
        "(`byte_capacity_buffer_percentage`).",
        default=256 << 20,
        example="2GiB",
        unit="bytes",
    )
    byte_capacity_buffer_percentage: int = field(
        "The part of `byte_capacity` that is kept free for what is not counted: headers and framing.",
        default=20,
        example=20,
        unit="percent",
        ge=0,
        le=99,
    )
    keep_alive: Duration = field(
        "How long an append waits for space before it is refused.", default=3.0, example="3s", unit="seconds"
    )

    @model_validator(mode="after")
    def _transactions_fit(self) -> Self:
        check_transactions_fit(self.transaction_capacity, self.capacity)
        return self


class PushSourceSpec(SourceSpec, Limits):
    """A source that is pushed to. Events are appended to an ingest buffer first, from which they are read again as
    often as needed. The buffer frees what every required channel has delivered."""

    on_host: ClassVar[bool] = True
    ingest_buffer: Literal["memory", "file"] = field(
        "Where the ingest buffer is kept. `file`: on disk, safe with every answer, also after a loss of power. "
        "`memory`: in shared memory, which survives the agent and not a reboot of its host; what a reboot loses "
        "is reported as INGEST_BUFFER_LOST.",
        default="file",
        example="memory",
    )
    recent_records: int = field(
        "How many of the newest events previews can read, delivered or not. For that, what was delivered is kept a "
        "little longer beside the ingest buffer, at most 32 MiB of it, for the pipeline's own user alone. 0: previews "
        "are refused.",
        default=0,
        example=1000,
        unit="events",
        ge=0,
        le=10_000,
    )
