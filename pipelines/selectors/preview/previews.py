"""Previews, and the events that differ in them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any
from uuid import UUID

from django.db.models import QuerySet

from pipelines.domain.preview.comparing import DifferenceKind, Totals
from pipelines.domain.preview.protocol import CountRow, DifferenceRow, NotCompared, RangeRead, without_events
from pipelines.domain.preview.selection import PreviewSelection
from pipelines.models import Pipeline, Preview, PreviewDifference
from pipelines.selectors.base.host_tasks import HostTaskSchema, get_task, open_tasks, task_fields
from pipelines.selectors.base.schemas import Schema


class PreviewResultSchema(Schema):
    """What was read, and what becomes of it under the present revision (`before`) and under the definition (`after`).
    `size`: bytes of the bodies; `notes`: what of the selection was not read, and why; `differing`: events that differ,
    of which the first are listed; `components`: how many of those each changed component is a reason for. Of outcomes
    other than `delivered`, `component` is what decided it."""

    source: str
    records: int
    size: int
    ranges: list[RangeRead]
    notes: list[str]
    counts: list[CountRow]
    before: Totals | None = None
    after: Totals | None = None
    kinds: dict[DifferenceKind, int]
    components: dict[str, int]
    differing: int
    not_compared: NotCompared


class PreviewSchema(HostTaskSchema):
    """A preview: `base` is the number of the revision that the definition with this `digest` is compared with.
    `shows_records`: whether you may see what events hold."""

    pipeline: str
    base: int
    digest: str
    source: str
    selection: PreviewSelection
    shows_records: bool
    result: PreviewResultSchema | None


class DifferenceSchema(DifferenceRow, Schema):
    """An event that differs, with its number in the preview. What it holds is left out where you may not see it."""

    number: int


def open_previews(host: str) -> list[Preview]:
    """What the worker of a host has to make, oldest first."""
    rows = Preview.objects.filter(pipeline__host_id=host, pipeline__archived_at=None)
    return open_tasks(rows.select_related("pipeline", "base"))


def previews(pipeline: Pipeline) -> QuerySet[Preview]:
    """All of a pipeline that are kept."""
    return Preview.objects.filter(pipeline=pipeline).select_related("pipeline", "base")


def get_preview(pipeline: Pipeline, preview_id: UUID) -> Preview:
    """One of a pipeline; raises NotFound."""
    return get_task(previews(pipeline), preview_id)


def preview_schema(preview: Preview, *, shows_records: bool) -> PreviewSchema:
    """A preview as the API shows it."""
    return PreviewSchema(
        **task_fields(preview),
        pipeline=preview.pipeline.name,
        base=preview.base.number,
        digest=preview.digest,
        source=preview.source or (preview.result or {}).get("source", ""),
        selection=PreviewSelection.model_validate(preview.selection),
        shows_records=shows_records,
        result=PreviewResultSchema.model_validate(preview.result) if preview.result else None,
    )


def differences(preview: Preview, kind: DifferenceKind | None, component: str) -> QuerySet[PreviewDifference]:
    """Those of one kind, and those that one component is a reason for."""
    found = PreviewDifference.objects.filter(preview=preview)
    if kind is not None:
        found = found.filter(kinds__contains=f" {kind} ")
    return found.filter(components__contains=f" {component.replace(' ', '_')} ") if component else found


def difference_schemas(*, shows_records: bool) -> Callable[[Sequence[PreviewDifference]], list[DifferenceSchema]]:
    """What shows rows of `differences`."""

    def shown(row: PreviewDifference) -> dict[str, Any]:
        found = DifferenceRow.model_validate(row.shown)
        return (found if shows_records else without_events(found)).model_dump()

    return lambda rows: [DifferenceSchema(number=row.number, **shown(row)) for row in rows]
