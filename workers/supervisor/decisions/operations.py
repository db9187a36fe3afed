"""Whether the open operation of a pipeline has come to its end, or which of its steps is under way."""

from __future__ import annotations

from pipelines.domain.base.states import (
    ENDING_OPERATIONS,
    RUNNING_PHASES,
    AgentPhase,
    OperationKind,
    OperationState,
    Phase,
)
from pipelines.domain.lifecycle.vocabulary import PHASES
from workers.ports import Now
from workers.supervisor.decisions.actions import Action, AdvanceOperation, FinishOperation
from workers.supervisor.decisions.command import pause_proven
from workers.supervisor.decisions.snapshot import OperationSnapshot, PipelineSnapshot

_REFUSED = {Phase.BLOCKED, Phase.FAILED}
_WORDS = {
    OperationKind.START: "Running.",
    OperationKind.RESUME: "Running.",
    OperationKind.RESTART: "Running again.",
    OperationKind.PAUSE: "Paused; verified by the agent.",
    OperationKind.STOP: "Stopped; verified by the exit of its process.",
    OperationKind.FORCE_STOP: "Stopped by force; verified by the exit of its process.",
}
_ENDED_AGENT = {AgentPhase.STOPPED, AgentPhase.FAILED}


def operation_actions(snapshot: PipelineSnapshot, now: Now) -> list[Action]:
    """Judge the open operation by the phase that is recorded."""
    operation = snapshot.operation
    if operation is None:
        return []
    if snapshot.observed_generation < operation.generation:
        return [_late(snapshot, operation)] if _expired(operation, now) else []
    if _succeeded(snapshot, operation):
        return [FinishOperation(operation.id, OperationState.SUCCEEDED, _WORDS[operation.kind])]
    if snapshot.run is None and snapshot.phase in _REFUSED and operation.kind not in ENDING_OPERATIONS:
        return [_refused(snapshot, operation)]
    if _expired(operation, now) and not _says_soon(snapshot):
        return [_late(snapshot, operation)]
    step = _step(snapshot, operation)
    return [AdvanceOperation(operation.id, step, _waits_for(snapshot))]


def _succeeded(snapshot: PipelineSnapshot, operation: OperationSnapshot) -> bool:
    if operation.kind in ENDING_OPERATIONS:
        return snapshot.phase is Phase.STOPPED and snapshot.run is None
    if operation.kind is OperationKind.PAUSE:
        return snapshot.phase is Phase.PAUSED and snapshot.run is not None and pause_proven(snapshot.run)
    return snapshot.phase in RUNNING_PHASES and snapshot.run is not None and not snapshot.restart_wanted


def _refused(snapshot: PipelineSnapshot, operation: OperationSnapshot) -> FinishOperation:
    first = snapshot.findings[0] if snapshot.findings else {}
    return _failed(operation, snapshot.phase_reason, snapshot.phase_message, str(first.get("suggestion", "")))


def _expired(operation: OperationSnapshot, now: Now) -> bool:
    return operation.expires is not None and now.boottime >= operation.expires


def _says_soon(snapshot: PipelineSnapshot) -> bool:
    """Whether a pause is under way, or another try of a start that has failed: it has a deadline of its own, and then
    says why."""
    tries_again = snapshot.phase is Phase.PREFLIGHT and snapshot.restart_count > 0 and snapshot.run is not None
    return snapshot.phase is Phase.PAUSING or tries_again


def _late(snapshot: PipelineSnapshot, operation: OperationSnapshot) -> FinishOperation:
    words = f"Timed out; the pipeline is {PHASES[snapshot.phase].label.lower()}: {snapshot.phase_message}"
    return _failed(operation, "deadline_passed", words, "Headgate keeps trying; see the pipeline and its log.")


def _failed(operation: OperationSnapshot, code: str, message: str, hint: str) -> FinishOperation:
    error = {"code": code, "message": message, "hint": hint}
    return FinishOperation(operation.id, OperationState.FAILED, message, error)


def _step(snapshot: PipelineSnapshot, operation: OperationSnapshot) -> str:
    """Names of `pipelines.domain.lifecycle.operations.STEPS`."""
    if operation.kind is OperationKind.FORCE_STOP:
        return "process_exit" if snapshot.phase is Phase.STOPPING else "requested"
    if operation.kind is OperationKind.STOP or (operation.kind is OperationKind.RESTART and snapshot.restart_wanted):
        return _stop_step(snapshot)
    if operation.kind is OperationKind.PAUSE:
        return "in_flight_batch" if snapshot.phase is Phase.PAUSING else "requested"
    if operation.kind is OperationKind.RESUME:
        return "first_batch_or_idle" if snapshot.phase is Phase.STARTING else "requested"
    return "starting" if snapshot.phase is Phase.STARTING else "preflight"


def _waits_for(snapshot: PipelineSnapshot) -> str:
    """What is seen; of a stop that was not obeyed also who is at work, and what ends it."""
    run = snapshot.run
    if run is None or not run.stopping or run.control is None or not run.interrupts:
        return snapshot.phase_message
    last = run.interrupts[-1]
    at_work = ", ".join(last.stuck) or "no component"
    if run.control.kill_at is None:
        end = "The process is not killed, since lifecycle.cancel_timeout is 0: wait, or force a stop."
    else:
        end = f"The process is killed {run.control.kill_at - run.control.issued_at:g} s after the stop request."
    return f"Interrupted {last.number} times; at work: {at_work}. {end}"


def _stop_step(snapshot: PipelineSnapshot) -> str:
    run = snapshot.run
    if snapshot.phase is Phase.PAUSING:
        return "draining"
    if snapshot.phase is not Phase.STOPPING or run is None:
        return "requested"
    ended = not run.driver_alive or (run.status is not None and run.status.phase in _ENDED_AGENT)
    return "process_exit" if ended else "draining"
