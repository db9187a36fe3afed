"""Traces as the API shows them."""

from __future__ import annotations

from uuid import UUID

from django.db.models import QuerySet

from pipelines.domain.trace.protocol import TraceResult, without_events
from pipelines.domain.trace.question import TraceQuestion
from pipelines.models import Pipeline, RecordTrace
from pipelines.selectors.base.host_tasks import HostTaskSchema, get_task, open_tasks, task_fields


class TraceSchema(HostTaskSchema):
    """A trace of one record. `shows_records`: whether you may see what it holds."""

    pipeline: str
    question: TraceQuestion
    shows_records: bool
    result: TraceResult | None


def open_traces(host: str) -> list[RecordTrace]:
    """What the worker of a host has to make, oldest first."""
    rows = RecordTrace.objects.filter(pipeline__host_id=host, pipeline__archived_at=None)
    return open_tasks(rows.select_related("pipeline__current_revision"))


def traces(pipeline: Pipeline) -> QuerySet[RecordTrace]:
    """All of a pipeline that are kept."""
    return RecordTrace.objects.filter(pipeline=pipeline).select_related("pipeline")


def get_trace(pipeline: Pipeline, trace_id: UUID) -> RecordTrace:
    """One of a pipeline; raises NotFound."""
    return get_task(traces(pipeline), trace_id)


def trace_schema(trace: RecordTrace, *, shows_records: bool) -> TraceSchema:
    """A trace as the API shows it."""
    result = TraceResult.model_validate(trace.result) if trace.result else None
    question = TraceQuestion.model_validate(trace.question)
    return TraceSchema(
        **task_fields(trace),
        pipeline=trace.pipeline.name,
        question=question if shows_records else question.without_content(),
        shows_records=shows_records,
        result=result if shows_records or result is None else without_events(result),
    )
