"""What a migration does to its pipeline. Each function is one fenced transaction, begun by a look whether the migration
is still where its runner saw it, and says nothing where nothing is left to do: doing it twice is harmless.

A revision or a host changes only while the pipeline is STOPPED, wanted STOPPED, and without a run: the database refuses
anything else. So between two configurations there is an instant at which none owns the pipeline, and never two.
"""

from __future__ import annotations

from typing import Any
from uuid import UUID

from controlplane.shared import clock, dispatch
from controlplane.shared.errors import Conflict
from pipelines.domain.position_plan import Target
from pipelines.domain.states import DesiredState, LookState, MigrationKind, Phase, RunRole
from pipelines.models import Migration, Pipeline, PositionLook, Run
from pipelines.selectors import migrations as selecting
from pipelines.selectors.positions import basis
from pipelines.services import events, ownership, positions
from pipelines.services import migration_standbys as standbys
from pipelines.services.audit import Actor
from pipelines.services.fencing import fenced
from pipelines.services.migration_steps import NotYet, Overtaken, change, lock

ACTOR = "migration"


@fenced
def prepare(*, migration: Migration) -> Run | None:
    """Ask for the new agent in standby; None where it was asked for already."""
    lock(migration)
    if migration.new_run is not None or migration.new_revision is None or migration.new_host_id is None:
        return None
    run = standbys.prepare(pipeline=migration.pipeline, revision=migration.new_revision, host=migration.new_host_id)
    change(migration, event=False, new_run=run)
    dispatch.wake(migration.new_host_id)
    return run


@fenced
def want(*, migration: Migration, desired: DesiredState, why: str) -> bool:
    """Ask the supervisor for a state of the pipeline, as a person would; False where it is wanted already. What follows
    from a pause that takes too long is up to the migration."""
    lock(migration)
    pipeline = Pipeline.objects.select_for_update().get(pk=migration.pipeline_id)
    if pipeline.desired_state == desired:
        return False
    _desire(pipeline, desired, why, drain_on_stop=True, force_stop=False, after_timeout="")
    return True


def _desire(pipeline: Pipeline, desired: DesiredState, why: str, **fields: Any) -> None:
    generation = pipeline.generation + 1
    same = Pipeline.objects.filter(pk=pipeline.pk, generation=pipeline.generation, archived_at=None)
    if not same.update(desired_state=desired, generation=generation, updated_at=clock.now(), **fields):
        raise Overtaken(pipeline.name)
    pipeline.refresh_from_db()
    data = {"desired_state": desired.value, "generation": generation, "kind": ACTOR}
    events.record(kind="desired.changed", message=why, pipeline=pipeline, actor=ACTOR, data=data)
    dispatch.wake(pipeline.host_id)


@fenced
def keep_snapshot(*, migration: Migration, snapshot: dict[str, Any]) -> None:
    """Keep what was written down between the proof of the pause and the first change."""
    lock(migration)
    change(migration, event=False, snapshot={**(migration.snapshot or {}), **snapshot})


@fenced
def ask_for_positions(*, migration: Migration) -> None:
    """With the pipeline at rest, have its host count once more what the decision does; once."""
    lock(migration)
    taken = migration.snapshot or {}
    if taken.get("look") is not None:
        return
    pipeline = _at_rest(migration)
    target = Target.model_validate(migration.spec["target"])
    look = positions.plan(pipeline=pipeline, target=target, actor=Actor(ACTOR))
    change(migration, event=False, snapshot={**taken, "look": str(look.pk)})


@fenced
def set_positions(*, migration: Migration) -> bool:
    """Do what was decided, as it was counted with the pipeline at rest. False where it is done, or not counted yet.
    Raises NotYet, or Conflict where it cannot be done."""
    lock(migration)
    look = look_of(migration)
    if look is None or look.state != LookState.ANSWERED:
        return False
    pipeline = _at_rest(migration)
    if look.impossible or not look.hash or look.basis != basis(pipeline):
        reason = look.impossible[0]["reason"] if look.impossible else "something has changed since it was counted"
        raise Conflict(f"The positions cannot be set: {reason}.", code="position_impossible", hint="Decide anew.")
    positions.carry_out(pipeline=pipeline, found=look, actor=Actor(migration.created_by))
    return True


def look_of(migration: Migration) -> PositionLook | None:
    """What the host was asked after the pause."""
    named = (migration.snapshot or {}).get("look")
    return PositionLook.objects.filter(pk=named).first() if named else None


@fenced
def hand_over(*, migration: Migration) -> bool:
    """Give the new side the pipeline in one transaction: revision, host, role, epoch and positions. False where it
    has it already. Raises NotYet where anything of the old side lives, Conflict where the new side cannot take it."""
    lock(migration)
    if migration.new_run is None:
        raise NotYet("There is no new agent.")
    run = Run.objects.select_for_update().get(pk=migration.new_run.pk)
    if run.role == RunRole.ACTIVE:
        return False
    _at_rest(migration)
    standbys.promote(run=run, desired=DesiredState(migration.old_desired))
    _describe(migration.pipeline_id)
    return True


@fenced
def restore(*, migration: Migration) -> bool:
    """Give the pipeline its old revision and host again; False where it has them. A batch that the new side has begun,
    and that nobody can finish any more, is given up. Raises NotYet where anything of the new side lives."""
    lock(migration)
    pipeline = _at_rest(migration)
    new, old = migration.new_run, migration.old_revision
    if new is not None and new.role == RunRole.ACTIVE:
        ownership.abandon_open_batches(pipeline=pipeline, run=new)
    _put_positions_back(migration, pipeline)
    if (pipeline.current_revision_id, pipeline.host_id) == (migration.old_revision_id, migration.old_host_id):
        return False
    same = Pipeline.objects.filter(pk=pipeline.pk, generation=pipeline.generation, phase=Phase.STOPPED)
    if not same.update(current_revision=old, host=migration.old_host_id):
        raise Overtaken(pipeline.name)
    _describe(pipeline.pk)
    data = {"revision": old.number if old else None, "host": migration.old_host_id}
    message = "Its revision and its host are those of before the migration."
    events.record(kind="migration.restored", message=message, pipeline=pipeline, actor=ACTOR, data=data)
    return True


def _put_positions_back(migration: Migration, pipeline: Pipeline) -> None:
    """Those of the snapshot, unless the new side has begun to deliver."""
    written = (migration.snapshot or {}).get("positions")
    if written is None or migration.kind != MigrationKind.POSITION or selecting.planned_by(migration.new_run):
        return
    if selecting.positions(pipeline.pk) != written:
        positions.put_back(pipeline=pipeline, rows=written)
        pipeline.refresh_from_db()


def _at_rest(migration: Migration) -> Pipeline:
    """The pipeline, locked, once it is proven that no run of it consumes."""
    pipeline = Pipeline.objects.select_for_update().get(pk=migration.pipeline_id)
    resting = pipeline.phase == Phase.STOPPED and pipeline.desired_state == DesiredState.STOPPED
    run = selecting.active_run(pipeline.pk)
    if not resting or run is not None:
        what = f"run {run.number} on {run.host_id} is not proven over" if run else f"it is {pipeline.phase}"
        raise NotYet(f"{pipeline.name} has to be at rest first: {what}.")
    return pipeline


def _describe(pipeline_id: UUID) -> None:
    """Words and labels are those of the present revision."""
    pipeline = Pipeline.objects.select_related("current_revision").get(pk=pipeline_id)
    definition = pipeline.current_revision.definition if pipeline.current_revision else {}
    Pipeline.objects.filter(pk=pipeline_id).update(
        description=definition.get("description", ""), labels=definition.get("labels", {}), version=pipeline.version + 1
    )


@fenced
def discard(*, migration: Migration) -> None:
    """End the new agent, unless it has the pipeline."""
    lock(migration)
    run = migration.new_run
    if run is None:
        return
    run.refresh_from_db()
    if run.role == RunRole.STANDBY:
        standbys.discard(run=run, reason=migration.message)
        dispatch.wake(run.host_id)
