"""Everything that can keep an agent from starting, found before the first record is read, and all of it at once."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from concurrent.futures import TimeoutError as TimedOut
from dataclasses import dataclass, field

from pipelines.domain.component import ComponentSpec
from pipelines.domain.journal import ComponentState, Planned, PositionChange, Positions
from pipelines.domain.protocol import AgentFinding, ComponentStatus, Launch, QueryHead
from workers.agent import guard
from workers.agent.checkpoint import CheckpointDamaged, Key, Offsets, View, as_offsets, positions
from workers.agent.compile import Graph
from workers.agent.component import Builder, SourceBuilder
from workers.agent.findings import Refused
from workers.agent.guard import Head, LogRange
from workers.agent.ledger import Journal
from workers.agent.query import ChannelQuery


class Components:
    """The state of every component, for status and journal."""

    def __init__(self, graph: Graph, journal: Journal) -> None:
        self._journal = journal
        self._lock = threading.Lock()
        self._states = {path: _state(path, part.spec, "initialising") for path, part in graph.parts.items()}

    def states(self) -> list[ComponentStatus]:
        """As they are now."""
        with self._lock:
            return list(self._states.values())

    def unfinished(self) -> list[str]:
        """Paths of those that are still initialising."""
        return [state.name for state in self.states() if state.state == "initialising"]

    def settle(self, path: str, spec: ComponentSpec, failure: str = "") -> None:
        """A component is ready, or has failed; a failure stays."""
        with self._lock:
            if self._states[path].state == "failed":
                return
            self._states[path] = _state(path, spec, "failed" if failure else "ready", failure)
            self._journal.append(ComponentState(**self._states[path].model_dump()))


def _state(path: str, spec: ComponentSpec, state: str, detail: str = "") -> ComponentStatus:
    return ComponentStatus(name=path, kind=spec.kind, type=spec.type, state=state, detail=detail)


def check_all(
    graph: Graph, components: Components, step: Callable[[Builder], None], timeout: float, *, last: bool
) -> list[AgentFinding]:
    """Run one step (probe or initialise) of every component side by side; `last` makes the good ones ready.

    A component that exits, raises anything or does not come back in `timeout` seconds is a finding like any other.
    """
    pool = ThreadPoolExecutor(max_workers=min(32, len(graph.parts)), thread_name_prefix="component")
    running = {path: pool.submit(_findings, path, part, step) for path, part in graph.parts.items()}
    findings: list[AgentFinding] = []
    deadline = time.monotonic() + timeout
    for path, future in running.items():
        try:
            found = future.result(max(0.0, deadline - time.monotonic()))
        except TimedOut:
            found = [_late(path, timeout)]
        if found or last:
            components.settle(path, graph.parts[path].spec, "; ".join(finding.message for finding in found))
        findings += found
    pool.shutdown(wait=False, cancel_futures=True)
    return findings


def _findings(path: str, part: Builder, step: Callable[[Builder], None]) -> list[AgentFinding]:
    try:
        step(part)
    except Refused as refused:
        return refused.findings
    except BaseException as error:
        name = f"{part.spec.kind} {part.spec.type}"
        message = f"The {name} failed to initialise: {type(error).__name__}: {error}"
        return [AgentFinding(path=path, code="INIT_FAILED", message=message, suggestion="See the agent's log.")]
    return []


def _late(path: str, timeout: float) -> AgentFinding:
    message = f"It did not initialise within {timeout:.0f} s."
    return AgentFinding(
        path=path, code="INIT_TIMEOUT", message=message, suggestion="Raise lifecycle.init_timeout.", retryable=True
    )


@dataclass
class Starts:
    """Where each query begins, by name; `findings` where one may not."""

    offsets: dict[str, Offsets] = field(default_factory=dict)
    findings: list[AgentFinding] = field(default_factory=list)


def check_positions(launch: Launch, graph: Graph, queries: list[ChannelQuery], journal: Journal) -> Starts:
    """Compare ledger, checkpoint and log of every query; where all agree, note first positions and open batches."""
    starts = Starts()
    heads = {(head.source, head.channel): head for head in launch.heads}
    checked: list[tuple[ChannelQuery, Head, Positions | None]] = []
    logs: dict[str, dict[Key, LogRange]] = {}
    for query in queries:
        head = _head(query, heads.get((query.source, query.channel)))
        try:
            source = graph.sources[query.source]
            log = logs.setdefault(query.source, {}) or source.log_ranges()
            logs[query.source] = log
            starts.offsets[query.name], first = _agree(query, head, source, log)
            checked.append((query, head, first))
        except Refused as refused:
            starts.findings += refused.findings
    if not starts.findings:
        for query, head, first in checked:
            _take_over(query, head, first, starts.offsets[query.name], journal)
    return starts


def _head(query: ChannelQuery, head: QueryHead | None) -> Head:
    path = f"sources.{query.source}"
    if head is None:
        return Head(path, {})
    planned = Planned.model_validate(head.planned) if head.planned else None
    if planned and head.done_batch is not None and planned.batch <= head.done_batch:
        planned = None
    return Head(path, as_offsets(head.positions), head.done_batch, planned)


def _agree(
    query: ChannelQuery, head: Head, source: SourceBuilder, log: dict[Key, LogRange]
) -> tuple[Offsets, Positions | None]:
    """Explicit offsets for every partition. Raises Refused with all that does not agree."""
    view = _view(query, head)
    added = sorted(log.keys() - head.positions.keys())
    known_topics = {topic for topic, _ in head.positions}
    grown = [key for key in added if key[0] in known_topics]
    fresh = [key for key in added if key[0] not in known_topics]
    first, origin = source.first_positions(fresh, log) if fresh else ({}, "")
    starts = {**head.positions, **dict.fromkeys(grown, 0), **first}
    findings = guard.compare(head, view) + guard.within_log(head.path, positions(starts), log)
    if findings:
        raise Refused(*findings)
    if view.used or not (grown or fresh):
        return dict(head.positions), None
    changes = [PositionChange(topic=key[0], partition=key[1], new=starts[key]) for key in added]
    entry = Positions(source=query.source, channel=query.channel, changes=changes, origin=origin or "partition added")
    return starts, entry


def _view(query: ChannelQuery, head: Head) -> View:
    try:
        return query.checkpoint.view()
    except CheckpointDamaged as damage:
        finding = AgentFinding(
            path=head.path, code="CHECKPOINT_DISAGREES", message=f"The checkpoint cannot be read: {damage}",
            suggestion="Decide where to continue; the ledger knows the position.",
        )  # fmt: skip
        raise Refused(finding) from damage


def _take_over(query: ChannelQuery, head: Head, first: Positions | None, starts: Offsets, journal: Journal) -> None:
    query.continue_from(starts, head.done_batch)
    if first is not None:
        journal.append(first)
    if head.planned is not None:
        query.resolve(head.planned)
