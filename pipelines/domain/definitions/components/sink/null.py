"""Flume's NullSink."""

from __future__ import annotations

from typing import ClassVar, Literal

from pipelines.domain.definitions.parts.component import SinkSpec, field


class NullSink(SinkSpec):
    """Takes every event and keeps none. For measuring, and for channels that are no longer needed."""

    title: ClassVar[str] = "Null"
    once: ClassVar[bool] = True
    condition: ClassVar[str] = "Nothing is kept."
    type: Literal["null"] = field("Chooses this sink.", example="null")
