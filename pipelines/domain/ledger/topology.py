"""A pipeline as a graph: its components, and how many records went from one to the next."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import StrEnum
from itertools import pairwise

from pipelines.domain.base.positions import Frozen
from pipelines.domain.definitions.document.spec import BUFFER, Definition
from pipelines.domain.ledger.ledger import Cause, Counts

QUARANTINE = "quarantine"
_SHOWN: tuple[Cause, ...] = ("added", "filtered", "unrouted", "dead_lettered")
Query = tuple[str, str]
"""Source and channel."""


class NodeKind(StrEnum):
    """What a node of the graph is."""

    SOURCE = "source"
    INTERCEPTOR = "interceptor"
    SELECTOR = "selector"
    CHANNEL = "channel"
    SINK_GROUP = "sink_group"
    SINK = "sink"


class Moved(Frozen):
    """What a (source, channel) has moved; `by_sink`: what each sink has delivered of it."""

    counts: Counts = Counts()
    by_sink: Mapping[str, int] = {}

    def of(self, *paths: str) -> dict[str, int]:
        """What components have counted, together."""
        parts = [(self.counts.parts or {}).get(path, {}) for path in paths]
        return {name: sum(part.get(name, 0) for part in parts) for name in _SHOWN}

    @property
    def into_channel(self) -> int:
        """Events that came as far as the channel: what it delivered, dropped, or lost to its sinks' refusals."""
        return self.counts.delivered + self.counts.dropped_optional + self.counts.refused_in_delivery


class Node(Frozen):
    """A component, by its path in the definition, and what became of the events that it received."""

    path: str
    kind: NodeKind
    name: str
    type: str
    received: int = 0
    added: int = 0
    filtered: int = 0
    unrouted: int = 0
    dead_lettered: int = 0
    dropped: int = 0

    @property
    def passed(self) -> int:
        """What the next component receives, or a sink delivers."""
        return self.received + self.added - self.filtered - self.unrouted - self.dead_lettered - self.dropped


class Edge(Frozen):
    """What went from one node to another, each by its path."""

    origin: str
    target: str
    records: int


class Topology(Frozen):
    """The graph, in the order in which events go through it."""

    nodes: list[Node]
    edges: list[Edge]


def topology(definition: Definition, moved: Mapping[Query, Moved]) -> Topology:
    """The graph of a definition with what each (source, channel) has moved.

    Channels read a source each for itself; the source, its interceptors and its selector show what the channel read
    that accounts for dead and unrouted events.
    """
    nodes: list[Node] = []
    edges: list[Edge] = []
    for source in sorted(definition.sources):
        chain = list(_chain(definition, source, moved))
        nodes += chain
        edges += [Edge(origin=one.path, target=after.path, records=one.passed) for one, after in pairwise(chain)]
        edges += [
            Edge(
                origin=chain[-1].path,
                target=f"channels.{channel}",
                records=moved.get((source, channel), Moved()).into_channel,
            )
            for channel in definition.targets(source)
        ]
    for channel in sorted(definition.channels):
        received = sum(edge.records for edge in edges if edge.target == f"channels.{channel}")
        for node, incoming in _delivery(definition, channel, received, moved):
            nodes.append(node)
            edges += incoming
    return Topology(nodes=nodes, edges=edges)


def _chain(definition: Definition, source: str, moved: Mapping[Query, Moved]) -> Iterator[Node]:
    """The source, its interceptors and its selector."""
    own = moved.get((source, definition.accounting_channel(source)), Moved())
    spec, path = definition.sources[source], f"sources.{source}"
    node = Node(
        path=path,
        kind=NodeKind.SOURCE,
        name=source,
        type=spec.type,
        received=own.counts.read,
        **own.of(path, QUARANTINE),
    )
    yield node
    for number, interceptor in enumerate(spec.interceptors):
        step = f"{path}.interceptors[{number}]"
        node = Node(
            path=step,
            kind=NodeKind.INTERCEPTOR,
            name=f"interceptors[{number}]",
            type=interceptor.type,
            received=node.passed,
            **own.of(step),
        )
        yield node
    step = f"{path}.selector"
    yield Node(
        path=step,
        kind=NodeKind.SELECTOR,
        name="selector",
        type=spec.selector.type,
        received=node.passed,
        **own.of(step),
    )


def _delivery(
    definition: Definition, channel: str, received: int, moved: Mapping[Query, Moved]
) -> Iterator[tuple[Node, list[Edge]]]:
    """A channel, its sink group and its sinks, each with the edges into it; those into the channel are there."""
    spec, path = definition.channels[channel], f"channels.{channel}"
    given = [each for (source, name), each in moved.items() if name == channel and not source.startswith(BUFFER)]
    dropped = sum(each.counts.dropped_optional for each in given)
    onward = [moved.get((path, channel), Moved())] if spec.buffers else given
    dead = sum(each.of(path)["dead_lettered"] for each in given)
    yield (
        Node(
            path=path,
            kind=NodeKind.CHANNEL,
            name=channel,
            type=spec.type,
            received=received,
            dropped=dropped,
            dead_lettered=dead,
        ),
        [],
    )
    delivery = definition.processor_of(channel)
    sinks = [_sink(definition, name, delivery.members, onward) for name in delivery.members]
    before = path
    if delivery.group:
        before = f"sink_groups.{delivery.group}"
        into = sum(node.received for node in sinks)
        group = Node(
            path=before,
            kind=NodeKind.SINK_GROUP,
            name=delivery.group,
            type=delivery.processor.type,
            received=into,
        )
        yield group, [Edge(origin=path, target=before, records=into)]
    for node in sinks:
        yield node, [Edge(origin=before, target=node.path, records=node.received)]


def _sink(definition: Definition, name: str, siblings: list[str], onward: list[Moved]) -> Node:
    path = f"sinks.{name}"
    dead = sum(each.of(path)["dead_lettered"] for each in onward)
    alone = len(siblings) == 1
    delivered = sum(each.counts.delivered if alone else each.by_sink.get(name, 0) for each in onward)
    return Node(
        path=path,
        kind=NodeKind.SINK,
        name=name,
        type=definition.sinks[name].type,
        received=delivered + dead,
        dead_lettered=dead,
    )
