"""Where each query begins: positions are compared before the first record is read, and all that disagrees is told."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from pipelines.domain.base.positions import SourceIdentity
from pipelines.domain.ledger.journal import Identified, Noticed, PositionChange, Positions, Repaired
from pipelines.domain.positions.plan import Survey
from pipelines.domain.runs.protocol import AgentFinding, Launch, QueryHead
from workers.agent.base.findings import Refused
from workers.agent.delivery.ledger import ChannelLedger
from workers.agent.delivery.real_time import Query
from workers.agent.graph.compile import Graph
from workers.agent.positions import guard
from workers.agent.positions.checkpoint import Offsets, positions
from workers.agent.positions.guard import Head
from workers.agent.run_dir.journal_writer import Journal
from workers.agent.startup.found import Found, advised, survey


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


def check_positions(launch: Launch, graph: Graph, queries: list[Query], journal: Journal) -> Starts:
    """Compare ledger, checkpoint, log and group of every query. Where all agree, mend torn entries, note which logs are
    read, first positions and open batches."""
    starts = Starts()
    checked: list[tuple[ChannelLedger, Head, Offsets, Positions | None]] = []
    known = Found(launch, graph)
    _check_sources(known, queries, starts)
    for query in queries:
        for ledger in query.channels:
            head = known.head(query.read, ledger.channel)
            try:
                start, first = _agree(query, head, known)
                lost = guard.lost_plan(query.read.source, head, known.state(query.name, query.checkpoint, head))
                head = replace(head, planned=head.planned or lost)
                checked.append((ledger, head, start, first))
                _same_start(query, known, starts.offsets.setdefault(query.name, start), start, head)
            except Refused as refused:
                starts.findings += refused.findings
    if starts.findings:
        starts.survey = survey(known, {query.read: query.checkpoint for query in queries}, starts.findings)
        starts.findings = advised(starts.findings, starts.survey)
        return starts
    starts.identities = {name: each for name in known.logs if (each := known.identity(name))}
    starts.notices = {name: known.notices(name) for name in known.logs}
    _note(known, starts.notices, journal)
    for ledger, head, start, first in checked:
        _take_over(ledger, head, first, start, journal)
    return starts


def survey_positions(known: Found, queries: Sequence[Query]) -> Survey | None:
    """What the log has against the ledger, as a standby sees it: nothing is written down, and checkpoints, groups and
    sources whose data is in the hands of another run are left alone. None where no source can be looked at so.

    Raises Refused where one is away.
    """
    shared = [query for query in queries if known.identity(query.read.source) is not None]
    seen: list[AgentFinding] = []
    for query in shared:
        source = query.read.source
        if found := known.against_source(source, live=True):
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
    if one == other or known.state(query.name, query.checkpoint, head).used:
        return
    finding = AgentFinding(
        path=head.path,
        code="CHANNELS_APART",
        message=f"The channels of {query.name} have different positions.",
        suggestion="Choose where to continue; channels that share a read move together.",
    )
    raise Refused(finding)


def _agree(query: Query, head: Head, known: Found) -> tuple[Offsets, Positions | None]:
    """Explicit offsets for every partition. Raises Refused with all that does not agree."""
    source = query.read.source
    state = known.state(query.name, query.checkpoint, head)
    log = known.log(source)
    added = sorted(log.keys() - head.positions.keys())
    known_topics = {topic for topic, _ in head.positions}
    grown = [key for key in added if key.topic in known_topics]
    first, origin = known.first(source, [key for key in added if key.topic not in known_topics])
    starts = {**head.positions, **dict.fromkeys(grown, 0), **first}
    same = guard.same_log(known.remembered(source), known.identity(source), known_topics)
    if findings := guard.compare(head, state) + (known.outside(query.read, starts, log) if same else []):
        raise Refused(*findings)
    if state.used or not (grown or first):
        return dict(head.positions), None
    changes = [PositionChange(topic=key.topic, partition=key.partition, new=starts[key]) for key in added]
    entry = Positions(source=source, channel=head.channel, changes=changes, origin=origin or "partition added")
    return starts, entry


def _note(known: Found, notices: Mapping[str, Sequence[Noticed]], journal: Journal) -> None:
    """Everything agrees: write down which logs are read, and what was mended or noticed."""
    for name in known.logs:
        seen = known.identity(name)
        if seen is not None and seen != known.remembered(name):
            journal.append(Identified(**seen.model_dump()))
        for notice in notices[name]:
            journal.append(notice)
    mended = set()
    for (query, _), state in known.checkpoints.items():
        for repair in state.repairs:
            if repair.path not in mended:
                mended.add(repair.path)
                file = f"{repair.path.parent.name}/{repair.path.name}"
                journal.append(Repaired(query=query, file=file, batch=repair.batch, action=repair.action))
                repair.carry_out()


def _take_over(ledger: ChannelLedger, head: Head, first: Positions | None, starts: Offsets, journal: Journal) -> None:
    ledger.continue_from(starts, head.done_batch)
    if first is not None:
        journal.append(first)
    if head.planned is not None:
        ledger.resolve(head.planned)


def survey_of_running(
    launch: Launch, graph: Graph, queries: Sequence[Query], findings: Sequence[AgentFinding]
) -> Survey | None:
    """What is known of every partition while the run goes on."""
    heads = [_head_now(ledger) for query in queries for ledger in query.channels]
    known = Found(launch.model_copy(update={"heads": heads}), graph)
    return survey(known, {query.read: query.checkpoint for query in queries}, findings)


def _head_now(ledger: ChannelLedger) -> QueryHead:
    return QueryHead(
        source=ledger.source,
        channel=ledger.channel,
        positions=positions(ledger.positions),
        done_batch=ledger.done_batch if ledger.done_batch >= 0 else None,
    )
