"""The one door through which a migration's stage and steps change. Every write is compare-and-swap on its version.

A supervisor records the intent of a step before it acts, and its end afterwards. Whoever comes after a crash finds the
intent and does the step again, which is harmless.
"""

from __future__ import annotations

from typing import Any

from pipelines.domain.base.states import (
    FINAL_STAGES,
    FORWARD_STAGES,
    DesiredState,
    MigrationStage,
    Phase,
    RunState,
    may_follow,
)
from pipelines.domain.migration import progress
from pipelines.domain.migration.observation import COUNTED, Accepted, Sample
from pipelines.domain.migration.progress import Instant, MigrationStepState
from pipelines.domain.migration.steps import GATE_SECONDS, ChangeBeforeProof, StepName, back
from pipelines.domain.monitoring.alert_rules import AlertRule
from pipelines.foundation import clock, dispatch
from pipelines.foundation.errors import Conflict
from pipelines.models import Migration, Pipeline
from pipelines.selectors.migration import migrations as selecting
from pipelines.services.base import events, tracing
from pipelines.services.base.audit import Actor
from pipelines.services.base.fencing import epoch, fenced
from pipelines.services.monitoring import alerts

ACTOR = "migration"
"""Who asks, in events."""


class Overtaken(Conflict):
    """Somebody else has moved the migration; nothing was written, and the next look sees the truth."""

    code = "busy"

    def __init__(self, what: str) -> None:
        super().__init__(f"{what} was changed by another request.", hint="Read it again, then repeat the request.")


class NotYet(Exception):
    """What a step needs is not so yet; the text says what. It is tried again until its deadline."""


class ForbiddenStage(Exception):
    """The table of stages does not have this change; a defect of the caller."""


def change(
    migration: Migration,
    *,
    stage: MigrationStage | None = None,
    message: str | None = None,
    actor: str = "system",
    event: bool = True,
    **fields: Any,
) -> None:
    """Write fields, and the stage where it changes, with one event. Raises Overtaken, or ForbiddenStage."""
    old, needed_action = MigrationStage(migration.stage), selecting.needs_action(migration)
    if stage is not None:
        if not may_follow(old, stage):
            raise ForbiddenStage(f"{old} -> {stage}")
        fields |= {"stage": stage, "stage_since": clock.now()}
    if message is not None:
        fields["message"] = message
    same = Migration.objects.filter(pk=migration.pk, version=migration.version)
    if not same.update(version=migration.version + 1, **fields):
        raise Overtaken(str(migration.pk))
    for name, value in {**fields, "version": migration.version + 1}.items():
        setattr(migration, name, value)
    if migration.ended_at is not None and "ended_at" in fields:
        tracing.migration_ended(migration)
    if event:
        emit(migration, message or migration.message, actor=actor, old=old)
    if needed_action or selecting.needs_action(migration):
        _alert(migration)


def _alert(migration: Migration) -> None:
    """Somebody is called as long as it waits for a person."""
    rule, pipeline = AlertRule.MIGRATION_WAITS, migration.pipeline
    if not selecting.needs_action(migration):
        alerts.clear_alert(rule=rule, key=pipeline.name)
        return
    alerts.raise_alert(
        rule=rule,
        key=pipeline.name,
        message=migration.message,
        pipeline=pipeline,
        data={"migration": str(migration.pk), "stage": migration.stage},
    )


def emit(migration: Migration, message: str, *, actor: str = "system", old: MigrationStage | None = None) -> None:
    """One event about a migration; a new stage has a kind of its own."""
    moved = old is not None and old != migration.stage
    index = progress.current(migration.steps)
    events.record(
        kind=f"migration.{migration.stage.lower()}" if moved else "migration.updated",
        message=message,
        pipeline=migration.pipeline,
        actor=actor,
        data={
            "migration": str(migration.pk),
            "kind": migration.kind,
            "stage": migration.stage,
            "old": old,
            "step": migration.steps[index]["name"] if index is not None else None,
        },
    )


@fenced
def take(*, migration: Migration, host: str) -> bool:
    """Carry it out from now on; False where another supervisor was faster. Nobody else writes its steps."""
    if (migration.runner_host, migration.runner_epoch) == (host, epoch()):
        return True
    try:
        change(migration, event=False, runner_host=host, runner_epoch=epoch())
    except Overtaken:
        return False
    return True


def lock(migration: Migration) -> None:
    """Within a transaction: nobody moves the migration until its end. Raises Overtaken where somebody has."""
    same = Migration.objects.select_for_update().filter(pk=migration.pk, version=migration.version)
    if not same.values_list("pk", flat=True).first():
        raise Overtaken(str(migration.pk))


@fenced
def start(*, migration: Migration, index: int, now: Instant) -> None:
    """Record the intent of a step. Raises Overtaken, or ChangeBeforeProof, whatever the plan says."""
    row = migration.steps[index]
    stage = MigrationStage(row["stage"])
    if row["changes"] and not progress.done(migration.steps, StepName.PROVE_PAUSE):
        raise ChangeBeforeProof(f"{row['name']} comes before the verified pause")
    moved = stage if stage != migration.stage else None
    change(
        migration,
        stage=moved,
        message=row["sentence"],
        event=moved is not None,
        steps=progress.started(migration.steps, index, now),
    )


@fenced
def hold(*, migration: Migration, index: int, now: Instant, message: str) -> None:
    """A step begins to wait for a person. Raises Overtaken."""
    change(migration, message=message, steps=progress.held(migration.steps, index, now, GATE_SECONDS))


@fenced
def report(*, migration: Migration, index: int, message: str, evidence: Any = None) -> None:
    """What a step waits for, where that is news; no event. Raises Overtaken."""
    row = migration.steps[index]
    if row["message"] == message and (evidence is None or row["evidence"] == evidence):
        return
    steps = progress.reported(migration.steps, index, message, evidence)
    change(migration, message=message, event=False, steps=steps)


@fenced
def end(*, migration: Migration, index: int, message: str, evidence: Any = None, **fields: Any) -> None:
    """A step is done. Raises Overtaken."""
    steps = progress.ended(migration.steps, index, MigrationStepState.DONE, clock.now(), message, evidence)
    change(migration, message=message, steps=steps, **fields)


@fenced
def fail(*, migration: Migration, index: int, message: str, findings: list[Any], evidence: Any = None) -> None:
    """A step has failed. It is tried again where it may be; on the way forward the migration is taken back, on the way
    back a person is needed. Raises Overtaken."""
    steps = progress.ended(migration.steps, index, MigrationStepState.FAILED, clock.now(), message, evidence)
    if steps[index]["state"] == MigrationStepState.PENDING:
        change(migration, message=message, steps=steps)
        return
    migration.steps = steps
    if migration.stage == MigrationStage.ROLLING_BACK:
        change(
            migration,
            stage=MigrationStage.NEEDS_ATTENTION,
            message=message,
            steps=steps,
            findings=findings or migration.findings,
        )
        return
    start_rollback(migration, message, findings=findings)


@fenced
def need_attention(*, migration: Migration, index: int, message: str, findings: list[Any], **fields: Any) -> None:
    """Stop at a step, and let a person choose. Raises Overtaken."""
    steps = progress.ended(migration.steps, index, MigrationStepState.FAILED, clock.now(), message)
    change(migration, stage=MigrationStage.NEEDS_ATTENTION, message=message, steps=steps, findings=findings, **fields)


def start_rollback(migration: Migration, reason: str, actor: str = "system", findings: list[Any] | None = None) -> None:
    """Leave the way forward, or begin the way back anew. Call it in a transaction. Raises Overtaken."""
    new = migration.new_run
    if new is not None:
        new.refresh_from_db()
    way = back(
        paused=progress.intended(migration.steps, StepName.PAUSE),
        ending=progress.intended(migration.steps, StepName.END_OLD_RUN),
        ended=_stays_over(migration),
        has_standby=new is not None and new.state != RunState.ENDED,
        promoted=selecting.is_promoted(migration),
        translated=selecting.is_translated(migration),
        life=selecting.lifecycle_of(migration),
    )
    change(
        migration,
        stage=MigrationStage.ROLLING_BACK,
        message=reason,
        actor=actor,
        steps=progress.with_rollback(migration.steps, way, clock.now(), reason),
        findings=migration.findings if findings is None else findings,
    )


def _stays_over(migration: Migration) -> bool:
    """Whether the old run has ended, and nothing has been started in its place."""
    return progress.done(migration.steps, StepName.END_OLD_RUN) and not progress.intended(
        migration.steps, StepName.START_OLD
    )


@fenced
def conclude(*, migration: Migration, **fields: Any) -> None:
    """Every step is over: it is committed, or taken back. Raises Overtaken."""
    if migration.stage == MigrationStage.ROLLING_BACK:
        touched = progress.intended(migration.steps, StepName.END_OLD_RUN)
        stage = MigrationStage.ROLLED_BACK if touched else MigrationStage.ABORTED
        words = "The old configuration is restored." if touched else "Nothing has been changed."
        words = f"{words} {_cause(migration)}".strip()
    else:
        stage, words = MigrationStage.COMMITTED, "The change is permanent."
    change(migration, stage=stage, message=words, ended_at=clock.now(), snapshot=_closed(migration), **fields)


def _closed(migration: Migration) -> dict[str, Any]:
    """What was written down, with the books and the outcome as they are at the end."""
    return {
        **(migration.snapshot or {}),
        "totals_after": selecting.totals(migration.pipeline_id),
        "outcome": selecting.outcome_of(migration).model_dump(mode="json"),
    }


def _cause(migration: Migration) -> str:
    """Why it was taken back: what failed first, or else what was said where nothing was under way."""
    rows = sorted(migration.steps, key=lambda row: row["state"] != MigrationStepState.FAILED)
    reported = {MigrationStepState.FAILED, MigrationStepState.SKIPPED}
    return next((str(row["message"]) for row in rows if row["state"] in reported and row["message"]), "")


def try_again(migration: Migration, actor: Actor) -> None:
    """Go on where it stopped: the step that failed last is tried once more. Call it in a transaction."""
    steps = progress.tried_anew(migration.steps)
    index = progress.current(steps)
    stage = MigrationStage(steps[index]["stage"]) if index is not None else FORWARD_STAGES[-1]
    again = StepName(steps[index]["name"]) if index is not None else None
    started = _ask_anew(migration) if again in {StepName.START_OLD, StepName.OBSERVE} else 0
    change(
        migration,
        stage=stage,
        message=f"{actor.name} retried the failed step.",
        actor=actor.name,
        steps=steps,
        findings=[],
        snapshot=_accepted(migration, started) if again is StepName.OBSERVE else migration.snapshot,
    )


def _ask_anew(migration: Migration) -> int:
    """What has refused to start, or was given up, is started once more. Returns how many runs that makes."""
    pipeline = Pipeline.objects.select_for_update().get(pk=migration.pipeline_id)
    if pipeline.phase not in {Phase.BLOCKED, Phase.FAILED}:
        return 0
    desire(pipeline, DesiredState(pipeline.desired_state), f"Migration {migration.pk} starts it again.")
    return 1


def desire(pipeline: Pipeline, desired: DesiredState, why: str, **fields: Any) -> None:
    """Ask the supervisor for a state of a pipeline. Call it in a transaction. Raises Overtaken."""
    generation = pipeline.generation + 1
    same = Pipeline.objects.filter(pk=pipeline.pk, generation=pipeline.generation, archived_at=None)
    if not same.update(desired_state=desired, generation=generation, updated_at=clock.now(), **fields):
        raise Overtaken(pipeline.name)
    pipeline.refresh_from_db()
    data = {"desired_state": desired.value, "generation": generation, "kind": ACTOR}
    events.record(kind="desired.changed", message=why, pipeline=pipeline, actor=ACTOR, data=data)
    dispatch.wake(pipeline.host_id)


def _accepted(migration: Migration, started: int) -> dict[str, Any]:
    """What the new side has been counted so far is known to who lets it be observed once more. `started`: runs that
    this very request makes."""
    seen = selecting.seen_now(migration.pipeline, migration.new_run) if migration.new_run else Sample()
    counts = {name: getattr(seen, name) for name in COUNTED}
    counts["restarts"] += started
    accepted = Accepted(**counts, outcome=seen.outcome).model_dump(mode="json")
    return {**(migration.snapshot or {}), "accepted": accepted, "accepted_at": clock.now().isoformat()}


def close(migration: Migration, reason: str, actor: Actor) -> None:
    """End it as it is. Call it in a transaction."""
    touched = progress.intended(migration.steps, StepName.END_OLD_RUN)
    owner = selecting.is_promoted(migration) and not progress.done(migration.steps, StepName.RESTORE)
    stage = MigrationStage.COMMITTED if owner else MigrationStage.ROLLED_BACK if touched else MigrationStage.ABORTED
    if stage not in FINAL_STAGES:
        raise ForbiddenStage(stage)
    now, snapshot = clock.now(), _closed(migration)
    change(migration, stage=stage, message=reason, actor=actor.name, ended_at=now, snapshot=snapshot)
