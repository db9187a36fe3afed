"""What the API answers about runs: progress, components, logs, stacks."""

from __future__ import annotations

from datetime import datetime

from pipelines.domain.base.states import RunOutcome, RunRole, RunState
from pipelines.domain.definitions.document.guarantees import Guarantee
from pipelines.selectors.base.schemas import OperationSchema, Schema


class LiveSchema(Schema):
    """The agent's own figures at `as_of`; null where no agent reports them. `in_flight`: batches being written.
    `stale`: the agent is silent, so they are old; `lag_records` is then what the worker has measured without it."""

    records_per_second: float | None = None
    lag_records: int | None = None
    last_batch_at: datetime | None = None
    in_flight: int = 0
    as_of: datetime | None = None
    stale: bool = False


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


class CheckingSchema(Schema):
    """The sink at a path is read for what it has of an unfinished batch: `looked_at` of `records` were looked at."""

    sink: str
    looked_at: int
    records: int


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
    """Progress of one (source, channel); `delivered` is of this run. `group`: null for a sink on its own. `checking`:
    what an unfinished batch waits for before it is delivered again. `guarantee`: null of an agent that does not say."""

    source: str
    channel: str
    batch: int | None
    in_flight: bool
    positions: list[PartitionProgressSchema]
    records_per_second: float
    delivered: int
    last_batch_at: datetime | None
    holding: HoldingSchema | None
    guarantee: Guarantee | None
    checking: CheckingSchema | None
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


class LogSchema(Schema):
    """A piece of an agent's log. `offset`: where to read on, in bytes; `size`: of the file that is written to;
    `rotated`: older lines are in another file. `searched`: how many of the last of all `total` bytes were looked at;
    `components`: those that lines there name."""

    text: str
    offset: int
    size: int
    rotated: bool
    total: int
    searched: int
    components: list[str]


class StackFileSchema(Schema):
    """One text of a dump. `process`: driver, workers or jvm; `text` is empty where it cannot be read here, or where
    newer ones have filled the answer."""

    name: str
    process: str
    text: str


class DumpSchema(Schema):
    """All stacks of a run at one moment. `stop_stage`: INTERRUPT or KILL where a stop took it (`number` counts its
    interrupts), live where a user asked (`asked`), else why. `stuck`: paths of the components that were at work;
    `silent`: processes that did not answer."""

    stop_stage: str
    number: int
    asked: str
    at: datetime
    stuck: list[str]
    silent: list[int]
    files: list[StackFileSchema]


class StacksSchema(Schema):
    """Dumps of a run's stacks, newest first. `elsewhere`: where the texts lie, if that is not this server's host."""

    run: int
    dumps: list[DumpSchema]
    elsewhere: str


class AskedDumpSchema(Schema):
    """A dump was asked for; it is listed with this id as soon as it is there."""

    asked: str
