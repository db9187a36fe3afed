"""Standby runs: prepared beside the ACTIVE run of a pipeline, then promoted to be the ACTIVE one, or discarded.

A standby has no epoch, no lock and no lease, so nothing that it does can concern the pipeline's records. Promotion
grants everything at once, in one transaction; the supervisor of its host then writes promote.json, and its keeper takes
the pipeline's lock before the driver hears of it.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from django.db import transaction

from pipelines.domain.base.findings import Finding
from pipelines.domain.base.states import (
    ENDING_OPERATIONS,
    AgentPhase,
    DesiredState,
    OperationState,
    Phase,
    RunOutcome,
    RunRole,
    RunState,
    can,
)
from pipelines.domain.definitions.document.spec import Definition
from pipelines.domain.lifecycle.operations import OnTimeout
from pipelines.domain.runs.lineage import Lineage, continue_from
from pipelines.domain.runs.protocol import run_dir
from pipelines.foundation import clock, dispatch
from pipelines.foundation.errors import Conflict
from pipelines.models import Pipeline, Revision, Run
from pipelines.selectors.hosts.hosts import LOST_AFTER, seen_within
from pipelines.selectors.lifecycle import supervision
from pipelines.selectors.lifecycle.situations import live_run, open_operation
from pipelines.selectors.runs import standby as selectors
from pipelines.selectors.runs.runs import last_active, next_number
from pipelines.services.base import events
from pipelines.services.base.audit import Actor
from pipelines.services.base.fencing import fenced
from pipelines.services.lifecycle import operations, placement
from pipelines.services.runs import runs
from pipelines.services.runs.runs import RunEnd

ORPHANED_AFTER = timedelta(minutes=10)
"""Age at which a standby is ended that no migration waits for."""


@fenced
def prepare(*, pipeline: Pipeline, revision: Revision, host: str, actor: Actor, warm: bool = False) -> Run:
    """Record the intent to have a standby of a revision on a host; the host's supervisor starts it with its next tick.
    The pipeline itself is not touched. `warm`: it is the one of `lifecycle.standby`, which gives way to any other.

    Raises Conflict where the pipeline has a standby already, or where the host takes no such agent.
    """
    current = Pipeline.objects.select_for_update(no_key=True).get(id=pipeline.id)
    if current.archived_at is not None or revision.pipeline_id != current.id:
        raise Conflict(f"Revision {revision.number} is not of {current.name}.", code="wrong_revision")
    other = selectors.of_pipeline(current)
    if other is not None and other.warm and not warm:
        discard(run=other, actor=actor, reason="A migration prepares another one.")
    elif other is not None:
        raise Conflict(
            f"Run {other.number} on {other.host_id} is already a standby of {current.name}.",
            code="standby_exists",
            hint="Promote it or discard it first.",
        )
    place = placement.room_for_standby(host, revision.definition)
    number = next_number(current.name)
    run = Run.objects.create(
        pipeline=current,
        pipeline_name=current.name,
        number=number,
        role=RunRole.STANDBY,
        warm=warm,
        revision=revision,
        host=place,
        lineage=0,
        token=secrets.token_hex(16),
        run_dir=str(run_dir(Path(place.state_dir), current.name, number)),
        generation=current.generation,
        start_requested_at=clock.now(),
    )
    message = f"Run {number} is started on {host} as a standby of revision {revision.number}."
    events.record(kind="standby.prepared", message=message, pipeline=current, run=run, actor=actor.name)
    dispatch.wake(host)
    return run


@fenced
def promote(*, run: Run, actor: Actor, desired: DesiredState = DesiredState.RUNNING) -> Run:
    """Make a standby the pipeline's ACTIVE run: role, epoch, lineage, generation, host and revision at once. Doing it
    again changes nothing.

    Raises Conflict where the standby is not ready, where the ACTIVE run before it is not proven over with all of its
    journal taken in, or, with findings, where its revision cannot go on from there.
    """
    pipeline = Pipeline.objects.select_for_update(no_key=True).get(id=run.pipeline_id)
    current = Run.objects.select_related("revision", "host").get(pk=run.pk)
    if current.promoted_at is not None:
        return current
    now = clock.now()
    current = grant(pipeline=pipeline, run=current, generation=pipeline.generation + 1, now=now)
    _hand_over(pipeline, current, desired, now)
    announce(pipeline=pipeline, run=current, actor=actor)
    dispatch.wake(current.host_id)
    return current


@fenced
def grant(*, pipeline: Pipeline, run: Run, generation: int, now: datetime) -> Run:
    """What makes a standby the ACTIVE run, without what follows for its pipeline. Raises Conflict as `promote` does."""
    current = Run.objects.select_related("revision", "host").get(pk=run.pk)
    _require_ready(current)
    _require_end_of_the_one_before(pipeline)
    lineage, epoch = _lineage(pipeline, current), next_number(pipeline.name)
    granted = {"role": RunRole.ACTIVE, "epoch": epoch, "lineage": lineage.number or epoch, "promoted_at": now}
    if (
        not selectors.living()
        .filter(pk=current.pk, discarded_at=None)
        .update(generation=generation, start_requested_at=now, **granted)
    ):
        raise _not_ready(current, "it has just been discarded or has ended")
    current.refresh_from_db()
    return current


@fenced
def announce(*, pipeline: Pipeline, run: Run, actor: Actor) -> None:
    """One event for the promotion, and one for the phase that follows. Raises Overtaken."""
    message = f"Run {run.number} on {run.host_id} was a standby and is ACTIVE now, under epoch {run.epoch}."
    data = {"epoch": run.epoch, "lineage": run.lineage, "revision": run.revision.number}
    events.record(kind="standby.promoted", message=message, pipeline=pipeline, run=run, actor=actor.name, data=data)
    told = f"Preflight of run {run.number}."
    runs.change_phase(pipeline, Phase.PREFLIGHT, "promoted", message, run, told=told)


def _require_ready(run: Run) -> None:
    phase = (run.observed or {}).get("phase")
    if run.state == RunState.ENDED:
        raise _not_ready(run, f"it has ended: {run.exit_reason}")
    if run.discarded_at is not None:
        raise _not_ready(run, "it was discarded")
    if run.state != RunState.LIVE or phase != AgentPhase.STANDBY:
        raise _not_ready(run, f"it is {phase or run.state}")


def _not_ready(run: Run, why: str) -> Conflict:
    words = f"Run {run.number} cannot be promoted: {why}."
    return Conflict(words, code="standby_not_ready", hint="Prepare another standby, or start the pipeline.")


def _require_end_of_the_one_before(pipeline: Pipeline) -> None:
    old = last_active(pipeline.id)
    if live_run(pipeline) is not None and old is not None:
        raise Conflict(
            f"Run {old.number} on {old.host_id} is not proven over.",
            code="old_run_lives",
            hint="End the run first.",
        )
    if old is not None and not old.journal_whole:
        raise Conflict(
            f"The journal of run {old.number} on {old.host_id} is not fully ingested, so its last position is unknown.",
            code="journal_not_whole",
            hint="Start the pipeline; it resumes at the ledger's position, and possible duplicates are counted.",
        )
    if not can(Phase(pipeline.phase), Phase.PREFLIGHT):
        words = f"{pipeline.name} is {pipeline.phase}; its last run is not recorded as ended."
        raise Conflict(words, code="old_run_lives")


def _lineage(pipeline: Pipeline, run: Run) -> Lineage:
    definition = Definition.model_validate(run.revision.definition)
    found = continue_from(supervision.before(pipeline), definition, run.host_id)
    if isinstance(found, Lineage):
        return found
    raise Conflict(
        f"Revision {run.revision.number} cannot continue from run {run.number}: {found[0].message}",
        code="cannot_continue",
        hint=found[0].suggestion,
        findings=found,
    )


def _hand_over(pipeline: Pipeline, run: Run, desired: DesiredState, now: datetime) -> None:
    """The pipeline is where its new run is, as a start that was asked for anew."""
    same = Pipeline.objects.filter(id=pipeline.id, generation=pipeline.generation, phase=pipeline.phase)
    fields: dict[str, Any] = {
        "host_id": run.host_id,
        "current_revision": run.revision,
        "desired_state": desired,
        "generation": pipeline.generation + 1,
        "observed_generation": pipeline.generation + 1,
        "restart_run": None,
        "restart_count": 0,
        "force_stop": False,
        "on_timeout": OnTimeout.STOP,
        "findings": [],
        "updated_at": now,
        **runs.NO_RESTART,
    }
    if not same.update(**fields):
        raise Conflict(f"{pipeline.name} was changed by another request.", code="busy", hint="Try again.")
    if (asked := open_operation(pipeline)) is not None and asked.kind not in runs.STARTS:
        ended = asked.kind in ENDING_OPERATIONS
        state = OperationState.SUCCEEDED if ended else OperationState.SUPERSEDED
        operations.finish(operation_id=asked.id, state=state, now=now, message=f"Run {run.number} was promoted.")


@fenced
def discard(*, run: Run, actor: Actor, reason: str = "No longer needed.") -> Run:
    """End a standby. One on a host that is silent counts as over at once: it holds nothing, and its host kills what is
    left of it when it is heard again. Doing it again changes nothing. Raises Conflict for one that was promoted."""
    now = clock.now()
    wanted = selectors.living().filter(pk=run.pk, discarded_at=None)
    first = wanted.update(discarded_at=now)
    current = Run.objects.select_related("pipeline", "host").get(pk=run.pk)
    if current.role != RunRole.STANDBY:
        raise Conflict(f"Run {run.number} is not a standby; stop the pipeline instead.", code="not_a_standby")
    if first:
        message = f"The standby {current.number} on {current.host_id} is ended: {reason}"
        events.record(
            kind="standby.discarded", message=message, pipeline=current.pipeline, run=current, actor=actor.name
        )
    if current.state != RunState.ENDED and not seen_within(current.host.seen_at, LOST_AFTER):
        end(run=current, how=RunEnd(RunOutcome.LOST, None, f"{current.host_id} was silent.", ""), now=now)
        current.refresh_from_db()
    dispatch.wake(current.host_id)
    return current


@fenced
def end(*, run: Run, how: RunEnd, now: datetime) -> bool:
    """A standby is over; nothing follows from that. False where that is recorded, or where it is ACTIVE by now."""
    if not selectors.living().filter(pk=run.pk).update(state=RunState.ENDED, ended_at=now, **how.fields()):
        return False
    words = f"The standby {run.number} ended ({how.outcome.lower()}): {how.exit_reason}"
    events.record(kind="standby.ended", message=words, pipeline=run.pipeline, run=run, data=how.fields())
    return True


@fenced
def refuse(*, run: Run, findings: Sequence[Finding], now: datetime) -> bool:
    """A standby that cannot be started on its host at all has ended, with the findings in what is observed of it."""
    found: list[Mapping[str, Any]] = [each.model_dump(mode="json", exclude_none=True) for each in findings]
    observed = {"phase": AgentPhase.FAILED, "findings": found, "components": [], "queries": []}
    selectors.living().filter(pk=run.pk).update(observed=observed)
    where = f"{findings[0].path}: " if findings[0].path else ""
    return end(run=run, how=RunEnd(RunOutcome.BLOCKED, None, f"{where}{findings[0].message}", ""), now=now)


@transaction.atomic
def discard_orphans(*, host: str) -> int:
    """End standbys of a host that nothing waits for any more; returns how many."""
    found = selectors.orphans(host, clock.now() - ORPHANED_AFTER)
    for run in found:
        discard(run=run, actor=Actor("system"), reason="Its migration has ended.")
    return len(found)
