"""Emptying hosts, and what governs pipelines: approval policies and freezes."""

from __future__ import annotations

from uuid import UUID

from drf_spectacular.utils import extend_schema
from pydantic import Field, model_validator
from rest_framework.request import Request
from rest_framework.response import Response

from pipelines.api.http.base import TeamView, View, answer, idempotent
from pipelines.api.http.paging import Page, PageQuery, each, page
from pipelines.api.http.permissions import INSTALLATION
from pipelines.api.http.requests import Instant, Reason, Shape, Text
from pipelines.domain.base.roles import Role
from pipelines.domain.migration.observation import ObservationRules
from pipelines.models import Evacuation
from pipelines.selectors.base.visible import team_named
from pipelines.selectors.migration.rules import approval_policies, freezes, get_freeze, get_policy
from pipelines.selectors.migration.schemas import (
    ApprovalPolicySchema,
    EvacuationSchema,
    FreezeSchema,
    evacuation_schema,
    evacuation_schemas,
    freeze_schema,
    policy_schema,
)
from pipelines.services.hosts import evacuations
from pipelines.services.migration import rules as migration_rules


class EvacuationBody(Shape):
    """Which host, how many at once, and why. `go_on`: also after one that failed when something had changed; `rules`:
    by which each pipeline is observed in its new place."""

    host: Text = Field(min_length=1, max_length=63)
    at_once: int = Field(default=1, ge=1, le=evacuations.MOST_AT_ONCE)
    go_on: bool = False
    rules: ObservationRules | None = None
    reason: Reason


class Scoped(Shape):
    """Of a label (`NAME:VALUE` or `NAME`), of a pipeline, or, with neither, of everything."""

    label: Text = Field(default="", max_length=200)
    pipeline: Text = Field(default="", max_length=63)

    @model_validator(mode="after")
    def _one_scope(self) -> Scoped:
        if self.label and self.pipeline:
            raise ValueError("give a label or a pipeline, not both")
        return self


class PolicyBody(Scoped):
    """How many users other than the author must approve, and for how many seconds an approval counts."""

    approvers: int = Field(ge=1, le=20)
    expiry_seconds: int = Field(default=86_400, ge=60, le=31_536_000)


class FreezeBody(Scoped):
    """From when to when nothing is changed, and why."""

    starts_at: Instant
    ends_at: Instant
    reason: Reason

    @model_validator(mode="after")
    def _lasts(self) -> FreezeBody:
        if self.ends_at <= self.starts_at:
            raise ValueError("ends_at is after starts_at")
        return self


class EvacuationList(View):
    """Evacuations."""

    scope = INSTALLATION
    roles = {"POST": Role.ADMIN}
    queries = {"GET": PageQuery}

    @extend_schema(operation_id="list_evacuations", responses=Page[EvacuationSchema])
    def get(self, request: Request) -> Response:
        """List evacuations, newest first."""
        rows = Evacuation.objects.all()
        return page(
            rows, ["-created_at", "-id"], self.query(PageQuery), lambda found: evacuation_schemas(found, self.access)
        )

    @extend_schema(operation_id="evacuate_host", request=EvacuationBody, responses={201: EvacuationSchema})
    @idempotent
    def post(self, request: Request) -> Response:
        """Move every running pipeline of a host elsewhere, by migrations of the kind `host`."""
        body = self.body(EvacuationBody)
        made = evacuations.start(
            host=body.host,
            at_once=body.at_once,
            go_on=body.go_on,
            reason=body.reason,
            rules=body.rules,
            actor=self.actor,
        )
        return answer(evacuation_schema(made, self.access), 201, Location=f"/api/v1/evacuations/{made.pk}")


class EvacuationDetail(View):
    """One evacuation."""

    scope = INSTALLATION
    while_read_only = frozenset({"DELETE"})

    @extend_schema(operation_id="get_evacuation", responses=EvacuationSchema)
    def get(self, request: Request, evacuation_id: UUID) -> Response:
        """Show an evacuation with its migrations, and what stays and why."""
        return answer(evacuation_schema(evacuations.get(evacuation_id), self.access))

    @extend_schema(operation_id="cancel_evacuation", responses=EvacuationSchema)
    def delete(self, request: Request, evacuation_id: UUID) -> Response:
        """Cancel an evacuation: no further migration starts; those in progress continue."""
        row = evacuations.cancel(evacuation=evacuations.get(evacuation_id), actor=self.actor)
        return answer(evacuation_schema(row, self.access))


class PolicyList(View):
    """Who has to approve."""

    roles = {"POST": Role.ADMIN}
    queries = {"GET": PageQuery}

    @extend_schema(
        operation_id="list_approval_policies",
        responses=Page[ApprovalPolicySchema],
    )
    def get(self, request: Request) -> Response:
        """List approval policies; of those that concern a pipeline the strictest counts."""
        return page(approval_policies(self.access), ["id"], self.query(PageQuery), each(policy_schema))

    @extend_schema(operation_id="set_approval_policy", request=PolicyBody, responses={201: ApprovalPolicySchema})
    @idempotent
    def post(self, request: Request) -> Response:
        """Set how many users must approve migrations and other changes of what runs, replacing the policy of the same
        scope."""
        body = self.body(PolicyBody)
        self.require_named(body.pipeline)
        row = migration_rules.set_policy(
            label=body.label,
            pipeline=body.pipeline,
            approvers=body.approvers,
            expiry_seconds=body.expiry_seconds,
            actor=self.actor,
        )
        return answer(policy_schema(row), 201)


class PolicyDetail(TeamView):
    """One approval policy."""

    reauthenticate = frozenset({"DELETE"})

    @property
    def owner(self) -> int | None:
        """The team of the pipeline that it names."""
        return team_named(get_policy(self.kwargs["policy_id"], self.access).pipeline_name)

    @extend_schema(operation_id="remove_approval_policy", responses={204: None})
    def delete(self, request: Request, policy_id: int) -> Response:
        """Remove it; the others count on."""
        migration_rules.remove_policy(policy_id=policy_id, actor=self.actor)
        return Response(status=204)


class FreezeList(View):
    """When no migration begins."""

    roles = {"POST": Role.ADMIN}
    queries = {"GET": PageQuery}

    @extend_schema(operation_id="list_freezes", responses=Page[FreezeSchema])
    def get(self, request: Request) -> Response:
        """List freezes, newest first."""
        return page(freezes(self.access), ["-id"], self.query(PageQuery), each(freeze_schema))

    @extend_schema(operation_id="add_freeze", request=FreezeBody, responses={201: FreezeSchema})
    @idempotent
    def post(self, request: Request) -> Response:
        """Set a period in which no migration starts and nothing else that runs is changed; migrations in progress
        continue."""
        body = self.body(FreezeBody)
        self.require_named(body.pipeline)
        row = migration_rules.add_freeze(
            label=body.label,
            pipeline=body.pipeline,
            starts_at=body.starts_at,
            ends_at=body.ends_at,
            reason=body.reason,
            actor=self.actor,
        )
        return answer(freeze_schema(row), 201)


class FreezeDetail(TeamView):
    """One freeze."""

    reauthenticate = frozenset({"DELETE"})

    @property
    def owner(self) -> int | None:
        """The team of the pipeline that it names."""
        return team_named(get_freeze(self.kwargs["freeze_id"], self.access).pipeline_name)

    @extend_schema(operation_id="remove_freeze", responses={204: None})
    def delete(self, request: Request, freeze_id: int) -> Response:
        """End it."""
        migration_rules.remove_freeze(freeze_id=freeze_id, actor=self.actor)
        return Response(status=204)
