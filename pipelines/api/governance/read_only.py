"""The read-only mode: everybody sees it, administrators of all teams turn it on and off."""

from __future__ import annotations

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from pipelines.api.http.base import View, answer, expected_version
from pipelines.api.http.openapi import IF_MATCH
from pipelines.api.http.permissions import INSTALLATION
from pipelines.api.http.requests import Reason, Shape
from pipelines.domain.base.roles import Role
from pipelines.selectors.governance.read_only import ReadOnlySchema, read_only_schema
from pipelines.services.governance import read_only


class ReadOnlyBody(Shape):
    """Whether the installation is read-only from now on, and why."""

    read_only: bool
    reason: Reason


class ReadOnlyMode(View):
    """Whether users can change the installation."""

    scope = INSTALLATION
    roles = {"PUT": Role.ADMIN}
    reauthenticate = frozenset({"PUT"})
    while_read_only = frozenset({"PUT"})

    @extend_schema(operation_id="get_read_only", responses=ReadOnlySchema)
    def get(self, request: Request) -> Response:
        """Show whether the installation is read-only, since when, who set it and why."""
        return self._shown()

    @extend_schema(operation_id="set_read_only", request=ReadOnlyBody, responses=ReadOnlySchema, parameters=[IF_MATCH])
    def put(self, request: Request) -> Response:
        """Make the installation read-only, or writable again. While it is read-only, what users change is refused with
        403 `installation_read_only`; stops, pauses, cancellations and roll-backs are possible; supervision continues.
        409 `read_only_by_setting` where the environment of the web server decides."""
        body = self.body(ReadOnlyBody)
        version = expected_version(request, required=True)
        read_only.put(on=body.read_only, reason=body.reason, version=version, actor=self.actor)
        return self._shown()

    def _shown(self) -> Response:
        found = read_only_schema()
        return answer(found, ETag=found.etag)
