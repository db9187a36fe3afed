"""What the builders of components have in common. Adding a component: one spec file and one builder file."""

from __future__ import annotations

import importlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from pipelines.domain.access.reach import ReachPolicy
from pipelines.domain.base.positions import PartitionPosition, SourceIdentity, TopicPartition
from pipelines.domain.definitions.parts.component import ComponentSpec
from pipelines.domain.ledger.journal import Planned, SinkPosition
from pipelines.domain.ledger.ledger import Cause, Counts
from pipelines.domain.preview.selection import Extent, newest
from pipelines.domain.runs.protocol import AgentFinding, IngestBufferStatus, KafkaReader
from workers.agent.base.batch_limits import BatchLimits
from workers.agent.base.findings import Refused, refuse
from workers.agent.base.located import Marked, Search, Wanted
from workers.agent.positions.checkpoint import Offsets
from workers.agent.positions.guard import LogRange, Mirrored, within_log
from workers.agent.positions.held import Held

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession
    from pyspark.sql.streaming.readwriter import DataStreamWriter

    from workers.agent.base.event import Event
    from workers.agent.graph.batch import Attempt, Refusal


ON_ERROR: dict[str, frozenset[Cause]] = {
    "dead_letter": frozenset({"dead_lettered"}),
    "drop": frozenset({"filtered"}),
    "fail": frozenset(),
}
"""What interceptors with an `on_error` make of an event that they cannot process."""

REACH_TIMEOUT = 2.0
"""Seconds in which a sink that is there says so."""


@dataclass(frozen=True)
class Place:
    """Where a component stands. `path` is its place in the definition, for findings; `state` a directory of the
    pipeline on this host that outlives its runs, `run` that of the run, if there is one. `channels`: all of the
    definition. `classes`: the interceptors that the administrator allows, as module:Class; `directories`: where
    they may lie beside the installed packages. `pipeline_id`: of the pipeline, whose name others may have had.
    `standby`: another run of the pipeline may be at work; what it holds is no reason to refuse, and there is no
    lineage yet. `reach`: the paths and servers that it may use; None outside of runs. `beside`: of an evaluation beside
    the pipeline, what `state` is to its runs; read and never written. `kafka_reader`: that of its Kafka sources."""

    pipeline: str
    lineage: int
    path: str
    state: Path = Path()
    run: Path | None = None
    channels: tuple[str, ...] = ()
    classes: frozenset[str] = frozenset()
    directories: tuple[str, ...] = ()
    pipeline_id: str = ""
    standby: bool = False
    reach: ReachPolicy | None = None
    beside: Path | None = None
    kafka_reader: KafkaReader = "headgate"

    @property
    def source(self) -> str:
        """The name of the source that stands here, as reads have it."""
        return self.path.removeprefix("sources.")

    @property
    def number(self) -> int:
        """Which of its source's interceptors stands here."""
        return int(self.path.rpartition("[")[2].removesuffix("]"))

    @property
    def name(self) -> str:
        """The last part of the path: the name that the definition gives to a source, channel or sink."""
        return self.path.rpartition(".")[2]


class Builder:
    """Made of one specification; nothing is contacted before `probe`.

    `warnings`: what a probe found, or could not find out, that is no reason to refuse a start; shown with the
    component's state.
    """

    def __init__(self, spec: Any, place: Place) -> None:
        self.spec = spec
        self.place = place
        self.warnings: list[AgentFinding] = []

    def probe(self) -> None:
        """Reachable, permitted, of the right shape; without side effects, bounded. Raises Refused."""

    def out_of_reach(self) -> list[AgentFinding]:
        """Servers that it is led to while it runs, and may not reach. Asked now and then, bounded."""
        return []

    def initialise(self, spark: SparkSession) -> None:
        """Whatever must exist before the first record is read. Raises Refused."""

    def stay_ready(self, spark: SparkSession) -> None:
        """A standby waits: renew what would be let go meanwhile. Called now and then. Raises Refused."""


class SourceBuilder(Builder, ABC):
    """Reads records. `waits_for_optional`: what is acknowledged is gone, so optional channels must be past it, too.
    `overruns`: optional channels that fall behind lose what is acknowledged; offsets count events, so it is counted."""

    waits_for_optional: ClassVar[bool] = False
    overruns: ClassVar[bool] = False
    reads_past: ClassVar[bool] = False
    """Whether `past` reads by the positions of the pipeline."""
    counts_bytes: ClassVar[bool] = False
    """Whether offsets are bytes and not records."""

    @property
    def causes(self) -> frozenset[Cause]:
        """What it can make of a record other than an event; the ledger counts it by component."""
        return frozenset({"dead_lettered"})

    @abstractmethod
    def log_ranges(self) -> dict[TopicPartition, LogRange]:
        """What can be read now, per partition."""

    @abstractmethod
    def first_positions(
        self, partitions: list[TopicPartition], log: dict[TopicPartition, LogRange]
    ) -> tuple[Offsets, str]:
        """Explicit offsets for partitions without a position, and what they come from. Raises Refused."""

    @abstractmethod
    def ends(self, partitions: list[TopicPartition]) -> Offsets:
        """The ends of the log now; bounded, raises any exception where the source is away."""

    def acknowledge(self, positions: list[PartitionPosition]) -> None:
        """Every required channel is past these positions: show them to lag tools, or let go of what lies before them.

        Called about once a second while they move; bounded, raises any exception where that fails.
        """

    def identity(self) -> SourceIdentity | None:
        """Which log the positions are offsets of; None where nothing else can take its name. Raises Refused."""
        return None

    def topic_ids(self, topics: Iterable[str]) -> dict[str, str]:
        """Of a source with an identity: the ids of these topics now; those that are gone are left out.

        Bounded, raises any exception where the source is away.
        """
        return {}

    def mirrored(self, partitions: list[TopicPartition], *, surely: bool) -> dict[TopicPartition, Mirrored] | None:
        """What lag tools are shown, None where nobody may ask; `surely`: what is missing is asked for again in another
        way. Raises Refused."""
        return None

    def at_time(self, partitions: list[TopicPartition], milliseconds: int) -> Offsets | None:
        """The first offset of each partition that is not older, its end where all are; None where that is not known."""
        return None

    def headers_at(self, key: TopicPartition, offset: int) -> dict[str, bytes]:
        """What one record carries, of each name the last; empty where the source has no such record, or cannot be asked
        for one. Raises any exception where it does not answer."""
        return {}

    def locate(self, spark: SparkSession, marked: Marked, seconds: float) -> Search:
        """Where the source has the records with one header, bounded. Raises Unverifiable where that cannot be asked,
        any exception where the source does not answer."""
        raise Unverifiable(f"records cannot be looked for in a source of the type {self.spec.type}")

    def expiring(self, positions: list[PartitionPosition]) -> dict[TopicPartition, float]:
        """Positions whose records may be deleted soon, unread, with the seconds in which."""
        return {}

    def ingest_buffer(self) -> IngestBufferStatus | None:
        """How a source that is pushed to is doing; None for those that read by themselves. Bounded."""
        return None

    def close_ingest_buffer(self) -> None:
        """Take nothing more in: the run is about to end. At once; what was taken in is read by the next run."""

    def held_up(self, channel: str, component: str, cause: str) -> None:
        """The required channel that is furthest behind, and what holds it; all empty where nothing is held up."""

    def outside(self, positions: list[PartitionPosition], log: dict[TopicPartition, LogRange]) -> list[AgentFinding]:
        """What speaks against reading on from these positions, with the exact number of records."""
        return within_log(self.place.path, positions, log)

    @abstractmethod
    def stream(self, spark: SparkSession, starts: Offsets, limits: BatchLimits) -> tuple[DataFrame, Event]:
        """The endless frame, and the event in it."""

    def flow(self, spark: SparkSession, starts: Offsets) -> tuple[DataFrame, Event]:
        """The endless frame for real-time mode, whose batches have no limit, where the source can do that."""
        raise NotImplementedError

    def optional_stream(self, spark: SparkSession, starts: Offsets, limits: BatchLimits) -> tuple[DataFrame, Event]:
        """The same for optional channels alone, which may be overrun."""
        return self.stream(spark, starts, limits)

    def open_beside(self) -> None:
        """Get ready to be read beside the pipeline, by no position of it. Raises Refused where only the pipeline can do
        that."""
        raise not_readable(self)

    def other_log(self, before: SourceBuilder) -> str:
        """Why its offsets are of other records than those of an earlier revision of it; empty where they are not."""
        if type(self) is not type(before):
            return "The revisions have sources of different types here"
        return ""

    def newest(self, starts: Offsets, ends: Offsets, most: int) -> Extent:
        """The last `most` records of [starts, ends)."""
        return newest(starts, ends, most)

    def records(self, spark: SparkSession, starts: Offsets, ends: Offsets) -> DataFrame:
        """The records of [starts, ends) once more, as `given` takes them, where the source can do that without a
        query."""
        raise NotImplementedError

    def past(self, spark: SparkSession, starts: Offsets, ends: Offsets) -> tuple[DataFrame, Event]:
        """The same, and the event in it."""
        return self.given(self.records(spark, starts, ends))

    def given(self, frame: DataFrame) -> tuple[DataFrame, Event]:
        """A frame of given records (`workers.agent.evaluation.given`) or of `records`, and the event in it."""
        from workers.agent.base.event import Event

        event = Event(key=frame["key"], body=frame["value"], carried=frame["headers"])
        if "problem" not in frame.columns:
            return frame, event
        return frame, event.failed_where(frame["problem"].isNotNull(), self.place.path, frame["problem"])


class InterceptorBuilder(Builder):
    """Looks at each event: most of them by `apply`, those that change the frame itself by `through`."""

    @property
    def causes(self) -> frozenset[Cause]:
        """What it can make of an event other than to pass it on; the ledger counts it by component."""
        return frozenset()

    @property
    def changes_frame(self) -> bool:
        """Whether it does more than to add expressions to the event."""
        return type(self).through is not InterceptorBuilder.through

    def apply(self, event: Event) -> Event:
        """The event with this interceptor's expressions added."""
        raise NotImplementedError

    def through(self, frame: DataFrame, event: Event) -> tuple[DataFrame, Event]:
        """The frame and the event in it after this interceptor."""
        return frame, self.apply(event)


class SelectorBuilder(Builder):
    """Chooses the channels of each event."""

    def targets(self, event: Event) -> Column | None:
        """array<string> of channel names, without repetition, empty for an event that nobody takes; None: every event
        goes to every target."""
        return None

    def required(self, event: Event) -> Column | None:
        """array<string> of those of them that must deliver the event, where the event decides about any of them; None:
        `optional_targets` of the definition says it."""
        return None


@dataclass(frozen=True)
class Resolution:
    """What a sink says of a batch that was planned and never done.

    `complete` is false where `delivered_before` is an upper bound. `committed`: the batch is there as a whole.
    """

    delivered_before: int
    complete: bool = True
    committed: bool = False


class Unverifiable(Exception):
    """It cannot be known which events of a batch the sink holds; the text says why."""


@dataclass(frozen=True)
class Look:
    """What a look at a sink's tail has found, and up to where it went."""

    held: Held
    until: Offsets


class SinkBuilder(Builder, ABC):
    """Delivers batches."""

    @property
    def deduplicates(self) -> bool:
        """It can be read for the events of an unfinished batch that it has, so that the others alone are delivered."""
        return type(self).look is not SinkBuilder.look

    @property
    def write_deadline(self) -> float:
        """Seconds that a write may take."""
        return float(self.spec.write_deadline)

    def stream(self, written: Callable[[Sequence[Column]], DataFrame], source: str, channel: str) -> DataStreamWriter:
        """A writer without foreachBatch, for real-time mode, where the sink has one. `written`: the events in its own
        columns, with others that it has to pass over."""
        raise NotImplementedError

    def reach(self) -> None:
        """Ask the sink whether it is there, while a write to it goes on in another thread. Bounded by REACH_TIMEOUT,
        without side effects; raises any exception where the sink is away. Nothing to ask by default."""

    def refuses(self) -> Column | None:
        """Why this sink can never take an event, as text over the columns key, body and headers; null where it can."""
        return None

    def ends(self) -> list[SinkPosition]:
        """The sink's own end offsets, where it has any; noted in `planned`. Raises any exception where it is away."""
        return []

    def look(
        self, planned: Planned, spark: SparkSession, since: Offsets | None, told: Callable[[int, int], None]
    ) -> Look:
        """Which events of an unfinished batch the sink has got since its noted ends, or since an earlier look. `told`
        hears of so many records that were looked at, and of how many there are.

        Raises Unverifiable where nobody can know it, any exception where the sink does not answer now.
        """
        raise NotImplementedError

    def origin_at(self, key: TopicPartition, offset: int) -> bytes | None:
        """What one of its records tells about where it came from. Raises Unverifiable where it has no such record, any
        exception where the sink does not answer."""
        raise Unverifiable

    def locate(self, spark: SparkSession, wanted: Wanted, seconds: float) -> Search:
        """Where the sink has one record, bounded. Raises Unverifiable where that cannot be asked, any exception where
        the sink does not answer."""
        raise Unverifiable(f"records cannot be looked for in a sink of the type {self.spec.type}")

    def abandon(self, spark: SparkSession) -> float:
        """An attempt has failed: have nothing of it sent any more. Returns the seconds in which that may happen all the
        same."""
        return 0.0

    def warm_up(self, attempt: Attempt) -> None:
        """Go through a batch without events, so that the first real one takes no longer than others. Nothing may be
        left of it in the sink, where another run may be at work."""
        attempt.events.write.format("noop").mode("append").save()

    @property
    def written_with(self) -> Hashable | None:
        """Sinks with equal values can be written in one pass by `write_together` of any of them; None: it cannot."""
        return None

    def write_together(self, passes: Sequence[tuple[SinkBuilder, Attempt]]) -> None:
        """Deliver the same batch to several such sinks; returns once it is acknowledged. Raises any exception."""
        raise NotImplementedError

    @abstractmethod
    def write(self, attempt: Attempt) -> Counts:
        """Deliver a batch; returns its counts once the sink has acknowledged all of it. Raises any exception."""

    @abstractmethod
    def resolve(self, planned: Planned) -> Resolution:
        """How much of a planned batch is there already."""


class DeadLetterBuilder(Builder, ABC):
    """Keeps dead letters."""

    @abstractmethod
    def store(self, planned: Planned, dead_letters: Sequence[Refusal]) -> list[str]:
        """Keep them for good; returns where each lies. Bounded, raises any exception where that fails."""


class ChannelBuilder(Builder):
    """A channel; one that buffers is the sink of one query and the source of another."""

    def inlet(self) -> SinkBuilder:
        """Where events go in."""
        raise NotImplementedError

    def outlet(self) -> SourceBuilder:
        """Where they come out."""
        raise NotImplementedError


def not_readable(source: SourceBuilder, advice: str = "Use `headgate rehearse` with events of your own.") -> Refused:
    """What is said of a source whose records only its pipeline can read."""
    message = f"Records of a source of the type {source.spec.type} cannot be read beside its pipeline."
    return refuse(source.place.path, "SOURCE_NOT_READABLE", message, advice)


def own_keys(spec: ComponentSpec) -> dict[str, Any]:
    """What a source reads by, without what becomes of its events."""
    return spec.model_dump(mode="json", exclude={"interceptors", "selector"})


def builder(spec: ComponentSpec, place: Place) -> Any:
    """The builder of a specification, from `components/<kind>_<type>.py`."""
    module = importlib.import_module(f"workers.agent.components.{spec.kind}.{spec.type}")
    return module.Builder(spec, place)
