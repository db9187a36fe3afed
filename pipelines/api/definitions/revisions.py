"""Revisions of a pipeline's definition."""

from __future__ import annotations

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from pipelines.api.access.rights import require_rights
from pipelines.api.http.base import PipelineView, StrictJSONParser, YAMLTextParser, answer, expected_version, idempotent
from pipelines.api.http.openapi import OPTIONAL_IF_MATCH
from pipelines.api.http.paging import Page, PageQuery, each, page
from pipelines.api.http.rate_limits import one_of_few
from pipelines.api.http.requests import DefinitionBody, DiffQuery, RevisionBody
from pipelines.api.lifecycle.pipelines import checked, validated
from pipelines.domain.definitions.checks.validate import validate_data
from pipelines.domain.definitions.document.consequences import evaluate, heaviest
from pipelines.domain.definitions.document.diff import diff
from pipelines.domain.definitions.document.source_text import source_text
from pipelines.domain.definitions.document.spec import Definition
from pipelines.foundation.errors import NotFound
from pipelines.models import Pipeline, Revision
from pipelines.selectors.lifecycle.pipelines import etag, get_pipeline
from pipelines.selectors.lifecycle.schemas import (
    ChangeSchema,
    DefinitionDiffSchema,
    DiffSchema,
    PublishedRevisionSchema,
    RevisionDetailSchema,
    RevisionSchema,
)
from pipelines.selectors.preview.testing import run_findings
from pipelines.services.base.audit import Actor
from pipelines.services.definitions import definitions, revisions
from pipelines.services.governance import governing


def revision_schema(revision: Revision) -> RevisionSchema:
    """One revision as the API shows it."""
    return RevisionSchema(
        number=revision.number,
        digest=revision.digest,
        created_at=revision.created_at,
        created_by=revision.created_by,
        note=revision.note,
        definition=revision.definition,
    )


def detail_schema(revision: Revision) -> RevisionDetailSchema:
    """The same with the text that it was written as, or a rendering."""
    found = source_text(revision.definition, revision.source_text)
    facts = revision_schema(revision).model_dump()
    return RevisionDetailSchema(**facts, definition_yaml=found.text, as_written=found.as_written)


def get_revision(pipeline: Pipeline, number: int) -> Revision:
    """One revision of a pipeline; raises NotFound."""
    revision = Revision.objects.filter(pipeline=pipeline, number=number).first()
    if revision is None:
        raise NotFound(f"{pipeline.name} has no revision {number}.", code="revision_not_found")
    return revision


def publishable(view: PipelineView, body: RevisionBody) -> Definition:
    """The definition, valid and one that the caller may publish. Raises Invalid with every finding, or Forbidden."""
    validation = checked(body.definition, [view.pipeline.team_id])
    if validation.definition is None:
        raise definitions.invalid(validation.findings)
    require_rights(view.role, validation.definition.plain())
    governing.require_labels(pipeline=view.pipeline, labels=validation.definition.labels, actor=view.actor)
    return validation.definition


def publish(
    view: PipelineView, body: RevisionBody, actor: Actor, *, version: int | None = None
) -> tuple[Revision, bool]:
    """Publish what the body has; returns the revision and whether it is new."""
    return revisions.publish(
        pipeline=view.pipeline,
        definition=publishable(view, body),
        text=body.definition if isinstance(body.definition, str) else "",
        note=body.note,
        actor=actor,
        version=version,
    )


class RevisionList(PipelineView):
    """The revisions of a pipeline."""

    parser_classes = [StrictJSONParser, YAMLTextParser]
    queries = {"GET": PageQuery}

    @extend_schema(operation_id="list_revisions", responses=Page[RevisionSchema])
    def get(self, request: Request, name: str) -> Response:
        """List revisions, newest first."""
        rows = Revision.objects.filter(pipeline=self.pipeline).defer("source_text")
        return page(rows, ["-number"], self.query(PageQuery), each(revision_schema))

    @extend_schema(
        operation_id="create_revision",
        parameters=[OPTIONAL_IF_MATCH],
        request={"application/json": RevisionBody, "application/yaml": str},
        responses={201: PublishedRevisionSchema, 200: PublishedRevisionSchema},
    )
    @idempotent
    def post(self, request: Request, name: str) -> Response:
        """Publish a revision of a stopped pipeline. 200: this is the present definition already; another text of it is
        kept. `warnings` has SQL that Spark has not checked."""
        version = expected_version(request, required=False)
        body = self.body(RevisionBody)
        revision, new = publish(self, body, self.actor, version=version)
        location = f"/api/v1/pipelines/{name}/revisions/{revision.number}"
        tag = etag(get_pipeline(name))
        warnings = run_findings(Definition.model_validate(revision.definition), [self.pipeline.team_id])
        made = PublishedRevisionSchema(**detail_schema(revision).model_dump(), warnings=warnings)
        return answer(made, 201 if new else 200, Location=location, ETag=tag)


class RevisionDetail(PipelineView):
    """One revision."""

    @extend_schema(operation_id="get_revision", responses=RevisionDetailSchema)
    def get(self, request: Request, name: str, number: int) -> Response:
        """Show a revision with its text."""
        return answer(detail_schema(get_revision(self.pipeline, number)))


class RevisionDiff(PipelineView):
    """What a revision changed."""

    queries = {"GET": DiffQuery}

    @extend_schema(operation_id="diff_revisions", responses=DiffSchema)
    def get(self, request: Request, name: str, number: int) -> Response:
        """Compare a revision with another one, or with the one before."""
        against = self.query(DiffQuery).against or max(1, number - 1)
        new, old = get_revision(self.pipeline, number), get_revision(self.pipeline, against)
        changes = [
            ChangeSchema(path=each.path, op=each.op, old=each.old, new=each.new)
            for each in diff(old.definition, new.definition)
        ]
        return answer(DiffSchema(from_=against, to=number, changes=changes))


class DefinitionDiff(PipelineView):
    """What a definition that is not stored would change."""

    reading = frozenset({"POST"})
    costs = {"POST": 5}
    parser_classes = [StrictJSONParser, YAMLTextParser]

    @extend_schema(
        operation_id="diff_definition",
        request={"application/json": DefinitionBody, "application/yaml": str},
        responses=DefinitionDiffSchema,
    )
    def post(self, request: Request, name: str) -> Response:
        """Compare a definition with the current revision: what changes, and what each change means for the pipeline."""
        with one_of_few(request):
            validation = validated(self.body(DefinitionBody).definition, [self.pipeline.team_id])
        if validation.definition is None:
            raise definitions.invalid(validation.findings)
        new, current = validation.definition, self.pipeline.current_revision
        old = current.definition if current else {}
        changes = evaluate(diff(old, new), validate_data(old).definition, new)
        return answer(
            DefinitionDiffSchema(
                revision=current.number if current else None,
                changes=changes,
                consequence=heaviest(each.consequence for each in changes) if changes else None,
            )
        )
