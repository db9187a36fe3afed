"""A definition as a graph, with what went from one component to the next."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.domain.definitions.document.spec import Definition
from pipelines.domain.ledger.ledger import CAUSES, Counts
from pipelines.domain.ledger.topology import Edge, Moved, NodeKind, Topology, topology

FILTER = {"type": "regex_filter", "regex": "a"}
FIRST, SECOND = "sources.shop.interceptors[0]", "sources.shop.interceptors[1]"
SELECTOR, SINK = "sources.shop.selector", "sinks.lake"


def definition(**parts: Any) -> Definition:
    source = {"type": "sequence", "rate": 5, "interceptors": [FILTER, {"type": "timestamp"}]}
    return Definition.model_validate(
        {
            "api_version": "headgate/v1",
            "name": "orders",
            "sources": {"shop": {**source, **parts.pop("source", {})}},
            "channels": {"lake": {"type": "direct"}},
            "sinks": {"lake": {"type": "null", "channel": "lake"}},
            **parts,
        }
    )


def moved(read: int, **parts: dict[Any, int]) -> Moved:
    """What is left is delivered by the sink."""
    paths = {"first": FIRST, "second": SECOND, "selector": SELECTOR, "sink": SINK, "quarantine": "quarantine"}
    components = {paths[name]: each for name, each in parts.items()}
    sums = {name: sum(each.get(name, 0) for each in parts.values()) for name in CAUSES}
    left = read + sums["added"] - sum(number for name, number in sums.items() if name != "added")
    return Moved(counts=Counts(read=read, delivered=left, components=components, **sums), by_sink={"lake": left})


def edges(found: Topology) -> dict[tuple[str, str], int]:
    return {(edge.origin, edge.target): edge.records for edge in found.edges}


def test_records_go_from_component_to_component_and_each_loss_is_its_own() -> None:
    found = topology(
        definition(),
        {("shop", "lake"): moved(100, first={"filtered": 30}, second={"added": 5}, sink={"dead_lettered": 2})},
    )
    assert [(node.path, node.kind, node.type, node.received, node.passed) for node in found.nodes] == [
        ("sources.shop", NodeKind.SOURCE, "sequence", 100, 100),
        (FIRST, NodeKind.INTERCEPTOR, "regex_filter", 100, 70),
        (SECOND, NodeKind.INTERCEPTOR, "timestamp", 70, 75),
        (SELECTOR, NodeKind.SELECTOR, "replicating", 75, 75),
        ("channels.lake", NodeKind.CHANNEL, "direct", 75, 75),
        (SINK, NodeKind.SINK, "null", 75, 73),
    ]
    assert found.edges == [
        Edge(origin="sources.shop", target=FIRST, records=100),
        Edge(origin=FIRST, target=SECOND, records=70),
        Edge(origin=SECOND, target=SELECTOR, records=75),
        Edge(origin=SELECTOR, target="channels.lake", records=75),
        Edge(origin="channels.lake", target=SINK, records=75),
    ]


PART = st.fixed_dictionaries({}, optional={name: st.integers(0, 5) for name in ("added", "filtered", "dead_lettered")})


@given(st.integers(60, 10**12), PART, PART, st.integers(0, 5), st.integers(0, 5), st.integers(0, 5))
def test_what_a_node_passes_on_is_what_the_next_receives(
    read: int, first: dict[str, int], second: dict[str, int], unrouted: int, refused: int, quarantined: int
) -> None:
    given_ = moved(
        read,
        first=first,
        second=second,
        selector={"unrouted": unrouted},
        sink={"dead_lettered": refused},
        quarantine={"dead_lettered": quarantined},
    )
    found = topology(definition(), {("shop", "lake"): given_})
    nodes = {node.path: node for node in found.nodes}
    for edge in found.edges:
        assert edge.records == nodes[edge.origin].passed == nodes[edge.target].received
    assert nodes[SINK].passed == given_.counts.delivered


def test_a_pipeline_that_moved_nothing_has_the_same_graph() -> None:
    busy = topology(definition(), {("shop", "lake"): moved(9)})
    idle = topology(definition(), {})
    assert [node.path for node in idle.nodes] == [node.path for node in busy.nodes]
    assert set(edges(idle)) == set(edges(busy))
    assert {*edges(idle).values()} == {0}


def test_channels_of_a_selector_get_what_is_routed_to_them() -> None:
    selector = {"type": "multiplexing", "header": "c", "mapping": {"CZ": ["lake"], "US": ["audit"]}}
    found = topology(
        definition(
            source={"selector": selector},
            channels={"lake": {"type": "direct"}, "audit": {"type": "direct"}},
            sinks={"lake": {"type": "null", "channel": "lake"}, "audit": {"type": "null", "channel": "audit"}},
        ),
        {
            ("shop", "lake"): moved(100, selector={"routed_elsewhere": 50}),
            ("shop", "audit"): moved(90, selector={"routed_elsewhere": 45, "unrouted": 9}),
        },
    )
    assert edges(found)[(SELECTOR, "channels.lake")] == 50
    assert edges(found)[(SELECTOR, "channels.audit")] == 36
    (selector_node,) = (node for node in found.nodes if node.kind is NodeKind.SELECTOR)
    assert (selector_node.received, selector_node.unrouted) == (90, 9), "the other counts them as routed elsewhere"


def test_sinks_of_a_group_have_what_each_delivered() -> None:
    group = {"sinks": ["one", "two"], "processor": {"type": "failover", "priorities": {"one": 2, "two": 1}}}
    found = topology(
        definition(
            sinks={name: {"type": "null", "channel": "lake"} for name in ("one", "two")}, sink_groups={"pool": group}
        ),
        {
            ("shop", "lake"): Moved(
                counts=Counts(read=10, delivered=9, dead_lettered=1, components={"sinks.two": {"dead_lettered": 1}}),
                by_sink={"one": 6, "two": 3},
            )
        },
    )
    shown = edges(found)
    assert shown[("channels.lake", "sink_groups.pool")] == 10
    assert shown[("sink_groups.pool", "sinks.one")] == 6
    assert shown[("sink_groups.pool", "sinks.two")] == 4


def test_behind_a_channel_that_keeps_copies_is_what_its_sinks_took_of_it() -> None:
    found = topology(
        definition(channels={"lake": {"type": "file"}}),
        {("shop", "lake"): moved(100), ("channels.lake", "lake"): moved(60)},
    )
    shown = edges(found)
    assert shown[(SELECTOR, "channels.lake")] == 100
    assert shown[("channels.lake", SINK)] == 60


def test_an_optional_channel_shows_what_it_dropped() -> None:
    counts = Counts(read=10, delivered=4, dropped_optional=6)
    found = topology(definition(), {("shop", "lake"): Moved(counts=counts, by_sink={"lake": 4})})
    (channel,) = (node for node in found.nodes if node.kind is NodeKind.CHANNEL)
    assert (channel.received, channel.dropped, channel.passed) == (10, 6, 4)


@pytest.mark.parametrize("sources", [1, 2])
def test_every_source_has_its_own_chain(sources: int) -> None:
    names = [f"s{number}" for number in range(sources)]
    found = topology(definition(sources={name: {"type": "sequence", "rate": 1} for name in names}), {})
    assert [node.path for node in found.nodes if node.kind is NodeKind.SOURCE] == [f"sources.{name}" for name in names]
    assert sum(edge.target == "channels.lake" for edge in found.edges) == sources
