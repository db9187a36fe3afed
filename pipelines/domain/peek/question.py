"""Which records are peeked at. Pure."""

from __future__ import annotations

from typing import Annotated

from pydantic import AwareDatetime, Field, model_validator

from pipelines.domain.base.positions import Frozen

HIDDEN = "***"
MOST_SHOWN = 200
_NO_NUL = r"^[^\x00]*$"
_Searched = Annotated[str, Field(min_length=1, max_length=1000, pattern=_NO_NUL)]
_Offset = Annotated[int, Field(ge=0, lt=2**63 - 1)]
DEAD_LETTERS = "errors.dead_letter"
_OF = (
    r"^(?:(?:sources|sinks|channels)\.[^.\s\x00\[\]]{1,63}"
    r"|sources\.[^.\s\x00\[\]]{1,63}\.(?:interceptors\[\d{1,3}\]|selector)|errors\.dead_letter)$"
)


class PeekQuestion(Frozen):
    """Records of what a component reads or writes: `of` its path. The newest `limit`, or those from an `offset` or a
    `time` on, of one `partition` or all, with this `key` or with this text in key, headers or body. Of an interceptor
    or a selector: those of the newest records of its source that it takes out of the stream."""

    of: str = Field(max_length=200, pattern=_OF)
    topic: str = Field(default="", max_length=249, pattern=_NO_NUL)
    partition: Annotated[int, Field(ge=0, lt=2**31)] | None = None
    offset: _Offset | None = None
    time: AwareDatetime | None = None
    key: _Searched | None = None
    contains: _Searched | None = None
    limit: Annotated[int, Field(ge=1, le=MOST_SHOWN)] = 20

    @model_validator(mode="after")
    def _one_start(self) -> PeekQuestion:
        if self.offset is not None and self.time is not None:
            raise ValueError("give one of offset and time")
        if self.is_sample and self.model_dump(include=_OF_TOPICS, exclude_defaults=True):
            raise ValueError("of an interceptor or a selector, give nothing but limit")
        return self

    @property
    def is_sample(self) -> bool:
        """Whether it is of what a component takes out of the stream."""
        return self.of.endswith((".selector", "]"))

    @property
    def newest(self) -> bool:
        """Whether it starts at the end of the log."""
        return self.offset is None and self.time is None

    @property
    def searches(self) -> bool:
        """Whether not every record is one of those that are asked for."""
        return self.key is not None or self.contains is not None

    def without_content(self) -> PeekQuestion:
        """The same without what records hold, for the audit."""
        hidden = {name: HIDDEN for name in ("key", "contains") if getattr(self, name) is not None}
        return self.model_copy(update=hidden)


_OF_TOPICS = {"topic", "partition", "offset", "time", "key", "contains"}
