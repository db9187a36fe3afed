"""What the API answers: shapes, units and nothing else. Times are UTC, rates are records per second."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import Any, Literal
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field, RootModel

from pipelines.domain.base.findings import Finding
from pipelines.domain.base.states import (
    DeadLetterState,
    DesiredState,
    LedgerState,
    OperationKind,
    OperationState,
    Phase,
    RunOutcome,
    RunRole,
    RunState,
    StopReason,
)
from pipelines.domain.lifecycle.actions import Action, AllowedAction
from pipelines.domain.lifecycle.conditions import ConditionStatus, ConditionType
from pipelines.domain.lifecycle.operations import OnTimeout, StepState
from pipelines.domain.lifecycle.reconciling import SourceOfTruth
from pipelines.selectors.base.position_schemas import ChoiceSchema


class Schema(BaseModel):
    """An answer: immutable, and every field is always there."""

    model_config = ConfigDict(frozen=True)


class EventSchema(Schema):
    """Something that happened. `run` is the run's number, `actor` the user who asked, or `system`."""

    id: int
    at: datetime
    kind: str = Field(examples=["phase.changed"])
    pipeline: str | None
    actor: str
    run: int | None
    message: str
    data: dict[str, Any]


class StepSchema(Schema):
    """One step of an operation."""

    name: str
    state: StepState
    started_at: datetime | None
    ended_at: datetime | None
    message: str


class OperationError(Schema):
    """Why an operation failed, and what to do."""

    code: str
    message: str
    hint: str = ""


class OperationSchema(Schema):
    """A request that takes time. `deadline`: when it times out."""

    id: UUID
    pipeline: str
    kind: OperationKind
    state: OperationState
    steps: list[StepSchema]
    created_by: str
    created_at: datetime
    ended_at: datetime | None
    deadline: datetime | None
    message: str
    error: OperationError | None
    progress: dict[str, Any]


class OpenOperation(Schema):
    """The operation under way, in short."""

    id: UUID
    kind: OperationKind
    state: OperationState


class AllowedActionSchema(Schema):
    """An action, why it is not allowed now, and what comes of it where that is more than its name says."""

    name: Action
    allowed: bool
    reason: str
    consequence: str


def allowed_action_schema(action: AllowedAction) -> AllowedActionSchema:
    """One action as the API shows it."""
    return AllowedActionSchema(
        name=action.name, allowed=action.allowed, reason=action.reason, consequence=action.consequence
    )


class LiveSchema(Schema):
    """The agent's own figures at `as_of`; null where no agent reports them. `in_flight`: batches being written."""

    records_per_second: float | None = None
    lag_records: int | None = None
    last_batch_at: datetime | None = None
    in_flight: int = 0
    as_of: datetime | None = None


class PipelineSchema(Schema):
    """A pipeline: what is wanted (`desired_state`, `generation`), what was seen (`phase`, `observed_generation`)."""

    name: str
    description: str
    labels: dict[str, str]
    headline: str = Field(description="Its state in one sentence.")
    desired_state: DesiredState
    phase: Phase
    phase_since: datetime
    phase_reason: str
    phase_message: str
    stop_reason: StopReason | None
    generation: int
    observed_generation: int
    revision: int | None
    host: str | None
    created_at: datetime
    updated_at: datetime
    etag: str
    live: LiveSchema
    restart_count: int
    next_restart_at: datetime | None
    supervised: bool
    operation: OpenOperation | None
    allowed_actions: list[AllowedActionSchema]


class PipelineDetailSchema(PipelineSchema):
    """A pipeline with its current definition, as canonical JSON and as YAML."""

    definition: dict[str, Any]
    definition_yaml: str


class ArchivedPipelineSchema(Schema):
    """A deleted pipeline; its ledger is kept until it is purged."""

    id: UUID
    name: str
    description: str
    archived_at: datetime
    revision: int | None
    runs: int


class RevisionSchema(Schema):
    """One immutable definition."""

    number: int
    digest: str
    created_at: datetime
    created_by: str
    note: str
    definition: dict[str, Any]


class ChangeSchema(Schema):
    """One difference between two definitions."""

    path: str
    op: Literal["add", "remove", "change"]
    old: Any
    new: Any


class DiffSchema(Schema):
    """The differences from revision `from` to revision `to`."""

    model_config = ConfigDict(serialize_by_alias=True, validate_by_name=True)

    from_: int = Field(alias="from")
    to: int
    changes: list[ChangeSchema]


class ValidationSchema(Schema):
    """Every finding on a definition; `definition` is its canonical form where it is valid."""

    valid: bool
    findings: list[Finding]
    definition: dict[str, Any] | None
    digest: str | None


class SampleEventSchema(Schema):
    """An event; its body as text, or in base64 where it is none."""

    headers: dict[str, str]
    body: str | None = None
    body_base64: str | None = None


class RehearsedDeadLetterSchema(Schema):
    """An event that cannot be processed: which component says so, and why."""

    event: SampleEventSchema
    component: str
    cause: str


class RehearsalSchema(Schema):
    """What became of sample events: what each channel would get, and the others."""

    channels: dict[str, list[SampleEventSchema]]
    filtered: int
    unrouted: list[SampleEventSchema]
    dead_letters: list[RehearsedDeadLetterSchema]


class ConditionSchema(Schema):
    """One statement about a pipeline, true, false or unknown, since when and why."""

    type: ConditionType
    status: ConditionStatus
    reason: str
    message: str
    last_transition_time: datetime


class RunSchema(Schema):
    """One life of an agent. `stop_stage`: the stage that its stop escalation reached; `stuck`: the components that the
    stop found at work; `dumps`: files of its stacks, at /runs/{id}/stacks. A standby has no epoch, and the
    lineage 0, until it is promoted."""

    id: int
    number: int
    role: RunRole
    epoch: int | None
    revision: int
    host: str
    lineage: int
    state: RunState
    outcome: RunOutcome | None
    exit_code: int | None
    exit_reason: str
    stop_stage: str
    stuck: list[str]
    dumps: list[str]
    started_at: datetime
    first_record_at: datetime | None
    ended_at: datetime | None
    promoted_at: datetime | None
    stop_requested_at: datetime | None
    start_requested_at: datetime | None
    driver_pid: int | None
    keeper_pid: int | None
    run_dir: str


class PartitionProgressSchema(Schema):
    """Where a query stands in one partition. `lag` in records."""

    topic: str
    partition: int
    next_offset: int
    end_offset: int | None
    lag: int | None


class HoldingSchema(Schema):
    """What keeps a query from moving: the path of a sink whose batch is held, or of a source that is away."""

    component: str
    cause: str
    attempts: int
    since: datetime


class FailedSinkSchema(Schema):
    """A sink that failed its last attempts (`failures` in a row) and is tried again at `until`."""

    sink: str
    failures: int
    until: datetime
    cause: str


class GroupSchema(Schema):
    """The live and the failed sinks of a group. `active`: the one whose turn it is, null where there is none."""

    name: str
    processor: str
    active: str | None
    live: list[str]
    failed: list[FailedSinkSchema]


class QuerySchema(Schema):
    """Progress of one (source, channel); `delivered` is of this run. `group`: null for a sink on its own."""

    source: str
    channel: str
    batch: int | None
    in_flight: bool
    positions: list[PartitionProgressSchema]
    records_per_second: float
    delivered: int
    last_batch_at: datetime | None
    holding: HoldingSchema | None
    group: GroupSchema | None


class IngestBufferSchema(Schema):
    """A push source. `taken`: events accepted since the run started; `held`: events in its ingest buffer now, of at
    most `capacity`; `answers`: requests since the run started, by HTTP status; `held_up_by`: what keeps the
    buffer from releasing events; `failure`: why it accepts no events."""

    source: str
    taken: int
    held: int
    capacity: int
    answers: dict[str, int]
    held_up_by: str
    failure: str


class ComponentStateSchema(Schema):
    """Whether a component is initialised."""

    name: str
    kind: str
    type: str
    state: str
    detail: str


class StatusSchema(PipelineSchema):
    """Everything that is known of a pipeline now. `lag`: records waiting, null where it is not reported.

    `run`: the living one; `runs`: the last five, newest first. `choices`: where a position asks for a decision, the
    possible positions with what each would skip or reread.
    """

    conditions: list[ConditionSchema]
    lag: int | None
    run: RunSchema | None
    runs: list[RunSchema]
    queries: list[QuerySchema]
    ingest_buffers: list[IngestBufferSchema]
    components: list[ComponentStateSchema]
    findings: list[Finding]
    choices: list[ChoiceSchema]


class RangeSchema(Schema):
    """The half-open range [start, end) of offsets of one partition."""

    topic: str
    partition: int
    start: int
    end: int


class LedgerBatchSchema(Schema):
    """One batch, or several adjoining ones of a run taken in together. `run` is the run's number."""

    id: int
    run: int
    source: str
    channel: str
    first_batch: int
    last_batch: int
    state: LedgerState
    read: int
    added: int
    delivered: int
    routed_elsewhere: int
    filtered: int
    unrouted: int
    dead_lettered: int
    dropped_optional: int
    duplicates_max: int
    gaps: int
    overlaps: int
    ranges: list[RangeSchema]
    sink: str
    attempts: int
    planned_at: datetime | None
    done_at: datetime | None
    balanced: bool


class ChannelLedgerTotals(Schema):
    """The ledger totals of one (source, channel). `open_batches`: planned and not acknowledged yet."""

    source: str
    channel: str
    read: int
    added: int
    delivered: int
    routed_elsewhere: int
    filtered: int
    unrouted: int
    dead_lettered: int
    dropped_optional: int
    duplicates_max: int
    gaps: int
    overlaps: int
    batches: int
    open_batches: int
    balanced: bool


class PositionSchema(Schema):
    """The next offset to read of one partition."""

    source: str
    channel: str
    topic: str
    partition: int
    next_offset: int
    updated_at: datetime


class LedgerTotalsSchema(Schema):
    """The ledger totals of a pipeline over all its runs. `balanced`: every record has one verdict, no gap and no
    overlap."""

    channels: list[ChannelLedgerTotals]
    read: int
    delivered: int
    filtered: int
    duplicates_max: int
    gaps: int
    overlaps: int
    balanced: bool
    positions: list[PositionSchema]


class DeadLetterSchema(Schema):
    """An event that could not be processed, without its content. `at`: when that was; `partition` and `offset` of its
    origin; `operation`: the replay under way that has taken it; `in_doubt`: a replay may have sent it, unconfirmed.
    """

    id: str
    at: datetime
    source: str
    channel: str
    component: str
    cause: str
    topic: str
    partition: int
    offset: int
    size: int
    truncated: bool
    state: DeadLetterState
    settled_at: datetime | None
    settled_by: str
    operation: UUID | None
    in_doubt: bool


class HeaderSchema(Schema):
    """A header's value, as text where it is UTF-8, else in base64."""

    name: str
    value: str | None
    value_base64: str | None


class DeadLetterDetailSchema(DeadLetterSchema):
    """A dead letter with its content, each part as text where it is UTF-8, else in base64. Of a `truncated` one the
    first 16 KiB are here; the whole event lies at `location` of `host`."""

    key: str | None
    key_base64: str | None
    headers: list[HeaderSchema]
    body: str | None
    body_base64: str | None
    location: str
    host: str
    repaired: bool


class DeadLetterCauseSchema(Schema):
    """New dead letters of one component with one cause."""

    component: str
    cause: str
    dead_letters: int
    first_at: datetime
    last_at: datetime


class DeadLettersSummarySchema(Schema):
    """Dead letters by state, and the new ones by cause, most frequent first. `more_causes`: not all causes are here."""

    new: int
    retried: int
    discarded: int
    causes: list[DeadLetterCauseSchema]
    more_causes: bool


class DiscardedSchema(Schema):
    """How many dead letters were discarded."""

    discarded: int


class SuspectSchema(Schema):
    """The records [start, end) of one partition, as one channel of a source would read them."""

    source: str
    channel: str
    topic: str
    partition: int
    start: int
    end: int
    records: int


class QuarantinedSchema(SuspectSchema):
    """Records in quarantine: dead letters before any interceptor or sink sees them. `passed`: they are."""

    cause: str
    passed: bool
    created_at: datetime
    created_by: str


class QuarantineSchema(Schema):
    """`offered`: in-flight records of the last runs when they crashed; `ranges`: what is in quarantine."""

    offered: list[SuspectSchema]
    ranges: list[QuarantinedSchema]
    operation: OperationSchema | None = None


class ReconciledSchema(Schema):
    """The source of truth that a user has set."""

    source_of_truth: SourceOfTruth


class PointSchema(Schema):
    """One point of a chart."""

    at: datetime
    records_per_second: float
    lag_records: int | None


class SeriesSchema(Schema):
    """Rate and lag over time, oldest first."""

    points: list[PointSchema]


class LogSchema(Schema):
    """A piece of an agent's log. `offset`: where to read on, in bytes; `rotated`: older lines are in another file."""

    text: str
    offset: int
    size: int
    rotated: bool


class MessagesSchema(Schema):
    """Whether messages reach a worker. BUSY: every task slot is busy; AWAY: the broker does not answer; FULL: it
    accepts nothing more; DEAF: the worker is unresponsive and is restarted. Without messages it acts a second
    later."""

    state: Literal["HEALTHY", "BUSY", "AWAY", "FULL", "UNRESPONSIVE"]
    detail: str
    since: datetime
    at: datetime
    round_trip_ms: float | None


class HostState(StrEnum):
    """UP: seen within the last 30 s. LOST: not seen for longer."""

    UP = "UP"
    LOST = "LOST"


class HostSchema(Schema):
    """A machine with a worker. LOST: not seen for 30 s; supervised: seen within 5 s. `agents` live there; `promised`
    and `memory_promised` (bytes) also count pipelines that are about to have one. `slots` and `memory_limit`
    bound them. `drained_at`: since when it takes no new agents; `on_timeout`: whether an agent that is to leave
    and does not end its batch in time continues (`abort`) or is stopped. `lease_epoch` grows when another
    supervisor takes the host."""

    name: str
    state: HostState
    seen_at: datetime | None
    supervised: bool
    agents: int
    cores: int
    memory_bytes: int
    state_dir: str
    version: str
    messages: MessagesSchema | None
    lease_epoch: int
    slots: int | None
    memory_limit: int | None
    promised: int
    memory_promised: int
    drained_at: datetime | None
    drained_by: str
    on_timeout: OnTimeout


class GuestSchema(Schema):
    """A pipeline of a host. `tied`: why it is not moved from there by itself, in words; empty where it can be."""

    name: str
    phase: Phase
    desired_state: DesiredState
    live_run: int | None
    tied: list[str]


class HostDetailSchema(HostSchema):
    """A host with the pipelines that have a place there."""

    pipelines: list[GuestSchema]


class HostsSchema(RootModel[list[HostSchema]]):
    """All hosts."""


class ComponentTypeSchema(Schema):
    """A type of component that a definition may use, with its JSON Schema."""

    kind: str
    type: str
    title: str
    description: str
    schema_: dict[str, Any] = Field(alias="schema")

    model_config = ConfigDict(serialize_by_alias=True, validate_by_name=True)


class ComponentTypesSchema(RootModel[list[ComponentTypeSchema]]):
    """All types of components."""


class AuditSchema(Schema):
    """Who asked for what."""

    id: int
    at: datetime
    actor: str
    action: str
    pipeline: str
    request_id: str
    address: str
    before: Any
    after: Any
    outcome: str


class SecretSchema(Schema):
    """A secret without its value. `readable`: a key of this server decrypts it; null while the store has no key."""

    name: str
    version: int
    created_at: datetime
    created_by: str
    updated_at: datetime
    updated_by: str
    readable: bool | None
    used_by: list[str] = Field(description="Pipelines whose current revision refers to it.")
    webhooks: list[int] = Field(description="Webhooks that it signs.")


class RotationSchema(Schema):
    """How many secrets are under the current key now, and those that no key decrypts."""

    rotated: int
    unreadable: list[str]


class SessionSchema(Schema):
    """Who is asking; `csrf_token` goes into the header X-CSRFToken of every write with a session."""

    authenticated: bool
    user: str | None
    role: Literal["viewer", "operator", "admin"] | None
    csrf_token: str


class Problem(Schema):
    """A failure, RFC 9457: `type` and `code` are stable, `detail` says what happened and `hint` what to do."""

    type: str = Field(examples=["urn:headgate:problem:conflict"])
    title: str
    status: int
    detail: str
    code: str
    hint: str
    findings: list[Finding]
    request_id: str
    allowed_actions: list[AllowedActionSchema] | None = Field(default=None, description="After a refused action.")
