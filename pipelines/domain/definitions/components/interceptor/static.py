"""Flume's StaticInterceptor."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from pipelines.domain.base.values import HeaderName
from pipelines.domain.definitions.parts.component import InterceptorSpec, field


class StaticInterceptor(InterceptorSpec):
    """Sets one header to the same value on every event."""

    title: ClassVar[str] = "Static header"
    type: Literal["static"] = field("Chooses this interceptor.", example="static")
    key: HeaderName = field("The header to set.", example="datacenter")
    value: Annotated[str, Field(max_length=4096)] = field("The value to set it to.", example="prague")
    preserve_existing: bool = field("Leave the header alone where an event has it.", default=True, example=False)
