"""Peeks are requested here and carried out by the worker of the pipeline's host."""

from __future__ import annotations

from datetime import timedelta

from django.db import transaction

from pipelines.domain.definitions.document.spec import Definition
from pipelines.domain.peek.protocol import PeekResult
from pipelines.domain.peek.question import PeekQuestion
from pipelines.domain.peek.subjects import NoSubject, require
from pipelines.foundation import clock, dispatch
from pipelines.foundation.errors import Conflict, Invalid, NotFound
from pipelines.models import Peek, Pipeline
from pipelines.services.base import audit, host_tasks
from pipelines.services.base.audit import Actor

SECONDS = 30.0
"""What a peek at a topic may take on its host."""
SAMPLE_SECONDS = 60.0
"""The same for one that runs records through components, in a session that may have to start."""
KEPT_FOR = timedelta(hours=1)
"""What records hold is kept no longer than somebody looks at it."""


@transaction.atomic
def request(*, pipeline: Pipeline, question: PeekQuestion, actor: Actor) -> Peek:
    """Ask for records of what a component reads or writes. Raises NotFound without a definition, Invalid for what the
    definition does not have, and as `host_tasks.asked`."""
    if pipeline.current_revision is None:
        raise NotFound("The pipeline has no definition.", hint="Publish a revision.")
    try:
        require(Definition.model_validate(pipeline.current_revision.definition), question)
    except NoSubject as error:
        raise Invalid(str(error), code="no_such_topic", hint="Name what the pipeline reads or writes.") from None
    fields = {**host_tasks.asked(Peek, pipeline, actor.name), "expires_at": clock.now() + KEPT_FOR}
    peek = Peek.objects.create(**fields, question=question.model_dump(mode="json"))
    asked = question.without_content().model_dump(mode="json", exclude_none=True)
    after = {"peek": str(peek.pk), "question": asked}
    audit.record(actor=actor, action="peek.requested", pipeline_name=pipeline.name, after=after)
    dispatch.wake(pipeline.host_id)
    return peek


@transaction.atomic
def finish(*, peek: Peek, result: PeekResult) -> bool:
    """Keep what was found, and record which records are shown to whom. False where somebody else has ended it."""
    if not host_tasks.finish(peek, result.model_dump(mode="json")):
        return False
    ranges = [f"{each.topic}/{each.partition}:{each.since}-{each.until}" for each in result.partitions if each.shown]
    shown = {"peek": str(peek.pk), "records": len(result.records), "ranges": ranges}
    actor = Actor(peek.requested_by)
    audit.record(actor=actor, action="peek.shown", pipeline_name=peek.pipeline.name, after=shown)
    return True


@transaction.atomic
def cancel(*, peek: Peek, actor: Actor) -> None:
    """Have the host end it. Raises Conflict where it has ended."""
    words = {"code": "peek_cancelled", "message": "The peek was cancelled.", "hint": "Request it again."}
    if not host_tasks.cancel(peek, words):
        raise Conflict("The peek has ended already.", code="peek_ended")
    audit.record(actor=actor, action="peek.cancelled", pipeline_name=peek.pipeline.name, after={"peek": str(peek.pk)})
