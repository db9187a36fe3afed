"""What pipelines may reach: directories, and addresses of the network."""

from __future__ import annotations

from typing import Literal

from drf_spectacular.utils import extend_schema
from pydantic import Field
from rest_framework.request import Request
from rest_framework.response import Response

from pipelines.api.http.base import View, answer, idempotent
from pipelines.api.http.paging import Page, PageQuery, each, page
from pipelines.api.http.permissions import INSTALLATION
from pipelines.api.http.requests import Shape, Text
from pipelines.domain.base.roles import Role
from pipelines.models import Team
from pipelines.selectors.access import reach as reading
from pipelines.selectors.access.reach import AllowedNetworkSchema, AllowedRootSchema
from pipelines.selectors.access.teams import get_team
from pipelines.services.access import reach


class AllowedRootBody(Shape):
    """A directory of hosts, all below it included. `write` includes reading. `team`: for its pipelines; null for
    all."""

    path: Text = Field(min_length=1, max_length=1024)
    mode: Literal["read", "write"]
    note: Text = Field(default="", max_length=1000)
    team: Text | None = Field(default=None, max_length=63)


class AllowedNetworkBody(Shape):
    """A network (10.20.0.0/16), an address, or the name of a host, which may begin with `*.`.
    `team`: for its pipelines; null for all."""

    target: Text = Field(min_length=1, max_length=253)
    ports: Text = Field(default="*", min_length=1, max_length=400)
    note: Text = Field(default="", max_length=1000)
    team: Text | None = Field(default=None, max_length=63)


def owner(view: View, name: str | None) -> Team | None:
    """The team that a body names; raises NotFound."""
    return get_team(name, view.access) if name else None


class AllowedRootList(View):
    """All allowed roots."""

    scope = INSTALLATION
    roles = {"GET": Role.OPERATOR, "POST": Role.ADMIN}
    reauthenticate = frozenset({"POST"})
    queries = {"GET": PageQuery}

    @extend_schema(operation_id="list_allowed_roots", responses=Page[AllowedRootSchema])
    def get(self, request: Request) -> Response:
        """List the directories that pipelines may read, or read and write."""
        return page(
            reading.allowed_roots(self.access), ["path", "mode"], self.query(PageQuery), each(reading.root_schema)
        )

    @extend_schema(operation_id="add_allowed_root", request=AllowedRootBody, responses={201: AllowedRootSchema})
    @idempotent
    def post(self, request: Request) -> Response:
        """Allow a directory with all below it."""
        body = self.body(AllowedRootBody)
        made = reach.allow_root(
            path=body.path, mode=body.mode, note=body.note, team=owner(self, body.team), actor=self.actor
        )
        return answer(reading.root_schema(made), 201)


class AllowedRootDetail(View):
    """One allowed root."""

    scope = INSTALLATION
    roles = {"DELETE": Role.ADMIN}
    reauthenticate = frozenset({"DELETE"})

    @extend_schema(operation_id="remove_allowed_root", responses={204: None})
    def delete(self, request: Request, rule_id: int) -> Response:
        """Allow a directory no longer: what runs goes on, later starts are refused."""
        reach.remove_root(root_id=rule_id, actor=self.actor)
        return Response(status=204)


class AllowedNetworkList(View):
    """All allowed networks."""

    scope = INSTALLATION
    roles = {"GET": Role.OPERATOR, "POST": Role.ADMIN}
    reauthenticate = frozenset({"POST"})
    queries = {"GET": PageQuery}

    @extend_schema(operation_id="list_allowed_networks", responses=Page[AllowedNetworkSchema])
    def get(self, request: Request) -> Response:
        """List the networks and hosts that pipelines may connect to."""
        query = self.query(PageQuery)
        return page(reading.allowed_networks(self.access), ["target", "ports"], query, each(reading.network_schema))

    @extend_schema(
        operation_id="add_allowed_network", request=AllowedNetworkBody, responses={201: AllowedNetworkSchema}
    )
    @idempotent
    def post(self, request: Request) -> Response:
        """Allow a network, an address or a host."""
        body = self.body(AllowedNetworkBody)
        made = reach.allow_network(
            target=body.target, ports=body.ports, note=body.note, team=owner(self, body.team), actor=self.actor
        )
        return answer(reading.network_schema(made), 201)


class AllowedNetworkDetail(View):
    """One allowed network."""

    scope = INSTALLATION
    roles = {"DELETE": Role.ADMIN}
    reauthenticate = frozenset({"DELETE"})

    @extend_schema(operation_id="remove_allowed_network", responses={204: None})
    def delete(self, request: Request, rule_id: int) -> Response:
        """Allow a network no longer: what runs goes on, later starts are refused."""
        reach.remove_network(network_id=rule_id, actor=self.actor)
        return Response(status=204)
