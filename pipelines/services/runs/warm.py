"""Warm standbys: the second agent that `lifecycle.standby: warm` asks for.

The supervisor of the pipeline's host keeps one beside a run that works, and has it take over where that run is proven
over. While a migration is verified, or rolled back, it is one of the old revision, so that the way back is short.
"""

from __future__ import annotations

from datetime import datetime

from pipelines.domain.base.states import WAITING_STAGES, DesiredState, MigrationStage, Phase
from pipelines.foundation import dispatch
from pipelines.models import Pipeline, Revision, Run
from pipelines.selectors.migration.migrations import open_migration
from pipelines.selectors.runs import standby as selectors
from pipelines.services.base.audit import Actor
from pipelines.services.base.fencing import fenced
from pipelines.services.runs import runs, standby
from pipelines.services.runs.runs import Overtaken

SYSTEM = Actor("system")
_WAY_BACK = frozenset({MigrationStage.VERIFYING, MigrationStage.ROLLING_BACK, MigrationStage.NEEDS_ATTENTION})


def wanted(pipeline: Pipeline) -> Revision | None:
    """The revision that a warm standby on the pipeline's host should have now; None where there should be none."""
    migration = open_migration(pipeline.id)
    if migration is None or migration.stage in WAITING_STAGES:
        works = pipeline.desired_state != DesiredState.STOPPED and pipeline.phase not in {Phase.BLOCKED, Phase.FAILED}
        return _asking(pipeline.current_revision) if works else None
    back = migration.stage in _WAY_BACK and migration.old_host_id == pipeline.host_id
    return _asking(migration.old_revision) if back else None


def _asking(revision: Revision | None) -> Revision | None:
    asks = revision is not None and revision.definition.get("lifecycle", {}).get("standby") == "warm"
    return revision if asks else None


@fenced
def keep(*, pipeline: Pipeline) -> Run | None:
    """Prepare a warm standby where one is wanted and there is none. Raises Conflict where the host has no room."""
    current = Pipeline.objects.select_related("current_revision").get(id=pipeline.id)
    revision = wanted(current)
    if revision is None or current.host_id is None:
        return None
    other = selectors.of_pipeline(current)
    if other is not None and (not other.warm or other.host_id == current.host_id):
        return None
    if other is not None:
        standby.discard(run=other, actor=SYSTEM, reason=f"The pipeline is on {current.host_id} now.")
    return standby.prepare(pipeline=current, revision=revision, host=current.host_id, actor=SYSTEM, warm=True)


@fenced
def dismiss(*, run: Run) -> bool:
    """End a warm standby that is not wanted any more; False where it still is."""
    current = Pipeline.objects.select_related("current_revision").get(id=run.pipeline_id)
    revision = wanted(current) if current.archived_at is None and current.host_id == run.host_id else None
    if revision is not None and revision.pk == run.revision_id:
        return False
    standby.discard(run=run, actor=SYSTEM, reason="No standby of this revision is wanted here any more.")
    return True


@fenced
def give_way(*, pipeline: Pipeline, actor: Actor, reason: str) -> None:
    """End the warm standby of a pipeline, if it has one: what it was initialised with is to be looked up anew."""
    run = selectors.of_pipeline(pipeline)
    if run is not None and run.warm:
        standby.discard(run=run, actor=actor, reason=reason)


@fenced
def take_over(*, pipeline: Pipeline, run: Run, fresh: bool, now: datetime) -> Run:
    """Make a standby of the pipeline's revision its ACTIVE run, instead of starting another. `fresh`: as of a start
    that a person has asked for.

    Raises Conflict where it cannot, as `standby.promote` does, and Overtaken where the pipeline was changed.
    """
    current = Pipeline.objects.select_for_update(no_key=True).get(id=pipeline.id)
    if (current.generation, current.phase) != (pipeline.generation, pipeline.phase):
        raise Overtaken(pipeline.name)
    found = standby.grant(pipeline=current, run=run, generation=current.generation, now=now)
    if (found.revision_id, found.host_id) != (current.current_revision_id, current.host_id):
        raise Overtaken(pipeline.name)
    Pipeline.objects.filter(id=current.id).update(**runs.begun(current, fresh=fresh))
    standby.announce(pipeline=current, run=found, actor=SYSTEM)
    dispatch.wake(found.host_id)
    return found
