"""Which command a living run should have, and when a stop climbs the ladder.

Deadlines are set once, when the command is given, on CLOCK_BOOTTIME; the keeper enforces them, so they survive every
supervisor. A pause never climbs: at drain_timeout it is given up, or stays where it is. A drain becomes a stop then;
one that may be given up is a pause first, since a stop is never taken back.
"""

from __future__ import annotations

from dataclasses import dataclass

from pipelines.domain.base.states import AgentPhase, Command, DesiredState, OperationKind
from pipelines.domain.definitions.document.spec import Lifecycle
from pipelines.domain.lifecycle.operations import OnTimeout
from pipelines.domain.runs.protocol import Control, ProcessIdentity
from workers.ports import Now
from workers.supervisor.decisions.actions import AbortDrain, Action, KillProcesses, WriteControl
from workers.supervisor.decisions.snapshot import PipelineSnapshot, RunSnapshot

INIT_TIMEOUT = "init_timeout"
FORCE_STOP = "force-stop"
DRAIN = "drain"
KEEPER_GRACE = 5.0
"""Seconds after kill_at in which the keeper may still do its work."""
KEEPER_LOST_GRACE = 10.0
"""Seconds that a driver without its keeper has to stop at its gate."""
DRIVER_LOST_GRACE = 30.0
"""Seconds that a keeper without its driver has to write the exit record."""


@dataclass(frozen=True)
class _Wanted:
    command: Command
    reason: str


def command_actions(snapshot: PipelineSnapshot, run: RunSnapshot, now: Now) -> list[Action]:
    """The next control.json, or the end of a pause or a drain that could not be proven in time."""
    if _expired(snapshot, run, now):
        return [_abandoned(snapshot)]
    control = next_control(snapshot, run, now)
    return [WriteControl(control)] if control else []


def _abandoned(snapshot: PipelineSnapshot) -> AbortDrain:
    wanted = snapshot.desired if snapshot.on_timeout is OnTimeout.STAY else snapshot.desired_before
    stays = "nothing is read, and the pipeline is paused when the batch ends"
    follows = stays if wanted is snapshot.desired is DesiredState.PAUSED else "the pipeline continues running"
    words = f"The in-flight batch did not end within {snapshot.lifecycle.drain_timeout:g} s; {follows}."
    return AbortDrain(wanted, words)


def first_control(snapshot: PipelineSnapshot, now: Now) -> Control:
    """The command that a new run finds when it starts."""
    command = _standing(snapshot).command
    return Control(
        seq=1,
        command=command,
        boot_id=now.boot_id,
        issued_at=now.boottime,
        reason="start",
        generation=snapshot.generation,
    )


def next_control(snapshot: PipelineSnapshot, run: RunSnapshot, now: Now) -> Control | None:
    """The command to give now; None where the last one stands."""
    wanted, last = _wanted(snapshot, run, now), run.control
    if last is not None and not _replaces(wanted, last, _needs_deadline(snapshot, run, wanted)):
        return None
    seq = 1 if last is None else last.seq + 1
    base = Control(
        seq=seq,
        command=wanted.command,
        boot_id=now.boot_id,
        issued_at=now.boottime,
        reason=wanted.reason,
        generation=snapshot.generation,
    )
    return base.model_copy(update=_deadlines(snapshot, run, wanted, now))


def _wanted(snapshot: PipelineSnapshot, run: RunSnapshot, now: Now) -> _Wanted:
    if snapshot.end_wanted and snapshot.force_stop:
        return _Wanted(Command.STOP, FORCE_STOP)
    if _drains_first(snapshot, run):
        return _Wanted(Command.PAUSE, DRAIN)
    if snapshot.end_wanted:
        reason = "stop" if snapshot.desired is DesiredState.STOPPED else "restart"
        return _Wanted(Command.DRAIN_AND_STOP if snapshot.drain_on_stop else Command.STOP, reason)
    if init_expired(snapshot.lifecycle, run, now):
        return _Wanted(Command.STOP, INIT_TIMEOUT)
    return _standing(snapshot)


def _standing(snapshot: PipelineSnapshot) -> _Wanted:
    """What is wanted of a run that is not to end."""
    if snapshot.standby:
        return _Wanted(Command.STANDBY, "standby")
    if snapshot.desired is DesiredState.PAUSED:
        return _Wanted(Command.PAUSE, "pause")
    return _Wanted(Command.RUN, "run")


def _drains_first(snapshot: PipelineSnapshot, run: RunSnapshot) -> bool:
    """Whether a stop or a restart waits for the batch in hand as a pause does, so that it can still be given up."""
    can_be_aborted = snapshot.end_wanted and snapshot.drain_on_stop and snapshot.on_timeout is not OnTimeout.STOP
    return can_be_aborted and not run.stopping and _initialised(run) and not pause_proven(run)


def _replaces(wanted: _Wanted, last: Control, needs_deadline: bool) -> bool:
    """A stop is never taken back and its clock never begins again; a drain can become a stop, and both a stop by force,
    at once."""
    if last.command is Command.STOP:
        return wanted.reason == FORCE_STOP != last.reason
    if last.command is Command.DRAIN_AND_STOP:
        return wanted.command is Command.STOP
    if wanted.command is Command.PAUSE and last.command is Command.PAUSE:
        return needs_deadline or wanted.reason == DRAIN != last.reason
    return wanted.command is not last.command


def _deadlines(snapshot: PipelineSnapshot, run: RunSnapshot, wanted: _Wanted, now: Now) -> dict[str, float | None]:
    life = snapshot.lifecycle
    if wanted.reason == FORCE_STOP:
        return {"term_at": now.boottime, "kill_at": now.boottime}
    if wanted.reason == INIT_TIMEOUT:
        return {
            "term_at": now.boottime,
            "term_every": life.cancel_interval,
            "kill_at": now.boottime + life.cancel_interval,
        }
    if wanted.command is Command.PAUSE:
        timed = _initialised(run) and (wanted.reason == DRAIN or _user_waits(snapshot))
        return {"deadline": now.boottime + life.drain_timeout if timed else None}
    if wanted.command in {Command.RUN, Command.STANDBY}:
        return {}
    start = now.boottime + (life.drain_timeout if wanted.command is Command.DRAIN_AND_STOP else 0.0)
    kill_at = start + life.cancel_timeout if life.cancel_timeout > 0 else None
    return {"term_at": start + life.cancel_interval, "term_every": life.cancel_interval, "kill_at": kill_at}


def init_expired(life: Lifecycle, run: RunSnapshot, now: Now) -> bool:
    """Whether the agent is still initialising when init_timeout has passed."""
    return not _initialised(run) and run.started is not None and now.boottime - run.started > life.init_timeout


def _initialised(run: RunSnapshot) -> bool:
    return run.status is not None and run.status.phase is not AgentPhase.PREFLIGHT


def _user_waits(snapshot: PipelineSnapshot) -> bool:
    return snapshot.operation is not None and snapshot.operation.kind is OperationKind.PAUSE


def _needs_deadline(snapshot: PipelineSnapshot, run: RunSnapshot, wanted: _Wanted) -> bool:
    """A pause given while the agent was initialising gets its deadline when the agent is ready to obey it; a pause or a
    drain that is asked for again gets another."""
    control = run.control
    if control is None or pause_proven(run) or (control.deadline is not None and not _is_older(control, snapshot)):
        return False
    return _initialised(run) and (wanted.reason == DRAIN or _user_waits(snapshot))


def pause_proven(run: RunSnapshot) -> bool:
    """Whether the agent has proven that it consumes nothing, under the pause that stands now."""
    status = run.status
    return (
        run.obeyed
        and run.control is not None
        and run.control.command is Command.PAUSE
        and status is not None
        and status.phase is AgentPhase.PAUSED
        and status.pause_proof is not None
        and status.pause_proof.holds
    )


def _expired(snapshot: PipelineSnapshot, run: RunSnapshot, now: Now) -> bool:
    """Whether a pause that a person waits for, or a drain that may be given up, has passed its deadline unproven."""
    control = run.control
    if control is None or control.command is not Command.PAUSE or control.deadline is None:
        return False
    if now.boottime < control.deadline or _is_older(control, snapshot) or pause_proven(run):
        return False
    if snapshot.end_wanted:
        return _drains_first(snapshot, run) and control.reason == DRAIN
    return snapshot.desired is DesiredState.PAUSED and _user_waits(snapshot)


def _is_older(control: Control, snapshot: PipelineSnapshot) -> bool:
    """Whether something was asked for since the order was given."""
    return control.generation < snapshot.generation


def kill_actions(run: RunSnapshot, now: Now) -> list[Action]:
    """What the keeper should have done and could not: the supervisor's own SIGKILL, the keeper last."""
    late = _seconds_late(run, now)
    if late >= KEEPER_GRACE:
        with_keeper = late >= 2 * KEEPER_GRACE
        return _kill(run, "The keeper did not enforce the stop in time.", with_keeper=with_keeper)
    if run.half_dead_since is not None:
        since = now.boottime - run.half_dead_since
        if not run.keeper_alive and since >= KEEPER_LOST_GRACE:
            return _kill(run, "The keeper is gone and the driver did not stop by itself.", with_keeper=True)
        if not run.driver_alive and since >= DRIVER_LOST_GRACE:
            return _kill(run, "The driver is gone and its keeper did not end.", with_keeper=True)
    return []


def _seconds_late(run: RunSnapshot, now: Now) -> float:
    if not run.stopping or run.control is None or run.control.kill_at is None:
        return 0.0
    return now.boottime - run.control.kill_at


def _kill(run: RunSnapshot, reason: str, *, with_keeper: bool) -> list[Action]:
    keeper = run.identity.keeper if run.identity else None
    targets: tuple[ProcessIdentity, ...] = tuple(p for p in run.holders if with_keeper or p != keeper)
    return [KillProcesses(targets, reason)] if targets else []
