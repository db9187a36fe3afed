"""Migrations: planned, approved, begun, watched, given up, taken back; and their evidence."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from functools import cached_property
from typing import Annotated, Any
from uuid import UUID

from django.conf import settings
from django.http import HttpResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiResponse, extend_schema
from pydantic import BaseModel, Field, StringConstraints
from rest_framework.request import Request
from rest_framework.response import Response

from pipelines.api.access.rights import require_approver, require_rights
from pipelines.api.http.base import TeamView, View, answer, idempotent
from pipelines.api.http.paging import Page, PageQuery, each, page
from pipelines.api.http.requests import ActionBody, HashBody, Reason, Shape, Text, WhyBody
from pipelines.domain.base.findings import Finding
from pipelines.domain.base.plain import clean
from pipelines.domain.base.states import FINAL_STAGES, OPEN_STAGES, MigrationKind, MigrationStage
from pipelines.domain.definitions.checks.validate import validate_data, validate_text
from pipelines.domain.migration import evidence, report
from pipelines.domain.migration.policy import carried
from pipelines.domain.migration.specs import RevisionSpec, Spec, problems
from pipelines.foundation.errors import HeadgateError, Invalid
from pipelines.models import Migration, Pipeline, Revision
from pipelines.selectors.base.visible import visible
from pipelines.selectors.lifecycle.pipelines import get_pipeline, pipelines
from pipelines.selectors.migration.evidence import document
from pipelines.selectors.migration.migrations import get_migration, listed, reverse_of
from pipelines.selectors.migration.schemas import (
    MigrationDetailSchema,
    MigrationSchema,
    MigrationTimelineSchema,
    detail_schema,
    migration_schema,
)
from pipelines.selectors.migration.timeline import timeline_schema
from pipelines.services.base import audit
from pipelines.services.governance import governing
from pipelines.services.migration import migrations as services
from pipelines.services.migration.plans import read_spec


class MigrationBody(Shape):
    """What to change, and why. `spec` depends on the kind: revision {definition | revision,
    shadow}, host {host}, software
    {}, position {to, source}, cluster {source | sink, to, topics, positions}; each takes `rules` of the
    observation and `gates`, stages before which the migration waits for you."""

    pipeline: Text = Field(min_length=1, max_length=63)
    kind: MigrationKind
    spec: dict[str, Any] = {}
    reason: Reason


class AdvanceBody(HashBody):
    """The hash of what was reviewed. `acknowledge`: the number that the plan has in `to_acknowledge`, which who starts
    the migration repeats."""

    acknowledge: int | None = Field(default=None, ge=1, lt=2**53)


class MigrationsQuery(PageQuery):
    """Which migrations; `state`: `open`, `final`, or a stage."""

    pipeline: str | None = Field(default=None, max_length=63)
    state: Annotated[str, StringConstraints(pattern=f"^(open|final|{'|'.join(MigrationStage)})$")] | None = None


class EvidenceQuery(BaseModel):
    """`html` is a page that prints well; `json` the document that can be verified."""

    format: Annotated[str, StringConstraints(pattern="^(json|html)$")] = "json"


class MigrationBase(View):
    """What is refused is in the audit, too."""

    def handle_exception(self, exc: Exception) -> Response:
        """Record a refusal; the transaction of what was refused is over by now."""
        if isinstance(exc, HeadgateError) and self.request.method == "POST" and exc.status in (403, 409, 422):
            self._record(exc)
        return super().handle_exception(exc)

    def _record(self, refusal: HeadgateError) -> None:
        after = {
            "code": refusal.code,
            "detail": refusal.detail,
            "migration": str(self.kwargs.get("migration_id") or ""),
        }
        audit.record(
            actor=self.actor,
            action=f"migration.{self._action}",
            pipeline_name=self._pipeline_name(),
            after=after,
            outcome="refused",
        )

    @property
    def _action(self) -> str:
        return str(self.request.path).rstrip("/").rpartition("/")[2].replace("migrations", "create")

    def _pipeline_name(self) -> str:
        if (migration_id := self.kwargs.get("migration_id")) is not None:
            found = Migration.objects.filter(pk=migration_id).values_list("pipeline__name", flat=True).first()
            return found or ""
        with suppress(Exception):
            return get_pipeline(dict(self.request.data)["pipeline"], self.access).name
        return ""

    def require_rights(self, row: Migration) -> None:
        """Raises Forbidden where the caller may not start what the migration starts."""
        require_spec_rights(self, row.pipeline.name, MigrationKind(row.kind), row.spec)


def require_spec_rights(view: View, pipeline: str, kind: MigrationKind, spec: dict[str, Any]) -> None:
    """Raises Forbidden where the definition that would run has a component that the caller's role may not start, or
    would take away a label by which others have decided; Invalid where the spec, read as the plan reads it, is wrong.
    """
    found = get_pipeline(pipeline)
    require_definition_rights(view, found, _wanted(found, read_spec(kind, spec)))


def require_definition_rights(view: View, pipeline: Pipeline, wanted: dict[str, Any] | None) -> None:
    """Raises Forbidden as `require_spec_rights` does, for a definition."""
    if wanted is not None:
        present = pipeline.current_revision.definition if pipeline.current_revision else {}
        require_rights(view.role, wanted)
        labels = carried(pipeline.labels, present.get("labels", {}), wanted.get("labels", {}))
        governing.require_labels(pipeline=pipeline, labels=labels, actor=view.actor)


def _wanted(pipeline: Pipeline, spec: Spec) -> dict[str, Any] | None:
    """The definition that the pipeline would run; None where there is none."""
    if not isinstance(spec, RevisionSpec):
        return pipeline.current_revision.definition if pipeline.current_revision else None
    if spec.revision is not None:
        numbered = Revision.objects.filter(pipeline=pipeline, number=spec.revision)
        return numbered.values_list("definition", flat=True).first()
    sent = spec.definition
    validation = validate_text(sent) if isinstance(sent, str) else validate_data(sent)
    return validation.definition.plain() if validation.definition else None


class MigrationList(MigrationBase):
    """Migrations."""

    queries = {"GET": MigrationsQuery}

    @extend_schema(
        operation_id="list_migrations",
        responses=Page[MigrationSchema],
    )
    def get(self, request: Request) -> Response:
        """List migrations, newest first."""
        query = self.query(MigrationsQuery)
        groups = {"open": OPEN_STAGES, "final": FINAL_STAGES}
        stages = None if query.state is None else groups.get(query.state, {query.state})
        rows = listed(self.access, pipeline=query.pipeline, stages=stages)
        return page(rows, ["-created_at", "-id"], query, each(migration_schema))

    @extend_schema(operation_id="create_migration", request=MigrationBody, responses={201: MigrationDetailSchema})
    @idempotent
    def post(self, request: Request) -> Response:
        """Write a migration down and plan it. Nothing is touched: PLANNED, or DRAFT with everything that blocks it."""
        body = self._asked()
        pipeline = get_pipeline(body.pipeline, self.access)
        self.role = self.require(pipeline.team_id)
        require_spec_rights(self, pipeline.name, body.kind, body.spec)
        made = services.create(pipeline=pipeline, kind=body.kind, spec=body.spec, reason=body.reason, actor=self.actor)
        found = detail_schema(made, shows_records=self.access.sees_records(pipeline.team_id))
        return answer(found, 201, Location=f"/api/v1/migrations/{made.pk}")

    def _asked(self) -> MigrationBody:
        """What is asked for; raises Invalid with everything that is wrong with the request, its spec and the definition
        in it, so that a file is repaired once."""
        try:
            body = self.body(MigrationBody)
            read_spec(body.kind, body.spec)
        except Invalid as refused:
            own = refused.findings if refused.code == "body_invalid" else []
            found = [*own, *self._of_content()]
            raise Invalid(refused.detail, code=refused.code, findings=found) from None
        return body

    def _of_content(self) -> Iterator[Finding]:
        sent = self.request.data if isinstance(self.request.data, dict) else {}
        kind, spec, name = sent.get("kind"), sent.get("spec", {}), sent.get("pipeline")
        named = visible(pipelines(), self.access).filter(name=name)
        if isinstance(name, str) and not clean(name).findings and not named.exists():
            words, advice = f"There is no pipeline {name!r}.", "GET /api/v1/pipelines lists them."
            yield Finding(path="pipeline", code="pipeline_not_found", message=words, suggestion=advice)
        if isinstance(kind, str) and kind in set(MigrationKind) and isinstance(spec, dict):
            yield from problems(MigrationKind(kind), spec)


class MigrationView(MigrationBase, TeamView):
    """An address below one migration."""

    @property
    def owner(self) -> int | None:
        """The team of its pipeline."""
        return self.migration.pipeline.team_id

    @cached_property
    def migration(self) -> Migration:
        """The migration that the address names; raises NotFound."""
        return get_migration(self.kwargs["migration_id"], self.access)

    def shown(self, row: Migration) -> MigrationDetailSchema:
        """One migration as the caller may see it."""
        return detail_schema(row, shows_records=self.access.sees_records(row.pipeline.team_id))


class MigrationDetail(MigrationView):
    """One migration."""

    @extend_schema(operation_id="get_migration", responses=MigrationDetailSchema)
    def get(self, request: Request, migration_id: UUID) -> Response:
        """Show a migration: plan, steps with their evidence, what can be done next and what that costs."""
        return answer(self.shown(self.migration))


class PlanMigration(MigrationView):
    """Planning again."""

    @extend_schema(operation_id="plan_migration", request=ActionBody, responses=MigrationDetailSchema)
    @idempotent
    def post(self, request: Request, migration_id: UUID) -> Response:
        """Plan against the present; another plan has another hash, and needs approvals of its own."""
        self.body(ActionBody)
        return answer(self.shown(services.plan(migration=self.migration, actor=self.actor)))


class ApproveMigration(MigrationView):
    """Somebody's word for a plan."""

    @extend_schema(operation_id="approve_migration", request=HashBody, responses=MigrationDetailSchema)
    @idempotent
    def post(self, request: Request, migration_id: UUID) -> Response:
        """Approve the plan with this hash. 409 `plan_stale` for any other; its author may not where others
        have to, and those need the role approver."""
        named, row = self.body(HashBody).hash, self.migration
        self.require_rights(row)
        require_approver(self, row.pipeline, author=row.created_by)
        return answer(self.shown(services.approve(migration=row, named=named, actor=self.actor)))


class AdvanceMigration(MigrationView):
    """Letting it go on."""

    @extend_schema(operation_id="advance_migration", request=AdvanceBody, responses={202: MigrationDetailSchema})
    @idempotent
    def post(self, request: Request, migration_id: UUID) -> Response:
        """Begin, pass the gate at which it waits, commit now, or try again what has failed. 409 where nothing waits,
        and `not_acknowledged` where the plan wants a number of records repeated."""
        body, row = self.body(AdvanceBody), self.migration
        self.require_rights(row)
        made = services.advance(migration=row, named=body.hash, actor=self.actor, acknowledged=body.acknowledge)
        return answer(self.shown(made), 202)


class AbortMigration(MigrationView):
    """Giving it up."""

    while_read_only = frozenset({"POST"})

    @extend_schema(operation_id="abort_migration", request=WhyBody, responses={202: MigrationDetailSchema})
    @idempotent
    def post(self, request: Request, migration_id: UUID) -> Response:
        """Cancel a migration before anything has changed: the old agent continues. One that requires action is
        closed."""
        reason, row = self.body(WhyBody).reason, self.migration
        return answer(self.shown(services.abort(migration=row, reason=reason, actor=self.actor)), 202)


class RollbackMigration(MigrationView):
    """Taking it back."""

    while_read_only = frozenset({"POST"})

    @extend_schema(operation_id="rollback_migration", request=WhyBody, responses={202: MigrationDetailSchema})
    @idempotent
    def post(self, request: Request, migration_id: UUID) -> Response:
        """Roll back a migration; `choices` has the expected impact."""
        reason, row = self.body(WhyBody).reason, self.migration
        back = row.old_revision or row.pipeline.current_revision
        require_definition_rights(self, row.pipeline, back.definition if back else None)
        return answer(self.shown(services.rollback(migration=row, reason=reason, actor=self.actor)), 202)


class RevertMigration(MigrationView):
    """The way back from one that was committed."""

    @extend_schema(operation_id="revert_migration", request=WhyBody, responses={201: MigrationDetailSchema})
    @idempotent
    def post(self, request: Request, migration_id: UUID) -> Response:
        """Plan the opposite of a committed migration, as one of its own. Nothing is touched: PLANNED, or DRAFT."""
        reason, row = self.body(WhyBody).reason, self.migration
        if row.stage == MigrationStage.COMMITTED and isinstance(spec := reverse_of(row), dict):
            require_spec_rights(self, row.pipeline.name, MigrationKind(row.kind), spec)
        made = services.revert(migration=row, reason=reason, actor=self.actor)
        return answer(self.shown(made), 201, Location=f"/api/v1/migrations/{made.pk}")


class MigrationTimeline(MigrationView):
    """The timeline."""

    @extend_schema(operation_id="get_migration_timeline", responses=MigrationTimelineSchema)
    def get(self, request: Request, migration_id: UUID) -> Response:
        """Show a migration as a timeline: both agents and when they delivered, the pauses with their lengths, stages,
        gates, and the rate and lag of the pipeline from some time before to some time after."""
        return answer(timeline_schema(self.migration))


class MigrationEvidence(MigrationView):
    """The report."""

    queries = {"GET": EvidenceQuery}

    @extend_schema(
        operation_id="get_migration_evidence",
        responses={
            (200, "application/json"): OpenApiResponse(OpenApiTypes.OBJECT),
            (200, "text/html"): OpenApiTypes.STR,
        },
    )
    def get(self, request: Request, migration_id: UUID) -> Any:
        """Show the report: positions, ledger totals, pause, durations, findings, with a SHA-256 over it, which the
        installation has signed (GET /signing-key)."""
        wanted = self.query(EvidenceQuery).format
        row = self.migration
        signer = settings.HEADGATE.signer
        found = evidence.signed(document(row), key=signer.public.id, sign=signer.sign)
        name = f"migration-{row.pipeline.name}-{row.pk}.{wanted}"
        headers = {"Content-Disposition": f'{"inline" if wanted == "html" else "attachment"}; filename="{name}"'}
        if wanted == "html":
            return HttpResponse(report.html(found), content_type="text/html; charset=utf-8", headers=headers)
        return Response(found, headers=headers)
