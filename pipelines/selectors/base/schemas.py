"""What the answers of every room are made of. Times are UTC, rates are records per second; no field is missing."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field

from pipelines.domain.base.findings import Finding
from pipelines.domain.base.states import OperationKind, OperationState
from pipelines.domain.lifecycle.actions import Action, AllowedAction
from pipelines.domain.lifecycle.operations import StepState


class Schema(BaseModel):
    """An answer: immutable, and every field is always there."""

    model_config = ConfigDict(frozen=True)


class StepSchema(Schema):
    """One step of an operation."""

    name: str
    state: StepState
    started_at: datetime | None
    ended_at: datetime | None
    message: str


class OperationError(Schema):
    """Why an operation failed, and what to do."""

    code: str
    message: str
    hint: str = ""


class OperationSchema(Schema):
    """A request that takes time. `deadline`: when it times out; `trace_id`: its trace, which log lines name."""

    id: UUID
    trace_id: str
    pipeline: str
    kind: OperationKind
    state: OperationState
    steps: list[StepSchema]
    created_by: str
    created_at: datetime
    ended_at: datetime | None
    deadline: datetime | None
    message: str
    error: OperationError | None
    progress: dict[str, Any]


class Problem(Schema):
    """A failure, RFC 9457: `type` and `code` are stable, `detail` says what happened and `hint` what to do."""

    type: str = Field(examples=["urn:headgate:problem:conflict"])
    title: str
    status: int
    detail: str
    code: str
    hint: str
    findings: list[Finding]
    request_id: str
    allowed_actions: list[AllowedActionSchema] | None = Field(default=None, description="After a refused action.")


class AllowedActionSchema(Schema):
    """An action, why it is not allowed now, and what comes of it where that is more than its name says."""

    name: Action
    allowed: bool
    reason: str
    consequence: str


def allowed_action_schema(action: AllowedAction) -> AllowedActionSchema:
    """One action as the API shows it."""
    return AllowedActionSchema(
        name=action.name, allowed=action.allowed, reason=action.reason, consequence=action.consequence
    )
