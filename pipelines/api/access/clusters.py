"""Spark clusters: operators see them, administrators define them."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema
from pydantic import Field
from rest_framework.request import Request
from rest_framework.response import Response

from pipelines.api.http.base import View, answer, idempotent
from pipelines.api.http.paging import Page, PageQuery, page
from pipelines.api.http.permissions import INSTALLATION
from pipelines.api.http.requests import ActionBody, Shape, Text
from pipelines.domain.access.teams import Access
from pipelines.domain.base.roles import Role
from pipelines.models import Cluster
from pipelines.selectors.access.clusters import cluster_schemas
from pipelines.selectors.access.schemas import ClusterSchema, ClusterTestSchema
from pipelines.selectors.access.teams import get_team
from pipelines.selectors.base.visible import visible
from pipelines.selectors.hosts import connections
from pipelines.services.access import clusters


class ClusterBody(Shape):
    """What a cluster is. `team`: for the pipelines of this one; null for all."""

    spec: dict[str, Any]
    team: Text | None = Field(default=None, max_length=63)


class ClusterList(View):
    """All clusters."""

    roles = {"GET": Role.OPERATOR}
    queries = {"GET": PageQuery}

    @extend_schema(operation_id="list_clusters", responses=Page[ClusterSchema])
    def get(self, request: Request) -> Response:
        """List clusters by name, with the pipelines that are placed on them."""
        return page(
            visible(Cluster.objects.select_related("team"), self.access, shared=True),
            ["name"],
            self.query(PageQuery),
            lambda rows: cluster_schemas(rows, self.access),
        )


def _cluster(name: str, access: Access) -> Cluster:
    """A cluster that the caller may see; raises NotFound."""
    row = visible(Cluster.objects.select_related("team"), access, shared=True).filter(name=name).first()
    if row is None:
        raise clusters.unknown(name)
    return row


class ClusterDetail(View):
    """One cluster."""

    scope = INSTALLATION
    roles = {"GET": Role.OPERATOR, "PUT": Role.ADMIN}
    reauthenticate = frozenset({"PUT", "DELETE"})

    @extend_schema(operation_id="get_cluster", responses=ClusterSchema)
    def get(self, request: Request, name: str) -> Response:
        """Show a cluster."""
        (found,) = cluster_schemas([_cluster(name, self.access)], self.access)
        return answer(found)

    @extend_schema(operation_id="put_cluster", request=ClusterBody, responses={200: ClusterSchema, 201: ClusterSchema})
    def put(self, request: Request, name: str) -> Response:
        """Define a cluster, or change it: pipelines take the change at their next start. 422 lists every finding."""
        body = self.body(ClusterBody)
        team = get_team(body.team, self.access) if body.team else None
        row, new = clusters.put(name=name, spec=body.spec, team=team, actor=self.actor)
        (found,) = cluster_schemas([row], self.access)
        return answer(found, 201 if new else 200)

    @extend_schema(operation_id="delete_cluster", responses={204: None})
    def delete(self, request: Request, name: str) -> Response:
        """Delete a cluster. 409 names the pipelines that are placed on it."""
        clusters.delete(name=name, actor=self.actor)
        return Response(status=204)


class ClusterTest(View):
    """The connection of hosts to one cluster."""

    scope = INSTALLATION
    roles = {"GET": Role.OPERATOR, "POST": Role.ADMIN}
    costs = {"POST": 10}

    @extend_schema(operation_id="get_cluster_test", responses=ClusterTestSchema)
    def get(self, request: Request, name: str) -> Response:
        """Show what the last test of the connection has found, host by host. Tests are kept for a day."""
        return answer(connections.test_schema(_cluster(name, self.access)))

    @extend_schema(operation_id="test_cluster", request=ActionBody, responses={202: ClusterTestSchema})
    @idempotent
    def post(self, request: Request, name: str) -> Response:
        """Have every host whose worker runs connect to the cluster, within 10 s. Nothing is submitted to it. GET shows
        what they find."""
        self.body(ActionBody)
        row = _cluster(name, self.access)
        clusters.test(cluster=row, actor=self.actor)
        return answer(connections.test_schema(row), 202, Location=f"/api/v1/clusters/{name}/test")
