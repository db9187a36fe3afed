"""Which record is traced. Pure."""

from __future__ import annotations

from pydantic import Field

from pipelines.domain.base.positions import Frozen, TopicPartition


class Place(Frozen):
    """The place of one record in a log."""

    topic: str = Field(min_length=1, max_length=249, pattern=r"^[^\x00]*$")
    partition: int = Field(ge=0, lt=2**63)
    offset: int = Field(ge=0, lt=2**63 - 1)

    @property
    def key(self) -> TopicPartition:
        """(topic, partition)."""
        return TopicPartition(self.topic, self.partition)

    def __str__(self) -> str:
        return f"{self.topic}/{self.partition}:{self.offset}"


class TraceQuestion(Frozen):
    """The record `at` a place of a source."""

    at: Place
