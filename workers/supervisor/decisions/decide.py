"""What to do about a pipeline: a pure function of what was seen and of the time.

1. No run: start one if it is wanted and its time has come, or promote the standby that is ready; else rest.
2. A run without processes: start its keeper if none was started yet; else judge how it ended.
3. A run with processes: record them, give the command that is wanted, climb where the keeper could not, tell the phase.
   One that was promoted from standby is told so.

Of a standby only 2 and 3 hold, and nothing follows from its end; see `standby`.

Doing the same actions twice is harmless, and nothing is lost with the memory of a crashed supervisor but some waiting.
"""

from __future__ import annotations

from pipelines.domain.base.states import RESTING_PHASES, DesiredState, OperationKind, Phase, can
from pipelines.domain.lifecycle.reconciling import REASON
from workers.ports import Now
from workers.supervisor.decisions.actions import (
    Action,
    CreateRun,
    GiveWay,
    ObserveGeneration,
    Reconcile,
    ResetRestarts,
    Revoke,
    SetPhase,
    Spawn,
    TakeOver,
    WritePromotion,
)
from workers.supervisor.decisions.command import command_actions, kill_actions
from workers.supervisor.decisions.conditions import condition_actions
from workers.supervisor.decisions.disk import disk_findings, lacks_room, wait_for_room
from workers.supervisor.decisions.ending import ending, never_started
from workers.supervisor.decisions.leading import led
from workers.supervisor.decisions.operations import operation_actions
from workers.supervisor.decisions.phase import phase_actions
from workers.supervisor.decisions.processes import dumped, never_spawned, record
from workers.supervisor.decisions.snapshot import PipelineSnapshot, RunSnapshot
from workers.supervisor.decisions.standby import is_changing, keep_warm, standby_actions

TRANSITIONAL_PHASES = frozenset({Phase.PREFLIGHT, Phase.STARTING, Phase.PAUSING, Phase.STOPPING})


def decide(snapshot: PipelineSnapshot, now: Now) -> list[Action]:
    """Everything that is to be done now, in this order: an operation ends even where the rest cannot be done."""
    if snapshot.standby:
        return standby_actions(snapshot, now)
    first = [*operation_actions(snapshot, now), *condition_actions(snapshot, now), *_give_way(snapshot)]
    return [*first, *_life(snapshot, now)]


def hurried(snapshot: PipelineSnapshot) -> bool:
    """Whether something is expected to change within a second."""
    if snapshot.standby:
        return is_changing(snapshot)
    waiting = snapshot.operation is not None and snapshot.phase is not Phase.BACKOFF
    dying = snapshot.run is not None and snapshot.run.half_dead_since is not None
    return waiting or dying or snapshot.asked_anew or snapshot.phase in TRANSITIONAL_PHASES


def _life(snapshot: PipelineSnapshot, now: Now) -> list[Action]:
    run = snapshot.run
    if run is None:
        return _without_run(snapshot, now)
    if not run.holders:
        return _without_process(snapshot, run, now)
    return _with_process(snapshot, run, now)


def _without_run(snapshot: PipelineSnapshot, now: Now) -> list[Action]:
    if snapshot.reconcile:
        return [Reconcile()]
    if snapshot.desired is DesiredState.STOPPED:
        return [*_rest(snapshot), *_observe(snapshot)]
    if not can(snapshot.phase, Phase.PREFLIGHT):
        return [SetPhase(Phase.BACKOFF, "no_run", "There is no process; Headgate starts it again.")]
    if snapshot.asked_anew or snapshot.phase not in RESTING_PHASES | {Phase.BACKOFF}:
        return _begin(snapshot, fresh=snapshot.asked_anew)
    if lacks_room(snapshot):
        return wait_for_room(snapshot)
    if snapshot.phase is Phase.STOPPED or (snapshot.phase is Phase.BACKOFF and _backoff_over(snapshot, now)):
        return _begin(snapshot, fresh=False)
    return []


def _restarts(snapshot: PipelineSnapshot) -> bool:
    return snapshot.operation is not None and snapshot.operation.kind is OperationKind.RESTART


def _give_way(snapshot: PipelineSnapshot) -> list[Action]:
    """Before the run that a restart has asked for: a standby that is prepared later knows what that one knows."""
    warm = snapshot.second is not None and snapshot.second.warm
    return [GiveWay()] if warm and _restarts(snapshot) and snapshot.asked_anew else []


def _begin(snapshot: PipelineSnapshot, *, fresh: bool) -> list[Action]:
    ready = snapshot.second is not None and snapshot.second.ready and not _restarts(snapshot)
    return [TakeOver(fresh) if ready else CreateRun(fresh)]


def _rest(snapshot: PipelineSnapshot) -> list[Action]:
    if snapshot.phase is Phase.STOPPED:
        return []
    return [SetPhase(Phase.STOPPED, "stopped", "Stopped on request; there was no process.")]


def _observe(snapshot: PipelineSnapshot) -> list[Action]:
    return [ObserveGeneration(snapshot.generation)] if snapshot.asked_anew else []


def _backoff_over(snapshot: PipelineSnapshot, now: Now) -> bool:
    """A deadline of another boot has passed: its clock is gone."""
    if snapshot.restart_deadline is None:
        return True
    boot_id, boottime = snapshot.restart_deadline
    return boot_id != now.boot_id or now.boottime >= boottime


def _without_process(snapshot: PipelineSnapshot, run: RunSnapshot, now: Now) -> list[Action]:
    if not run.journal_drained:
        return []
    if never_spawned(run):
        if not snapshot.end_wanted:
            return [Spawn()]
        reason = "The run was stopped before its process started."
        return [Revoke(reason)] if run.exit is None else [never_started(run, reason)]
    return [*dumped(run), ending(snapshot, run, now)]


def _with_process(snapshot: PipelineSnapshot, run: RunSnapshot, now: Now) -> list[Action]:
    if snapshot.behind:
        return [Reconcile()] if snapshot.reconcile else [*record(run), *_behind(snapshot)]
    commands = command_actions(snapshot, run, now)
    return [
        *record(run),
        *dumped(run),
        *led(snapshot, run, commands, now),
        *_promotion(run),
        *kill_actions(run, now),
        *phase_actions(snapshot, run, now),
        *disk_findings(snapshot),
        *_forgive(snapshot, run, now),
        *keep_warm(snapshot, now),
        *([] if commands else _observe(snapshot)),
    ]


def _promotion(run: RunSnapshot) -> list[Action]:
    """After the command, which the driver obeys as soon as it is promoted. A file that was lost is written again."""
    return [WritePromotion()] if run.promoted and run.promoted_epoch != run.epoch else []


def _behind(snapshot: PipelineSnapshot) -> list[Action]:
    """No command is given that could undo what the database has forgotten."""
    if snapshot.phase_reason == REASON or not can(snapshot.phase, Phase.UNKNOWN):
        return []
    words = "The host has a later request than the database: was a backup restored?"
    return [SetPhase(Phase.UNKNOWN, REASON, words)]


def _forgive(snapshot: PipelineSnapshot, run: RunSnapshot, now: Now) -> list[Action]:
    if snapshot.restart_count == 0 or run.healthy_since is None:
        return []
    well_for = now.boottime - run.healthy_since
    return [ResetRestarts()] if well_for >= snapshot.lifecycle.restart_reset_after else []
