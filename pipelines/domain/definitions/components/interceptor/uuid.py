"""Flume's UUIDInterceptor."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from pipelines.domain.base.values import HeaderName
from pipelines.domain.definitions.parts.component import InterceptorSpec, field


class UuidInterceptor(InterceptorSpec):
    """Sets a header to a UUID of the event.

    The UUID (version 5) is made of the pipeline, the source and the event's place in it, so that an event that is read
    again gets the same one and consumers can drop duplicates by it.
    """

    title: ClassVar[str] = "UUID"
    type: Literal["uuid"] = field("Chooses this interceptor.", example="uuid")
    header_name: HeaderName = field("The header to set.", default="id", example="event_id")
    prefix: Annotated[str, Field(max_length=256)] = field("Text before the UUID.", default="", example="shop-")
    preserve_existing: bool = field("Leave the header alone where an event has it.", default=True, example=False)
    random: bool = field(
        "Make a random UUID, as Flume does. An event that is read again gets another one, and all channels of the "
        "source share one read.",
        default=False,
        example=True,
    )

    @property
    def repeatable(self) -> bool:
        """Not where the UUID is random."""
        return not self.random

    @property
    def volatile_headers(self) -> frozenset[str]:
        """A random UUID differs."""
        return frozenset({self.header_name} if self.random else {})
