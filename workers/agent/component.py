"""What the builders of components have in common. Adding a component: one spec file and one builder file."""

from __future__ import annotations

import importlib
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pipelines.domain.component import ComponentSpec
from pipelines.domain.journal import Planned
from pipelines.domain.ledger import Counts
from pipelines.domain.positions import PartitionPosition
from workers.agent.checkpoint import Key, Offsets
from workers.agent.guard import LogRange

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from workers.agent.batch import Attempt
    from workers.agent.event import Event


@dataclass(frozen=True)
class Place:
    """Where a component stands. `path` is its place in the definition, for findings."""

    pipeline: str
    lineage: int
    path: str


class Builder:
    """Made of one specification; nothing is contacted before `probe`."""

    def __init__(self, spec: Any, place: Place) -> None:
        self.spec = spec
        self.place = place

    def probe(self) -> None:
        """Reachable, permitted, of the right shape; without side effects, bounded. Raises Refused."""

    def initialise(self, spark: SparkSession) -> None:
        """Whatever must exist before the first record is read. Raises Refused."""


class SourceBuilder(Builder, ABC):
    """Reads records."""

    @abstractmethod
    def log_ranges(self) -> dict[Key, LogRange]:
        """What can be read now, per partition."""

    @abstractmethod
    def first_positions(self, partitions: list[Key], log: dict[Key, LogRange]) -> tuple[Offsets, str]:
        """Explicit offsets for partitions without a position, and what they come from. Raises Refused."""

    @abstractmethod
    def ends(self, partitions: list[Key]) -> Offsets:
        """The ends of the log now; bounded, raises any exception where the source is away."""

    @abstractmethod
    def mirror(self, positions: list[PartitionPosition]) -> None:
        """Show positions to lag tools; bounded, raises any exception where that fails."""

    @abstractmethod
    def stream(self, spark: SparkSession, starts: Offsets, max_events: int) -> tuple[DataFrame, Event]:
        """The endless frame, and the event in it."""


class InterceptorBuilder(Builder, ABC):
    """Looks at each event."""

    @abstractmethod
    def apply(self, event: Event) -> Event:
        """The event with this interceptor's expressions added."""


@dataclass(frozen=True)
class Resolution:
    """What a sink says of a batch that was planned and never done.

    `complete` is false where `delivered_before` is an upper bound. `committed`: the batch is there as a whole.
    """

    delivered_before: int
    complete: bool = True
    committed: bool = False


class SinkBuilder(Builder, ABC):
    """Delivers batches."""

    def ends(self) -> list[PartitionPosition]:
        """The sink's own end offsets, where it has any; noted in `planned`. Raises any exception where it is away."""
        return []

    @abstractmethod
    def write(self, attempt: Attempt) -> Counts:
        """Deliver a batch; returns its counts once the sink has acknowledged all of it. Raises any exception."""

    @abstractmethod
    def resolve(self, planned: Planned) -> Resolution:
        """How much of a planned batch is there already."""


def builder(spec: ComponentSpec, place: Place) -> Any:
    """The builder of a specification, from `components/<kind>_<type>.py`."""
    module = importlib.import_module(f"workers.agent.components.{spec.kind}_{spec.type}")
    return module.Builder(spec, place)
