"""Peeks as the API shows them."""

from __future__ import annotations

from uuid import UUID

from django.db.models import QuerySet

from pipelines.domain.peek.protocol import PeekResult
from pipelines.domain.peek.question import PeekQuestion
from pipelines.models import Peek, Pipeline
from pipelines.selectors.base.host_tasks import HostTaskSchema, get_task, open_tasks, task_fields


class PeekSchema(HostTaskSchema):
    """A peek at records of a topic."""

    pipeline: str
    question: PeekQuestion
    result: PeekResult | None


def open_peeks(host: str) -> list[Peek]:
    """What the worker of a host has to make, oldest first."""
    rows = Peek.objects.filter(pipeline__host_id=host, pipeline__archived_at=None)
    return open_tasks(rows.select_related("pipeline__current_revision"))


def peeks(pipeline: Pipeline, username: str) -> QuerySet[Peek]:
    """Those of a pipeline that one user has asked for: the audit says to whom records were shown."""
    return Peek.objects.filter(pipeline=pipeline, requested_by=username).select_related("pipeline")


def get_peek(pipeline: Pipeline, username: str, peek_id: UUID) -> Peek:
    """One of those; raises NotFound."""
    return get_task(peeks(pipeline, username), peek_id)


def peek_schema(peek: Peek) -> PeekSchema:
    """A peek as the API shows it."""
    return PeekSchema(
        **task_fields(peek),
        pipeline=peek.pipeline.name,
        question=PeekQuestion.model_validate(peek.question),
        result=PeekResult.model_validate(peek.result) if peek.result else None,
    )
