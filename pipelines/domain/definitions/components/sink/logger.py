"""Flume's LoggerSink."""

from __future__ import annotations

from typing import ClassVar, Literal

from pipelines.domain.definitions.parts.component import SinkSpec, field


class LoggerSink(SinkSpec):
    """Writes the beginning of each event to the agent's log. For trying things out."""

    title: ClassVar[str] = "Logger"
    condition: ClassVar[str] = "A batch that is delivered again is logged again."
    type: Literal["logger"] = field("Chooses this sink.", example="logger")
    max_bytes_to_log: int = field("How much of a body is written.", default=16, example=64, unit="bytes", ge=0, le=4096)
