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
from workers.ports import Now
from workers.supervisor.decisions.actions import Action, AdvanceOperation, FinishOperation
from workers.supervisor.decisions.command import pause_proven
from workers.supervisor.decisions.view import OperationView, PipelineView

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


def operation_actions(view: PipelineView, now: Now) -> list[Action]:
    """Judge the open operation by the phase that is recorded."""
    operation = view.operation
    if operation is None:
        return []
    if view.observed_generation < operation.generation:
        return [_late(view, operation)] if _expired(operation, now) else []
    if _succeeded(view, operation):
        return [FinishOperation(operation.id, OperationState.SUCCEEDED, _WORDS[operation.kind])]
    if view.run is None and view.phase in _REFUSED and operation.kind not in ENDING_OPERATIONS:
        return [_refused(view, operation)]
    if _expired(operation, now) and view.phase is not Phase.PAUSING:
        return [_late(view, operation)]
    step = _step(view, operation)
    return [AdvanceOperation(operation.id, step, _waits_for(view))]


def _succeeded(view: PipelineView, operation: OperationView) -> bool:
    if operation.kind in ENDING_OPERATIONS:
        return view.phase is Phase.STOPPED and view.run is None
    if operation.kind is OperationKind.PAUSE:
        return view.phase is Phase.PAUSED and view.run is not None and pause_proven(view.run)
    return view.phase in RUNNING_PHASES and view.run is not None and not view.restart_wanted


def _refused(view: PipelineView, operation: OperationView) -> FinishOperation:
    first = view.findings[0] if view.findings else {}
    return _failed(operation, view.phase_reason, view.phase_message, str(first.get("suggestion", "")))


def _expired(operation: OperationView, now: Now) -> bool:
    """While a pause is under way it has a deadline of its own, which also takes it back."""
    return operation.expires is not None and now.boottime >= operation.expires


def _late(view: PipelineView, operation: OperationView) -> FinishOperation:
    words = f"Timed out; the pipeline is {view.phase.lower()}: {view.phase_message}"
    return _failed(operation, "deadline_passed", words, "Headgate keeps trying; see the pipeline and its log.")


def _failed(operation: OperationView, code: str, message: str, hint: str) -> FinishOperation:
    error = {"code": code, "message": message, "hint": hint}
    return FinishOperation(operation.id, OperationState.FAILED, message, error)


def _step(view: PipelineView, operation: OperationView) -> str:
    """Names of `pipelines.domain.lifecycle.operations.STEPS`."""
    if operation.kind is OperationKind.FORCE_STOP:
        return "process_exit" if view.phase is Phase.STOPPING else "requested"
    if operation.kind is OperationKind.STOP or (operation.kind is OperationKind.RESTART and view.restart_wanted):
        return _stop_step(view)
    if operation.kind is OperationKind.PAUSE:
        return "batch_in_hand" if view.phase is Phase.PAUSING else "requested"
    if operation.kind is OperationKind.RESUME:
        return "first_batch_or_idle" if view.phase is Phase.STARTING else "requested"
    return "starting" if view.phase is Phase.STARTING else "preflight"


def _waits_for(view: PipelineView) -> str:
    """What is seen; of a stop that was not obeyed also who is at work, and what ends it."""
    run = view.run
    if run is None or not run.stopping or run.control is None or not run.interrupts:
        return view.phase_message
    last = run.interrupts[-1]
    at_work = ", ".join(last.stuck) or "no component"
    if run.control.kill_at is None:
        end = "The process is not killed, since lifecycle.cancel_timeout is 0: wait, or force a stop."
    else:
        end = f"The process is killed {run.control.kill_at - run.control.issued_at:g} s after the stop request."
    return f"Interrupted {last.number} times; at work: {at_work}. {end}"


def _stop_step(view: PipelineView) -> str:
    run = view.run
    if view.phase is Phase.PAUSING:
        return "draining"
    if view.phase is not Phase.STOPPING or run is None:
        return "requested"
    ended = not run.driver_alive or (run.status is not None and run.status.phase in _ENDED_AGENT)
    return "process_exit" if ended else "draining"
