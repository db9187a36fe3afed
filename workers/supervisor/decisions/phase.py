"""The phase of a pipeline whose run has living processes, in a word, a reason and a sentence."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from pipelines.domain.base.causes import sentences
from pipelines.domain.base.states import RUNNING_PHASES, AgentPhase, Command, Phase, can
from pipelines.domain.hosts.disk import full_words
from pipelines.domain.lifecycle.vocabulary import PHASES
from pipelines.domain.runs.protocol import Control, Holding, QueryStatus, Status
from workers.ports import Now
from workers.supervisor.decisions.actions import Action, Explain, SetPhase
from workers.supervisor.decisions.command import DRAIN, INIT_TIMEOUT, pause_proven
from workers.supervisor.decisions.disk import FULL
from workers.supervisor.decisions.snapshot import PipelineSnapshot, RunSnapshot

HALTED_SHOWN_AFTER = 3.0
"""Seconds that a process may be stopped by a signal or a debugger, which takes a look and goes, before it is shown."""
HALF_DEAD_SHOWN_AFTER = 2.0
"""Seconds that a keeper and its driver may take to end one after the other before it is called unusual."""


@dataclass(frozen=True)
class Seen:
    """A phase with the reason for it. `about`: parts of the message without which another one is out of date."""

    phase: Phase
    reason: str = ""
    message: str = ""
    about: tuple[str, ...] = ()


def phase_actions(snapshot: PipelineSnapshot, run: RunSnapshot, now: Now) -> list[Action]:
    """At most one change; where the table has no direct way, the first step of the way round."""
    seen = observed(snapshot, run, now)
    if seen is None:
        return []
    if seen.phase is snapshot.phase:
        same = seen.reason == snapshot.phase_reason and all(part in snapshot.phase_message for part in seen.about)
        return [] if same else [Explain(seen.reason, seen.message)]
    step = _next_step(snapshot.phase, seen.phase)
    if step is None:
        return []
    if step is not seen.phase:
        return [SetPhase(step, step.lower(), PHASES[step].meaning)]
    return [SetPhase(step, seen.reason, seen.message)]


def _next_step(old: Phase, new: Phase) -> Phase | None:
    if can(old, new):
        return new
    return next((via for via in (Phase.STARTING, Phase.PAUSING) if can(old, via) and can(via, new)), None)


def observed(snapshot: PipelineSnapshot, run: RunSnapshot, now: Now) -> Seen | None:
    """What the processes, the command and the agent's own words amount to; None: it stays as it is."""
    if run.stopping and run.control is not None:
        if run.control.reason == INIT_TIMEOUT:
            return Seen(Phase.PREFLIGHT, INIT_TIMEOUT, "The agent did not initialize in time and is being ended.")
        return _stopping(run, run.control)
    if run.half_dead_since is not None and now.boottime - run.half_dead_since >= HALF_DEAD_SHOWN_AFTER:
        lost = "keeper" if not run.keeper_alive else "driver"
        return Seen(Phase.UNKNOWN, f"{lost}_lost", f"The agent's {lost} has ended; waiting for the rest of it to end.")
    if unseen := _unseen(run, now):
        return unseen
    return _on_disk(snapshot, _from_status(snapshot, run, now))


def _from_status(snapshot: PipelineSnapshot, run: RunSnapshot, now: Now) -> Seen | None:
    status = run.status
    if status is None or status.token != run.token:
        return Seen(Phase.PREFLIGHT, "starting", "The agent's process is starting.")
    if now.boottime - status.heartbeat > snapshot.lifecycle.heartbeat_timeout:
        silent = now.boottime - status.heartbeat
        return Seen(Phase.UNKNOWN, "heartbeat_stale", f"The agent is alive and has not reported for {silent:.0f} s.")
    return _REPORTED[status.phase](snapshot, run, status, now)


def _stopping(run: RunSnapshot, control: Control) -> Seen:
    """A drain that something holds up says so at once."""
    holding = _holding(run.status)
    if control.command is not Command.DRAIN_AND_STOP or holding is None:
        return Seen(Phase.STOPPING, control.reason, "Waiting for the process to end.")
    advice = "Stop without draining (--no-drain) to end it now; the next run reads it again"
    return Seen(Phase.STOPPING, control.reason, sentences(_hopeless(holding), advice), (holding.component,))


def _holding(status: Status | None) -> Holding | None:
    return next((query.holding for query in status.queries if query.holding), None) if status else None


def _hopeless(holding: Holding) -> str:
    return sentences(f"The in-flight batch cannot end, since {holding.component} is failing", holding.cause)


def _on_disk(snapshot: PipelineSnapshot, seen: Seen | None) -> Seen | None:
    """On a full disk no batch starts, and the agent may be unable to report, whatever was reported last."""
    if seen is None or snapshot.disk is None or not snapshot.disk_full:
        return seen
    words = full_words(snapshot.disk.path)
    if seen.phase is Phase.UNKNOWN:
        return Seen(Phase.UNKNOWN, FULL, f"{words} The agent is alive and cannot report.")
    if seen.phase in {Phase.STARTING, *RUNNING_PHASES}:
        return Seen(Phase.DEGRADED, FULL, words)
    return Seen(seen.phase, FULL, words) if seen.phase is Phase.PREFLIGHT else seen


def _unseen(run: RunSnapshot, now: Now) -> Seen | None:
    """Why nothing that is known of the run can be relied on, whatever its files say."""
    if run.directory_lost:
        words = "The directory of the run was removed while its agent was running; the agent is being ended."
        return Seen(Phase.UNKNOWN, "directory_lost", words)
    if run.halted_since is not None and now.boottime - run.halted_since >= HALTED_SHOWN_AFTER:
        pids = " ".join(str(each.pid) for each in run.halted)
        words = (
            f"A signal (SIGSTOP) or a debugger has stopped processes of the agent; kill -CONT {pids} continues them."
        )
        return Seen(Phase.UNKNOWN, "halted", words)
    if run.status is None and run.reported:
        return Seen(Phase.UNKNOWN, "status_lost", "The agent's status file is missing or cannot be read.")
    return None


def _promoted(_snapshot: PipelineSnapshot, _run: RunSnapshot, _status: Status, _now: Now) -> Seen:
    return Seen(Phase.PREFLIGHT, "promoted", "The standby is promoted; its positions are being compared.")


_Reported = Callable[[PipelineSnapshot, RunSnapshot, Status, Now], Seen | None]


def _preflight(_snapshot: PipelineSnapshot, _run: RunSnapshot, status: Status, _now: Now) -> Seen:
    waiting = [c.name for c in status.components if c.state == "initialising"]
    words = f"Initializing {', '.join(waiting)}." if waiting else "Initializing and probing every component."
    return Seen(Phase.PREFLIGHT, "initialising", words)


def _moving(snapshot: PipelineSnapshot, run: RunSnapshot, status: Status, now: Now) -> Seen | None:
    """STARTING, RUNNING or DEGRADED, unless a pause was asked for or nothing moves although there is lag."""
    if _command(run) is Command.PAUSE:
        return _pausing(snapshot, run, status, now)
    stalled = _stalled(snapshot, status, now)
    if stalled is not None and status.phase is not AgentPhase.DEGRADED:
        return stalled
    if status.phase is AgentPhase.STARTING:
        return Seen(Phase.STARTING, "initialised", "Every component is ready; waiting for the first batch.")
    held = next((query for query in status.queries if query.holding), None)
    if status.phase is AgentPhase.DEGRADED:
        return _degraded(held) if held else Seen(Phase.DEGRADED, "holding", status.detail or "A component is failing.")
    if failing := _failing_member(status):
        return Seen(Phase.DEGRADED, "group_member", failing)
    if failing := _failing_source(status):
        return Seen(Phase.DEGRADED, "source_down", failing)
    return Seen(Phase.RUNNING, "moving", "Records are moving, or the source is idle and reachable.")


def _degraded(query: QueryStatus) -> Seen:
    holding = query.holding
    component, cause = (holding.component, holding.cause) if holding else ("", "")
    words = sentences(f"{component} holds up {query.source}.{query.channel}; no record is lost", cause)
    return Seen(Phase.DEGRADED, "holding", words, (component, sentences(cause)))


def _failing_member(status: Status) -> str:
    """A member of a sink group that has failed while others take the batches; empty where there is none."""
    for group in (query.group for query in status.queries if query.group):
        for out in group.failed:
            others = " and ".join(group.live) or "no other sink"
            return f"Sink {out.sink} of the group {group.name} is failing, {others} can take the batches: {out.cause}"
    return ""


def _failing_source(status: Status) -> str:
    """A source that takes nothing in while what it has taken is delivered; empty where there is none."""
    return next((f"sources.{each.source}: {each.failure}" for each in status.ingest_buffers if each.failure), "")


def _pausing(_snapshot: PipelineSnapshot, run: RunSnapshot, status: Status, _now: Now) -> Seen | None:
    if _command(run) is not Command.PAUSE:
        return None
    drains = run.control is not None and run.control.reason == DRAIN
    reason = DRAIN if drains else "pause"
    if holding := _holding(status):
        return Seen(Phase.PAUSING, reason, _hopeless(holding), (holding.component,))
    words = "The in-flight batch is finishing" + ("; then the pipeline stops." if drains else ".")
    return Seen(Phase.PAUSING, reason, words)


def _paused(snapshot: PipelineSnapshot, run: RunSnapshot, status: Status, now: Now) -> Seen | None:
    if pause_proven(run):
        if snapshot.end_wanted:
            return None
        return Seen(
            Phase.PAUSED, "proven", "Consumption has stopped: gate closed, nothing in flight, position unchanged."
        )
    return _pausing(snapshot, run, status, now)


def _ending(_snapshot: PipelineSnapshot, _run: RunSnapshot, _status: Status, _now: Now) -> None:
    """The agent is about to exit by itself; its exit says more than the phase could."""


_REPORTED: dict[AgentPhase, _Reported] = {
    AgentPhase.PREFLIGHT: _preflight,
    AgentPhase.STANDBY: _promoted,
    AgentPhase.STARTING: _moving,
    AgentPhase.RUNNING: _moving,
    AgentPhase.DEGRADED: _moving,
    AgentPhase.PAUSING: _pausing,
    AgentPhase.PAUSED: _paused,
    AgentPhase.STOPPING: _ending,
    AgentPhase.STOPPED: _ending,
    AgentPhase.FAILED: _ending,
}


def _command(run: RunSnapshot) -> Command | None:
    return run.control.command if run.control else None


def _stalled(snapshot: PipelineSnapshot, status: Status, now: Now) -> Seen | None:
    """The query that has stood still for longest, if that is too long and something waits to be read. That its
    neighbours move, or that the agent's heart beats, is no progress of its own."""
    behind = [query for query in status.queries if query.lag]
    slowest = min(behind, key=lambda query: _heartbeat(query, status), default=None)
    if slowest is None or _heartbeat(slowest, status) <= 0:
        return None
    still = now.boottime - _heartbeat(slowest, status)
    if still <= snapshot.lifecycle.stall_timeout:
        return None
    at_work = f" At work: {', '.join(status.stuck)}." if status.stuck else ""
    what = f"{slowest.source}.{slowest.channel} has a lag of {slowest.lag} records"
    return Seen(Phase.STALLED, "no_progress", f"{what}, and no batch of it has finished for {still:.0f} s.{at_work}")


def _heartbeat(query: QueryStatus, status: Status) -> float:
    return query.progress_heartbeat or status.progress_heartbeat
