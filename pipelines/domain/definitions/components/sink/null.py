"""Flume's NullSink."""

from __future__ import annotations

from typing import ClassVar, Literal

from pipelines.domain.definitions.parts.component import SinkSpec, field


class NullSink(SinkSpec):
    """Takes every event and keeps none. Use it to measure, and for channels that you no longer need."""

    title: ClassVar[str] = "Null"
    type: Literal["null"] = field("Chooses this sink.", example="null")
