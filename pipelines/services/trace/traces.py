"""Traces are requested here and carried out by the worker of the pipeline's host."""

from __future__ import annotations

from django.db import transaction

from pipelines.domain.trace.question import TraceQuestion
from pipelines.foundation import dispatch
from pipelines.foundation.errors import NotFound
from pipelines.models import Pipeline, RecordTrace
from pipelines.services.base import audit, host_tasks
from pipelines.services.base.audit import Actor

SECONDS = 30.0
"""What one trace may take on its host."""


@transaction.atomic
def request(*, pipeline: Pipeline, question: TraceQuestion, actor: Actor) -> RecordTrace:
    """Ask where a record went. Raises NotFound without a definition, and as `host_tasks.asked`."""
    if pipeline.current_revision is None:
        raise NotFound("The pipeline has no definition.", hint="Publish a revision.")
    asked = question.model_dump(mode="json")
    trace = RecordTrace.objects.create(**host_tasks.asked(RecordTrace, pipeline, actor.name), question=asked)
    after = {"trace": str(trace.pk), "question": question.without_content().model_dump(mode="json", exclude_none=True)}
    audit.record(actor=actor, action="trace.requested", pipeline_name=pipeline.name, after=after)
    dispatch.wake(pipeline.host_id)
    return trace
