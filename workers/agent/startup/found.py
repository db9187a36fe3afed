"""What ledger, checkpoint, log and group say of every partition: looked up once, and shown as one survey."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from pipelines.domain.base.positions import FINDING_CODES, PartitionPosition, SourceIdentity, TopicPartition
from pipelines.domain.definitions.document.spec import BUFFER, Read
from pipelines.domain.ledger.journal import Noticed
from pipelines.domain.positions.choices import advice
from pipelines.domain.positions.plan import PartitionSurvey, Survey
from pipelines.domain.runs.protocol import AgentFinding, Launch
from workers.agent.base.findings import Refused
from workers.agent.graph.compile import Graph
from workers.agent.positions import guard
from workers.agent.positions.checkpoint import (
    Checkpoint,
    CheckpointDamaged,
    CheckpointState,
    Offsets,
    as_offsets,
    positions,
)
from workers.agent.positions.guard import Head, LogRange, Mirrored


@dataclass
class Found:
    """What is needed to compare positions: ledger heads, sources, and what was looked up once for all."""

    launch: Launch
    graph: Graph
    logs: dict[str, dict[TopicPartition, LogRange]] = field(default_factory=dict)
    firsts: dict[tuple[str, tuple[TopicPartition, ...]], tuple[Offsets, str]] = field(default_factory=dict)
    identities: dict[str, SourceIdentity | None] = field(default_factory=dict)
    mirrors: dict[str, Mapping[TopicPartition, Mirrored] | None] = field(default_factory=dict)
    checkpoints: dict[tuple[str, str], CheckpointState] = field(default_factory=dict)

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
        return Head(read.path, as_offsets(head.positions), head.done_batch, planned, channel, head.incomplete)

    def furthest(self, source: str) -> Offsets:
        """Per partition, where the channel stands that is furthest ahead."""
        return _furthest(head.positions for head in self.launch.heads if head.source == source)

    def decided(self, source: str) -> Offsets:
        """Per partition, what was told of when a person decided where to go on."""
        return _furthest(head.decided for head in self.launch.heads if head.source == source)

    def least(self, source: str) -> Offsets:
        """Per partition, where the required channel stands that is furthest behind: what the mirror shows."""
        optional = frozenset() if source.startswith(BUFFER) else self.graph.definition.optional_targets(source)
        channel_positions = [as_offsets(h.positions) for h in self.launch.heads if h.source == source]
        required = [
            as_offsets(h.positions) for h in self.launch.heads if h.source == source and h.channel not in optional
        ]
        found: Offsets = {}
        for position in required or channel_positions:
            found |= {key: min(at, found.get(key, at)) for key, at in position.items()}
        return found

    def log(self, source: str) -> dict[TopicPartition, LogRange]:
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

    def mirror(self, source: str) -> Mapping[TopicPartition, Mirrored]:
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

    def _never_mirrored(self, source: str) -> set[TopicPartition]:
        """Partitions of another cluster whose positions were only translated: its group cannot have lost a commit."""
        if any(head.done_batch is not None for head in self.launch.heads if head.source == source):
            return set()
        return {key for key, reported in self.decided(source).items() if reported == 0}

    def against_source(self, source: str, *, live: bool = False) -> list[AgentFinding]:
        """What the log and the group have against the ledger, whatever the channel.

        `live`: a run goes on, which commits before the ledger that we were told of can know it. The group is ahead then
        as a rule; a commit of another client is a notice of the run's own guard.
        """
        path = self.graph.sources[source].place.path
        furthest = self.furthest(source)
        topics = {topic for topic, _ in furthest}
        found = guard.another_log(path, self.remembered(source), self.identity(source), topics, self.log(source))
        if found or live:
            return found
        return guard.ahead_of_ledger(path, furthest, self.mirror(source), self.decided(source))

    def state(self, query: str, checkpoint: Checkpoint, head: Head) -> CheckpointState:
        """What the checkpoint says to this channel. Raises Refused where it cannot be read."""
        key = query, head.channel
        if key not in self.checkpoints:
            try:
                self.checkpoints[key] = checkpoint.state(head.done, head.plan)
            except CheckpointDamaged as damage:
                raise _damaged(head, damage) from damage
        return self.checkpoints[key]

    def outside(self, read: Read, starts: Offsets, log: dict[TopicPartition, LogRange]) -> list[AgentFinding]:
        """What the source says against these positions. An optional channel that was overrun goes on where it can."""
        source = self.graph.sources[read.source]
        if source.overruns and self.graph.definition.is_optional(read):
            starts = {key: max(at, log[key].start) if key in log else at for key, at in starts.items()}
        return source.outside(positions(starts), log)

    def first(self, source: str, fresh: list[TopicPartition]) -> tuple[Offsets, str]:
        """Explicit positions of partitions without one, the same for every channel of the source."""
        if not fresh:
            return {}, ""
        key = source, tuple(fresh)
        if key not in self.firsts:
            self.firsts[key] = self.graph.sources[source].first_positions(fresh, self.log(source))
        return self.firsts[key]


def _furthest(channel_positions: Iterable[Iterable[PartitionPosition]]) -> Offsets:
    found: Offsets = {}
    for position in channel_positions:
        found |= {at.key: max(at.offset, found.get(at.key, 0)) for at in position}
    return found


def _damaged(head: Head, damage: CheckpointDamaged) -> Refused:
    finding = AgentFinding(
        path=head.path,
        code="CHECKPOINT_DISAGREES",
        message=f"The checkpoint cannot be read: {damage}",
        suggestion="Choose where to continue; the ledger has the position.",
        channel=head.channel,
    )
    return Refused(finding)


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


def advised(findings: Sequence[AgentFinding], survey: Survey | None) -> list[AgentFinding]:
    """The same findings; those about positions with what is recommended."""
    recommended = advice(survey)
    return [
        each.model_copy(update={"suggestion": f"{each.suggestion} {recommended}".strip()})
        if recommended and each.code in FINDING_CODES
        else each
        for each in findings
    ]


def _once(identities: list[SourceIdentity]) -> list[SourceIdentity]:
    return list({each.source: each for each in identities}.values())


def _rows(
    known: Found, read: Read, head: Head, checkpoint: Checkpoint, findings: Sequence[AgentFinding]
) -> Iterator[PartitionSurvey]:
    log, mirror, spark = known.log(read.source), known.mirror(read.source), _position(known, read, head, checkpoint)
    topics = {topic for topic, _ in head.positions}
    for key in sorted(log.keys() | head.positions.keys() | spark.keys()):
        held, at = log.get(key), mirror.get(key)
        added = ["PARTITION_ADDED"] if key.topic in topics and key not in head.positions else []
        yield PartitionSurvey(
            source=read.source,
            channel=head.channel,
            topic=key.topic,
            partition=key.partition,
            ledger=head.positions.get(key),
            checkpoint=spark.get(key),
            group=at.offset if at else None,
            group_ours=at.ours if at else False,
            log_start=held.start if held else None,
            log_end=held.end if held else None,
            codes=[*_codes(findings, read.path, head.channel, key), *added],
        )


def _position(known: Found, read: Read, head: Head, checkpoint: Checkpoint) -> Offsets:
    try:
        return known.state(read.name, checkpoint, head).position
    except Refused:
        return {}


def _codes(findings: Sequence[AgentFinding], path: str, channel: str, key: TopicPartition) -> list[str]:
    """Codes of the findings that are about this partition, or about all of its topic, channel or source."""
    about = [
        finding.code
        for finding in findings
        if f"{finding.path}.".startswith(f"{path}.")
        and finding.channel in ("", channel)
        and finding.topic in ("", key.topic)
        and finding.partition in (None, key.partition)
    ]
    return list(dict.fromkeys(about))
