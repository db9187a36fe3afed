"""What the API answers about events, lag, alerts, external consumer groups and receivers."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import Any

from pydantic import Field, RootModel

from pipelines.domain.base.states import DesiredState, MigrationStage, Phase
from pipelines.domain.monitoring.alert_rules import AlertRule, AlertState, Severity
from pipelines.domain.monitoring.receivers import ReceiverKind
from pipelines.domain.monitoring.webhooks import DeliveryState
from pipelines.selectors.base.schemas import Schema


class LagPartitionSchema(Schema):
    """The lag of one partition. `position`: the next offset to read; `records` that wait, the oldest of them for
    `seconds`; null where it is not known. `source` and `channel` are empty for a consumer group of others."""

    source: str
    channel: str
    topic: str
    partition: int
    position: int | None
    end: int | None
    records: int | None
    seconds: float | None


class LagPointSchema(Schema):
    """One window of the series: positions of its last measurement, and the most that waited in it."""

    at: datetime
    records: int | None
    seconds: float | None
    partitions: list[LagPartitionSchema]


class LagSchema(Schema):
    """Lag now (`as_of`, where nothing waits at most 15 minutes ago) and over time, oldest first. `step`: seconds of a
    point."""

    as_of: datetime | None
    records: int | None
    seconds: float | None
    partitions: list[LagPartitionSchema]
    step: int
    points: list[LagPointSchema]


class AlertDeliverySchema(Schema):
    """A message about an alert. `about`: the event that it tells of; `receiver_name`: its description, or its kind."""

    id: int
    receiver: int
    receiver_kind: ReceiverKind
    receiver_name: str
    about: str
    state: DeliveryState
    attempts: int
    response_status: int | None
    last_attempt_at: datetime | None
    next_attempt_at: datetime | None


class AlertSchema(Schema):
    """A problem that requires attention; `key` names what it is about. `silenced_until`: nobody is told until then;
    `silence`: the number of the silence. `deliveries`: to every receiver, in the order of the events."""

    id: int
    rule: str
    key: str
    severity: Severity
    pipeline: str | None
    labels: dict[str, str]
    state: AlertState
    message: str
    next_step: str
    data: dict[str, Any]
    opened_at: datetime
    changed_at: datetime
    acknowledged_by: str
    acknowledged_at: datetime | None
    acknowledged_note: str
    resolved_at: datetime | None
    silence: int | None
    silenced_until: datetime | None
    deliveries: list[AlertDeliverySchema]


class AlertCountsSchema(Schema):
    """How many alerts fire. `open`: not acknowledged; `severities`: of the open ones."""

    open: int
    acknowledged: int
    severities: dict[Severity, int]


class MatchersSchema(Schema):
    """What must be true of an alert; an empty list allows everything. Of `labels` each name must match; several values
    of one name are alternatives."""

    pipelines: list[str]
    labels: list[str]
    rules: list[str]
    severities: list[str]


class SilenceState(StrEnum):
    """ACTIVE: it holds deliveries back. EXPIRED: its time is over. ENDED: a user ended it early."""

    ACTIVE = "ACTIVE"
    EXPIRED = "EXPIRED"
    ENDED = "ENDED"


class SilenceSchema(Schema):
    """Alerts of which nobody is told until `ends_at`; without a `team` it is the installation's. `suppressed`:
    deliveries that it holds back, or that were never sent because of it."""

    id: int
    state: SilenceState
    team: str | None
    matchers: MatchersSchema
    comment: str
    created_at: datetime
    created_by: str
    ends_at: datetime
    ended_by: str
    suppressed: int


class RuleSettingsSchema(Schema):
    """When a rule raises an alert; null thresholds never do."""

    enabled: bool
    for_seconds: float
    records: int | None
    seconds: float | None
    deviations: float | None


class RuleOverrideSchema(Schema):
    """What is set for everything, for a label or for a pipeline; what is null comes from the wider settings, but for
    the thresholds that are `off`."""

    label: str
    pipeline: str
    enabled: bool | None = None
    for_seconds: float | None = None
    records: int | None = None
    seconds: float | None = None
    deviations: float | None = None
    off: list[str]
    updated_by: str
    updated_at: datetime


class RuleSchema(Schema):
    """A rule, its settings without any override, and the overrides, the more special the later. `thresholds`: those
    that it compares with; `about_pipelines`: whether it can be set for a label or a pipeline."""

    rule: AlertRule
    description: str
    severity: Severity
    next_step: str
    thresholds: list[str]
    about_pipelines: bool
    defaults: RuleSettingsSchema
    overrides: list[RuleOverrideSchema]


class RulesSchema(RootModel[list[RuleSchema]]):
    """All rules."""


class MemberSchema(Schema):
    """A member of a consumer group."""

    client: str
    host: str


class ExternalGroupSchema(Schema):
    """An external consumer group that is monitored, with its last measurement. `simple`: it never has members;
    offsets are committed from outside. `team`: who owns it; null: the installation."""

    id: int
    team: str | None
    group: str
    bootstrap_servers: str
    interval: float
    max_rate: float | None
    leap_records: int | None
    host: str | None
    created_at: datetime
    created_by: str
    inspected_at: datetime | None
    error: str
    state: str
    simple: bool
    coordinator: str
    members: list[MemberSchema]
    records: int | None


class ExternalGroupDetailSchema(ExternalGroupSchema):
    """The same with its partitions as they were seen last, and the last events of its commits, newest first."""

    partitions: list[LagPartitionSchema]
    events: list[EventSchema]


class SnapshotSchema(LagPointSchema):
    """One measurement of a group, or a window of them."""

    state: str
    coordinator: str
    members: list[MemberSchema]


class SnapshotsSchema(Schema):
    """Snapshots of a group, oldest first."""

    step: int
    points: list[SnapshotSchema]


class ResetPartitionSchema(Schema):
    """What a reset does to one partition: `replay` records come again, `skip` are passed over; `gone` of those that
    were to come again are deleted already. `basis`: `snapshot` (what the group had committed then) or `record_times`
    (the last offset that was surely appended before)."""

    topic: str
    partition: int
    committed: int | None
    target: int
    basis: str
    replay: int
    skip: int
    gone: int


class SinkEffectSchema(Schema):
    """What duplicates mean to one sink of a pipeline that the group belongs to."""

    pipeline: str
    source: str
    channel: str
    sink: str
    type: str
    duplicates_max: int
    effect: str


class GroupPlanSchema(Schema):
    """A reset of a consumer group to where it was at `target_time`, against what was seen of it at `as_of`. Headgate
    does not carry it out; `reset_csv` is what kafka-consumer-groups takes with --reset-offsets --from-file."""

    group: str
    bootstrap_servers: str
    event: int
    event_message: str
    target_time: datetime
    as_of: datetime | None
    state: str
    members: int
    replay: int
    skip: int
    gone: int
    partitions: list[ResetPartitionSchema]
    sinks: list[SinkEffectSchema]
    warnings: list[str]
    reset_csv: str


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


class AuditSchema(Schema):
    """Who asked for what. `sequence` and `digest`: its place in the chain, once it is sealed."""

    id: int
    at: datetime
    actor: str
    action: str
    pipeline: str
    object: str = Field(description="What it is about: the pipeline, or the name or id of something else.")
    team: str = Field(description="The team of the pipeline; empty for what belongs to the installation.")
    token: str = Field(description="Prefix and name of the token that was used; empty for a session.")
    request_id: str
    address: str
    before: Any
    after: Any
    outcome: str
    sequence: int | None
    digest: str


class SigningKeySchema(Schema):
    """The public key by which heads of the audit and evidence of migrations are verified, in base64."""

    id: str
    algorithm: str
    public_key: str


class ReceiverEmailSchema(Schema):
    """What a receiver of kind email adds. No `host`: the mail server of the installation."""

    recipients: list[str]
    sender: str
    host: str
    port: int
    tls: str
    user: str


class ReceiverSchema(Schema):
    """Who gets messages. `target`: where they go, without secrets; `email`: of kind email alone. `waiting`: deliveries
    that are not over; `failing_since`: no attempt has succeeded since then; `disabled_reason`: why it was disabled by
    itself, else empty. `team`: whose messages it gets; null: everything."""

    id: int
    team: str | None
    kind: ReceiverKind
    url: str
    target: str
    events: list[str]
    matchers: MatchersSchema
    email: ReceiverEmailSchema | None
    secrets: list[str] = Field(description="References, never values.")
    description: str
    enabled: bool
    disabled_reason: str
    waiting: int
    failing_since: datetime | None
    last_success_at: datetime | None
    created_at: datetime
    created_by: str
    updated_at: datetime
    updated_by: str
    etag: str


class DeliverySchema(Schema):
    """An event on its way to a receiver. `message_id`: the header webhook-id of every attempt; `response_status`: of
    the last answer, null without one. `silence`: what suppressed it; without `ended_at` it may yet be sent."""

    id: int
    receiver: int
    message_id: str
    event: int
    type: str
    alert: int | None
    silence: int | None
    pipeline: str | None
    happened_at: datetime
    state: DeliveryState
    attempts: int
    next_attempt_at: datetime | None
    last_attempt_at: datetime | None
    response_status: int | None
    last_error: str
    created_at: datetime
    ended_at: datetime | None


class PipelineMetricsSchema(Schema):
    """What metrics show of a pipeline. `positions_safe`, `output_usual`: null where it is not known."""

    name: str
    host: str | None
    phase: Phase
    desired_state: DesiredState
    restarts: int
    restarts_in_a_row: int
    findings: int
    position_findings: int
    positions_safe: bool | None
    output_usual: bool | None


class ChannelMetricsSchema(Schema):
    """The running totals of a channel, by column."""

    pipeline: str
    source: str
    channel: str
    totals: dict[str, int]


class ComponentMetricsSchema(Schema):
    """What a component has counted of one outcome."""

    pipeline: str
    source: str
    channel: str
    component: str
    outcome: str
    records: int


class ChannelLagSchema(Schema):
    """The lag of a channel over all partitions; null where it is not known."""

    pipeline: str
    source: str
    channel: str
    records: int | None
    seconds: float | None


class ActiveAlertsSchema(Schema):
    """How many alerts of a rule stand; `pipeline` is empty for those about other things."""

    pipeline: str
    rule: str
    state: AlertState
    number: int


class ReceiverMetricsSchema(Schema):
    """Deliveries that wait or are being sent, the age of the oldest, and endpoints that fail."""

    pending: int
    oldest_seconds: float
    failing: int


class MetricsSchema(Schema):
    """What the metrics of one scrape are made of, apart from hosts. `open_batches` are by pipeline, source and
    channel, `migrations` are the stages of open ones by pipeline."""

    pipelines: list[PipelineMetricsSchema]
    channels: list[ChannelMetricsSchema]
    components: list[ComponentMetricsSchema]
    lags: list[ChannelLagSchema]
    open_batches: dict[tuple[str, str, str], int]
    migrations: dict[str, MigrationStage]
    alerts: list[ActiveAlertsSchema]
    receivers: ReceiverMetricsSchema
