"""Flume's TimestampInterceptor."""

from __future__ import annotations

from typing import ClassVar, Literal

from pipelines.domain.base.values import HeaderName
from pipelines.domain.definitions.parts.component import InterceptorSpec, field


class TimestampInterceptor(InterceptorSpec):
    """Sets a header to the time at which the event was processed, in milliseconds since 1970."""

    title: ClassVar[str] = "Timestamp"
    type: Literal["timestamp"] = field("Chooses this interceptor.", example="timestamp")
    header_name: HeaderName = field("The header to set.", default="timestamp", example="processed_at")
    preserve_existing: bool = field("Leave the header alone where an event has it.", default=False, example=True)

    @property
    def volatile_headers(self) -> frozenset[str]:
        """The time differs."""
        return frozenset({self.header_name})
