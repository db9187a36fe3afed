"""How a run ended, in whose name, and what follows. Called when no process carries its token any more."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from pipelines.domain.base.causes import sentences
from pipelines.domain.base.states import DesiredState, Phase, RunOutcome, StopReason
from pipelines.domain.hosts.disk import DISK_FULL
from pipelines.domain.ledger.journal import JOURNAL_DAMAGED
from pipelines.domain.runs.crashes import CRASH_LOOP, SAME_CRASHES, recognised
from pipelines.domain.runs.ends import signal_name
from pipelines.domain.runs.protocol import BATCH_CANCELED, Exit, ExitRecord
from workers.ports import Now
from workers.supervisor.decisions.actions import EndRun, Restart
from workers.supervisor.decisions.command import INIT_TIMEOUT
from workers.supervisor.decisions.disk import FULL, full_disk_finding, waiting_words
from workers.supervisor.decisions.snapshot import PipelineSnapshot, RunSnapshot

_FAILED_CODES = {
    Exit.CLEAN: "The agent ended without a request.",
    Exit.PREFLIGHT_BLOCKED: "Positions, ledger and checkpoint do not agree.",
    Exit.INIT_FAILED: "A component could not be initialized.",
    Exit.QUERY_FAILED: "A streaming query ended with an error.",
    Exit.JVM_LOST: "The agent's JVM ended.",
    Exit.KEEPER_LOST: "The agent's keeper ended, so the driver stopped at its gate.",
    Exit.BAD_LAUNCH: "The agent could not read its launch file or its definition.",
    Exit.DISK_FULL: "A disk of the agent is full.",
    Exit.FENCED: "No supervisor renewed the run's lease, so it stopped at its gate.",
}
_CRASHES = frozenset({RunOutcome.CRASHED, RunOutcome.FAILED})
MOST_NAMED = 5
_HANGS = "INIT_TIMEOUT"
"""Code of a component that did not initialize in time."""
_OUTCOMES = {
    Exit.CLEAN: RunOutcome.FAILED,
    Exit.PREFLIGHT_BLOCKED: RunOutcome.BLOCKED,
    Exit.INIT_FAILED: RunOutcome.BLOCKED,
    Exit.QUERY_FAILED: RunOutcome.FAILED,
    Exit.FENCED: RunOutcome.FAILED,
    Exit.DISK_FULL: RunOutcome.FAILED,
    Exit.BAD_LAUNCH: RunOutcome.BLOCKED,
}

_MAYBE_FULL = {None, 1, Exit.INIT_FAILED, Exit.QUERY_FAILED, Exit.JVM_LOST}
"""How a run ends that could not write to its disk and could not say so; None: without any code."""

_RETRIED = {RunOutcome.BLOCKED: RunOutcome.FAILED, RunOutcome.CLEAN: RunOutcome.FAILED}
"""A run whose cause may go away is followed by another one: nothing of it is blocked."""

_ESCALATION = {"INTERRUPT", "KILL"}
"""Rungs of dumps that a stop has taken."""

Findings = tuple[Mapping[str, Any], ...]


@dataclass(frozen=True)
class Ended:
    """How the process ended, whatever was wanted."""

    outcome: RunOutcome
    code: int | None
    reason: str
    stop_stage: str = ""


def ending(snapshot: PipelineSnapshot, run: RunSnapshot, now: Now) -> EndRun:
    """Judge a run that is proven over: asked for, in need of a person, or to be started again."""
    ended = how_it_ended(run, now)
    left = run.crashes[0] if run.crashes else ()
    whole = run.journal_drained and run.journal_fault is None
    return replace(_evaluated(snapshot, run, ended, now), in_flight=left, journal_whole=whole)


def _evaluated(snapshot: PipelineSnapshot, run: RunSnapshot, ended: Ended, now: Now) -> EndRun:
    faults = (journal_finding(run.journal_fault),) if run.journal_fault is not None else ()
    if snapshot.desired is DesiredState.STOPPED:
        return _with_faults(_stopped(snapshot, run, ended), faults)
    if faults:
        return _blocked(ended, faults)
    if snapshot.restart_wanted or (run.stopping and not _timed_out_initialising(run)):
        return _stopped(snapshot, run, ended)
    if ended.code == Exit.DISK_FULL or _ended_on_full_disk(snapshot, ended):
        return _out_of_room(snapshot, run, ended, now)
    findings = _findings(run, ended)
    if lasting := [finding for finding in findings if not _may_go_away(finding, snapshot)]:
        return _blocked(ended, (*lasting, *(finding for finding in findings if finding not in lasting)))
    if looping := _looping(run, ended):
        return _blocked(ended, looping)
    return _restarted(snapshot, ended, findings, now)


def _ended_on_full_disk(snapshot: PipelineSnapshot, ended: Ended) -> bool:
    """Whether it ended by itself while its disk was full, and not by a signal."""
    lately = snapshot.disk is not None and snapshot.disk.lately
    by_itself = ended.outcome in {RunOutcome.FAILED, RunOutcome.LOST, RunOutcome.BLOCKED} or ended.code is not None
    return lately and by_itself and ended.code in _MAYBE_FULL


def _out_of_room(snapshot: PipelineSnapshot, run: RunSnapshot, ended: Ended, now: Now) -> EndRun:
    """BACKOFF until there is room, however often that happens: no decision and no restart by a user is needed.

    Where the disk has room already, as after an agent that has filled it alone, the delay grows with every restart.
    """
    reported = tuple(finding.model_dump() for finding in run.status.findings) if run.status else ()
    known = tuple(finding for finding in reported if finding["code"] == DISK_FULL)
    waits = snapshot.disk is not None and not snapshot.disk.startable
    first, longest = snapshot.lifecycle.restart_backoff, snapshot.lifecycle.restart_backoff_max
    delay = backoff(first, longest, 0 if waits else snapshot.restart_count)
    failed = replace(ended, outcome=RunOutcome.FAILED)
    follows = waiting_words(snapshot) if waits else f"The next start is in {delay:g} s."
    words = follows if waits else sentences(ended.reason, follows)
    end = _end(failed, Phase.BACKOFF, FULL, words, StopReason.SYSTEM)
    findings = known or (full_disk_finding(snapshot),)
    restart = Restart(now.boot_id, now.boottime + delay, delay)
    return replace(end, restart=restart, findings=findings, follows=follows)


def _with_faults(end: EndRun, faults: Findings) -> EndRun:
    """A stop is a stop; where the journal is damaged it is not a clean one."""
    if not faults:
        return end
    outcome = RunOutcome.FAILED if end.outcome is RunOutcome.CLEAN else end.outcome
    return replace(end, outcome=outcome, message=f"{end.message} {faults[0]['message']}", findings=faults)


def _may_go_away(finding: Mapping[str, Any], snapshot: PipelineSnapshot) -> bool:
    """Whether another start may help without a person.

    A component that hangs says nothing of its cause: at a user's start it is for the user, later it is load or a peer.
    """
    hangs = finding.get("code") == _HANGS
    return bool(finding.get("retryable")) and (snapshot.restart_count > 0 or not hangs)


def never_started(run: RunSnapshot, reason: str) -> EndRun:
    """A run whose intent was recorded and that is no longer wanted before any process existed."""
    end = _end(Ended(RunOutcome.CLEAN, None, reason), Phase.STOPPED, "stopped", reason, StopReason.USER)
    return replace(end, journal_whole=True)


def how_it_ended(run: RunSnapshot, now: Now) -> Ended:
    """From the keeper's exit record; without one from the driver's own last word; without that it is lost."""
    record = run.exit
    if record is None:
        return _without_record(run, now)
    stop_stage = record.stop_stage or ""
    if record.killed_by is not None:
        return Ended(RunOutcome.KILLED, None, _killed(run, record), stop_stage)
    if record.signal is not None:
        words = record.reason or f"The driver was ended by {signal_name(record.signal)}."
        return Ended(RunOutcome.CRASHED, None, words, stop_stage)
    code = record.exit_code if record.exit_code is not None else -1
    said = run.last_word[1] if run.last_word and run.last_word[0] == code else ""
    return _by_code(run, code, record.reason or said, stop_stage)


def _killed(run: RunSnapshot, record: ExitRecord) -> str:
    """Why a run was killed, how long after it was told to stop, and what was at work."""
    if run.control is None or not run.stopping:
        return record.reason or f"ended by the {record.killed_by}"
    seconds = record.boottime - run.control.issued_at
    stuck = sorted({path for dump in run.dumps if dump.stop_stage in _ESCALATION for path in dump.stuck})
    at_work = f"; at work: {', '.join(stuck)}" if stuck else ""
    return f"it had not ended {seconds:.1f} s after the request ({run.control.reason}){at_work}"


def _without_record(run: RunSnapshot, now: Now) -> Ended:
    if run.last_word is not None:
        return _by_code(run, *run.last_word, stop_stage="")
    control = run.control
    kill_at = control.kill_at if run.stopping and control and control.boot_id == now.boot_id else None
    if kill_at is not None and now.boottime >= kill_at:
        return Ended(RunOutcome.KILLED, None, "it had not ended at the stop's deadline", "KILL")
    if run.identity is not None and run.identity.keeper.boot_id != now.boot_id:
        return Ended(RunOutcome.LOST, None, "The host was restarted.")
    if run.spawned_here and run.identity is None:
        return Ended(
            RunOutcome.FAILED, None, "The keeper ended at once; keeper.log in the run directory has the reason."
        )
    return Ended(RunOutcome.LOST, None, "The run ended without an exit record.")


def _by_code(run: RunSnapshot, code: int, reason: str, stop_stage: str) -> Ended:
    if code == Exit.CLEAN and run.stopping:
        return Ended(RunOutcome.CLEAN, code, reason or "Stopped on request.", stop_stage)
    known = Exit(code) if code in set(Exit) else None
    words = _FAILED_CODES[known] if known is not None else f"The agent crashed with exit code {code}."
    outcome = _OUTCOMES.get(known, RunOutcome.CRASHED) if known is not None else RunOutcome.CRASHED
    return Ended(outcome, code, reason or words, stop_stage)


def _timed_out_initialising(run: RunSnapshot) -> bool:
    return run.control is not None and run.control.reason == INIT_TIMEOUT


def _findings(run: RunSnapshot, ended: Ended) -> Findings:
    """Why a person is needed; empty where a restart may help."""
    if _timed_out_initialising(run):
        return (_init_finding(run),)
    if ended.outcome is not RunOutcome.BLOCKED:
        return ()
    reported = tuple(finding.model_dump() for finding in run.status.findings) if run.status else ()
    return reported or (_finding("", "AGENT_REFUSED", ended.reason),)


def _init_finding(run: RunSnapshot) -> Mapping[str, Any]:
    components = run.status.components if run.status else []
    hanging = next((component for component in components if component.state == "initialising"), None)
    what = f"{hanging.kind} {hanging.name} ({hanging.type})" if hanging else "The agent"
    finding = _finding(
        hanging.name if hanging else "",
        _HANGS,
        f"{what} did not initialize within init_timeout.",
        "See the run's log; raise lifecycle.init_timeout if it needs more time.",
    )
    return {**finding, "retryable": True}


def _looping(run: RunSnapshot, ended: Ended) -> Findings:
    """The records that runs in a row have crashed at, where there are any: another restart would only repeat it."""
    suspects = recognised(run.crashes) if ended.outcome in _CRASHES and not run.stopping else []
    if not suspects:
        return ()
    words = "; ".join(str(suspect) for suspect in suspects[:MOST_NAMED])
    more = f" and {len(suspects) - MOST_NAMED} more" if len(suspects) > MOST_NAMED else ""
    finding = _finding(
        f"sources.{suspects[0].source}",
        CRASH_LOOP,
        sentences(
            f"{SAME_CRASHES} runs in a row crashed at the same position: {words}{more}", f"The last one: {ended.reason}"
        ),
        "Quarantine the records (headgate quarantine add): they become dead letters, and the pipeline resumes after "
        "them. Or fix the component that crashes, and start the pipeline again.",
    )
    return (finding,)


def journal_finding(fault: str) -> Mapping[str, Any]:
    return _finding(
        "journal.jsonl",
        JOURNAL_DAMAGED,
        f"The run's journal cannot be read: {fault}",
        "Nothing starts until its batches are accounted for; inspect the run directory.",
    )


def _finding(path: str, code: str, message: str, suggestion: str = "") -> Mapping[str, Any]:
    return {"path": path, "code": code, "message": message, "suggestion": suggestion, "retryable": False}


def _stopped(snapshot: PipelineSnapshot, run: RunSnapshot, ended: Ended) -> EndRun:
    killed = ended.outcome is RunOutcome.KILLED
    reason = StopReason.WATCHDOG if killed and not snapshot.force_stop else StopReason.USER
    if snapshot.desired is not DesiredState.STOPPED:
        return _end(ended, Phase.STOPPED, "restarting", "The run has ended; the next one follows.", reason)
    words = (
        sentences(f"Killed: {ended.reason}")
        if killed
        else sentences("Stopped on request", _more(run))
        if run.stopping
        else sentences(f"Ended: {ended.reason}")
    )
    return _end(ended, Phase.STOPPED, "killed" if killed else "stopped", words, reason)


def _more(run: RunSnapshot) -> str:
    """That the stop did not wait for the batch in hand."""
    said = run.last_word[1] if run.last_word else ""
    return said if said.startswith(BATCH_CANCELED) else ""


def _blocked(ended: Ended, findings: Findings) -> EndRun:
    outcome = ended if ended.outcome is not RunOutcome.CLEAN else replace(ended, outcome=RunOutcome.BLOCKED)
    end = _end(outcome, Phase.BLOCKED, str(findings[0]["code"]).lower(), _named(findings[0]), StopReason.SYSTEM)
    return replace(end, findings=findings)


def _named(finding: Mapping[str, Any]) -> str:
    where = f"{finding['path']}: " if finding.get("path") else ""
    return f"{where}{finding['message']}"


def _restarted(snapshot: PipelineSnapshot, ended: Ended, findings: Findings, now: Now) -> EndRun:
    """BACKOFF with the delay of `restart_delay`, or FAILED when the budget of restarts in a row is spent."""
    if findings:
        ended = replace(ended, outcome=_RETRIED.get(ended.outcome, ended.outcome), reason=_named(findings[0]))
    if snapshot.restart_count >= snapshot.lifecycle.max_restarts:
        follows = f"{snapshot.restart_count} restarts in a row failed."
        end = _end(ended, Phase.FAILED, "restarts_spent", sentences(ended.reason, follows), StopReason.SYSTEM)
        return replace(end, findings=findings, follows=follows)
    delay = restart_delay(snapshot)
    follows = f"The next start is in {delay:g} s." if delay else "The next start follows at once."
    words = sentences(ended.reason, follows)
    restart = Restart(now.boot_id, now.boottime + delay, delay)
    reason = str(findings[0]["code"]) if findings else ended.outcome
    end = _end(ended, Phase.BACKOFF, reason.lower(), words, StopReason.SYSTEM)
    return replace(end, restart=restart, findings=findings, follows=follows)


def restart_delay(snapshot: PipelineSnapshot) -> float:
    """Seconds before the next restart: none before the first in a row, since what ends a run that was well for long is
    seldom there again; then the back-off."""
    if snapshot.restart_count == 0:
        return 0.0
    lifecycle = snapshot.lifecycle
    return backoff(lifecycle.restart_backoff, lifecycle.restart_backoff_max, snapshot.restart_count - 1)


def backoff(first: float, longest: float, restarts: int) -> float:
    """Seconds that double with each restart, and saturate."""
    return float(min(longest, first * 2 ** min(restarts, 40)))


def _end(ended: Ended, phase: Phase, reason: str, message: str, stop_reason: StopReason) -> EndRun:
    return EndRun(
        outcome=ended.outcome,
        exit_code=ended.code,
        exit_reason=ended.reason,
        stop_stage=ended.stop_stage,
        phase=phase,
        reason=reason,
        message=message,
        stop_reason=stop_reason,
    )
