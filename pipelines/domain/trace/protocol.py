"""What is known of one record: evidence by its kind, and what cannot be known. Pure."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import Any, ClassVar, Literal
from uuid import UUID

from pydantic import Field

from pipelines.domain.base.positions import Frozen, Offset, SourceIdentity
from pipelines.domain.base.states import DeadLetterState, LedgerState
from pipelines.domain.definitions.document.spec import Masking
from pipelines.domain.preview.outcomes import EventResult
from pipelines.domain.preview.protocol import HostAnswer, HostRequest, Side
from pipelines.domain.trace.question import Place, TraceQuestion


class TraceOutcome(StrEnum):
    """What became of the record in one channel. IN_FLIGHT: its batch is not done; NOT_READ: the channel is not there
    yet; SKIPPED: the channel is past it and has never read it; NO_RECORD: there is none at this offset."""

    DELIVERED = "delivered"
    FILTERED = "filtered"
    DEAD_LETTERED = "dead_lettered"
    UNROUTED = "unrouted"
    ROUTED_ELSEWHERE = "routed_elsewhere"
    DROPPED_OPTIONAL = "dropped_optional"
    IN_FLIGHT = "in_flight"
    NOT_READ = "not_read"
    SKIPPED = "skipped"
    NO_RECORD = "no_record"
    UNKNOWN = "unknown"


class Evidence(StrEnum):
    """What an outcome rests on. SOURCE: what the source has at the offset now."""

    LEDGER = "ledger"
    SINK = "sink"
    EVALUATION = "evaluation"
    SOURCE = "source"
    NONE = "none"


class Effect(StrEnum):
    """What a component did to the event when it was evaluated again."""

    UNCHANGED = "unchanged"
    CHANGED = "changed"
    FILTERED = "filtered"
    FAILED = "failed"


class Unknown(Frozen):
    """What cannot be known, and why. `about`: a channel, a revision or a sink; empty for all of it."""

    about: str = ""
    code: str
    reason: str


class LedgerRow(Frozen):
    """A row of the ledger that holds the record. `merged`: it is of several batches, and which of them had the record
    is not known. `proves`: the one outcome that all of its records have. `operation`: the replay that read it again,
    asked for at `planned_at`."""

    id: int
    run: int
    revision: int
    source: str
    channel: str
    state: LedgerState
    first_batch: int
    last_batch: int
    merged: bool
    counts: dict[str, int]
    sink: str
    attempts: int
    planned_at: datetime | None
    done_at: datetime | None
    operation: UUID | None
    proves: TraceOutcome | None = None


class LetterRow(Frozen):
    """A dead letter that was made of the record. `sent_at`: when a retry last sent it back to its source."""

    id: str
    source: str = ""
    channel: str
    component: str
    cause: str
    at: datetime
    run: int
    state: DeadLetterState
    settled_at: datetime | None
    settled_by: str
    sent_at: datetime | None = None


class ChannelLedger(Frozen):
    """What the ledger has of the record at `offset` in one channel. `position`: the next offset of its partition;
    `first`: the first one in the ledger."""

    source: str
    channel: str
    offset: Offset
    position: Offset | None
    first: Offset | None
    rows: list[LedgerRow] = []
    letters: list[LetterRow] = []


class RevisionLook(Frozen):
    """A revision that has read the record, and the source by which it did."""

    revision: int
    source: str


class SinkWindow(Frozen):
    """A batch whose sink may have the record: written between two instants, in milliseconds; without `until`, up to
    now. `source`: as the sink knows it. Without a `sink`, any of the channel's may have it. `once`: the batch was not
    attempted again."""

    row: int
    revision: int
    source: str
    channel: str
    sink: str
    since: int | None
    until: int | None
    once: bool = False


class SinkRecord(Frozen):
    """A record of a sink that says that it was made of the one that is traced. `timestamp`: milliseconds."""

    topic: str
    partition: Offset
    offset: Offset
    timestamp: int | None = None
    copy_number: Offset = 0


class SinkSearch(Frozen):
    """What a sink has of the record. `row`: of the ledger; `is_store`: the sink is the store of the channel, which is
    read again; `searched`: records that were looked at; `complete`: nothing of the sink was left out, so that what was
    not found is not there."""

    row: int
    channel: str
    sink: str
    is_store: bool = False
    records: list[SinkRecord] = []
    searched: int = 0
    complete: bool = False
    unknown: Unknown | None = None


class RetryWindow(Frozen):
    """A dead letter that a retry has sent back to one partition of its source, between two instants."""

    letter: str
    revision: int
    source: str
    topic: str
    partition: Offset
    since: int
    until: int | None


class RetrySearch(Frozen):
    """The new records of a dead letter that was retried."""

    letter: str
    places: list[Place] = []
    unknown: Unknown | None = None


class LeadKind(StrEnum):
    """CHANNEL: into the store of a channel; RETRY: by the retry of a dead letter."""

    CHANNEL = "channel"
    RETRY = "retry"


class Lead(Frozen):
    """The same record at another place. `of`: the channel, or the dead letter."""

    kind: LeadKind
    of: str
    place: Place


class Candidate(Frozen):
    """A record that matches. `event` is for those who may see records; `timestamp`: milliseconds."""

    place: Place
    timestamp: int | None = None
    size: int = 0
    event: dict[str, Any] | None = None


class SourceSearch(Frozen):
    """What was searched, and what of it matched: `matched` with the first of them in `candidates`; `more`: others may
    match, too. `notes`: what was not searched."""

    source: str
    searched: int
    matched: int
    more: bool = False
    candidates: list[Candidate] = []
    notes: list[str] = []


class SearchAnswer(HostAnswer):
    """What was searched, and the one record that is meant, if it is known; or the findings that stand in its way."""

    search: SourceSearch | None = None
    place: Place | None = None


class SearchRequest(HostRequest[SearchAnswer]):
    """Find the record that a question means, with the present revision."""

    noun: ClassVar = "trace"
    advice: ClassVar = "Search from a later --time, or name the record by --at."
    answer: ClassVar = SearchAnswer
    kind: Literal["search"] = "search"
    side: Side
    question: TraceQuestion
    masking: list[Masking] = []


class StepRow(Frozen):
    """An event behind one interceptor. `event`, `headers` (names that differ) and `cause` are for those who may see
    records."""

    component: str
    type: str
    effect: Effect
    headers: list[str] = []
    key: bool = False
    body: bool = False
    cause: str = ""
    event: dict[str, Any] | None = None


class EventRow(Frozen):
    """An event that was made of the record: `verdicts` by channel, as the ledger counts them. `component`: what has
    filtered or refused it."""

    copy_number: int
    result: EventResult
    verdicts: dict[str, str]
    component: str = ""
    cause: str = ""
    steps: list[StepRow] = []
    event: dict[str, Any] | None = None


class Evaluated(Frozen):
    """What a revision makes of the record now. `missing`: the source has no record at the offset; then, and where
    `unknown` says why nothing could be evaluated, there are no events."""

    revision: int
    source: str
    read: dict[str, Any] | None = None
    timestamp: int | None = None
    events: list[EventRow] = []
    missing: bool = False
    unknown: Unknown | None = None


class Marks(Frozen):
    """What a record says about where it came from: a dead letter that was retried, or the record of its source where it
    lies in the store of a channel."""

    letter: str = ""
    made_of: Place | None = None


class FollowAnswer(HostAnswer):
    """What could be found out, or the findings that stand in its way."""

    evaluated: list[Evaluated] = []
    searches: list[SinkSearch] = []
    retries: list[RetrySearch] = []
    marks: Marks = Marks()


class FollowRequest(HostRequest[FollowAnswer]):
    """Evaluate one record again, and look for it in sinks. `sides`: by the number of the revision; `marked`: as what
    reads it, to look where it came from; `identities`: the logs that the ledger's offsets are of; `masking`: of every
    revision that counts."""

    noun: ClassVar = "trace"
    advice: ClassVar = "Request it again when the host has less to do, or correct the interceptor that never ends."
    answer: ClassVar = FollowAnswer
    kind: Literal["follow"] = "follow"
    place: Place
    sides: dict[int, Side]
    looks: list[RevisionLook] = []
    windows: list[SinkWindow] = []
    retries: list[RetryWindow] = []
    marked: RevisionLook | None = None
    identities: list[SourceIdentity] = []
    masking: list[Masking] = []


class ChannelTrace(Frozen):
    """What became of the record in one channel, and what that rests on."""

    source: str
    channel: str
    outcome: TraceOutcome
    evidence: Evidence
    component: str = ""
    ledger: ChannelLedger
    searches: list[SinkSearch] = []


class Onward(Frozen):
    """The record where a lead has led, and what became of it there."""

    lead: Lead
    channels: list[ChannelTrace] = []
    unknown: list[Unknown] = []


class TraceResult(Frozen):
    """The whole answer. `place`: of the record, where it is known which one is meant; `search`: where it was searched
    for; `came_from`: what it was made of; `onward`: where it continues; `unknown`: what cannot be known, with the
    reason."""

    place: Place | None
    search: SourceSearch | None = None
    came_from: Lead | None = None
    channels: list[ChannelTrace] = []
    onward: list[Onward] = []
    evaluated: list[Evaluated] = []
    unknown: list[Unknown] = []
    seconds: float = Field(default=0.0, ge=0)


def without_events(result: TraceResult) -> TraceResult:
    """A trace without what its record holds."""
    search = result.search
    if search is not None:
        candidates = [each.model_copy(update={"event": None}) for each in search.candidates]
        search = search.model_copy(update={"candidates": candidates})
    evaluated = [_hidden(each) for each in result.evaluated]
    return result.model_copy(update={"evaluated": evaluated, "search": search})


def _hidden(found: Evaluated) -> Evaluated:
    events = [
        each.model_copy(
            update={
                "event": None,
                "cause": "",
                "steps": [step.model_copy(update={"event": None, "cause": "", "headers": []}) for step in each.steps],
            }
        )
        for each in found.events
    ]
    return found.model_copy(update={"read": None, "events": events})
