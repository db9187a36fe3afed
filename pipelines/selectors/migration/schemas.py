"""What the API answers about migrations, evacuations and their rules."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from pydantic import Field

from pipelines.domain.access.teams import Access
from pipelines.domain.base.findings import Finding
from pipelines.domain.base.states import MigrationKind, MigrationStage
from pipelines.domain.migration import policy, progress
from pipelines.domain.migration.choices import MigrationChoice, options
from pipelines.domain.migration.plan import MigrationPlan
from pipelines.domain.migration.policy import ApprovalRule
from pipelines.domain.migration.progress import MigrationStepState
from pipelines.domain.migration.specs import shown
from pipelines.domain.migration.steps import StepName
from pipelines.domain.migration.timeline.parts import Timeline
from pipelines.domain.preview.protocol import DifferenceRow, NotCompared
from pipelines.domain.preview.shadowing import ShadowCounts
from pipelines.foundation import clock
from pipelines.models import ApprovalPolicy, Evacuation, FreezeWindow, Migration
from pipelines.selectors.base.schemas import Schema
from pipelines.selectors.base.visible import seen_names
from pipelines.selectors.governance.rules import approval_rule
from pipelines.selectors.ledger.schemas import PointSchema
from pipelines.selectors.migration import migrations as selecting
from pipelines.selectors.migration.evidence import following, pause_seen
from pipelines.selectors.migration.shadows import shadow_of


class MigrationStepSchema(Schema):
    """One step: what it does, and what came of it. `seconds`: how long it may take. `held_until`: it waits at its
    gate until then, and is rolled back after that."""

    name: StepName
    stage: MigrationStage
    state: MigrationStepState
    changes: bool
    sentence: str
    gate: bool
    seconds: float
    tried: int
    intent_at: datetime | None
    done_at: datetime | None
    held_until: datetime | None
    message: str
    evidence: Any


class ApprovalSchema(Schema):
    """An approval; `counts`: it is for the current plan, of a user who may approve it, and has not expired."""

    by: str
    at: datetime
    expires_at: datetime
    hash: str
    counts: bool


class PassedGateSchema(Schema):
    """A gate that was passed."""

    stage: MigrationStage
    by: str
    at: datetime


class MigrationSchema(Schema):
    """A migration in a list. `waits_for`: the gate at which it waits for a user; `trace_id`: its trace, which log lines
    name."""

    id: UUID
    trace_id: str
    pipeline: str
    kind: MigrationKind
    stage: MigrationStage
    stage_since: datetime
    open: bool
    message: str
    reason: str
    created_by: str
    created_at: datetime
    started_at: datetime | None
    ended_at: datetime | None
    plan_hash: str
    old_host: str | None
    new_host: str | None
    old_revision: int | None
    new_revision: int | None
    old_run: int | None
    new_run: int | None
    evacuation: UUID | None
    reverts: UUID | None
    waits_for: MigrationStage | None


class DrainingSchema(Schema):
    """What a pause waits for, as far as it has been reported. `records`: of unfinished batches; so many may be
    delivered twice where the old run is killed instead. `rate`: records per second before the pause."""

    batches: int
    records: int
    rate: float | None
    held_by: list[str]


class DrainDumpSchema(Schema):
    """The dump of all stacks of the run whose pause timed out. `stuck`: paths of the components that were at work;
    the stacks themselves are among those of the run."""

    run: int
    number: int
    at: datetime
    stuck: list[str]


class ShadowSampleSchema(Schema):
    """An event that differs under the two revisions."""

    source: str
    difference: DifferenceRow


class ShadowSchema(Schema):
    """Both revisions on the records that the old agent delivers. `share`: of events that differ; `not_compared`: by
    source, what no run repeats; `unlike_ledger`: parts of which the old revision makes something else than the ledger
    has, with `notes`; `findings`: why the last part was not made. Rates: records read per second."""

    since: datetime
    counts: ShadowCounts
    share: float | None
    parts: int
    not_compared: dict[str, NotCompared]
    samples: list[ShadowSampleSchema]
    unlike_ledger: int
    notes: list[str]
    failures: int
    findings: list[Finding]
    rate_before: float | None
    rate: float | None
    shows_records: bool = Field(description="Whether you may see what events hold.")


class MigrationDetailSchema(MigrationSchema):
    """A migration with its plan, its steps, and what can be done next, each with its expected impact."""

    spec: dict[str, Any]
    plan: MigrationPlan | None = Field(description="Null only where no plan could be made.")
    planned_at: datetime | None
    stale: bool = Field(description="The pipeline is not what the plan was made against.")
    steps: list[MigrationStepSchema]
    choices: list[MigrationChoice]
    approvals: list[ApprovalSchema]
    approvers_needed: int
    passed: list[PassedGateSchema]
    findings: list[Finding]
    snapshot: dict[str, Any] | None
    shadow: ShadowSchema | None = Field(description="Null unless a shadow has started.")
    observed: dict[str, Any] | None
    draining: DrainingSchema | None = Field(description="Null outside of PAUSING.")
    drain_dump: DrainDumpSchema | None = Field(description="Null unless the pause timed out.")
    pause_seconds: float | None = Field(description="Delivery pause (measured).")
    runner_host: str


class MigrationTimelineSchema(Schema):
    """A migration as a timeline. `points`: rate and lag of the pipeline in the same time, as long as they are kept."""

    timeline: Timeline | None = Field(description="Null before the migration has started.")
    points: list[PointSchema]


class EvacuationSchema(Schema):
    """Host moves that empty a host. `left`: pipelines that stay, with the reason."""

    id: UUID
    host: str
    at_once: int
    go_on: bool
    rules: dict[str, Any]
    waiting: list[str]
    left: dict[str, str]
    reason: str
    created_by: str
    created_at: datetime
    ended_at: datetime | None
    outcome: str
    migrations: list[MigrationSchema]


class ApprovalPolicySchema(Schema):
    """How many users other than the author must approve, of what."""

    id: int
    label: str
    pipeline: str
    approvers: int
    expiry_seconds: int
    updated_by: str
    updated_at: datetime


class FreezeSchema(Schema):
    """When no migration begins, of what."""

    id: int
    label: str
    pipeline: str
    starts_at: datetime
    ends_at: datetime
    reason: str
    created_by: str
    created_at: datetime


def migration_schema(row: Migration) -> MigrationSchema:
    """One migration as a list shows it."""
    return MigrationSchema(**_fields(row))


def _fields(row: Migration) -> dict[str, Any]:
    names = (
        "message",
        "reason",
        "created_by",
        "created_at",
        "started_at",
        "ended_at",
        "plan_hash",
        "stage_since",
    )
    return {
        **{name: getattr(row, name) for name in names},
        "id": row.pk,
        "trace_id": row.trace.trace_id,
        "pipeline": row.pipeline.name,
        "kind": MigrationKind(row.kind),
        "stage": MigrationStage(row.stage),
        "open": row.stage in selecting.OPEN,
        "old_host": row.old_host_id,
        "new_host": row.new_host_id,
        "old_revision": row.old_revision.number if row.old_revision else None,
        "new_revision": row.new_revision.number if row.new_revision else None,
        "old_run": row.old_run.number if row.old_run else None,
        "new_run": row.new_run.number if row.new_run else None,
        "evacuation": row.evacuation_id,
        "reverts": row.reverts_id,
        "waits_for": selecting.waits(row),
    }


def detail_schema(row: Migration, *, shows_records: bool) -> MigrationDetailSchema:
    """One migration with all that is known of it. `shows_records`: the caller may see what events hold."""
    plan = selecting.plan_of(row)
    rule, standing = approval_rule(row.pipeline), selecting.standing(row)
    return MigrationDetailSchema(
        **_fields(row),
        spec=shown(row.spec),
        plan=plan,
        planned_at=row.planned_at,
        stale=standing.stale,
        steps=[MigrationStepSchema(**_step(each)) for each in row.steps],
        choices=options(standing),
        approvals=_approvals(row, rule),
        approvers_needed=rule.approvers,
        passed=[PassedGateSchema(**each) for each in row.passed],
        findings=[_finding(each) for each in row.findings],
        snapshot=row.snapshot,
        shadow=_shadow(row, shows_records=shows_records),
        observed=row.observed,
        draining=DrainingSchema(**asdict(found)) if (found := selecting.draining(row)) else None,
        drain_dump=_drain_dump(row),
        pause_seconds=pause_seen(row, following(row)),
        runner_host=row.runner_host,
    )


def _shadow(row: Migration, *, shows_records: bool) -> ShadowSchema | None:
    found = shadow_of(row, shows_records=shows_records)
    if found is None:
        return None
    findings = [_finding(each) for each in found["findings"]]
    return ShadowSchema(**{**found, "findings": findings}, shows_records=shows_records)


def _approvals(row: Migration, rule: ApprovalRule) -> list[ApprovalSchema]:
    given = [policy.Approval(each.by, each.hash, each.at) for each in row.approvals.all()]
    now = row.started_at or clock.now()
    counting = policy.valid(rule, given, author=row.created_by, named=row.plan_hash, now=now)
    return [
        ApprovalSchema(
            by=each.by,
            at=each.at,
            expires_at=each.at + rule.expiry,
            hash=each.hash,
            counts=each.hash == row.plan_hash and each.by in counting,
        )
        for each in given
    ]


def _drain_dump(row: Migration) -> DrainDumpSchema | None:
    run, dump = row.old_run, selecting.drain_dump(row)
    if run is None or dump is None:
        return None
    return DrainDumpSchema(run=run.pk, number=run.number, at=datetime.fromtimestamp(dump.at, UTC), stuck=dump.stuck)


def _step(row: dict[str, Any]) -> dict[str, Any]:
    return {
        **{name: row.get(name) for name in MigrationStepSchema.model_fields},
        "held_until": progress.held_until(row),
    }


def _finding(found: dict[str, Any]) -> Finding:
    return Finding(**{name: value for name, value in found.items() if name in Finding.model_fields})


def evacuation_schema(row: Evacuation, access: Access) -> EvacuationSchema:
    """One evacuation with its migrations."""
    (view,) = evacuation_schemas([row], access)
    return view


def evacuation_schemas(rows: Sequence[Evacuation], access: Access) -> list[EvacuationSchema]:
    """Evacuations with the migrations and the names that a user may see, in as many queries as for one."""
    moves: dict[UUID | None, list[Migration]] = defaultdict(list)
    for each in selecting.listed(access).filter(evacuation__in=rows).order_by("created_at"):
        moves[each.evacuation_id].append(each)
    seen = seen_names((name for row in rows for name in (*row.names, *row.left)), access)
    return [_evacuation(row, moves[row.pk], seen) for row in rows]


def _evacuation(row: Evacuation, moves: Sequence[Migration], seen: Collection[str]) -> EvacuationSchema:
    return EvacuationSchema(
        id=row.pk,
        host=row.host_id,
        at_once=row.at_once,
        go_on=row.go_on,
        rules=row.rules,
        waiting=[name for name in row.names if name in seen],
        left={name: why for name, why in row.left.items() if name in seen},
        reason=row.reason,
        created_by=row.created_by,
        created_at=row.created_at,
        ended_at=row.ended_at,
        outcome=row.outcome,
        migrations=[migration_schema(each) for each in moves],
    )


def policy_schema(row: ApprovalPolicy) -> ApprovalPolicySchema:
    """One approval policy."""
    return ApprovalPolicySchema(
        id=row.pk,
        label=row.label,
        pipeline=row.pipeline_name,
        approvers=row.approvers,
        expiry_seconds=row.expiry_seconds,
        updated_by=row.updated_by,
        updated_at=row.updated_at,
    )


def freeze_schema(row: FreezeWindow) -> FreezeSchema:
    """One freeze."""
    return FreezeSchema(
        id=row.pk,
        label=row.label,
        pipeline=row.pipeline_name,
        starts_at=row.starts_at,
        ends_at=row.ends_at,
        reason=row.reason,
        created_by=row.created_by,
        created_at=row.created_at,
    )
