"""Previews: what a definition would make of real records, beside what the present revision makes of them.

The worker of the pipeline's host makes them; nothing is committed and nothing delivered.
"""

from __future__ import annotations

from typing import Any, Self
from uuid import UUID

from drf_spectacular.utils import extend_schema
from pydantic import Field, model_validator
from rest_framework.request import Request
from rest_framework.response import Response

from pipelines.api.definitions.revisions import get_revision, publishable
from pipelines.api.http.base import PipelineView, answer, idempotent
from pipelines.api.http.paging import Page, PageQuery, each, page
from pipelines.api.http.requests import RevisionBody, Shape, Text
from pipelines.domain.definitions.document.spec import Definition
from pipelines.domain.preview.comparing import DifferenceKind
from pipelines.domain.preview.selection import PreviewSelection
from pipelines.foundation.errors import Invalid
from pipelines.models import Preview
from pipelines.selectors.preview.previews import (
    DifferenceSchema,
    PreviewSchema,
    difference_schemas,
    differences,
    get_preview,
    preview_schema,
    previews,
)
from pipelines.services.definitions.definitions import invalid
from pipelines.services.definitions.revisions import renamed
from pipelines.services.preview import previews as service


class PreviewBody(Shape):
    """A `definition`, as an object or as YAML or JSON text, or the number of a `revision`; which records to read, and
    of which `source` where there are several."""

    definition: dict[str, Any] | str | None = None
    revision: int | None = Field(default=None, ge=1)
    source: Text = Field(default="", max_length=63)
    selection: PreviewSelection

    @model_validator(mode="after")
    def _one_candidate(self) -> Self:
        if (self.definition is None) == (self.revision is None):
            raise ValueError("give either definition or revision")
        return self


class DifferencesQuery(PageQuery):
    """Which differences."""

    kind: DifferenceKind | None = None
    component: str = Field(default="", max_length=200)


class PreviewView(PipelineView):
    """Previews of one pipeline."""

    def shown(self, preview: Preview) -> PreviewSchema:
        """A preview for the caller."""
        return preview_schema(preview, shows_records=self.shows_records)


class PreviewList(PreviewView):
    """The previews of a pipeline."""

    costs = {"POST": 10}
    queries = {"GET": PageQuery}

    @extend_schema(operation_id="list_previews", responses=Page[PreviewSchema])
    def get(self, request: Request, name: str) -> Response:
        """List the previews that are kept, newest first."""
        return page(previews(self.pipeline), ["-requested_at", "-id"], self.query(PageQuery), each(self.shown))

    @extend_schema(operation_id="create_preview", request=PreviewBody, responses={202: PreviewSchema})
    @idempotent
    def post(self, request: Request, name: str) -> Response:
        """Compare a definition with the present revision on real records. They are read beside the pipeline; nothing is
        committed and nothing delivered. The address of the preview is in Location."""
        body = self.body(PreviewBody)
        preview = service.request(
            pipeline=self.pipeline,
            candidate=self._candidate(body),
            source=body.source,
            selection=body.selection,
            actor=self.actor,
        )
        return answer(self.shown(preview), 202, Location=f"/api/v1/pipelines/{name}/previews/{preview.pk}")

    def _candidate(self, body: PreviewBody) -> Definition:
        """What the caller could publish. Raises Invalid or Forbidden."""
        plain = body.definition if body.revision is None else get_revision(self.pipeline, body.revision).definition
        if plain is None:
            raise Invalid("There is no definition.", code="body_invalid")
        found = publishable(self, RevisionBody(definition=plain))
        if found.name != self.pipeline.name:
            raise invalid([renamed(self.pipeline, found)])
        return found


class PreviewDetail(PreviewView):
    """One preview."""

    @extend_schema(operation_id="get_preview", responses=PreviewSchema)
    def get(self, request: Request, name: str, preview_id: UUID) -> Response:
        """Show a preview: counts by outcome and component under both revisions. `state` is PENDING or RUNNING until it
        is made."""
        return answer(self.shown(get_preview(self.pipeline, preview_id)))


class PreviewDifferences(PreviewView):
    """The events that differ."""

    queries = {"GET": DifferencesQuery}

    @extend_schema(operation_id="list_preview_differences", responses=Page[DifferenceSchema])
    def get(self, request: Request, name: str, preview_id: UUID) -> Response:
        """List the events that differ by their place in the log, with what both revisions make of them. What an event
        holds is there for those who may see records."""
        query = self.query(DifferencesQuery)
        rows = differences(get_preview(self.pipeline, preview_id), query.kind, query.component)
        return page(rows, ["number"], query, difference_schemas(shows_records=self.shows_records))
