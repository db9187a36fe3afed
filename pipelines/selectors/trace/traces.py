"""Traces as the API shows them."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from django.db.models import QuerySet

from pipelines.domain.base.states import OPEN_HOST_TASK_STATES, HostTaskState
from pipelines.domain.trace.protocol import TraceResult, without_events
from pipelines.domain.trace.question import TraceQuestion
from pipelines.foundation import clock
from pipelines.foundation.errors import NotFound
from pipelines.models import Pipeline, RecordTrace
from pipelines.selectors.base.schemas import HostTaskErrorSchema, Schema


class TraceSchema(Schema):
    """A trace of one record. `shows_records`: whether you may see what it holds."""

    id: UUID
    pipeline: str
    question: TraceQuestion
    state: HostTaskState
    requested_by: str
    requested_at: datetime
    started_at: datetime | None
    ended_at: datetime | None
    expires_at: datetime
    shows_records: bool
    result: TraceResult | None
    error: HostTaskErrorSchema | None


def open_traces(host: str) -> list[RecordTrace]:
    """What the worker of a host has to make, oldest first."""
    found = RecordTrace.objects.filter(
        state__in=OPEN_HOST_TASK_STATES, pipeline__host_id=host, deadline__gt=clock.now(), pipeline__archived_at=None
    )
    return list(found.select_related("pipeline__current_revision").order_by("requested_at")[:20])


def traces(pipeline: Pipeline) -> QuerySet[RecordTrace]:
    """All of a pipeline that are kept."""
    return RecordTrace.objects.filter(pipeline=pipeline).select_related("pipeline")


def get_trace(pipeline: Pipeline, trace_id: UUID) -> RecordTrace:
    """One of a pipeline; raises NotFound."""
    found = traces(pipeline).filter(pk=trace_id).first()
    if found is None:
        hint = "It does not exist or has expired; request it again."
        raise NotFound("There is no such trace.", code="trace_not_found", hint=hint)
    return found


def trace_schema(trace: RecordTrace, *, shows_records: bool) -> TraceSchema:
    """A trace as the API shows it."""
    result = TraceResult.model_validate(trace.result) if trace.result else None
    question = TraceQuestion.model_validate(trace.question)
    return TraceSchema(
        id=trace.pk,
        pipeline=trace.pipeline.name,
        question=question if shows_records else question.without_content(),
        state=HostTaskState(trace.state),
        requested_by=trace.requested_by,
        requested_at=trace.requested_at,
        started_at=trace.started_at,
        ended_at=trace.ended_at,
        expires_at=trace.expires_at,
        shows_records=shows_records,
        result=result if shows_records or result is None else without_events(result),
        error=HostTaskErrorSchema.model_validate(trace.error) if trace.error else None,
    )
