"""Numbered events out of nothing (Flume's SequenceGeneratorSource), for demonstrations and tests."""

from __future__ import annotations

from typing import ClassVar, Literal

from pipelines.domain.definitions.parts.component import field
from pipelines.domain.definitions.sources.source import SourceSpec


class SequenceSource(SourceSpec):
    """Generates numbered events at a steady rate. Event n is the same whenever it is read, so it can be replayed."""

    title: ClassVar[str] = "Sequence"
    type: Literal["sequence"] = field("Chooses this source.", example="sequence")
    rate: int = field(
        "Events a second. 0: as fast as they are taken.",
        default=100,
        example=1000,
        unit="events per second",
        ge=0,
        le=10_000_000,
    )
    limit: int | None = field(
        "The number of events after which it ends; without it, the source never ends.",
        default=None,
        example=10_000,
        unit="events",
        ge=0,
        le=9_007_199_254_740_991,
    )
    body: str = field(
        "The body. `{n}` stands for the number of the event, which starts at 0.",
        default="{n}",
        example='{"number": {n}}',
        max_length=65_536,
    )
    partitions: int = field(
        "Into how many partitions the events are dealt out, in turn.",
        default=1,
        example=4,
        unit="partitions",
        ge=1,
        le=64,
    )
