"""Reading operations."""

from __future__ import annotations

from uuid import UUID

from django.db.models import QuerySet

from pipelines.domain.access.teams import Access
from pipelines.domain.base.states import OperationKind, OperationState
from pipelines.foundation.errors import NotFound
from pipelines.models import Operation
from pipelines.selectors.base.schemas import OperationError, OperationSchema, StepSchema
from pipelines.selectors.base.visible import visible


def operations(access: Access, *, pipeline: str | None = None) -> QuerySet[Operation]:
    """Operations, of one pipeline's name or all that a user may see, with what their views need."""
    found = visible(Operation.objects.select_related("pipeline"), access, "pipeline__team")
    return found.filter(pipeline__name=pipeline) if pipeline else found


def get_operation(operation_id: UUID, access: Access) -> Operation:
    """One operation; raises NotFound."""
    operation = operations(access).filter(id=operation_id).first()
    if operation is None:
        raise NotFound("There is no such operation.", code="operation_not_found")
    return operation


def operation_schema(operation: Operation) -> OperationSchema:
    """One operation as the API shows it."""
    return OperationSchema(
        id=operation.id,
        trace_id=operation.trace.trace_id,
        pipeline=operation.pipeline.name,
        kind=OperationKind(operation.kind),
        state=OperationState(operation.state),
        steps=[StepSchema(**step) for step in operation.steps],
        created_by=operation.created_by,
        created_at=operation.created_at,
        ended_at=operation.ended_at,
        deadline=operation.deadline,
        message=operation.message,
        error=_error(operation.error),
        progress=operation.progress,
    )


def _error(error: dict[str, str] | None) -> OperationError | None:
    if error is None:
        return None
    return OperationError(code=error["code"], message=error["message"], hint=error.get("hint", ""))
