"""Which record is traced. Pure."""

from __future__ import annotations

from pydantic import AwareDatetime, Field, model_validator

from pipelines.domain.base.positions import Frozen, TopicPartition

HIDDEN = "***"
_NO_NUL = r"^[^\x00]*$"


class Place(Frozen):
    """The place of one record in a log."""

    topic: str = Field(min_length=1, max_length=249, pattern=_NO_NUL)
    partition: int = Field(ge=0, lt=2**63)
    offset: int = Field(ge=0, lt=2**63 - 1)

    @property
    def key(self) -> TopicPartition:
        """(topic, partition)."""
        return TopicPartition(self.topic, self.partition)

    def __str__(self) -> str:
        return f"{self.topic}/{self.partition}:{self.offset}"


class TraceQuestion(Frozen):
    """Which record: the one `at` a place of a source, the one that a record `from_sink` was made of, or one that is
    searched for in a source, by its `key`, by what its body `contains`, and from a `time` on."""

    at: Place | None = None
    from_sink: Place | None = None
    key: str | None = Field(default=None, min_length=1, max_length=1000, pattern=_NO_NUL)
    contains: str | None = Field(default=None, min_length=1, max_length=1000, pattern=_NO_NUL)
    time: AwareDatetime | None = None
    source: str = Field(default="", max_length=63, pattern=_NO_NUL)

    @model_validator(mode="after")
    def _one_way(self) -> TraceQuestion:
        searched = self.key is not None or self.contains is not None or self.time is not None
        if sum((self.at is not None, self.from_sink is not None, searched)) != 1:
            raise ValueError("give one of at, from_sink, and a search by key, contains or time")
        return self

    @property
    def asks_for_content(self) -> bool:
        """Whether its answer tells what records hold."""
        return self.key is not None or self.contains is not None

    def without_content(self) -> TraceQuestion:
        """The same for those who may not see what records hold."""
        hidden = {name: HIDDEN for name in ("key", "contains") if getattr(self, name) is not None}
        return self.model_copy(update=hidden)
