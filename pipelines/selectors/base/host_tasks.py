"""Tasks of hosts, whatever kind they are of, as selectors find and show them."""

from __future__ import annotations

from datetime import datetime
from typing import Any, TypeVar
from uuid import UUID

from django.db.models import QuerySet

from pipelines.domain.base.findings import Finding
from pipelines.domain.base.states import HostTaskState
from pipelines.foundation import clock
from pipelines.foundation.errors import NotFound
from pipelines.models.host_task import IS_OPEN, HostTask
from pipelines.selectors.base.schemas import Schema

MOST_OPEN = 20

TaskT = TypeVar("TaskT", bound=HostTask)


class HostTaskErrorSchema(Schema):
    """Why a preview, a trace or a run of tests could not be made. `findings`: where the definition is the reason."""

    code: str
    message: str
    hint: str = ""
    findings: list[Finding] = []


class HostTaskSchema(Schema):
    """What a host is asked to make once: `error` says why it could not be made."""

    id: UUID
    state: HostTaskState
    requested_by: str
    requested_at: datetime
    started_at: datetime | None
    ended_at: datetime | None
    expires_at: datetime
    error: HostTaskErrorSchema | None


def task_fields(task: HostTask) -> dict[str, Any]:
    """The fields of `HostTaskSchema`."""
    return {
        "id": task.pk,
        "state": HostTaskState(task.state),
        "requested_by": task.requested_by,
        "requested_at": task.requested_at,
        "started_at": task.started_at,
        "ended_at": task.ended_at,
        "expires_at": task.expires_at,
        "error": HostTaskErrorSchema.model_validate(task.error) if task.error else None,
    }


def open_tasks(rows: QuerySet[TaskT]) -> list[TaskT]:
    """Those of the rows that are to be made, oldest first."""
    return list(rows.filter(IS_OPEN, deadline__gt=clock.now()).order_by("requested_at")[:MOST_OPEN])


def get_task(rows: QuerySet[TaskT], task_id: UUID) -> TaskT:
    """One of the rows; raises NotFound."""
    found = rows.filter(pk=task_id).first()
    if found is None:
        noun = rows.model.NOUN
        hint = "It does not exist or has expired; request it again."
        raise NotFound(f"There is no such {noun}.", code=f"{noun}_not_found", hint=hint)
    return found
