"""Everything that can keep an agent from starting, found before the first record is read, and all of it at once."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from concurrent.futures import TimeoutError as TimedOut
from dataclasses import dataclass, field, replace

from pipelines.domain.base.positions import PartitionPosition, SourceIdentity
from pipelines.domain.definitions.document.spec import BUFFER, Read
from pipelines.domain.definitions.parts.component import ComponentSpec
from pipelines.domain.ledger.journal import ComponentState, Identified, Noticed, PositionChange, Positions, Repaired
from pipelines.domain.positions.plan import PartitionSurvey, Survey
from pipelines.domain.runs.protocol import AgentFinding, ComponentStatus, Launch
from workers.agent.base.findings import Refused
from workers.agent.base.frames import within
from workers.agent.delivery.books import ChannelBooks
from workers.agent.delivery.real_time import Query
from workers.agent.graph.compile import Graph
from workers.agent.graph.component import Builder
from workers.agent.positions import guard
from workers.agent.positions.checkpoint import Checkpoint, CheckpointDamaged, Key, Offsets, View, as_offsets, positions
from workers.agent.positions.guard import Head, LogRange, Mirrored
from workers.agent.run_dir.journal_writer import Journal


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
        within(path, step)(part)
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
    """Where each query begins, by name; `findings` where one may not, with what was found of each partition.

    `identities`: the logs that are read, by source; `notices`: what somebody should know of them.
    """

    offsets: dict[str, Offsets] = field(default_factory=dict)
    findings: list[AgentFinding] = field(default_factory=list)
    identities: dict[str, SourceIdentity] = field(default_factory=dict)
    notices: dict[str, list[Noticed]] = field(default_factory=dict)
    survey: Survey | None = None


@dataclass
class Found:
    """What is needed to compare positions: ledger heads, sources, and what was looked up once for all."""

    launch: Launch
    graph: Graph
    logs: dict[str, dict[Key, LogRange]] = field(default_factory=dict)
    firsts: dict[tuple[str, tuple[Key, ...]], tuple[Offsets, str]] = field(default_factory=dict)
    identities: dict[str, SourceIdentity | None] = field(default_factory=dict)
    mirrors: dict[str, Mapping[Key, Mirrored] | None] = field(default_factory=dict)
    views: dict[tuple[str, str], View] = field(default_factory=dict)

    def head(self, read: Read, channel: str) -> Head:
        """Where the ledger stands with one channel. A channel that is new in a shared read begins where the others of
        it stand."""
        head = self._head(read, channel)
        if head.positions:
            return head
        siblings = (self._head(read, each) for each in read.channels if each != channel)
        positions = next((each.positions for each in siblings if each.positions), {})
        return replace(head, positions=positions)

    def _head(self, read: Read, channel: str) -> Head:
        head = next((h for h in self.launch.heads if (h.source, h.channel) == (read.source, channel)), None)
        if head is None:
            return Head(read.path, {}, channel=channel)
        planned = head.planned
        if planned and head.done_batch is not None and planned.batch <= head.done_batch:
            planned = None
        return Head(read.path, as_offsets(head.positions), head.done_batch, planned, channel)

    def furthest(self, source: str) -> Offsets:
        """Per partition, where the channel stands that is furthest ahead."""
        return _furthest(head.positions for head in self.launch.heads if head.source == source)

    def decided(self, source: str) -> Offsets:
        """Per partition, what was told of when a person decided where to go on."""
        return _furthest(head.decided for head in self.launch.heads if head.source == source)

    def least(self, source: str) -> Offsets:
        """Per partition, where the required channel stands that is furthest behind: what the mirror shows."""
        optional = frozenset() if source.startswith(BUFFER) else self.graph.definition.optional_targets(source)
        cursors = [as_offsets(h.positions) for h in self.launch.heads if h.source == source]
        required = [
            as_offsets(h.positions) for h in self.launch.heads if h.source == source and h.channel not in optional
        ]
        found: Offsets = {}
        for cursor in required or cursors:
            found |= {key: min(at, found.get(key, at)) for key, at in cursor.items()}
        return found

    def log(self, source: str) -> dict[Key, LogRange]:
        """What can be read of a source now."""
        if source not in self.logs:
            self.logs[source] = self.graph.sources[source].log_ranges()
        return self.logs[source]

    def identity(self, source: str) -> SourceIdentity | None:
        """Which log that is."""
        if source not in self.identities:
            self.identities[source] = self.graph.sources[source].identity()
        return self.identities[source]

    def remembered(self, source: str) -> SourceIdentity | None:
        """Which log the ledger's positions are offsets of."""
        return next((each for each in self.launch.identities if each.source == source), None)

    def mirror(self, source: str) -> Mapping[Key, Mirrored]:
        """What the group says; nothing where we may not ask."""
        if source not in self.mirrors:
            partitions, surely = sorted(self.log(source)), bool(self.furthest(source))
            self.mirrors[source] = self.graph.sources[source].mirrored(partitions, surely=surely)
        return self.mirrors[source] or {}

    def notices(self, source: str) -> list[Noticed]:
        """What somebody should know of the mirror."""
        mirror = self.mirrors.get(source)
        if mirror is None:
            return []
        readable = self.log(source).keys() - self._never_mirrored(source)
        return guard.notices(source, {key: at for key, at in self.least(source).items() if key in readable}, mirror)

    def _never_mirrored(self, source: str) -> set[Key]:
        """Partitions of another cluster whose positions were only translated: its group cannot have lost a commit."""
        if any(head.done_batch is not None for head in self.launch.heads if head.source == source):
            return set()
        return {key for key, told in self.decided(source).items() if told == 0}

    def against_source(self, source: str) -> list[AgentFinding]:
        """What the log and the group have against the ledger, whatever the channel."""
        path = self.graph.sources[source].place.path
        furthest = self.furthest(source)
        topics = {topic for topic, _ in furthest}
        found = guard.another_log(path, self.remembered(source), self.identity(source), topics, self.log(source))
        return found or guard.ahead_of_ledger(path, furthest, self.mirror(source), self.decided(source))

    def view(self, query: str, checkpoint: Checkpoint, head: Head) -> View:
        """What the checkpoint says to this channel. Raises Refused where it cannot be read."""
        key = query, head.channel
        if key not in self.views:
            try:
                self.views[key] = checkpoint.view(head.done, head.plan)
            except CheckpointDamaged as damage:
                raise _damaged(head, damage) from damage
        return self.views[key]

    def outside(self, read: Read, starts: Offsets, log: dict[Key, LogRange]) -> list[AgentFinding]:
        """What the source says against these positions. An optional channel that was overrun goes on where it can."""
        source = self.graph.sources[read.source]
        if source.overruns and self.graph.definition.is_optional(read):
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


def _furthest(cursors: Iterable[Iterable[PartitionPosition]]) -> Offsets:
    found: Offsets = {}
    for cursor in cursors:
        found |= {at.key: max(at.offset, found.get(at.key, 0)) for at in cursor}
    return found


def check_positions(launch: Launch, graph: Graph, queries: list[Query], journal: Journal) -> Starts:
    """Compare ledger, checkpoint, log and group of every query. Where all agree, mend torn entries, note which logs are
    read, first positions and open batches."""
    starts = Starts()
    checked: list[tuple[ChannelBooks, Head, Offsets, Positions | None]] = []
    known = Found(launch, graph)
    _check_sources(known, queries, starts)
    for query in queries:
        for books in query.channels:
            head = known.head(query.read, books.channel)
            try:
                begin, first = _agree(query, head, known)
                checked.append((books, head, begin, first))
                _same_start(query, known, starts.offsets.setdefault(query.name, begin), begin, head)
            except Refused as refused:
                starts.findings += refused.findings
    if starts.findings:
        starts.survey = survey(known, {query.read: query.checkpoint for query in queries}, starts.findings)
        return starts
    starts.identities = {name: each for name in known.logs if (each := known.identity(name))}
    starts.notices = {name: known.notices(name) for name in known.logs}
    _note(known, starts.notices, journal)
    for books, head, begin, first in checked:
        _take_over(books, head, first, begin, journal)
    return starts


def look(known: Found, queries: Sequence[Query]) -> Survey | None:
    """What log and group have against the ledger, as a standby sees it: nothing is written down, and checkpoints and
    sources whose data is in the hands of another run are left alone. None where no source can be looked at so.

    Raises Refused where one is away.
    """
    shared = [query for query in queries if known.identity(query.read.source) is not None]
    seen: list[AgentFinding] = []
    for query in shared:
        source = query.read.source
        if found := known.against_source(source):
            seen += found
            continue
        for channel in query.read.channels:
            seen += known.outside(query.read, known.head(query.read, channel).positions, known.log(source))
    return survey(known, {query.read: query.checkpoint for query in shared}, seen) if shared else None


def _check_sources(known: Found, queries: list[Query], starts: Starts) -> None:
    for source in dict.fromkeys(query.read.source for query in queries):
        try:
            starts.findings += known.against_source(source)
        except Refused as refused:
            starts.findings += refused.findings


def _same_start(query: Query, known: Found, one: Offsets, other: Offsets, head: Head) -> None:
    """Channels of one read begin together, or at most one batch apart, which the checkpoint has told already."""
    if one == other or known.view(query.name, query.checkpoint, head).used:
        return
    finding = AgentFinding(
        path=head.path,
        code="CHANNELS_APART",
        message=f"The channels of {query.name} do not stand at one position.",
        suggestion="Decide where to continue; channels of one read move together.",
    )
    raise Refused(finding)


def _agree(query: Query, head: Head, known: Found) -> tuple[Offsets, Positions | None]:
    """Explicit offsets for every partition. Raises Refused with all that does not agree."""
    source = query.read.source
    view = known.view(query.name, query.checkpoint, head)
    log = known.log(source)
    added = sorted(log.keys() - head.positions.keys())
    known_topics = {topic for topic, _ in head.positions}
    grown = [key for key in added if key[0] in known_topics]
    first, origin = known.first(source, [key for key in added if key[0] not in known_topics])
    starts = {**head.positions, **dict.fromkeys(grown, 0), **first}
    same = guard.same_log(known.remembered(source), known.identity(source), known_topics)
    if findings := guard.compare(head, view) + (known.outside(query.read, starts, log) if same else []):
        raise Refused(*findings)
    if view.used or not (grown or first):
        return dict(head.positions), None
    changes = [PositionChange(topic=key[0], partition=key[1], new=starts[key]) for key in added]
    entry = Positions(source=source, channel=head.channel, changes=changes, origin=origin or "partition added")
    return starts, entry


def _damaged(head: Head, damage: CheckpointDamaged) -> Refused:
    finding = AgentFinding(
        path=head.path,
        code="CHECKPOINT_DISAGREES",
        message=f"The checkpoint cannot be read: {damage}",
        suggestion="Decide where to continue; the ledger knows the position.",
        channel=head.channel,
    )
    return Refused(finding)


def _note(known: Found, notices: Mapping[str, Sequence[Noticed]], journal: Journal) -> None:
    """Everything agrees: write down which logs are read, and what was mended or noticed."""
    for name in known.logs:
        seen = known.identity(name)
        if seen is not None and seen != known.remembered(name):
            journal.append(Identified(**seen.model_dump()))
        for notice in notices[name]:
            journal.append(notice)
    mended = set()
    for (query, _), view in known.views.items():
        for repair in view.repairs:
            if repair.path not in mended:
                mended.add(repair.path)
                file = f"{repair.path.parent.name}/{repair.path.name}"
                journal.append(Repaired(query=query, file=file, batch=repair.batch, action=repair.action))
                repair.carry_out()


def _take_over(books: ChannelBooks, head: Head, first: Positions | None, starts: Offsets, journal: Journal) -> None:
    books.continue_from(starts, head.done_batch)
    if first is not None:
        journal.append(first)
    if head.planned is not None:
        books.resolve(head.planned)


def survey(known: Found, reads: Mapping[Read, Checkpoint], findings: Sequence[AgentFinding]) -> Survey | None:
    """Everything that is known of every partition, with the codes of its findings; None where a source is away."""
    rows: list[PartitionSurvey] = []
    try:
        for read, checkpoint in reads.items():
            for channel in read.channels:
                rows += _rows(known, read, known.head(read, channel), checkpoint, findings)
        identities = [each for read in reads if (each := known.identity(read.source))]
    except Refused:
        return None
    shared = [[f"{read.source}.{channel}" for channel in read.channels] for read in reads if len(read.channels) > 1]
    return Survey(at=time.time(), rows=rows, identities=_once(identities), reads=shared)


def _once(identities: list[SourceIdentity]) -> list[SourceIdentity]:
    return list({each.source: each for each in identities}.values())


def _rows(
    known: Found, read: Read, head: Head, checkpoint: Checkpoint, findings: Sequence[AgentFinding]
) -> Iterator[PartitionSurvey]:
    log, mirror, spark = known.log(read.source), known.mirror(read.source), _position(known, read, head, checkpoint)
    topics = {topic for topic, _ in head.positions}
    for key in sorted(log.keys() | head.positions.keys() | spark.keys()):
        held, at = log.get(key), mirror.get(key)
        added = ["PARTITION_ADDED"] if key[0] in topics and key not in head.positions else []
        yield PartitionSurvey(
            source=read.source,
            channel=head.channel,
            topic=key[0],
            partition=key[1],
            ledger=head.positions.get(key),
            checkpoint=spark.get(key),
            group=at.offset if at else None,
            log_start=held.start if held else None,
            log_end=held.end if held else None,
            codes=[*_codes(findings, read.path, head.channel, key), *added],
        )


def _position(known: Found, read: Read, head: Head, checkpoint: Checkpoint) -> Offsets:
    try:
        return known.view(read.name, checkpoint, head).position
    except Refused:
        return {}


def _codes(findings: Sequence[AgentFinding], path: str, channel: str, key: Key) -> list[str]:
    """Codes of the findings that are about this partition, or about all of its topic, channel or source."""
    about = [
        finding.code
        for finding in findings
        if f"{finding.path}.".startswith(f"{path}.")
        and finding.channel in ("", channel)
        and finding.topic in ("", key[0])
        and finding.partition in (None, key[1])
    ]
    return list(dict.fromkeys(about))
