"""What is known of one record: evidence by its kind, and what cannot be known. Pure."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import Any, Literal
from uuid import UUID

from pydantic import Field

from pipelines.domain.base.positions import Frozen, Offset, SourceIdentity
from pipelines.domain.base.states import DeadLetterState, LedgerState
from pipelines.domain.definitions.document.spec import Masking
from pipelines.domain.preview.outcomes import EventResult
from pipelines.domain.preview.protocol import HostRequest, Side
from pipelines.domain.trace.question import Place


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
    is not known. `proves`: the one outcome that all of its records have. `operation`: the replay that read it again."""

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
    """A dead letter that was made of the record."""

    id: str
    channel: str
    component: str
    cause: str
    at: datetime
    run: int
    state: DeadLetterState
    settled_at: datetime | None
    settled_by: str


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
    side: Side
    source: str


class FollowRequest(HostRequest):
    """Evaluate one record again. `identities`: the logs that the ledger's offsets are of; `masking`: of every revision
    that counts."""

    kind: Literal["follow"] = "follow"
    place: Place
    looks: list[RevisionLook]
    identities: list[SourceIdentity] = []
    masking: list[Masking] = []

    @property
    def noun(self) -> str:
        """What texts and codes call it."""
        return "trace"

    def answer_of(self, line: bytes) -> FollowAnswer:
        """Raises ValueError for a line that is no answer to it."""
        return FollowAnswer.model_validate_json(line)

    def refused(self, findings: list[dict[str, Any]]) -> FollowAnswer:
        """The answer where these stand in its way."""
        return FollowAnswer(findings=findings)


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


class FollowAnswer(Frozen):
    """What could be found out, or the findings that stand in its way."""

    evaluated: list[Evaluated] = []
    findings: list[dict[str, Any]] = []


class ChannelTrace(Frozen):
    """What became of the record in one channel, and what that rests on."""

    source: str
    channel: str
    outcome: TraceOutcome
    evidence: Evidence
    component: str = ""
    ledger: ChannelLedger


class TraceResult(Frozen):
    """The whole answer. `unknown`: what cannot be known, with the reason."""

    place: Place
    channels: list[ChannelTrace] = []
    evaluated: list[Evaluated] = []
    unknown: list[Unknown] = []
    seconds: float = Field(default=0.0, ge=0)


def without_events(result: TraceResult) -> TraceResult:
    """A trace without what its record holds."""
    return result.model_copy(update={"evaluated": [_hidden(each) for each in result.evaluated]})


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
