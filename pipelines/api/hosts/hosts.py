"""Hosts: what they have room for, draining them, and what to do about one that is silent."""

from __future__ import annotations

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from pipelines.api.http.base import PipelineView, View, answer, idempotent
from pipelines.api.http.permissions import INSTALLATION
from pipelines.api.http.requests import ActionBody, DeclareLostBody, DrainBody
from pipelines.domain.base.roles import Role
from pipelines.selectors.hosts import capacity
from pipelines.selectors.hosts.schemas import HostDetailSchema, HostsSchema
from pipelines.selectors.runs.runs import run_schema
from pipelines.selectors.runs.schemas import RunSchema
from pipelines.services.hosts import hosts
from pipelines.services.runs import ownership


class HostList(View):
    """Machines with a worker."""

    @extend_schema(operation_id="list_hosts", responses=HostsSchema)
    def get(self, request: Request) -> Response:
        """List every host that ever reported."""
        return answer(HostsSchema(capacity.hosts(self.access)))


class HostDetail(View):
    """One machine with a worker."""

    scope = INSTALLATION
    reauthenticate = frozenset({"DELETE"})

    @extend_schema(operation_id="get_host", responses=HostDetailSchema)
    def get(self, request: Request, name: str) -> Response:
        """Show a host with the pipelines that have a place there, and what ties each to it."""
        return answer(capacity.host(name, self.access))

    @extend_schema(operation_id="remove_host", responses={204: None})
    def delete(self, request: Request, name: str) -> Response:
        """Remove a silent host; 409 while its worker runs, or while something is assigned to it."""
        hosts.remove(name=name, actor=self.actor)
        return Response(status=204)


class DrainHost(View):
    """Emptying a host."""

    scope = INSTALLATION
    roles = {"POST": Role.ADMIN}

    @extend_schema(operation_id="drain_host", request=DrainBody, responses=HostDetailSchema)
    @idempotent
    def post(self, request: Request, name: str) -> Response:
        """Take no new agents, and move each pipeline that is not tied to the host once another has room for it."""
        hosts.drain(name=name, actor=self.actor, on_timeout=self.body(DrainBody).on_timeout)
        return answer(capacity.host(name, self.access))


class UndrainHost(View):
    """Taking a host back."""

    scope = INSTALLATION
    roles = {"POST": Role.ADMIN}

    @extend_schema(operation_id="undrain_host", request=ActionBody, responses=HostDetailSchema)
    @idempotent
    def post(self, request: Request, name: str) -> Response:
        """Take new agents again; nothing moves back by itself."""
        self.body(ActionBody)
        hosts.undrain(name=name, actor=self.actor)
        return answer(capacity.host(name, self.access))


class DeclareLost(PipelineView):
    """A person's word for a host that cannot give its own."""

    roles = {"POST": Role.ADMIN}
    reauthenticate = frozenset({"POST"})

    @extend_schema(
        operation_id="declare_pipeline_lost",
        description=f"Declare the run of a silent host lost, so that the next one can start. {ownership.CONSEQUENCE}",
        request=DeclareLostBody,
        responses=RunSchema,
    )
    @idempotent
    def post(self, request: Request, name: str) -> Response:
        """End the run as LOST; `confirm` repeats the pipeline's name."""
        confirm = self.body(DeclareLostBody).confirm
        return answer(run_schema(ownership.declare_lost(pipeline=self.pipeline, confirm=confirm, actor=self.actor)))
