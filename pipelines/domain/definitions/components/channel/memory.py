"""Flume's MemoryChannel, without its losses: the batch in hand of a read that several channels share."""

from __future__ import annotations

from typing import ClassVar, Literal, Self

from pydantic import model_validator

from pipelines.domain.definitions.parts.component import ChannelSpec, field
from pipelines.domain.definitions.sources.push_source import check_transactions_fit


class MemoryChannel(ChannelSpec):
    """One read of a source serves all its memory channels, batch by batch; the slowest required one holds the others
    back. Topics of one Kafka cluster are written in one pass. Nothing is lost when the agent dies: the batch is read
    again."""

    shares_read: ClassVar[bool] = True
    title: ClassVar[str] = "Memory"
    type: Literal["memory"] = field("Chooses this channel.", example="memory")
    capacity: int = field(
        "The most events held at a time. A batch never has more, so nothing ever waits for space.",
        default=100_000,
        example=100_000,
        unit="events",
        ge=1,
        le=100_000_000,
    )
    transaction_capacity: int = field(
        "The most events in one transaction, which is a batch; not more than the capacity.",
        default=100_000,
        example=10_000,
        unit="events",
        ge=1,
        le=100_000_000,
    )

    @model_validator(mode="after")
    def _transactions_fit(self) -> Self:
        check_transactions_fit(self.transaction_capacity, self.capacity)
        return self
