"""The life of a run as the supervisor records it: intent, processes, end. Each write is one small transaction."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

from django.db.models import F

from pipelines.domain.access.secret_bindings import Purpose
from pipelines.domain.base.causes import sentences
from pipelines.domain.base.states import (
    DesiredState,
    OperationKind,
    OperationState,
    Phase,
    RunOutcome,
    RunState,
    StopReason,
)
from pipelines.domain.lifecycle.operations import OnTimeout
from pipelines.domain.lifecycle.vocabulary import PHASES
from pipelines.domain.monitoring.alert_rules import AlertRule
from pipelines.domain.runs.crashes import Crash
from pipelines.domain.runs.protocol import DRAIN, Dump, Identity, run_dir
from pipelines.foundation import clock
from pipelines.models import Operation, Pipeline, Run, Secret
from pipelines.selectors.runs.runs import next_number
from pipelines.services.base import events
from pipelines.services.base.fencing import fenced
from pipelines.services.lifecycle import operations
from pipelines.services.lifecycle.transitions import set_phase
from pipelines.services.monitoring import alerts

MOST_DUMPS = 20
"""So many of a run are kept, the last ones, as the keeper does; and those that a migration has asked for."""
_CRASHES = frozenset({RunOutcome.CRASHED, RunOutcome.LOST})
STARTS = (OperationKind.START, OperationKind.RESTART)
NO_RESTART: dict[str, Any] = {"restart_boot_id": "", "restart_boottime": None, "restart_at": None}
_LATE_HINTS = {
    OperationKind.PAUSE: "Try again when the sink is faster, make batches smaller, or raise lifecycle.drain_timeout.",
    OperationKind.STOP: "Try again when the sink is faster, raise lifecycle.drain_timeout, or use on_timeout: stop.",
    OperationKind.RESTART: "Try again when the sink is faster, raise lifecycle.drain_timeout, or use on_timeout: stop.",
}
_DRAINED_FOR = {
    DesiredState.PAUSED: OperationKind.PAUSE,
    DesiredState.STOPPED: OperationKind.STOP,
    DesiredState.RUNNING: OperationKind.RESTART,
}


class Overtaken(Exception):
    """Somebody else changed the pipeline meanwhile; nothing was written, and the next look sees the truth."""


@dataclass(frozen=True)
class NextRun:
    """The intent to start. `lineage` None begins a new one; `floor`: the number must be higher."""

    token: str
    host: str
    state_dir: Path
    lineage: int | None
    floor: int
    fresh: bool


@fenced
def create_run(*, pipeline: Pipeline, wanted: NextRun, now: datetime) -> Run:
    """Record the intent before any process exists: run number, token, lineage, phase PREFLIGHT.

    Raises Overtaken, also where a decision about positions has ended a lineage since this one was chosen.
    """
    fields = begun(pipeline, fresh=wanted.fresh)
    same = Pipeline.objects.filter(
        id=pipeline.id,
        generation=pipeline.generation,
        phase=pipeline.phase,
        host_id=wanted.host,
        closed_lineage=pipeline.closed_lineage,
        archived_at__isnull=True,
    )
    if not same.update(**fields):
        raise Overtaken(pipeline.name)
    if pipeline.current_revision is None:
        raise Overtaken(pipeline.name)
    number = _next_number(pipeline.name, wanted.floor)
    run = Run.objects.create(
        pipeline=pipeline,
        pipeline_name=pipeline.name,
        number=number,
        epoch=number,
        revision=pipeline.current_revision,
        host_id=wanted.host,
        lineage=wanted.lineage or number,
        token=wanted.token,
        run_dir=str(run_dir(wanted.state_dir, pipeline.name, number)),
        generation=pipeline.generation,
        start_requested_at=_start_requested(pipeline) or now,
    )
    message = f"Run {number} starts on {wanted.host}."
    events.record(kind="run.started", message=message, pipeline=pipeline, run=run, data={"lineage": run.lineage})
    change_phase(pipeline, Phase.PREFLIGHT, "starting", message, run, told=f"Preflight of run {number}.")
    return run


@fenced
def begun(pipeline: Pipeline, *, fresh: bool) -> dict[str, Any]:
    """What a pipeline's row has as soon as a run is to consume. `fresh`: as a person has asked, so that the restart
    budget begins anew, and the alert of a crash ends."""
    fields: dict[str, Any] = {"observed_generation": pipeline.generation, "findings": [], **NO_RESTART}
    if fresh:
        fields |= {"restart_count": 0, "restart_cause": ""}
        alerts.clear_alert(rule=AlertRule.AGENT_CRASHED, key=pipeline.name)
    return fields


def _next_number(name: str, floor: int) -> int:
    """Numbers grow per name for ever, over deleted pipelines and left directories, so no run meets an old directory."""
    return max(next_number(name), floor + 1)


def _start_requested(pipeline: Pipeline) -> datetime | None:
    """When a person asked for this start; None for one that the supervisor makes by itself."""
    asked = Operation.objects.filter(pipeline=pipeline, kind__in=STARTS, state__in=operations.OPEN)
    return asked.values_list("created_at", flat=True).first()


@fenced
def change_phase(
    pipeline: Pipeline,
    new: Phase,
    reason: str,
    message: str,
    run: Run | None,
    stop: StopReason | None = None,
    told: str = "",
) -> None:
    """From the phase that was read, in the transaction of what causes it; `told` is for its event. Raises Overtaken."""
    changed = set_phase(
        pipeline_id=pipeline.id,
        expected=Phase(pipeline.phase),
        new=new,
        reason=reason,
        message=message,
        run=run,
        stop_reason=stop,
        told=told,
    )
    if not changed:
        raise Overtaken(pipeline.name)


@fenced
def refuse_start(*, pipeline: Pipeline, findings: Sequence[Mapping[str, Any]]) -> None:
    """A start that cannot be made as it is: BLOCKED with the findings, before any run exists. Raises Overtaken."""
    first = findings[0]
    fields = {"observed_generation": pipeline.generation, "findings": list(findings), **NO_RESTART}
    if not Pipeline.objects.filter(id=pipeline.id, generation=pipeline.generation).update(**fields):
        raise Overtaken(pipeline.name)
    where = f"{first['path']}: " if first["path"] else ""
    if pipeline.phase != Phase.BLOCKED:
        message = f"{where}{first['message']}"
        change_phase(pipeline, Phase.BLOCKED, str(first["code"]).lower(), message, None, StopReason.SYSTEM)


@fenced
def record_cluster(*, run: Run, version: int) -> None:
    """The run is given its cluster as of this version."""
    Run.objects.filter(pk=run.pk).update(cluster_version=version)


@fenced
def record_secrets(*, run: Run, versions: dict[str, int]) -> None:
    """The run is given its secrets, as of these versions."""
    Run.objects.filter(pk=run.pk).update(secret_versions=versions)
    given = Secret.objects.filter(purpose=Purpose.PIPELINES, name__in=versions)
    given.update(last_used_at=clock.now(), last_used_by=f"{run.pipeline_name}/{run.number}")


@fenced
def record_processes(*, run: Run, identity: Identity) -> bool:
    """The run's processes were seen; False where it has ended."""
    driver = identity.driver.pid if identity.driver else None
    return bool(
        Run.objects.filter(pk=run.pk)
        .exclude(state=RunState.ENDED)
        .update(
            state=RunState.LIVE,
            identity=identity.model_dump(mode="json"),
            keeper_pid=identity.keeper.pid,
            driver_pid=driver,
        )
    )


@fenced
def record_stop_request(*, run: Run, now: datetime) -> None:
    """The run was told to stop; the first time counts."""
    Run.objects.filter(pk=run.pk, stop_requested_at__isnull=True).update(stop_requested_at=now)


@fenced
def record_dumps(*, pipeline: Pipeline, run: Run, dumps: Sequence[Dump]) -> bool:
    """Dumps of the run's stacks that were taken since the last one recorded, each with one event; False where somebody
    else has recorded them."""
    same = Run.objects.filter(pk=run.pk, dumped_at=run.dumped_at)
    kept = _kept([*run.dumps, *(dump.model_dump(mode="json") for dump in dumps)])
    if not same.update(dumps=kept, dumped_at=dumps[-1].at):
        return False
    for dump in dumps:
        kind = "run.interrupted" if dump.number else "run.dumped"
        events.record(
            kind=kind, message=_described(run, dump), pipeline=pipeline, run=run, data=dump.model_dump(mode="json")
        )
    run.dumps, run.dumped_at = kept, dumps[-1].at
    return True


def _kept(dumps: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The newest, and whatever the evidence of a migration quotes."""
    recent = len(dumps) - MOST_DUMPS
    return [dump for index, dump in enumerate(dumps) if index >= recent or dump["stop_stage"] == DRAIN]


def _described(run: Run, dump: Dump) -> str:
    at_work = f"at work: {', '.join(dump.stuck)}" if dump.stuck else "no component is at work"
    if dump.number:
        return f"Run {run.number} has not stopped; interrupt {dump.number}; {at_work}."
    return f"The stacks of run {run.number} were dumped ({dump.stop_stage}); {at_work}."


@dataclass(frozen=True)
class RunEnd:
    """How a run ended; `in_flight`: what it left, where it ended by itself; `journal_whole`: all of its journal was
    taken in."""

    outcome: RunOutcome
    exit_code: int | None
    exit_reason: str
    stop_stage: str
    in_flight: Crash = ()
    journal_whole: bool = False

    def fields(self) -> dict[str, Any]:
        """As the run's row has it."""
        return {
            name: getattr(self, name) for name in ("outcome", "exit_code", "exit_reason", "stop_stage", "journal_whole")
        }


@dataclass(frozen=True)
class Aftermath:
    """What follows the end of a run. `restart`: boot id, CLOCK_BOOTTIME of the next start, seconds until then.
    `follows`: the part of the message that is not how the run ended."""

    phase: Phase
    reason: str
    message: str
    stop_reason: StopReason | None
    findings: Sequence[Mapping[str, Any]]
    restart: tuple[str, float, float] | None
    follows: str = ""


@fenced
def end_run(*, pipeline: Pipeline, run: Run, end: RunEnd, after: Aftermath, now: datetime) -> bool:
    """The run is proven over: its end and what follows, once. False where that is recorded. Raises Overtaken."""
    fields = end.fields()
    living = Run.objects.filter(pk=run.pk).exclude(state=RunState.ENDED)
    left = [batch.model_dump(mode="json") for batch in end.in_flight]
    if not living.update(state=RunState.ENDED, ended_at=now, in_flight=left, **fields):
        return False
    words = f"Run {run.number} ended ({end.outcome.lower()}): {end.exit_reason}"
    Pipeline.objects.filter(id=pipeline.id).update(**_consequences(pipeline, after, now, words))
    data = fields | {"restarts": after.restart is not None}
    events.record(kind="run.ended", message=words, pipeline=pipeline, run=run, data=data)
    change_phase(pipeline, after.phase, after.reason, after.message, run, after.stop_reason, _told(end, after))
    if after.phase is Phase.STOPPED:
        alerts.clear_alert(rule=AlertRule.AGENT_CRASHED, key=pipeline.name)
    elif end.outcome in _CRASHES and (after.restart is not None or after.phase is not Phase.BACKOFF):
        words = sentences(f"Run {run.number} crashed: {end.exit_reason}", after.follows)
        alerts.raise_alert(rule=AlertRule.AGENT_CRASHED, key=pipeline.name, message=words, pipeline=pipeline)
    return True


def _told(end: RunEnd, after: Aftermath) -> str:
    """What the event of the phase adds to that of the run's end."""
    repeats = end.exit_reason and end.exit_reason.rstrip(".") in after.message
    return after.follows or (f"{PHASES[after.phase].label}." if repeats else after.message)


def _consequences(pipeline: Pipeline, after: Aftermath, now: datetime, ended: str = "") -> dict[str, Any]:
    fields: dict[str, Any] = {"findings": list(after.findings), **NO_RESTART}
    if after.phase is Phase.STOPPED:
        fields |= {"restart_count": 0, "restart_cause": ""}
    if after.restart is not None:
        boot_id, boottime, delay = after.restart
        at = now + timedelta(seconds=delay)
        fields |= {"restart_boot_id": boot_id, "restart_boottime": boottime, "restart_at": at}
        fields["restart_count"] = pipeline.restart_count + 1
        fields["restarts"] = F("restarts") + 1
        fields["restart_cause"] = ended
    return fields


@fenced
def abort_drain(*, pipeline: Pipeline, wanted: DesiredState, message: str, now: datetime) -> bool:
    """The batch in hand of a pause or of a drain did not end in time: the operation has failed, `wanted` is desired
    from now on, and no run is to be followed by another. False where a person asked otherwise."""
    before = DesiredState(pipeline.desired_state)
    generation = pipeline.generation + (wanted is not before)
    same = Pipeline.objects.filter(id=pipeline.id, generation=pipeline.generation, desired_state=before)
    changed = same.update(
        desired_state=wanted,
        on_timeout=OnTimeout.STOP,
        restart_run=None,
        generation=generation,
        observed_generation=generation,
        updated_at=now,
    )
    if not changed:
        return False
    kind = _DRAINED_FOR[before]
    if wanted is not before:
        data = {"desired_state": wanted, "generation": generation, "kind": kind.value}
        events.record(kind="desired.changed", message=message, pipeline=pipeline, data=data)
    error = {"code": "drain_timeout", "message": message, "hint": _LATE_HINTS[kind]}
    waiting = Operation.objects.filter(pipeline=pipeline, kind=kind, state__in=operations.OPEN)
    if not waiting and pipeline.restart_run is not None:
        events.record(kind="host.drain", message=message, pipeline=pipeline, data={"code": "drain_timeout"})
    for operation in waiting:
        operations.finish(operation_id=operation.id, state=OperationState.FAILED, now=now, error=error)
    return True


@fenced
def reset_restarts(*, pipeline: Pipeline) -> None:
    """The pipeline has been healthy for long enough: the restart budget starts anew."""
    Pipeline.objects.filter(id=pipeline.id).update(restart_count=0, restart_cause="")
    alerts.clear_alert(rule=AlertRule.AGENT_CRASHED, key=pipeline.name)


@fenced
def observe_generation(*, pipeline_id: UUID, generation: int) -> None:
    """What this generation asked for has been acted upon; an older one is never written over a newer one."""
    Pipeline.objects.filter(id=pipeline_id, observed_generation__lt=generation).update(observed_generation=generation)


@fenced
def add_findings(*, pipeline: Pipeline, findings: Sequence[Mapping[str, Any]]) -> None:
    """What was found while the pipeline runs."""
    Pipeline.objects.filter(id=pipeline.id).update(findings=list(findings))


@fenced
def set_conditions(*, pipeline_id: UUID, conditions: Sequence[Mapping[str, Any]]) -> None:
    """What is true of the pipeline besides its phase."""
    Pipeline.objects.filter(id=pipeline_id).update(conditions=list(conditions))
