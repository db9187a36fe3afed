"""Flume's FailoverSinkProcessor."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from pipelines.domain.base.values import ComponentName
from pipelines.domain.definitions.parts.component import ProcessorSpec, field

Priority = Annotated[int, Field(ge=-(2**31), le=2**31 - 1)]


class FailoverProcessor(ProcessorSpec):
    """Hands batches to the live sink with the highest priority; one that failed is tried again after a penalty."""

    title: ClassVar[str] = "Failover"
    type: Literal["failover"] = field("Chooses this processor.", example="failover")
    priorities: dict[ComponentName, Priority] = field(
        "A number for each sink of the group, all different. The highest that works takes the batches.",
        example={"lake_a": 10, "lake_b": 5},
        refers="sinks",
        max_length=100,
    )
    max_penalty_ms: int = field(
        "The longest time that a failed sink is left alone: 2000 ms, doubling with each failure in a row.",
        default=30_000,
        example=10_000,
        unit="ms",
        ge=1,
        le=86_400_000,
    )
