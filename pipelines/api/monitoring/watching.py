"""Lag of pipelines, and consumer groups of others that are watched."""

from __future__ import annotations

from functools import cached_property

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from pipelines.api.access.owners import owner_of_new
from pipelines.api.http.base import PipelineView, TeamView, View, answer, idempotent
from pipelines.api.http.paging import Page, page
from pipelines.api.http.watch_requests import GroupBody, GroupPlanBody, GroupsQuery, SeriesQuery
from pipelines.domain.base.roles import Role
from pipelines.foundation.errors import BadRequest
from pipelines.models import ExternalGroup
from pipelines.selectors.monitoring import watching as reading
from pipelines.selectors.monitoring.lag import lag_schema
from pipelines.selectors.monitoring.schemas import (
    ExternalGroupDetailSchema,
    ExternalGroupSchema,
    GroupPlanSchema,
    LagSchema,
    SnapshotsSchema,
)
from pipelines.services.monitoring import watching
from pipelines.services.monitoring.watching import ExternalGroupSettings


class PipelineLag(PipelineView):
    """How much waits, and for how long."""

    queries = {"GET": SeriesQuery}

    @extend_schema(operation_id="get_lag", responses=LagSchema)
    def get(self, request: Request, name: str) -> Response:
        """Show the lag of every partition in records and in seconds, now and over time."""
        query = self.query(SeriesQuery)
        return answer(lag_schema(self.pipeline, query.since, query.step_seconds))


class ExternalGroups(View):
    """Consumer groups that are watched."""

    queries = {"GET": GroupsQuery}

    @extend_schema(
        operation_id="list_external_groups",
        responses=Page[ExternalGroupSchema],
    )
    def get(self, request: Request) -> Response:
        """List external consumer groups with their last measurement."""
        query = self.query(GroupsQuery)
        rows = reading.external_groups(self.access)
        return page(rows.filter(name=query.group) if query.group else rows, ["id"], query, reading.group_schemas)

    @extend_schema(operation_id="watch_group", request=GroupBody, responses={201: ExternalGroupSchema})
    @idempotent
    def post(self, request: Request) -> Response:
        """Monitor an external consumer group; the first measurement follows within seconds."""
        body = self.body(GroupBody)
        wanted = ExternalGroupSettings(name=body.group, **body.model_dump(exclude={"group", "team"}))
        group = watching.watch(wanted=wanted, team=owner_of_new(self, body.team), actor=self.actor)
        (view,) = reading.group_schemas([group])
        return answer(view, 201, Location=f"/api/v1/consumer-groups/{group.pk}")


class GroupView(TeamView):
    """An address below one watched group."""

    shared = True

    @property
    def owner(self) -> int | None:
        """Its team."""
        return self.group.team_id

    @cached_property
    def group(self) -> ExternalGroup:
        """The group that the address names; raises NotFound."""
        return reading.get_group(self.kwargs["group_id"], self.access)


class ExternalGroupDetail(GroupView):
    """One watched group."""

    roles = {"DELETE": Role.OPERATOR}

    @extend_schema(operation_id="get_external_group", responses=ExternalGroupDetailSchema)
    def get(self, request: Request, group_id: int) -> Response:
        """Show a group with its partitions as they were seen last."""
        return answer(reading.group_detail_schema(self.group))

    @extend_schema(operation_id="unwatch_group", responses={204: None})
    def delete(self, request: Request, group_id: int) -> Response:
        """Watch a group no longer; its series is deleted, its events stay."""
        watching.unwatch(group=self.group, actor=self.actor)
        return Response(status=204)


class ExternalGroupLag(GroupView):
    """A group over time."""

    queries = {"GET": SeriesQuery}

    @extend_schema(operation_id="get_external_group_lag", responses=SnapshotsSchema)
    def get(self, request: Request, group_id: int) -> Response:
        """Show what the group had committed, its lag, coordinator and members over time."""
        query = self.query(SeriesQuery)
        return answer(reading.snapshots_schema(self.group, query.since, query.step_seconds))


class ExternalGroupPlan(GroupView):
    """What a reset of a group would do."""

    while_read_only = frozenset({"POST"})

    @extend_schema(operation_id="plan_group_reset", request=GroupPlanBody, responses=GroupPlanSchema)
    def post(self, request: Request, group_id: int) -> Response:
        """Plan a reset to before an event: offsets, records that come again or are skipped, and what duplicates do to
        the sinks of a pipeline that the group belongs to. Nothing is changed."""
        target = self.body(GroupPlanBody).to.removeprefix("before=")
        try:
            return answer(reading.plan_schema(self.group, target, self.access))
        except ValueError as error:
            raise BadRequest(str(error), code="bad_target", hint="Write before=EVENT-30m, for example.") from None
