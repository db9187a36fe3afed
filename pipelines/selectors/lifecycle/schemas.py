"""What the API answers about pipelines, their revisions and their state."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal
from uuid import UUID

from pydantic import ConfigDict, Field, RootModel

from pipelines.domain.base.findings import Finding
from pipelines.domain.base.roles import RoleWord
from pipelines.domain.base.states import DesiredState, OperationKind, OperationState, Phase, StopReason
from pipelines.domain.definitions.document.consequences import Consequence, EvaluatedChange
from pipelines.domain.definitions.document.guarantees import ChannelGuarantee
from pipelines.domain.imports.report import ImportFinding
from pipelines.domain.lifecycle.conditions import ConditionStatus, ConditionType
from pipelines.domain.lifecycle.reconciling import SourceOfTruth
from pipelines.selectors.access.schemas import OutdatedSecretSchema
from pipelines.selectors.access.sign_in import ProviderSchema, SignInProblemSchema
from pipelines.selectors.base.schemas import AllowedActionSchema, Schema
from pipelines.selectors.governance.read_only import ReadOnlySchema
from pipelines.selectors.positions.schemas import ChoiceSchema
from pipelines.selectors.runs.schemas import (
    ComponentStateSchema,
    IngestBufferSchema,
    LiveSchema,
    QuerySchema,
    RunSchema,
)

_TEXT = "As its author wrote it, comments included; where no text is stored, the keys that differ from their defaults."
_AS_WRITTEN = "Whether `definition_yaml` is the author's text."


class OpenOperation(Schema):
    """The operation under way, in short."""

    id: UUID
    kind: OperationKind
    state: OperationState


class PipelineSchema(Schema):
    """A pipeline: what is wanted (`desired_state`, `generation`), what was seen (`phase`, `observed_generation`)."""

    name: str
    team: str = Field(description="The team that owns it.")
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
    attention: int | None = Field(description="Its place among what requires action, 0 first; null: it requires none.")
    operation: OpenOperation | None
    allowed_actions: list[AllowedActionSchema]


class HistorySchema(Schema):
    """The last 24 hours in slots of `slot_seconds`, of which the first begins at `since` and the last one is not over.
    A slot has the phase in it that requires action first; UNKNOWN also where nothing is stored of it or no supervisor
    watched, null before the pipeline was created."""

    since: datetime
    slot_seconds: int
    phases: list[Phase | None]


class FleetPipelineSchema(Schema):
    """A pipeline of the fleet: where it belongs, how it is, and how it was."""

    name: str
    team: str = Field(description="The team that owns it.")
    labels: dict[str, str]
    host: str | None
    desired_state: DesiredState
    phase: Phase
    phase_since: datetime
    supervised: bool
    attention: int | None = Field(description="Its place among what requires action, 0 first; null: it requires none.")
    history: HistorySchema


class PipelineDetailSchema(PipelineSchema):
    """A pipeline with its current definition, as canonical JSON and as YAML."""

    definition: dict[str, Any]
    definition_yaml: str = Field(description=_TEXT)
    as_written: bool = Field(description=_AS_WRITTEN)


class CreatedPipelineSchema(PipelineDetailSchema):
    """A pipeline that was created, with the `warnings` of its definition."""

    warnings: list[Finding]


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


class RevisionDetailSchema(RevisionSchema):
    """One immutable definition with its text."""

    definition_yaml: str = Field(description=_TEXT)
    as_written: bool = Field(description=_AS_WRITTEN)


class PublishedRevisionSchema(RevisionDetailSchema):
    """A revision that was published, with the `warnings` of its definition."""

    warnings: list[Finding]


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


class DefinitionDiffSchema(Schema):
    """What a definition changes of the current revision (`revision`), each change with its consequence, and the
    heaviest of them; null where nothing changes but the text."""

    revision: int | None
    changes: list[EvaluatedChange]
    consequence: Consequence | None


class ImportSchema(Schema):
    """What a configuration of another system became. A finding has the setting (`key`) with its line, what was found,
    what was done about it, and what to do; `valid`: none of them is an error, and the definition can be stored."""

    definition: dict[str, Any]
    definition_yaml: str
    findings: list[ImportFinding]
    valid: bool


class ValidationSchema(Schema):
    """Every finding on a definition; `definition` is its canonical form where it is valid, and `guarantees` what each
    of its channels promises then."""

    valid: bool
    findings: list[Finding]
    definition: dict[str, Any] | None
    digest: str | None
    guarantees: list[ChannelGuarantee]


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


class DrainSchema(Schema):
    """What a pause, a stop, a restart or a migration waits for, as the agent reported it at `as_of`. `records`: of
    batches that were begun and are not finished, at most; null where it is not known how many they will have.
    `rate`: records per second; `seconds_left`: an estimate by it, null without one. `deadline`: when the drain times
    out. A forced stop has all of them reread, and at most `possible_duplicates` are in a sink twice then. `stale`:
    the agent is silent, so the figures are old."""

    kind: Literal["pause", "stop", "restart", "migration"]
    since: datetime
    deadline: datetime
    batches: int
    records: int | None
    rate: float | None
    seconds_left: int | None
    as_of: datetime | None
    stale: bool
    held_by: list[str]
    possible_duplicates: int


class StatusSchema(PipelineSchema):
    """Everything that is known of a pipeline now. `lag`: records waiting, null where it is not reported.

    `run`: the living one; `runs`: the last five, newest first. `choices`: where a position asks for a decision, the
    possible positions with what each would skip or reread. `outdated_secrets`: the run has earlier versions of them
    than are stored, and its next start takes those. `drain`: null unless something waits for in-flight batches.
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
    outdated_secrets: list[OutdatedSecretSchema]
    drain: DrainSchema | None


class ReconciledSchema(Schema):
    """The source of truth that a user has set."""

    source_of_truth: SourceOfTruth


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


class JsonSchema(RootModel[dict[str, Any]]):
    """A JSON Schema, draft 2020-12. Beside its own keywords a key has `unit`, `secret` (its value may refer to a
    secret), `refers` (what its texts name) and `reach`; a component has `kind`."""


class SessionSchema(Schema):
    """Who is asking; `csrf_token` goes into the header X-CSRFToken of every write with a session. `provider`: where one
    can sign in without a password; `problem`: why that failed the last time. `waits_for_code`: the password was right;
    `passkeys`: one of them can stand in for the code;
    `enrolment_required`: nothing is open before a second factor is set up; `proof`: how a dangerous act is
    confirmed. `role`: the highest one in any team; `everywhere`: the one in every team. `demo_pipeline`: the one
    that the guided demo may break; empty outside of a demo. `read_only`: why users can change nothing now; null where
    they can, and before a log-in."""

    authenticated: bool
    user: str | None
    role: RoleWord | None
    everywhere: RoleWord | None
    csrf_token: str
    provider: ProviderSchema | None
    problem: SignInProblemSchema | None
    waits_for_code: bool
    passkeys: bool
    enrolment_required: bool
    proof: Literal["password", "password_and_code", "provider"] | None
    demo_pipeline: str
    read_only: ReadOnlySchema | None
