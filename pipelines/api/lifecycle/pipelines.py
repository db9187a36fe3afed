"""Pipelines and what is known of them."""

from __future__ import annotations

from collections.abc import Collection
from functools import cached_property
from typing import Any
from uuid import UUID

from django.db.models import Q, QuerySet
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from pipelines.api.access.rights import require_rights
from pipelines.api.http.base import (
    PipelineView,
    StrictJSONParser,
    TeamView,
    View,
    YAMLTextParser,
    answer,
    expected_version,
    idempotent,
)
from pipelines.api.http.openapi import IF_MATCH, OPTIONAL_IF_MATCH
from pipelines.api.http.paging import Page, PageQuery, each, page
from pipelines.api.http.permissions import needed_role
from pipelines.api.http.rate_limits import one_of_few
from pipelines.api.http.requests import (
    ConfirmQuery,
    DefinitionBody,
    DetailsBody,
    PipelineBody,
    PipelinesQuery,
    SeriesQuery,
    TeamNameBody,
)
from pipelines.domain.access.uses import reach_findings
from pipelines.domain.base.findings import Finding, listed
from pipelines.domain.base.roles import Role
from pipelines.domain.definitions.checks.validate import Validation, validate_data, validate_text
from pipelines.domain.definitions.document.guarantees import guarantees
from pipelines.domain.definitions.document.text import load
from pipelines.foundation.errors import Invalid
from pipelines.models import DEFAULT_TEAM, Pipeline, Team
from pipelines.selectors.access import reach, secrets
from pipelines.selectors.access.clusters import placed
from pipelines.selectors.access.teams import get_team, teams_with
from pipelines.selectors.base.labels import with_label
from pipelines.selectors.base.visible import visible
from pipelines.selectors.ledger import ledger
from pipelines.selectors.ledger.schemas import SeriesSchema
from pipelines.selectors.lifecycle.pipelines import (
    archived,
    archived_schema,
    detail_schema,
    etag,
    get_archived,
    get_pipeline,
    listed_pipelines,
    pipeline_schemas,
    pipelines,
    status_schema,
)
from pipelines.selectors.lifecycle.schemas import (
    ArchivedPipelineSchema,
    CreatedPipelineSchema,
    PipelineDetailSchema,
    PipelineSchema,
    StatusSchema,
    ValidationSchema,
)
from pipelines.selectors.preview.testing import run_findings
from pipelines.services.definitions import definitions
from pipelines.services.ledger import archive


def validated(definition: dict[str, Any] | str, teams: Collection[int] | None) -> Validation:
    """Validate a definition in whichever form it was sent, that it reaches what is allowed alone, that its secrets go
    where they may, and that the cluster that it names is there. `teams`: those whose rules and clusters count; None for
    all."""
    found = placed(validate_text(definition) if isinstance(definition, str) else validate_data(definition), teams)
    if found.definition is None:
        return found
    more = [
        *reach_findings(found.definition, reach.policy(teams)),
        *secrets.definition_findings(found.definition, teams),
    ]
    refused = any(each.is_error for each in more)
    return Validation(None if refused else found.definition, sorted([*found.findings, *more], key=_place))


def checked(definition: dict[str, Any] | str, teams: Collection[int] | None) -> Validation:
    """As `validated`, with what the last run of the tests says of it; Spark's findings in the SQL are errors."""
    found = validated(definition, teams)
    more = run_findings(found.definition, teams) if found.definition else []
    if more and isinstance(definition, str):
        more = [*map(load(definition).located, more)]
    refused = any(each.is_error for each in more)
    return Validation(None if refused else found.definition, sorted([*found.findings, *more], key=_place))


def _place(finding: Finding) -> tuple[str, str]:
    return finding.path, finding.code


class PipelineList(View):
    """All pipelines."""

    parser_classes = [StrictJSONParser, YAMLTextParser]
    queries = {"GET": PipelinesQuery}

    @extend_schema(
        operation_id="list_pipelines",
        responses=Page[PipelineSchema],
    )
    def get(self, request: Request) -> Response:
        """List pipelines by name."""
        query = self.query(PipelinesQuery)
        found = listed_pipelines(matching(visible(pipelines(), self.access), query))
        return page(found, ["name"], query, lambda rows: pipeline_schemas(rows, self.access))

    @extend_schema(
        operation_id="create_pipeline",
        request={"application/json": PipelineBody, "application/yaml": str},
        responses={201: CreatedPipelineSchema},
    )
    @idempotent
    def post(self, request: Request) -> Response:
        """Create a pipeline of a team, stopped, from its definition. 422 lists every finding; `warnings` has SQL that
        Spark has not checked."""
        body = self.body(PipelineBody)
        team = owner_of_new(self, body.team)
        role = self.require(team.pk)
        validation = checked(body.definition, [team.pk])
        if validation.definition is None:
            raise definitions.invalid(validation.findings)
        require_rights(role, validation.definition.plain())
        text = body.definition if isinstance(body.definition, str) else ""
        definitions.create(definition=validation.definition, text=text, note=body.note, team=team, actor=self.actor)
        pipeline = get_pipeline(validation.definition.name)
        location = f"/api/v1/pipelines/{pipeline.name}"
        warnings = run_findings(validation.definition, [team.pk])
        made = CreatedPipelineSchema(**detail_schema(pipeline, self.access).model_dump(), warnings=warnings)
        return answer(made, 201, Location=location, ETag=etag(pipeline))


def owner_of_new(view: View, name: str | None) -> Team:
    """The team of a new pipeline; raises Invalid where it has to be named, and NotFound."""
    if name is not None:
        return get_team(name, view.access)
    possible = teams_with(view.access, needed_role(view, "POST"))
    only = possible[:1] if len(possible) == 1 else [each for each in possible if each.name == DEFAULT_TEAM]
    if only:
        return only[0]
    words = f"You are an operator in several teams: {listed(each.name for each in possible)}."
    finding = Finding(path="team", code="team_missing", message=words, suggestion="Name the one that owns it.")
    raise Invalid("The pipeline needs a team.", code="team_missing", findings=[finding])


def matching(found: QuerySet[Pipeline], query: PipelinesQuery) -> QuerySet[Pipeline]:
    """The pipelines that a query asks for."""
    if query.phase is not None:
        found = found.filter(phase=query.phase)
    if query.team:
        found = found.filter(team__name=query.team)
    if query.host:
        found = found.filter(host=query.host)
    if query.q:
        found = found.filter(Q(name__icontains=query.q) | Q(description__icontains=query.q))
    return with_label(found, query.label) if query.label else found


class PipelineDetail(PipelineView):
    """One pipeline."""

    reauthenticate = frozenset({"DELETE"})

    @extend_schema(operation_id="get_pipeline", responses=PipelineDetailSchema)
    def get(self, request: Request, name: str) -> Response:
        """Show a pipeline with its definition."""
        return answer(detail_schema(self.pipeline, self.access), ETag=etag(self.pipeline))

    @extend_schema(
        operation_id="update_pipeline",
        parameters=[IF_MATCH],
        request=DetailsBody,
        responses=PipelineDetailSchema,
    )
    def patch(self, request: Request, name: str) -> Response:
        """Change description or labels. If-Match is required. 403 where labels would lift approvals or a freeze, which
        administrators set."""
        version = expected_version(request, required=True)
        body = self.body(DetailsBody)
        definitions.update_details(
            pipeline=self.pipeline,
            version=self.pipeline.version if version is None else version,
            description=body.description,
            labels=body.labels,
            actor=self.actor,
        )
        changed = get_pipeline(name)
        return answer(detail_schema(changed, self.access), ETag=etag(changed))

    @extend_schema(operation_id="delete_pipeline", parameters=[OPTIONAL_IF_MATCH], responses={204: None})
    def delete(self, request: Request, name: str) -> Response:
        """Delete a stopped pipeline: its ledger is kept, its name is free again."""
        version = expected_version(request, required=False)
        archive.archive(pipeline=self.pipeline, version=version, actor=self.actor)
        return Response(status=204)


class PipelineTeam(PipelineView):
    """The team that owns a pipeline."""

    roles = {"POST": Role.ADMIN}
    reauthenticate = frozenset({"POST"})

    @extend_schema(operation_id="move_pipeline", request=TeamNameBody, responses=PipelineDetailSchema)
    @idempotent
    def post(self, request: Request, name: str) -> Response:
        """Move a pipeline to another team. You have to be an administrator of both."""
        team = get_team(self.body(TeamNameBody).team, self.access)
        self.require(team.pk)
        definitions.move(pipeline=self.pipeline, team=team, actor=self.actor)
        moved = get_pipeline(name)
        return answer(detail_schema(moved, self.access), ETag=etag(moved))


class PipelineStatus(PipelineView):
    """What is known of a pipeline now."""

    @extend_schema(operation_id="get_pipeline_status", responses=StatusSchema)
    def get(self, request: Request, name: str) -> Response:
        """Show phase, conditions, run, queries, components and findings."""
        return answer(status_schema(self.pipeline, self.access))


class PipelineSeries(PipelineView):
    """Rate and lag over time."""

    queries = {"GET": SeriesQuery}

    @extend_schema(operation_id="get_pipeline_series", responses=SeriesSchema)
    def get(self, request: Request, name: str) -> Response:
        """Show rate and lag of the last minutes."""
        return answer(ledger.series_schema(self.pipeline, self.query(SeriesQuery).minutes))


class Validate(View):
    """Definitions that are not stored."""

    reading = frozenset({"POST"})
    costs = {"POST": 5}

    parser_classes = [StrictJSONParser, YAMLTextParser]

    @extend_schema(
        operation_id="validate_definition",
        request={"application/json": DefinitionBody, "application/yaml": str},
        responses=ValidationSchema,
    )
    def post(self, request: Request) -> Response:
        """Validate a definition; every finding at once, and nothing is stored."""
        with one_of_few(request):
            validation = checked(self.body(DefinitionBody).definition, self.access.teams_with(Role.OPERATOR))
        definition = validation.definition
        return answer(
            ValidationSchema(
                valid=validation.valid,
                findings=validation.findings,
                definition=definition.plain() if definition else None,
                digest=definition.digest() if definition else None,
                guarantees=guarantees(definition) if definition else [],
            )
        )


class ArchivedPipelineList(View):
    """Deleted pipelines."""

    queries = {"GET": PageQuery}

    @extend_schema(
        operation_id="list_archived_pipelines",
        responses=Page[ArchivedPipelineSchema],
    )
    def get(self, request: Request) -> Response:
        """List deleted pipelines, newest first."""
        return page(archived(self.access), ["-archived_at", "-id"], self.query(PageQuery), each(archived_schema))


class ArchivedPipelineDetail(TeamView):
    """One deleted pipeline."""

    queries = {"DELETE": ConfirmQuery}
    reauthenticate = frozenset({"DELETE"})

    @property
    def owner(self) -> int | None:
        """Its team."""
        return self.pipeline.team_id

    @cached_property
    def pipeline(self) -> Pipeline:
        """The deleted pipeline that the address names; raises NotFound."""
        return get_archived(self.kwargs["pipeline_id"], self.access)

    @extend_schema(operation_id="purge_pipeline", responses={204: None})
    def delete(self, request: Request, pipeline_id: UUID) -> Response:
        """Remove a deleted pipeline with its ledger permanently; `confirm` repeats its name."""
        archive.purge(pipeline=self.pipeline, confirm=self.query(ConfirmQuery).confirm, actor=self.actor)
        return Response(status=204)
