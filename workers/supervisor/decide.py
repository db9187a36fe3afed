"""What to do about a pipeline: a pure function of what was seen and of the time.

1. No run: start one if it is wanted and its time has come, else rest.
2. A run without processes: start its keeper if none was started yet; else judge how it ended.
3. A run with processes: record them, give the command that is wanted, climb where the keeper could not, tell the phase.

Doing the same actions twice is harmless, and nothing is lost with the memory of a crashed supervisor but some waiting.
"""

from __future__ import annotations

from pipelines.domain.reconciling import REASON
from pipelines.domain.states import RESTING_PHASES, DesiredState, Phase, RunState, can
from workers.ports import Now
from workers.supervisor.actions import (
    Action,
    CreateRun,
    ObserveGeneration,
    Reconcile,
    RecordDumps,
    RecordProcesses,
    ResetRestarts,
    Revoke,
    SetPhase,
    Spawn,
)
from workers.supervisor.command import command_actions, kill_actions
from workers.supervisor.conditions import condition_actions
from workers.supervisor.ending import ending, never_started
from workers.supervisor.leading import led
from workers.supervisor.operations import operation_actions
from workers.supervisor.phase import phase_actions
from workers.supervisor.view import PipelineView, RunView

HEALTHY_PHASES = frozenset({Phase.RUNNING, Phase.PAUSED})
TRANSITIONAL_PHASES = frozenset({Phase.PREFLIGHT, Phase.STARTING, Phase.PAUSING, Phase.STOPPING})


def decide(view: PipelineView, now: Now) -> list[Action]:
    """Everything that is to be done now, in this order: an operation ends even where the rest cannot be done."""
    return [*operation_actions(view, now), *condition_actions(view, now), *_life(view, now)]


def hurried(view: PipelineView) -> bool:
    """Whether something is expected to change within a second."""
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
        return [SetPhase(Phase.BACKOFF, "no_run", "There is no process; it is started again.")]
    if view.asked_anew or view.phase not in RESTING_PHASES | {Phase.BACKOFF}:
        return [CreateRun(fresh=view.asked_anew)]
    if view.phase is Phase.STOPPED or (view.phase is Phase.BACKOFF and _backoff_over(view, now)):
        return [CreateRun(fresh=False)]
    return []


def _rest(view: PipelineView) -> list[Action]:
    if view.phase is Phase.STOPPED:
        return []
    return [SetPhase(Phase.STOPPED, "stopped", "Stopped as asked; there was no process.")]


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
    if _never_spawned(run):
        if not view.end_wanted:
            return [Spawn()]
        reason = "It was stopped before its process was started."
        return [Revoke(reason)] if run.exit is None else [never_started(run, reason)]
    return [*_dumped(run), ending(view, run, now)]


def _never_spawned(run: RunView) -> bool:
    """The intent is recorded, and neither a process nor a trace of one exists."""
    untouched = run.exit is None or run.exit.revoked
    return run.state is RunState.PENDING and run.identity is None and untouched and not run.spawned_here


def _with_process(view: PipelineView, run: RunView, now: Now) -> list[Action]:
    if view.behind:
        return [Reconcile()] if view.reconcile else [*_record(run), *_behind(view)]
    commands = command_actions(view, run, now)
    return [
        *_record(run),
        *_dumped(run),
        *led(view, run, commands, now),
        *kill_actions(run, now),
        *phase_actions(view, run, now),
        *_forgive(view, run, now),
        *([] if commands else _observe(view)),
    ]


def _behind(view: PipelineView) -> list[Action]:
    """No command is given that could undo what the database has forgotten."""
    if view.phase_reason == REASON or not can(view.phase, Phase.UNKNOWN):
        return []
    words = "The host was told what a later request asked for than the database knows: was a backup restored?"
    return [SetPhase(Phase.UNKNOWN, REASON, words)]


def _dumped(run: RunView) -> list[Action]:
    return [RecordDumps(run.new_dumps)] if run.new_dumps else []


def _record(run: RunView) -> list[Action]:
    identity = run.identity
    if identity is None or identity.token != run.token:
        return []
    driver = identity.driver.pid if identity.driver else None
    if run.state is RunState.PENDING or driver != run.known_driver:
        return [RecordProcesses(identity)]
    return []


def _forgive(view: PipelineView, run: RunView, now: Now) -> list[Action]:
    if view.restart_count == 0 or run.healthy_since is None:
        return []
    well_for = now.boottime - run.healthy_since
    return [ResetRestarts()] if well_for >= view.lifecycle.restart_reset_after else []
