"""Flume's LoadBalancingSinkProcessor."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

from pydantic import BeforeValidator

from pipelines.domain.definitions.parts.component import ProcessorSpec, field


def _folded(value: Any) -> Any:
    """Flume does not mind how the name of a selector is capitalised."""
    return value.lower() if isinstance(value, str) else value


class LoadBalanceProcessor(ProcessorSpec):
    """Hands batches to the sinks of the group in turn or at random; a batch that one fails goes to the next."""

    title: ClassVar[str] = "Load balance"
    type: Literal["load_balance"] = field("Chooses this processor.", example="load_balance")
    selector: Annotated[Literal["round_robin", "random"], BeforeValidator(_folded)] = field(
        "`round_robin`: in turn. `random`: in a new random order for each batch.",
        default="round_robin",
        example="random",
    )
    backoff: bool = field(
        "Leave a failed sink alone for a while: 2000 ms, doubling with each failure in a row.",
        default=False,
        example=True,
    )
    max_timeout_ms: int = field(
        "The longest time that `backoff` leaves a failed sink alone.",
        default=30_000,
        example=10_000,
        unit="ms",
        ge=1,
        le=86_400_000,
    )
