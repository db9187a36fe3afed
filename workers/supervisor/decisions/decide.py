"""What to do about a pipeline: a pure function of what was seen and of the time.

1. No run: start one if it is wanted and its time has come, else rest.
2. A run without processes: start its keeper if none was started yet; else judge how it ended.
3. A run with processes: record them, give the command that is wanted, climb where the keeper could not, tell the phase.
   One that was promoted from standby is told so.

Of a standby only 2 and 3 hold, and nothing follows from its end; see `standby`.

Doing the same actions twice is harmless, and nothing is lost with the memory of a crashed supervisor but some waiting.
"""

from __future__ import annotations

from pipelines.domain.base.states import RESTING_PHASES, DesiredState, Phase, can
from pipelines.domain.lifecycle.reconciling import REASON
from workers.ports import Now
from workers.supervisor.decisions.actions import (
    Action,
    CreateRun,
    ObserveGeneration,
    Reconcile,
    ResetRestarts,
    Revoke,
    SetPhase,
    Spawn,
    WritePromotion,
)
from workers.supervisor.decisions.command import command_actions, kill_actions
from workers.supervisor.decisions.conditions import condition_actions
from workers.supervisor.decisions.ending import ending, never_started
from workers.supervisor.decisions.leading import led
from workers.supervisor.decisions.operations import operation_actions
from workers.supervisor.decisions.phase import phase_actions
from workers.supervisor.decisions.processes import dumped, never_spawned, record
from workers.supervisor.decisions.standby import is_changing, standby_actions
from workers.supervisor.decisions.view import PipelineView, RunView

HEALTHY_PHASES = frozenset({Phase.RUNNING, Phase.PAUSED})
TRANSITIONAL_PHASES = frozenset({Phase.PREFLIGHT, Phase.STARTING, Phase.PAUSING, Phase.STOPPING})


def decide(view: PipelineView, now: Now) -> list[Action]:
    """Everything that is to be done now, in this order: an operation ends even where the rest cannot be done."""
    if view.standby:
        return standby_actions(view, now)
    return [*operation_actions(view, now), *condition_actions(view, now), *_life(view, now)]


def hurried(view: PipelineView) -> bool:
    """Whether something is expected to change within a second."""
    if view.standby:
        return is_changing(view)
    waiting = view.operation is not None and view.phase is not Phase.BACKOFF
    return waiting or view.asked_anew or view.phase in TRANSITIONAL_PHASES


def _life(view: PipelineView, now: Now) -> list[Action]:
    run = view.run
    if run is None:
        return _without_run(view, now)
    if not run.holders:
        return _without_process(view, run, now)
    return _with_process(view, run, now)


def _without_run(view: PipelineView, now: Now) -> list[Action]:
    if view.reconcile:
        return [Reconcile()]
    if view.desired is DesiredState.STOPPED:
        return [*_rest(view), *_observe(view)]
    if not can(view.phase, Phase.PREFLIGHT):
        return [SetPhase(Phase.BACKOFF, "no_run", "There is no process; Headgate starts it again.")]
    if view.asked_anew or view.phase not in RESTING_PHASES | {Phase.BACKOFF}:
        return [CreateRun(fresh=view.asked_anew)]
    if view.phase is Phase.STOPPED or (view.phase is Phase.BACKOFF and _backoff_over(view, now)):
        return [CreateRun(fresh=False)]
    return []


def _rest(view: PipelineView) -> list[Action]:
    if view.phase is Phase.STOPPED:
        return []
    return [SetPhase(Phase.STOPPED, "stopped", "Stopped on request; there was no process.")]


def _observe(view: PipelineView) -> list[Action]:
    return [ObserveGeneration(view.generation)] if view.asked_anew else []


def _backoff_over(view: PipelineView, now: Now) -> bool:
    """A deadline of another boot has passed: its clock is gone."""
    if view.restart_deadline is None:
        return True
    boot_id, boottime = view.restart_deadline
    return boot_id != now.boot_id or now.boottime >= boottime


def _without_process(view: PipelineView, run: RunView, now: Now) -> list[Action]:
    if not run.journal_drained:
        return []
    if never_spawned(run):
        if not view.end_wanted:
            return [Spawn()]
        reason = "The run was stopped before its process started."
        return [Revoke(reason)] if run.exit is None else [never_started(run, reason)]
    return [*dumped(run), ending(view, run, now)]


def _with_process(view: PipelineView, run: RunView, now: Now) -> list[Action]:
    if view.behind:
        return [Reconcile()] if view.reconcile else [*record(run), *_behind(view)]
    commands = command_actions(view, run, now)
    return [
        *record(run),
        *dumped(run),
        *led(view, run, commands, now),
        *_promotion(run),
        *kill_actions(run, now),
        *phase_actions(view, run, now),
        *_forgive(view, run, now),
        *([] if commands else _observe(view)),
    ]


def _promotion(run: RunView) -> list[Action]:
    """After the command, which the driver obeys as soon as it is promoted. A file that was lost is written again."""
    return [WritePromotion()] if run.promoted and run.told != run.epoch else []


def _behind(view: PipelineView) -> list[Action]:
    """No command is given that could undo what the database has forgotten."""
    if view.phase_reason == REASON or not can(view.phase, Phase.UNKNOWN):
        return []
    words = "The host has a later request than the database: was a backup restored?"
    return [SetPhase(Phase.UNKNOWN, REASON, words)]


def _forgive(view: PipelineView, run: RunView, now: Now) -> list[Action]:
    if view.restart_count == 0 or run.healthy_since is None:
        return []
    well_for = now.boottime - run.healthy_since
    return [ResetRestarts()] if well_for >= view.lifecycle.restart_reset_after else []
