"""Sink processors: which sink takes a batch, and what happens when it fails."""

from __future__ import annotations

from collections.abc import Callable

from pipelines.domain.definitions.components.processor.failover import FailoverProcessor
from pipelines.domain.definitions.components.processor.load_balance import LoadBalanceProcessor
from pipelines.domain.definitions.parts.component import ProcessorSpec
from workers.agent.sink_processors.default import Default
from workers.agent.sink_processors.failover import Failover
from workers.agent.sink_processors.group import AllFailed, Processor
from workers.agent.sink_processors.load_balance import LoadBalance

__all__ = ["AllFailed", "Processor", "processor"]


def processor(
    spec: ProcessorSpec, members: list[str], clock: Callable[[], float], wall: Callable[[], float]
) -> Processor:
    """The processor that a definition asks for. `clock`: monotonic seconds; `wall`: seconds since 1970, for people."""
    if isinstance(spec, FailoverProcessor):
        return Failover(members, spec.priorities, spec.max_penalty_ms, clock=clock, wall=wall)
    if isinstance(spec, LoadBalanceProcessor):
        max_timeout_ms = spec.max_timeout_ms if spec.backoff else 0
        return LoadBalance(members, spec.selector, max_timeout_ms, clock=clock, wall=wall)
    return Default(members, clock=clock, wall=wall)
