"""Progress and end of operations, each write by compare-and-swap. The end has one event; progress has none, since the
changes of phase that it follows have theirs."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from uuid import UUID

from pipelines.domain.base.causes import sentences
from pipelines.domain.base.states import OPEN_OPERATION_STATES, SIDE_OPERATIONS, OperationKind, OperationState
from pipelines.domain.lifecycle.operations import StepState, closed, moved
from pipelines.models import Operation
from pipelines.services.base import events, tracing
from pipelines.services.base.fencing import fenced

_ENDS = {
    OperationState.SUCCEEDED: "succeeded",
    OperationState.FAILED: "failed",
    OperationState.CANCELLED: "was canceled",
    OperationState.SUPERSEDED: "was replaced",
}
OPEN = [state.value for state in OPEN_OPERATION_STATES]


@fenced
def advance(*, operation_id: UUID, step: str, state: StepState | str, message: str = "", now: datetime) -> bool:
    """Set the state of one step; steps before it are done. False where nothing changed or the operation is over.

    Raises KeyError for a step that this kind of operation does not have.
    """
    operation = _open(operation_id)
    if operation is None:
        return False
    steps = moved(operation.steps, step, StepState(state), message, now.isoformat())
    if steps == operation.steps:
        return False
    return bool(_swap(operation, message=message or operation.message, state=OperationState.RUNNING, steps=steps))


@fenced
def report(*, operation_id: UUID, progress: dict[str, Any]) -> bool:
    """Store figures of the step under way, without an event; False where nothing changed or the operation is over."""
    operation = _open(operation_id)
    if operation is None or operation.progress == progress:
        return False
    return bool(_swap(operation, progress=progress))


@fenced
def finish(
    *,
    operation_id: UUID,
    state: OperationState,
    now: datetime,
    message: str = "",
    error: dict[str, Any] | None = None,
    result: dict[str, Any] | None = None,
) -> bool:
    """End an operation; False where it is over. `error` has code, message and hint; `result` joins the progress."""
    operation = _open(operation_id)
    if operation is None:
        return False
    return _end(
        operation,
        message or (error or {}).get("message", ""),
        state=state,
        steps=closed(operation.steps, state == OperationState.SUCCEEDED, now.isoformat()),
        error=error,
        progress=operation.progress | (result or {}),
        ended_at=now,
    )


def expire(*, now: datetime) -> int:
    """End every operation whose deadline has passed as FAILED; returns their number. What is wanted stays wanted."""
    late = Operation.objects.filter(state__in=OPEN, deadline__lt=now).values_list("id", "kind")
    return sum(
        finish(operation_id=each, state=OperationState.FAILED, now=now, error=_late(OperationKind(kind)))
        for each, kind in list(late)
    )


def _late(kind: OperationKind) -> dict[str, Any]:
    hint = "The pipeline's status shows what it waits for; Headgate keeps trying."
    if kind in SIDE_OPERATIONS:
        hint = "Check that a worker of its host runs, then request it again; nothing has been lost."
    return {"code": "deadline_passed", "message": "The operation timed out.", "hint": hint}


def _open(operation_id: UUID) -> Operation | None:
    return Operation.objects.select_related("pipeline").filter(id=operation_id, state__in=OPEN).first()


def _swap(operation: Operation, **fields: Any) -> int:
    same = Operation.objects.filter(id=operation.id, version=operation.version, state__in=OPEN)
    return same.update(version=operation.version + 1, **fields)


def _end(operation: Operation, message: str, **fields: Any) -> bool:
    if not _swap(operation, message=message, **fields):
        return False
    if "ended_at" in fields:
        tracing.operation_ended(operation)
    steps = {step["name"]: step["state"] for step in fields["steps"]}
    events.record(
        kind="operation.updated",
        message=sentences(f"{operation.kind.capitalize()} {_ENDS[fields['state']]}", message),
        pipeline=operation.pipeline,
        actor=operation.created_by,
        data={"operation": str(operation.id), "kind": operation.kind, "state": fields["state"], "steps": steps},
    )
    return True
