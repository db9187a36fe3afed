"""Flume's DefaultSinkProcessor."""

from __future__ import annotations

from typing import ClassVar, Literal

from pipelines.domain.definitions.parts.component import ProcessorSpec, field


class DefaultProcessor(ProcessorSpec):
    """Hands every batch to the only sink of the group."""

    title: ClassVar[str] = "Default"
    type: Literal["default"] = field("Chooses this processor.", example="default")
