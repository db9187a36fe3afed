"""What a migration does to its pipeline. Each function is one fenced transaction, begun by a look whether the migration
is still where its runner saw it, and says nothing where nothing is left to do: doing it twice is harmless.

A revision or a host changes only while the pipeline is STOPPED, wanted STOPPED, and without a run: the database refuses
anything else. So between two configurations there is an instant at which none owns the pipeline, and never two.
"""

from __future__ import annotations

from typing import Any
from uuid import UUID

from pipelines.domain.base.positions import SourceIdentity
from pipelines.domain.base.states import DesiredState, InspectionState, MigrationKind, MigrationStage, Phase, RunRole
from pipelines.domain.definitions.document.spec import Definition
from pipelines.domain.lifecycle.operations import OnTimeout
from pipelines.domain.migration.policy import carried
from pipelines.domain.positions.cluster_move import ClusterMove, PartitionTranslation, pairs_back
from pipelines.domain.positions.plan import Target
from pipelines.domain.runs.lineage import Lineage, continue_from
from pipelines.foundation import clock, dispatch
from pipelines.foundation.errors import Conflict
from pipelines.models import Migration, Pipeline, PositionInspection, Revision, Run
from pipelines.selectors.lifecycle import supervision
from pipelines.selectors.migration import migrations as selecting
from pipelines.selectors.positions.positions import basis, identities
from pipelines.services.access.secrets import record_users
from pipelines.services.base import events
from pipelines.services.base.audit import Actor
from pipelines.services.base.fencing import fenced
from pipelines.services.migration import plans, standbys
from pipelines.services.migration.steps import ACTOR, NotYet, Overtaken, change, desire, lock
from pipelines.services.positions import positions
from pipelines.services.runs import ownership


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
    desire(pipeline, desired, why, drain_on_stop=True, force_stop=False, on_timeout=OnTimeout.STOP)
    return True


@fenced
def keep_snapshot(*, migration: Migration, snapshot: dict[str, Any]) -> None:
    """Keep what was written down between the proof of the pause and the first change."""
    lock(migration)
    change(migration, event=False, snapshot={**(migration.snapshot or {}), **snapshot})


@fenced
def ask_for_positions(*, migration: Migration) -> None:
    """With the pipeline at rest, have its host count once more what the decision does; once, unless nobody answers."""
    lock(migration)
    inspection = inspection_of(migration)
    if inspection is not None and not _is_unheard(inspection):
        return
    pipeline = _at_rest(migration)
    target = Target.model_validate(migration.spec["target"])
    _ask(migration, pipeline, target)


def _ask(migration: Migration, pipeline: Pipeline, what: Target | ClusterMove, **more: str | int) -> None:
    inspection = positions.plan(pipeline=pipeline, target=what, actor=Actor(ACTOR))
    change(migration, event=False, snapshot={**(migration.snapshot or {}), "look": str(inspection.pk), **more})


@fenced
def ask_both_clusters(*, migration: Migration, attempt: str) -> None:
    """With the pause proven, have the host ask what positions become on the other cluster, or where a sink's topics end
    there; once for an attempt of the step, unless the mirror is behind."""
    lock(migration)
    if not _is_due(migration, attempt):
        return
    pipeline = Pipeline.objects.select_for_update().get(pk=migration.pipeline_id)
    spec = plans.read_spec(MigrationKind(migration.kind), migration.spec)
    what = plans.question(pipeline, spec)
    if what is None:
        raise Conflict("There is no definition to move to.", code="definition_invalid")
    _ask(migration, pipeline, what, attempt=attempt, behind=behind(inspection_of(migration)))


def _is_due(migration: Migration, attempt: str) -> bool:
    inspection = inspection_of(migration)
    return inspection is None or not is_of(migration, attempt) or _is_behind(inspection) or _is_unheard(inspection)


def _is_unheard(inspection: PositionInspection) -> bool:
    """Whether nobody will answer it any more: the worker was away for too long."""
    return inspection.state == InspectionState.PENDING and inspection.deadline <= clock.now()


def is_of(migration: Migration, attempt: str) -> bool:
    """Whether the look was asked for by this attempt of the step."""
    return (migration.snapshot or {}).get("attempt") == attempt


def _is_behind(inspection: PositionInspection) -> bool:
    """Whether all that speaks against it is that the mirror has not brought everything."""
    return inspection.state == InspectionState.ANSWERED and not inspection.impossible and behind(inspection) > 0


def behind(inspection: PositionInspection | None) -> int:
    """Records that the mirror had not brought."""
    return sum(row.get("behind", 0) for row in inspection.moves) if inspection else 0


@fenced
def request_rollback(*, migration: Migration, attempt: str) -> None:
    """With the new side over, have the host ask what its positions are on the old cluster, unless they are those of the
    snapshot. Raises NotYet."""
    lock(migration)
    pipeline = _at_rest(migration)
    if needs_translation(migration, pipeline) and _is_due(migration, attempt):
        _ask(migration, pipeline, _rollback(migration), attempt=attempt, behind=behind(inspection_of(migration)))


def needs_translation(migration: Migration, pipeline: Pipeline) -> bool:
    """Whether the ledger has positions of the new cluster that the old configuration has to go on behind."""
    moved = selecting.is_translated(migration) and selecting.has_delivered(migration)
    return moved and not restored(migration, pipeline)


def restored(migration: Migration, pipeline: Pipeline) -> bool:
    """Whether the pipeline has its old revision and host again."""
    return (pipeline.current_revision_id, pipeline.host_id) == (migration.old_revision_id, migration.old_host_id)


def _rollback(migration: Migration) -> ClusterMove:
    """The same question the other way round, by what the cut was found to be."""
    source = migration.spec["source"]
    rows = [PartitionTranslation.model_validate(row) for row in (migration.snapshot or {})["translation"]]
    old = migration.old_revision.definition if migration.old_revision else {}
    names = {row.topic: row.old_topic for row in rows if row.topic != row.old_topic}
    return ClusterMove(source=source, to=old["sources"][source], topics=names, cut=pairs_back(rows))


@fenced
def set_positions(*, migration: Migration) -> bool:
    """Do what was decided, as it was counted with the pipeline at rest. False where it is done, or not counted yet.
    Raises NotYet, or Conflict where it cannot be done."""
    lock(migration)
    inspection = inspection_of(migration)
    if inspection is None or inspection.state != InspectionState.ANSWERED:
        return False
    pipeline = _at_rest(migration)
    if migration.kind == MigrationKind.CLUSTER:
        _carry_over(migration, pipeline, inspection)
        return True
    if inspection.impossible or not inspection.hash or inspection.basis != basis(pipeline):
        reason = (
            inspection.impossible[0]["reason"]
            if inspection.impossible
            else "something has changed since it was counted"
        )
        raise Conflict(
            f"The positions cannot be set: {reason}.", code="position_impossible", hint="Choose a position again."
        )
    positions.carry_out(pipeline=pipeline, found=inspection, actor=Actor(migration.created_by))
    return True


def _carry_over(migration: Migration, pipeline: Pipeline, inspection: PositionInspection) -> None:
    now, rows = basis(pipeline), inspection.moves
    if (
        inspection.impossible
        or _is_behind(inspection)
        or now["positions"] != inspection.basis["positions"]
        or now["open_batches"]
    ):
        raise Conflict(
            "The positions cannot be set: something has changed since they were translated.",
            code="position_impossible",
            hint="Plan the migration again.",
        )
    back = migration.stage == MigrationStage.ROLLING_BACK
    reported = (migration.snapshot or {}).get("positions", []) if back else []
    positions.carry_over(pipeline=pipeline, found=inspection, reported=reported, actor=Actor(migration.created_by))
    name = "translated_back" if back else "translation"
    change(migration, event=False, snapshot={**(migration.snapshot or {}), name: rows})


def inspection_of(migration: Migration) -> PositionInspection | None:
    """What the host was asked after the pause."""
    named = (migration.snapshot or {}).get("look")
    return PositionInspection.objects.filter(pk=named).first() if named else None


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
    _describe(migration.pipeline_id, migration.old_revision, migration.new_revision)
    _record_secrets(migration, migration.old_revision, migration.new_revision)
    return True


@fenced
def restore(*, migration: Migration) -> bool:
    """Give the pipeline its old revision and host again; False where it has them. A batch that the new side has begun
    is the old one's, which reads the sink first; where that has no checkpoint of it, the batch is given up. What the
    new side has lost is read again. Raises NotYet where anything of the new side lives."""
    lock(migration)
    pipeline = _at_rest(migration)
    new, old = migration.new_run, migration.old_revision
    reread = selecting.is_reread(migration)
    if new is not None and new.role == RunRole.ACTIVE and (reread or not _continues(migration, pipeline)):
        ownership.abandon_open_batches(pipeline=pipeline, run=new)
    if reread:
        _read_again(migration, pipeline)
    _put_positions_back(migration, pipeline)
    if restored(migration, pipeline):
        return False
    same = Pipeline.objects.filter(pk=pipeline.pk, generation=pipeline.generation, phase=Phase.STOPPED)
    if not same.update(current_revision=old, host=migration.old_host_id):
        raise Overtaken(pipeline.name)
    _describe(pipeline.pk, migration.new_revision, old)
    _record_secrets(migration, migration.new_revision, old)
    data = {"revision": old.number if old else None, "host": migration.old_host_id}
    message = "The revision and the host are those from before the migration."
    events.record(kind="migration.restored", message=message, pipeline=pipeline, actor=ACTOR, data=data)
    return True


def _record_secrets(migration: Migration, before: Revision | None, after: Revision | None) -> None:
    """Whom the migration lets use which secrets from now on."""
    old, new = (each.definition if each else None for each in (before, after))
    record_users(pipeline_name=migration.pipeline.name, before=old, after=new, actor=Actor(ACTOR))


def _continues(migration: Migration, pipeline: Pipeline) -> bool:
    """Whether the old side has the checkpoint of the batch that the new side has begun, and the sinks that were given
    some of it: of another topic it would have to read everything."""
    old, new = migration.old_revision, migration.new_revision
    if old is None or new is None or migration.old_host_id is None:
        return False
    definition = Definition.model_validate(old.definition)
    if definition.sinks != Definition.model_validate(new.definition).sinks:
        return False
    found = continue_from(supervision.before(pipeline), definition, migration.old_host_id)
    return isinstance(found, Lineage) and found.number is not None


def _read_again(migration: Migration, pipeline: Pipeline) -> None:
    """Go on at the positions of the snapshot: what the new side has read, it has not delivered as expected."""
    records = selecting.read_since(migration)
    change(migration, event=False, snapshot={**(migration.snapshot or {}), "reread": records})
    if records == 0:
        return
    delivered = selecting.seen_now(pipeline, migration.new_run).outcome.delivered if migration.new_run else 0
    positions.read_again(pipeline=pipeline, rows=(migration.snapshot or {})["positions"], delivered=delivered)
    message = f"The positions are those of the snapshot: {records} records that the new agent has read are reread."
    data = {"origin": f"migration {migration.pk}", "replay": records, "possible_duplicates": delivered}
    events.record(kind="position.changed", message=message, pipeline=pipeline, actor=ACTOR, data=data)
    pipeline.refresh_from_db()


def _put_positions_back(migration: Migration, pipeline: Pipeline) -> None:
    """Those of the snapshot, unless the new side has begun to deliver; then those of another cluster are translated
    back, which has to be possible."""
    written = (migration.snapshot or {}).get("positions")
    if written is None or migration.kind not in {MigrationKind.POSITION, MigrationKind.CLUSTER}:
        return
    if selecting.has_delivered(migration):
        if needs_translation(migration, pipeline):
            _translate_back(migration, pipeline)
        return
    logs = [SourceIdentity.model_validate(each) for each in (migration.snapshot or {}).get("identities", [])]
    if selecting.positions(pipeline.pk) != written or (logs and identities(pipeline.pk) != logs):
        positions.put_back(pipeline=pipeline, rows=written, identities=logs)
        pipeline.refresh_from_db()


def _translate_back(migration: Migration, pipeline: Pipeline) -> None:
    inspection = inspection_of(migration)
    if inspection is None or inspection.state != InspectionState.ANSWERED:
        raise NotYet("The host is looking up the positions on the old cluster.")
    _carry_over(migration, pipeline, inspection)
    pipeline.refresh_from_db()


def _at_rest(migration: Migration) -> Pipeline:
    """The pipeline, locked, once it is proven that no run of it consumes."""
    pipeline = Pipeline.objects.select_for_update().get(pk=migration.pipeline_id)
    resting = pipeline.phase == Phase.STOPPED and pipeline.desired_state == DesiredState.STOPPED
    run = selecting.active_run(pipeline.pk)
    if not resting or run is not None:
        what = f"run {run.number} on {run.host_id} is not proven over" if run else f"it is {pipeline.phase}"
        raise NotYet(f"{pipeline.name} has to be stopped first: {what}.")
    return pipeline


def _describe(pipeline_id: UUID, before: Revision | None, after: Revision | None) -> None:
    """Words and labels follow what differs between the two revisions; what was set beside them stays."""
    old, new = (each.definition if each else {} for each in (before, after))
    if old == new:
        return
    pipeline = Pipeline.objects.get(pk=pipeline_id)
    labels = carried(pipeline.labels, old.get("labels", {}), new.get("labels", {}))
    words = pipeline.description if old.get("description") == new.get("description") else new.get("description", "")
    Pipeline.objects.filter(pk=pipeline_id).update(description=words, labels=labels, version=pipeline.version + 1)


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
