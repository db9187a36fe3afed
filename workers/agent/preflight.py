"""Everything that can keep an agent from starting, found before the first record is read, and all of it at once."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from concurrent.futures import TimeoutError as TimedOut
from dataclasses import dataclass, field, replace

from pipelines.domain.component import ComponentSpec
from pipelines.domain.journal import ComponentState, PositionChange, Positions
from pipelines.domain.protocol import AgentFinding, ComponentStatus, Launch
from workers.agent import guard
from workers.agent.books import ChannelBooks
from workers.agent.checkpoint import CheckpointDamaged, Key, Offsets, View, as_offsets, positions
from workers.agent.compile import Graph
from workers.agent.component import Builder
from workers.agent.findings import Refused
from workers.agent.guard import Head, LogRange
from workers.agent.ledger import Journal
from workers.agent.real_time import Query


class Components:
    """The state of every component, for status and journal."""

    def __init__(self, parts: Mapping[str, Builder], journal: Journal) -> None:
        self._journal = journal
        self._lock = threading.Lock()
        self._states = {path: _state(path, part.spec, "initialising") for path, part in parts.items()}

    def states(self) -> list[ComponentStatus]:
        """As they are now."""
        with self._lock:
            return list(self._states.values())

    def unfinished(self) -> list[str]:
        """Paths of those that are still initialising."""
        return [state.name for state in self.states() if state.state == "initialising"]

    def settle(self, path: str, spec: ComponentSpec, failure: str = "", notice: str = "") -> None:
        """A component is ready, or has failed; a failure stays."""
        with self._lock:
            if self._states[path].state == "failed":
                return
            self._states[path] = _state(path, spec, "failed" if failure else "ready", failure or notice)
            self._journal.append(ComponentState(**self._states[path].model_dump()))


def _state(path: str, spec: ComponentSpec, state: str, detail: str = "") -> ComponentStatus:
    return ComponentStatus(name=path, kind=spec.kind, type=spec.type, state=state, detail=detail)


def check_all(
    parts: Mapping[str, Builder], components: Components, step: Callable[[Builder], None], timeout: float, *, last: bool
) -> list[AgentFinding]:
    """Run one step (probe or initialise) of every component side by side; `last` makes the good ones ready.

    A component that exits, raises anything or does not come back in `timeout` seconds is a finding like any other.
    """
    pool = ThreadPoolExecutor(max_workers=max(1, min(32, len(parts))), thread_name_prefix="component")
    running = {path: pool.submit(_findings, path, part, step) for path, part in parts.items()}
    findings: list[AgentFinding] = []
    deadline = time.monotonic() + timeout
    for path, future in running.items():
        try:
            found = future.result(max(0.0, deadline - time.monotonic()))
        except TimedOut:
            found = [_late(path, timeout)]
        if found or last:
            failure = "; ".join(finding.message for finding in found)
            components.settle(path, parts[path].spec, failure, " ".join(parts[path].notices))
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


@dataclass
class _Positions:
    """What is needed to compare positions: ledger heads, sources, and what was looked up once for all."""

    launch: Launch
    graph: Graph
    logs: dict[str, dict[Key, LogRange]] = field(default_factory=dict)
    firsts: dict[tuple[str, tuple[Key, ...]], tuple[Offsets, str]] = field(default_factory=dict)

    def head(self, query: Query, books: ChannelBooks) -> Head:
        """Where the ledger stands with one channel. A channel that is new in a shared read begins where the others of
        it stand."""
        head = self._head(query, books)
        if head.positions:
            return head
        siblings = (self._head(query, each) for each in query.channels if each is not books)
        positions = next((each.positions for each in siblings if each.positions), {})
        return replace(head, positions=positions)

    def _head(self, query: Query, books: ChannelBooks) -> Head:
        path = query.read.path
        of_channel = (h for h in self.launch.heads if (h.source, h.channel) == (books.source, books.channel))
        head = next(of_channel, None)
        if head is None:
            return Head(path, {})
        planned = head.planned
        if planned and head.done_batch is not None and planned.batch <= head.done_batch:
            planned = None
        return Head(path, as_offsets(head.positions), head.done_batch, planned)

    def log(self, source: str) -> dict[Key, LogRange]:
        """What can be read of a source now."""
        if source not in self.logs:
            self.logs[source] = self.graph.sources[source].log_ranges()
        return self.logs[source]

    def outside(self, query: Query, starts: Offsets, log: dict[Key, LogRange]) -> list[AgentFinding]:
        """What the source says against these positions. An optional channel that was overrun goes on where it can."""
        source = self.graph.sources[query.read.source]
        if source.overruns and self.graph.definition.is_optional(query.read):
            starts = {key: max(at, log[key].start) if key in log else at for key, at in starts.items()}
        return source.outside(positions(starts), log)

    def first(self, source: str, fresh: list[Key]) -> tuple[Offsets, str]:
        """Explicit positions of partitions without one, the same for every channel of the source."""
        if not fresh:
            return {}, ""
        key = source, tuple(fresh)
        if key not in self.firsts:
            self.firsts[key] = self.graph.sources[source].first_positions(fresh, self.log(source))
        return self.firsts[key]


def check_positions(launch: Launch, graph: Graph, queries: list[Query], journal: Journal) -> Starts:
    """Compare ledger, checkpoint and log of every query; where all agree, note first positions and open batches."""
    starts = Starts()
    checked: list[tuple[ChannelBooks, Head, Offsets, Positions | None]] = []
    known = _Positions(launch, graph)
    for query in queries:
        for books in query.channels:
            head = known.head(query, books)
            try:
                begin, first = _agree(query, books, head, known)
                checked.append((books, head, begin, first))
                _same_start(query, starts.offsets.setdefault(query.name, begin), begin, head)
            except Refused as refused:
                starts.findings += refused.findings
    if not starts.findings:
        for books, head, begin, first in checked:
            _take_over(books, head, first, begin, journal)
    return starts


def _same_start(query: Query, one: Offsets, other: Offsets, head: Head) -> None:
    """Channels of one read begin together, or at most one batch apart, which the checkpoint has told already."""
    if one == other or query.checkpoint.view().used:
        return
    finding = AgentFinding(
        path=head.path, code="CHANNELS_APART", message=f"The channels of {query.name} do not stand at one position.",
        suggestion="Decide where to continue; channels of one read move together.",
    )  # fmt: skip
    raise Refused(finding)


def _agree(query: Query, books: ChannelBooks, head: Head, known: _Positions) -> tuple[Offsets, Positions | None]:
    """Explicit offsets for every partition. Raises Refused with all that does not agree."""
    view = _view(query, head)
    log = known.log(query.read.source)
    added = sorted(log.keys() - head.positions.keys())
    known_topics = {topic for topic, _ in head.positions}
    grown = [key for key in added if key[0] in known_topics]
    first, origin = known.first(query.read.source, [key for key in added if key[0] not in known_topics])
    starts = {**head.positions, **dict.fromkeys(grown, 0), **first}
    findings = guard.compare(head, view) + known.outside(query, starts, log)
    if findings:
        raise Refused(*findings)
    if view.used or not (grown or first):
        return dict(head.positions), None
    changes = [PositionChange(topic=key[0], partition=key[1], new=starts[key]) for key in added]
    entry = Positions(source=books.source, channel=books.channel, changes=changes, origin=origin or "partition added")
    return starts, entry


def _view(query: Query, head: Head) -> View:
    try:
        return query.checkpoint.view()
    except CheckpointDamaged as damage:
        finding = AgentFinding(
            path=head.path, code="CHECKPOINT_DISAGREES", message=f"The checkpoint cannot be read: {damage}",
            suggestion="Decide where to continue; the ledger knows the position.",
        )  # fmt: skip
        raise Refused(finding) from damage


def _take_over(books: ChannelBooks, head: Head, first: Positions | None, starts: Offsets, journal: Journal) -> None:
    books.continue_from(starts, head.done_batch)
    if first is not None:
        journal.append(first)
    if head.planned is not None:
        books.resolve(head.planned)
