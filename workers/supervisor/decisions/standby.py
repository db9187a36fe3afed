"""What to do about a standby: start it, keep it, end it. Pure, and without consequence for its pipeline.

It is never started again: whoever asked for it decides what its end means. Its command is `standby` until it is
promoted; then it is the pipeline's run like any other, and no longer looked at here.

For `lifecycle.standby: warm` the supervisor itself asks for one, beside a run that works.
"""

from __future__ import annotations

from pipelines.domain.base.states import AgentPhase, RunOutcome
from workers.ports import Now
from workers.supervisor.decisions.actions import Action, DismissStandby, EndStandby, PrepareStandby, Revoke, Spawn
from workers.supervisor.decisions.command import command_actions, kill_actions
from workers.supervisor.decisions.disk import lacks_room
from workers.supervisor.decisions.ending import how_it_ended
from workers.supervisor.decisions.leading import led
from workers.supervisor.decisions.processes import dumped, never_spawned, record
from workers.supervisor.decisions.snapshot import HEALTHY_PHASES, PipelineSnapshot, RunSnapshot

_DISCARDED = "The standby was discarded before its process started."


def standby_actions(snapshot: PipelineSnapshot, now: Now) -> list[Action]:
    """Everything that is to be done now."""
    run = snapshot.run
    if run is None:
        return []
    if snapshot.surplus:
        return [DismissStandby(), *_life(snapshot, run, now)]
    return _life(snapshot, run, now)


def keep_warm(snapshot: PipelineSnapshot, now: Now) -> list[Action]:
    """Prepare a standby beside a run that works, where the definition asks for one and there is none. One that was
    refused or has ended is followed by another with growing delays."""
    asked = snapshot.lifecycle.standby == "warm" and snapshot.second is None
    works = snapshot.phase in HEALTHY_PHASES and not snapshot.end_wanted and not lacks_room(snapshot)
    return [PrepareStandby()] if asked and works and now.boottime >= snapshot.standby_due else []


def _life(snapshot: PipelineSnapshot, run: RunSnapshot, now: Now) -> list[Action]:
    if not run.holders:
        return _without_process(snapshot, run, now)
    commands = command_actions(snapshot, run, now)
    return [*record(run), *dumped(run), *led(snapshot, run, commands, now), *kill_actions(run, now)]


def is_changing(snapshot: PipelineSnapshot) -> bool:
    """Whether something is expected to change within a second."""
    status = snapshot.run.status if snapshot.run else None
    return snapshot.end_wanted or status is None or status.phase is not AgentPhase.STANDBY


def _without_process(snapshot: PipelineSnapshot, run: RunSnapshot, now: Now) -> list[Action]:
    if not run.journal_drained:
        return []
    if not never_spawned(run):
        ended = how_it_ended(run, now)
        return [*dumped(run), EndStandby(ended.outcome, ended.code, ended.reason, ended.stop_stage)]
    if not snapshot.end_wanted:
        return [Spawn()]
    return [Revoke(_DISCARDED)] if run.exit is None else [EndStandby(RunOutcome.CLEAN, None, _DISCARDED, "")]
