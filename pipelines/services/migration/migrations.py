"""What people ask of migrations: make, plan, approve, begin and go on, give up, take back.

Each request is one transaction, by compare-and-swap on the migration's version, with one audit row and one event. What
it makes the engine do is done by the supervisors, step by step.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from typing import Any

from django.db import IntegrityError, transaction
from django.db.models import F

from pipelines.domain.base.findings import Finding
from pipelines.domain.base.states import WAITING_STAGES, MigrationKind, MigrationStage, RunRole, RunState
from pipelines.domain.definitions.document.source_text import carried
from pipelines.domain.definitions.document.spec import Definition
from pipelines.domain.migration import policy, progress
from pipelines.domain.migration.choices import STALE, MigrationAction, Standing, allowed
from pipelines.domain.migration.plan import MigrationPlan
from pipelines.domain.migration.specs import PositionSpec, Spec
from pipelines.foundation import clock, dispatch
from pipelines.foundation.errors import Conflict, Forbidden, Invalid
from pipelines.models import Evacuation, Migration, MigrationApproval, Pipeline, PositionInspection, Revision
from pipelines.selectors.governance.rules import approval_rule
from pipelines.selectors.hosts.hosts import supervised
from pipelines.selectors.migration import migrations as selecting
from pipelines.selectors.migration.evidence import software
from pipelines.selectors.migration.migrations import get_migration, standing
from pipelines.selectors.positions.resets import decided
from pipelines.services.base import audit
from pipelines.services.base.audit import Actor
from pipelines.services.definitions.definitions import add_revision
from pipelines.services.migration import plans, predictions, standbys, steps
from pipelines.services.migration.steps import change, start_rollback
from pipelines.services.positions import positions

COUNTED_SECONDS = 300.0
"""Age at which counts of a decision about positions are asked for anew."""
COUNTING = "COUNTING"
"""What a person has reviewed is counted again after the pause, to the record."""


def create(
    *,
    pipeline: Pipeline,
    kind: MigrationKind,
    spec: Mapping[str, Any],
    reason: str,
    actor: Actor,
    reverts: Migration | None = None,
    evacuation: Evacuation | None = None,
) -> Migration:
    """Write a migration down and plan it: PLANNED, or DRAFT with everything that stands in its way.

    Raises Conflict where the pipeline has an open migration; Invalid for a spec.
    """
    now = clock.now()
    read = _resolved(pipeline, plans.read_spec(kind, dict(spec)), now)
    try:
        with transaction.atomic():
            made = Migration.objects.create(
                pipeline=pipeline,
                kind=kind,
                spec=_stored(read),
                reason=reason,
                stage_since=now,
                created_at=now,
                created_by=actor.name,
                **actor.origin,
                reverts=reverts,
                evacuation=evacuation,
            )
            audit.record(
                actor=actor,
                action="migration.create",
                pipeline_name=pipeline.name,
                after={"migration": str(made.pk), "kind": kind, "reason": reason},
            )
            steps.emit(made, f"{actor.name} planned a migration ({kind}): {reason}", actor=actor.name)
            _plan(made, actor)
    except IntegrityError:
        raise _held(pipeline) from None
    return get_migration(made.pk)


def revert(*, migration: Migration, reason: str, actor: Actor) -> Migration:
    """Plan the opposite of one that was committed, as a migration of its own.

    Raises Conflict where it was not committed, where nothing leads back, or where the pipeline has an open migration.
    """
    _require(migration, selecting.standing(migration), MigrationAction.REVERT)
    spec = selecting.reverse_of(migration)
    if isinstance(spec, str):
        raise _refused(migration, spec)
    return create(
        pipeline=migration.pipeline,
        kind=MigrationKind(migration.kind),
        spec=spec,
        actor=actor,
        reverts=migration,
        reason=reason or f"Reverts migration {migration.pk}",
    )


def _blocked_by(findings: int) -> str:
    return "One finding blocks the migration." if findings == 1 else f"{findings} findings block the migration."


def _stored(spec: Spec) -> dict[str, Any]:
    return {name: value for name, value in spec.model_dump(mode="json", by_alias=True).items() if value is not None}


def _resolved(pipeline: Pipeline, spec: Spec, now: datetime) -> Spec:
    """A decision about positions with its target; relative times count from the request. Raises Invalid."""
    if not isinstance(spec, PositionSpec) or spec.target is not None:
        return spec
    found = decided(pipeline, spec.to, now=now, source=spec.source, within=("spec",))
    if isinstance(found, list):
        raise Invalid(found[0].message, code="spec_invalid", findings=found)
    return spec.model_copy(update={"target": found})


def _inspect(pipeline: Pipeline, spec: Spec, actor: Actor) -> PositionInspection | None:
    """What the host has found of a decision about positions of late, or the question that it was just asked."""
    asked_of = plans.question(pipeline, spec)
    if asked_of is None:
        return None
    since = clock.now() - timedelta(seconds=COUNTED_SECONDS)
    asked = PositionInspection.objects.filter(pipeline=pipeline, asked_at__gte=since).order_by("-asked_at")
    wanted = asked_of.model_dump(mode="json")
    same = next((inspection for inspection in asked[:10] if inspection.target == wanted), None)
    if same is None and pipeline.host_id is not None and supervised(pipeline.host):
        same = positions.plan(pipeline=pipeline, target=asked_of, actor=actor)
        same.refresh_from_db()
    return same


def _held(pipeline: Pipeline) -> Conflict:
    holder = selecting.open_migration(pipeline.id)
    other = f"{holder.created_by}'s migration {holder.pk} is {holder.stage}" if holder else "another one was created"
    return Conflict(
        f"{pipeline.name} has an open migration: {other}.",
        code="migration_open",
        hint=f"headgate migrations show {holder.pk}" if holder else "Send the request again.",
        migration=str(holder.pk) if holder else None,
    )


@transaction.atomic
def plan(*, migration: Migration, actor: Actor) -> Migration:
    """Plan again, against the present. Approvals of the plan before do not count for another one. Raises Conflict once
    it has begun."""
    current = _fresh(migration)
    if current.stage not in WAITING_STAGES:
        raise _refused(current, "The migration has started, so its plan is final.")
    _plan(current, actor)
    audit.record(
        actor=actor,
        action="migration.plan",
        pipeline_name=current.pipeline.name,
        before={"hash": migration.plan_hash},
        after={"migration": str(current.pk), "hash": current.plan_hash},
    )
    return get_migration(current.pk)


def _plan(migration: Migration, actor: Actor) -> None:
    kind = MigrationKind(migration.kind)
    spec = plans.read_spec(kind, migration.spec)
    inspection = _inspect(migration.pipeline, spec, actor)
    made = plans.make(pipeline=migration.pipeline, kind=kind, spec=spec, inspection=inspection)
    new = plans.wanted_by(kind, spec, migration.pipeline).definition if kind is MigrationKind.REVISION else None
    if new is not None and not made.blockers:
        made = predictions.predicted(made, migration=migration, new=new, actor=actor)
    stage = MigrationStage.DRAFT if made.blockers else MigrationStage.PLANNED
    words = _blocked_by(len(made.blockers)) if made.blockers else "The plan is made."
    same = made.hash() == migration.plan_hash
    approved = same and migration.stage == MigrationStage.APPROVED and selecting.standing(migration).approved
    moved = not approved and stage != migration.stage
    change(
        migration,
        stage=stage if moved else None,
        message=words,
        actor=actor.name,
        event=moved or not same,
        plan=made.model_dump(mode="json"),
        plan_hash=made.hash(),
        planned_at=clock.now(),
        findings=[finding.model_dump(mode="json") for finding in made.blockers],
    )


@transaction.atomic
def approve(*, migration: Migration, named: str, actor: Actor) -> Migration:
    """Approve the plan with this hash. Raises Conflict for another plan than the present one, Forbidden for its author
    where others have to approve."""
    current = _fresh(migration)
    _require(current, standing(current), MigrationAction.APPROVE)
    made = _present_plan(current, named)
    rule = approval_rule(current.pipeline)
    if words := policy.refusal(rule, author=current.created_by, approver=actor.name):
        raise Forbidden(words, code="approval_by_author", hint="Ask another user who may approve it.")
    MigrationApproval.objects.update_or_create(
        migration=current, by=actor.name, hash=made.hash(), defaults={"at": clock.now()}
    )
    audit.record(
        actor=actor,
        action="migration.approve",
        pipeline_name=current.pipeline.name,
        after={"migration": str(current.pk), "hash": named},
    )
    given = [policy.Approval(row.by, row.hash, row.at) for row in MigrationApproval.objects.filter(migration=current)]
    enough = policy.enough(rule, given, author=current.created_by, named=named, now=clock.now())
    change(
        current,
        stage=MigrationStage.APPROVED if enough and current.stage != MigrationStage.APPROVED else None,
        message=f"{actor.name} approved the plan.",
        actor=actor.name,
    )
    return get_migration(current.pk)


def advance(*, migration: Migration, named: str, actor: Actor, acknowledged: int | None = None) -> Migration:
    """Begin an approved migration, pass the gate at which it waits, commit it now, or try again what has failed.
    `acknowledged`: the number of records that its plan wants repeated before it begins.

    Raises Conflict where nothing waits for a person, where the plan is not the one that was reviewed, or where the
    number is not the plan's.
    """
    with transaction.atomic():
        current = _fresh(migration)
        now = standing(current)
        if now.stage is MigrationStage.APPROVED and not now.approved:
            raise _not_approved()
        _require(current, now, MigrationAction.ADVANCE)
        if named != current.plan_hash:
            raise _stale(current)
        starts = now.stage is MigrationStage.APPROVED
        number = _acknowledged(current, acknowledged) if starts else None
        _deed(current, now)(current, actor)
        if number is not None:
            _keep_acknowledged(current, number, actor)
        audit.record(
            actor=actor,
            action="migration.advance",
            pipeline_name=current.pipeline.name,
            before={"stage": now.stage},
            after={"migration": str(current.pk), "hash": named}
            | ({"acknowledged": number} if number is not None else {}),
        )
        _wake(current)
    return get_migration(current.pk)


def _acknowledged(migration: Migration, number: int | None) -> int | None:
    """The number that had to be acknowledged, and was; None where none had to be. Raises Conflict."""
    made = selecting.plan_of(migration)
    wanted = made.to_acknowledge if made is not None else None
    if wanted is None or number == wanted:
        return wanted
    raise Conflict(
        f"The plan predicts that {wanted} records that are delivered now would not be delivered any more.",
        code="not_acknowledged",
        to_acknowledge=wanted,
        hint=f"Review the prediction. To start nevertheless, acknowledge the number {wanted}.",
    )


def _keep_acknowledged(migration: Migration, number: int, actor: Actor) -> None:
    row = {"number": number, "by": actor.name, "at": clock.now().isoformat()}
    change(migration, event=False, snapshot={**(migration.snapshot or {}), "acknowledged": row})


def _deed(migration: Migration, now: Standing) -> Callable[[Migration, Actor], None]:
    if now.stage is MigrationStage.APPROVED:
        return _start
    if now.stage is MigrationStage.NEEDS_ATTENTION:
        return steps.try_again
    return _pass_gate


def _start(migration: Migration, actor: Actor) -> None:
    """The first moment at which anything happens: everything is judged once more."""
    pipeline = migration.pipeline
    made = _present_plan(migration, migration.plan_hash)
    now = clock.now()
    spec = plans.read_spec(MigrationKind(migration.kind), migration.spec)
    again = plans.make(pipeline=pipeline, kind=made.kind, spec=spec)
    if blocking := [finding for finding in again.blockers if finding.code != COUNTING]:
        raise _blocked(migration, blocking)
    _hold(pipeline)
    run = selecting.active_run(pipeline.id)
    before = selecting.seen_before(pipeline, run, made.rules.window)
    change(
        migration,
        stage=MigrationStage.PREFLIGHT,
        message=f"{actor.name} started the migration.",
        actor=actor.name,
        steps=progress.log_of(made.steps),
        started_at=now,
        old_revision=pipeline.current_revision,
        new_revision=_new_revision(migration, made, actor),
        old_host_id=pipeline.host_id,
        new_host_id=made.target.host,
        old_desired=pipeline.desired_state,
        old_run=run,
        snapshot={
            "before": before.model_dump(mode="json"),
            "software": software({pipeline.host_id, made.target.host}),
        },
    )


def _hold(pipeline: Pipeline) -> None:
    """Whoever has judged the pipeline before the migration holds it, and asks for something else of it, is refused by
    its generation. Raises Conflict where they were faster."""
    same = Pipeline.objects.filter(
        pk=pipeline.pk,
        generation=pipeline.generation,
        desired_state=pipeline.desired_state,
        restart_run=pipeline.restart_run,
        archived_at=None,
    )
    if not same.update(generation=F("generation") + 1, observed_generation=F("observed_generation") + 1):
        raise Conflict(f"{pipeline.name} was changed by another request.", code="busy", hint="Send the request again.")


def _new_revision(migration: Migration, made: MigrationPlan, actor: Actor) -> Revision:
    """The revision of the new side. A new one is stored now, and published when the pipeline is handed over."""
    pipeline = migration.pipeline
    present = pipeline.current_revision
    if made.target.revision is not None:
        return Revision.objects.get(pipeline=pipeline, number=made.target.revision)
    if present is not None and present.digest == made.target.digest:
        return present
    spec = plans.read_spec(MigrationKind(migration.kind), migration.spec)
    definition = plans.wanted_by(made.kind, spec, pipeline).definition
    if definition is None or definition.digest() != made.target.digest:
        raise _stale(migration)
    return add_revision(
        pipeline=pipeline,
        definition=definition,
        text=_text_of(migration, present, definition),
        note=f"Migration {migration.pk}: {migration.reason}"[:1000],
        actor=actor,
    )


def _text_of(migration: Migration, present: Revision | None, definition: Definition) -> str:
    """The text that was sent; without one, that of the present revision with the values that the migration changes."""
    sent = migration.spec.get("definition")
    if sent is not None or present is None:
        return sent if isinstance(sent, str) else ""
    return carried(present.source_text, Definition.model_validate(present.definition), definition)


def _pass_gate(migration: Migration, actor: Actor) -> None:
    gate = selecting.waits(migration) or MigrationStage.COMMITTED
    row = {"stage": gate.value, "by": actor.name, "at": clock.now().isoformat()}
    words = f"{actor.name} continued the migration ({gate})."
    change(migration, message=words, actor=actor.name, passed=[*migration.passed, row])


@transaction.atomic
def abort(*, migration: Migration, reason: str, actor: Actor) -> Migration:
    """Give it up before anything has changed: the old agent goes on, the new one ends. Raises Conflict later."""
    current = _fresh(migration)
    now = standing(current)
    closing = now.stage is MigrationStage.NEEDS_ATTENTION
    _require(current, now, MigrationAction.CLOSE if closing else MigrationAction.ABORT)
    deed = "closed the migration and left the pipeline as it is" if closing else "canceled the migration"
    words = f"{actor.name} {deed}: {reason}" if reason else f"{actor.name} {deed}."
    if closing:
        steps.close(current, words, actor)
        _let_standby_go(current, words)
    elif now.stage in WAITING_STAGES:
        change(current, stage=MigrationStage.ABORTED, message=words, actor=actor.name, ended_at=clock.now())
    else:
        start_rollback(current, words, actor=actor.name)
    _record(current, now, "close" if closing else "abort", reason, actor)
    return get_migration(current.pk)


def _let_standby_go(migration: Migration, reason: str) -> None:
    """Nothing waits for the new agent any more, and another migration will want its place."""
    run = migration.new_run
    if run is not None and run.role == RunRole.STANDBY and run.state != RunState.ENDED:
        standbys.discard(run=run, reason=reason)


@transaction.atomic
def rollback(*, migration: Migration, reason: str, actor: Actor) -> Migration:
    """Take it back, at the price that its choices tell. Raises Conflict where it is over or on its way back."""
    current = _fresh(migration)
    now = standing(current)
    _require(current, now, MigrationAction.ROLLBACK)
    start_rollback(
        current, f"{actor.name} rolled it back: {reason}" if reason else f"{actor.name} rolled it back.", actor.name
    )
    _record(current, now, "rollback", reason, actor)
    return get_migration(current.pk)


def _record(migration: Migration, before: Standing, action: str, reason: str, actor: Actor) -> None:
    audit.record(
        actor=actor,
        action=f"migration.{action}",
        pipeline_name=migration.pipeline.name,
        before={"stage": before.stage},
        after={"migration": str(migration.pk), "reason": reason},
    )
    _wake(migration)


def _wake(migration: Migration) -> None:
    for host in {migration.runner_host, migration.old_host_id, migration.new_host_id, migration.pipeline.host_id}:
        dispatch.wake(host or None)


def _fresh(migration: Migration) -> Migration:
    """As it is now, locked until the end of the transaction."""
    Migration.objects.select_for_update().get(pk=migration.pk)
    return get_migration(migration.pk)


def _require(migration: Migration, now: Standing, choice: MigrationAction) -> None:
    option = allowed(now, choice)
    if option is not None and option.reason == STALE:
        raise _stale(migration)
    if option is None or not option.allowed:
        raise _refused(migration, option.reason if option else f"It is {migration.stage}.")


def _refused(migration: Migration, reason: str) -> Conflict:
    return Conflict(
        f"Not now: {reason}",
        code="out_of_order",
        stage=migration.stage,
        hint="`choices` of the migration lists what is possible now.",
    )


def _present_plan(migration: Migration, named: str) -> MigrationPlan:
    made = selecting.plan_of(migration)
    if made is None or named != migration.plan_hash or selecting.is_stale(migration):
        raise _stale(migration)
    return made


def _stale(migration: Migration) -> Conflict:
    return Conflict(
        "The pipeline has changed since this plan was made; nothing was changed.",
        code="plan_stale",
        hint=f"Plan again and review it: POST /api/v1/migrations/{migration.pk}/plan.",
    )


def _not_approved() -> Conflict:
    return Conflict(
        "Approvals have expired, or the policy now requires more of them.",
        code="not_approved",
        hint="Have the plan approved again.",
    )


def _blocked(migration: Migration, found: list[Finding]) -> Conflict:
    return Conflict(
        f"{migration.pipeline.name} cannot be migrated now. {_blocked_by(len(found))}",
        code="migration_blocked",
        hint="Resolve the findings, then plan again.",
        findings=list(found),
    )
