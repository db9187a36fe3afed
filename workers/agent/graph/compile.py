"""From a definition to what Spark runs: the builders of a graph, and the frame of each of its queries."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from pipelines.domain.access.reach import ReachPolicy
from pipelines.domain.base.states import RunRole
from pipelines.domain.definitions.document.spec import BUFFER, Definition, Read
from pipelines.domain.definitions.parts.component import ComponentSpec
from pipelines.domain.ledger.ledger import Cause
from pipelines.domain.runs.crashes import QUARANTINE, Quarantined
from pipelines.domain.runs.protocol import KafkaReader, Launch
from workers.agent.base.batch_limits import BatchLimits
from workers.agent.base.event import Event
from workers.agent.graph.batch import Classifier
from workers.agent.graph.component import (
    Builder,
    ChannelBuilder,
    DeadLetterBuilder,
    InterceptorBuilder,
    Place,
    SelectorBuilder,
    SinkBuilder,
    SourceBuilder,
    builder,
)
from workers.agent.graph.quarantine import marked, of_read
from workers.agent.positions.checkpoint import Offsets

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

DEAD_LETTER = "errors.dead_letter"


@dataclass(frozen=True)
class Graph:
    """Builders: what reads read, by the read's source; interceptors of each source in their order; selectors by source;
    the sinks of each channel by (source, channel). `parts`: all components, by path."""

    definition: Definition
    sources: dict[str, SourceBuilder]
    interceptors: dict[str, list[InterceptorBuilder]]
    selectors: dict[str, SelectorBuilder]
    sinks: dict[str, SinkBuilder]
    inlets: dict[str, SinkBuilder]
    dead_letters: DeadLetterBuilder
    parts: dict[str, Builder]
    quarantined: Sequence[Quarantined] = ()
    reach: ReachPolicy | None = None

    def sinks_of(self, source: str, channel: str) -> dict[str, SinkBuilder]:
        """Who takes the batches: the store of a channel that buffers, or the channel's sinks."""
        if channel in self.inlets and not source.startswith(BUFFER):
            return {channel: self.inlets[channel]}
        return {name: self.sinks[name] for name in self.definition.processor_of(channel).members}

    def promoted(self, lineage: int, quarantined: Sequence[Quarantined]) -> Graph:
        """The same, with the same initialised builders, for a standby that is ACTIVE now."""
        for part in {*self.parts.values(), *self.sources.values(), *self.inlets.values(), self.dead_letters}:
            part.place = replace(part.place, lineage=lineage, standby=False)
        return replace(self, quarantined=quarantined)

    def classifier(self, source: str, channel: str) -> Classifier:
        """Who says what becomes of an event."""
        if source.startswith(BUFFER):
            return Classifier(channel, selector="", keeps_bad=True, fails=self._fails(source))
        return Classifier(
            channel,
            selector=f"sources.{source}.selector",
            keeps_bad=channel == self.definition.accounting_channel(source),
            filters=self._that_can("filtered", source),
            adds=self._that_can("added", source),
            fails=self._fails(source),
        )

    def _that_can(self, cause: Cause, source: str) -> dict[int, str]:
        interceptors = self.interceptors.get(source, [])
        return {part.place.number: part.place.path for part in interceptors if cause in part.causes}

    def _fails(self, source: str) -> list[str]:
        """What is ahead of the sinks and can make a dead letter of an event."""
        reader = self.sources[source]
        own = [reader.place.path] if "dead_lettered" in reader.causes else []
        quarantine = [QUARANTINE] if any(each.source == source for each in self.quarantined) else []
        return [*quarantine, *own, *self._that_can("dead_lettered", source).values()]


def build(
    definition: Definition,
    *,
    lineage: int,
    state: Path,
    run: Path | None = None,
    classes: frozenset[str] = frozenset(),
    directories: Sequence[str] = (),
    pipeline_id: str = "",
    quarantined: Sequence[Quarantined] = (),
    standby: bool = False,
    reach: ReachPolicy | None = None,
    beside: Path | None = None,
    kafka_reader: KafkaReader = "headgate",
) -> Graph:
    """Make a builder for every component; nothing is contacted. The arguments are those of a component's `Place`."""
    place = Place(
        definition.name,
        lineage,
        "",
        state,
        run,
        tuple(definition.channels),
        classes,
        tuple(directories),
        pipeline_id,
        standby,
        reach,
        beside,
        kafka_reader,
    )
    parts = {path: builder(spec, replace(place, path=path)) for path, spec in _components(definition)}
    channels = {name: part for name in definition.channels if isinstance(part := parts[f"channels.{name}"], Builder)}
    buffers = {name: part for name, part in channels.items() if isinstance(part, ChannelBuilder) and part.spec.buffers}
    sources = {name: parts[f"sources.{name}"] for name in definition.sources}
    outlets = {f"{BUFFER}{name}": part.outlet() for name, part in buffers.items()}
    return Graph(
        definition=definition,
        sources={**{n: part for n, part in sources.items() if isinstance(part, SourceBuilder)}, **outlets},
        interceptors={name: _interceptors(parts, name, definition) for name in definition.sources},
        selectors={
            n: p for n in definition.sources if isinstance(p := parts[f"sources.{n}.selector"], SelectorBuilder)
        },
        sinks={n: p for n in definition.sinks if isinstance(p := parts[f"sinks.{n}"], SinkBuilder)},
        inlets={name: part.inlet() for name, part in buffers.items()},
        dead_letters=_dead_letters(parts),
        parts=parts,
        quarantined=quarantined,
        reach=reach,
    )


def of_run(launch: Launch, definition: Definition, run: Path | None = None) -> Graph:
    """The graph of a run, whose `definition` has its references replaced. `run`: where its own files go, if any."""
    return build(
        definition,
        lineage=launch.lineage,
        state=launch.data_root,
        run=run,
        classes=frozenset(launch.interceptors),
        directories=launch.interceptor_path,
        pipeline_id=launch.pipeline_id,
        quarantined=launch.quarantined,
        standby=launch.role is RunRole.STANDBY,
        reach=launch.reach,
        kafka_reader=launch.spark.kafka_reader,
    )


def _components(definition: Definition) -> list[tuple[str, ComponentSpec]]:
    """(path, specification) of everything that has a builder."""
    found: list[tuple[str, ComponentSpec]] = []
    for name, source in definition.sources.items():
        found.append((f"sources.{name}", source))
        found += [(f"sources.{name}.interceptors[{n}]", spec) for n, spec in enumerate(source.interceptors)]
        found.append((f"sources.{name}.selector", source.selector))
    found += [(f"channels.{name}", channel) for name, channel in definition.channels.items()]
    found += [(f"sinks.{name}", sink) for name, sink in definition.sinks.items()]
    return [*found, (DEAD_LETTER, definition.dead_letter())]


def _dead_letters(parts: dict[str, Builder]) -> DeadLetterBuilder:
    part = parts[DEAD_LETTER]
    if not isinstance(part, DeadLetterBuilder):
        raise TypeError(f"{type(part).__module__} does not keep dead letters")
    return part


def _interceptors(parts: dict[str, Builder], source: str, definition: Definition) -> list[InterceptorBuilder]:
    paths = [
        f"sources.{source}.interceptors[{number}]" for number in range(len(definition.sources[source].interceptors))
    ]
    return [part for path in paths if isinstance(part := parts[path], InterceptorBuilder)]


def intercept(
    frame: DataFrame, event: Event, interceptors: list[InterceptorBuilder], selector: SelectorBuilder | None
) -> DataFrame:
    """Apply interceptors in their order, then the selector; the columns are those of `Event.columns`."""
    for interceptor in interceptors:
        frame, event = interceptor.through(frame, event)
    return frame.select(*_selected(event, selector))


def _selected(event: Event, selector: SelectorBuilder | None) -> list[Column]:
    return event.columns(selector.targets(event), selector.required(event)) if selector else event.columns()


@dataclass(frozen=True)
class Endless:
    """What a query streams, and what is still to be selected from each of its batches; None where nothing is.

    Expressions that are evaluated in the batch's own plan know its time as a constant. In the plan of the stream that
    time is a number in generated code, which Java would compile anew for each batch.
    """

    frame: DataFrame
    columns: Sequence[Column] | None = None

    def events(self, batch: DataFrame) -> DataFrame:
        """The events of a batch, after interceptors and selector, with their origin."""
        return batch if self.columns is None else batch.select(*self.columns)


def endless(spark: SparkSession, graph: Graph, read: Read, starts: Offsets, limits: BatchLimits) -> Endless:
    """What one query reads. Interceptors that change the frame itself stay in the plan of the stream."""
    source = graph.sources[read.source]
    start = source.optional_stream if graph.definition.is_optional(read) else source.stream
    found, event = start(spark, starts, limits)
    interceptors = [] if read.source.startswith(BUFFER) else graph.interceptors[read.source]
    if any(interceptor.changes_frame for interceptor in interceptors):
        return Endless(_after(graph, read, found, event))
    event = marked(event, of_read(graph.quarantined, read))
    for interceptor in interceptors:
        event = interceptor.apply(event)
    return Endless(found, _selected(event, graph.selectors.get(read.source)))


def flow(spark: SparkSession, graph: Graph, read: Read, starts: Offsets) -> DataFrame:
    """The same for real-time mode."""
    return _after(graph, read, *graph.sources[read.source].flow(spark, starts))


def past(spark: SparkSession, graph: Graph, read: Read, starts: Offsets, ends: Offsets) -> DataFrame:
    """The same of records that have been read before."""
    return _after(graph, read, *graph.sources[read.source].past(spark, starts, ends))


def _after(graph: Graph, read: Read, found: DataFrame, event: Event) -> DataFrame:
    event = marked(event, of_read(graph.quarantined, read))
    if read.source.startswith(BUFFER):
        return found.select(*event.columns())
    return intercept(found, event, graph.interceptors[read.source], graph.selectors.get(read.source))
