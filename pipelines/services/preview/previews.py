"""Previews are requested here and carried out by the worker of the pipeline's host."""

from __future__ import annotations

from typing import Any

from django.db import transaction

from pipelines.domain.definitions.document.spec import Definition
from pipelines.domain.preview.protocol import PreviewResult
from pipelines.domain.preview.selection import PreviewSelection
from pipelines.foundation import dispatch
from pipelines.foundation.errors import NotFound
from pipelines.models import Pipeline, Preview, PreviewDifference
from pipelines.services.base import audit, host_tasks
from pipelines.services.base.audit import Actor

SECONDS = 120.0
"""What one preview may take on its host."""
_ROWS = 100


@transaction.atomic
def request(
    *, pipeline: Pipeline, candidate: Definition, source: str, selection: PreviewSelection, actor: Actor
) -> Preview:
    """Ask for a comparison with the present revision. Raises NotFound without one, and as `host_tasks.asked`."""
    base = pipeline.current_revision
    if base is None:
        raise NotFound("The pipeline has no definition.", hint="Publish a revision.")
    preview = Preview.objects.create(
        **host_tasks.asked(Preview, pipeline, actor.name),
        base=base,
        candidate=candidate.plain(),
        digest=candidate.digest(),
        source=source,
        selection=selection.model_dump(mode="json"),
    )
    asked = {"preview": str(preview.pk), "base": base.number, "digest": preview.digest, "selection": preview.selection}
    audit.record(actor=actor, action="preview.requested", pipeline_name=pipeline.name, after=asked)
    dispatch.wake(pipeline.host_id)
    return preview


@transaction.atomic
def finish(*, preview: Preview, result: PreviewResult) -> bool:
    """Keep what it has found. False where somebody else has ended it."""
    if not host_tasks.finish(preview, result.model_dump(mode="json", exclude={"differences"})):
        return False
    rows = [
        PreviewDifference(
            preview=preview,
            number=number,
            kinds=_names(row.kinds),
            components=_names(row.components),
            shown=row.model_dump(mode="json"),
        )
        for number, row in enumerate(result.differences)
    ]
    PreviewDifference.objects.bulk_create(rows, batch_size=_ROWS)
    return True


def _names(names: list[Any]) -> str:
    return f" {' '.join(str(name).replace(' ', '_') for name in names)} "
