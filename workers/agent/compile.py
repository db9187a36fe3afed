"""From a definition to what Spark runs: the builders of a graph, and the frame of each of its queries."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pipelines.domain.spec import Definition
from workers.agent.checkpoint import Offsets
from workers.agent.component import Builder, InterceptorBuilder, Place, SinkBuilder, SourceBuilder, builder
from workers.agent.event import Event

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


@dataclass(frozen=True)
class Graph:
    """Builders by name: sources, interceptors of each source in their order, and sinks. `parts`: all, by path."""

    sources: dict[str, SourceBuilder]
    interceptors: dict[str, list[InterceptorBuilder]]
    sinks: dict[str, SinkBuilder]
    parts: dict[str, Builder]


def build(definition: Definition, lineage: int) -> Graph:
    """Make a builder for every component; nothing is contacted."""
    parts: dict[str, Builder] = {}

    def part(path: str, spec: object) -> Builder:
        parts[path] = builder(spec, Place(definition.name, lineage, path))  # type: ignore[arg-type]
        return parts[path]

    for name, source in definition.sources.items():
        part(f"sources.{name}", source)
        for number, spec in enumerate(source.interceptors):
            part(f"sources.{name}.interceptors[{number}]", spec)
        part(f"sources.{name}.selector", source.selector)
    for name, channel in definition.channels.items():
        part(f"channels.{name}", channel)
    for name, sink in definition.sinks.items():
        part(f"sinks.{name}", sink)
    return Graph(
        sources={n: p for n in definition.sources if isinstance(p := parts[f"sources.{n}"], SourceBuilder)},
        interceptors={name: _interceptors(parts, name, definition) for name in definition.sources},
        sinks={n: p for n in definition.sinks if isinstance(p := parts[f"sinks.{n}"], SinkBuilder)},
        parts=parts,
    )


def _interceptors(parts: dict[str, Builder], source: str, definition: Definition) -> list[InterceptorBuilder]:
    paths = [
        f"sources.{source}.interceptors[{number}]" for number in range(len(definition.sources[source].interceptors))
    ]
    return [part for path in paths if isinstance(part := parts[path], InterceptorBuilder)]


def intercept(event: Event, interceptors: list[InterceptorBuilder]) -> Event:
    """Apply interceptors in the order in which they are listed."""
    for interceptor in interceptors:
        event = interceptor.apply(event)
    return event


def frame(
    spark: SparkSession, source: SourceBuilder, interceptors: list[InterceptorBuilder], starts: Offsets, max_events: int
) -> DataFrame:
    """The endless frame of one query: events after the interceptors, with their origin."""
    read, event = source.stream(spark, starts, max_events)
    return intercept(event, interceptors).select_from(read)
