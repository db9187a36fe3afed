"""Changes of what governed pipelines run: requested, approved, applied; and made at once in an emergency."""

from __future__ import annotations

from typing import Annotated, Any
from uuid import UUID

from drf_spectacular.utils import extend_schema
from pydantic import Field, StringConstraints
from rest_framework.request import Request
from rest_framework.response import Response

from pipelines.api.access.rights import require_approver
from pipelines.api.governance.changes import CHANGES
from pipelines.api.http.base import PipelineView, View, answer, idempotent
from pipelines.api.http.paging import Page, PageQuery, page
from pipelines.api.http.requests import ActionBody, HashBody, Reason, Shape, WhyBody
from pipelines.domain.base.roles import Role
from pipelines.domain.governance.changes import ChangeKind
from pipelines.domain.governance.requests import FINAL, OPEN, RequestState
from pipelines.models import ChangeRequest, Operation
from pipelines.selectors.base.schemas import OperationSchema, Schema
from pipelines.selectors.governance import requests as selecting
from pipelines.selectors.governance.requests import ChangeRequestSchema, request_schema, request_schemas
from pipelines.selectors.lifecycle.operations import operation_schema
from pipelines.services.governance import governing, read_only, requests


class ChangeBody(Shape):
    """One change, and why. `arguments`: the body of the address that makes the change where nothing governs it."""

    kind: ChangeKind
    arguments: dict[str, Any] = {}
    reason: Reason


class DenialBody(Shape):
    """Why."""

    reason: Reason


class RequestsQuery(PageQuery):
    """Which change requests; `state`: `open`, `final`, or a state."""

    id: UUID | None = None
    pipeline: str | None = Field(default=None, max_length=63)
    state: Annotated[str, StringConstraints(pattern=f"^(open|final|{'|'.join(RequestState)})$")] | None = None


class AppliedSchema(Schema):
    """A change that was made. `operation`: what carries it out, where it takes time."""

    pipeline: str
    kind: ChangeKind
    operation: OperationSchema | None


class RequestList(View):
    """Change requests."""

    queries = {"GET": RequestsQuery}

    @extend_schema(operation_id="list_change_requests", responses=Page[ChangeRequestSchema])
    def get(self, request: Request) -> Response:
        """List change requests, newest first."""
        query = self.query(RequestsQuery)
        groups = {"open": OPEN, "final": FINAL, **{state.value: {state} for state in RequestState}}
        states = None if query.state is None else groups[query.state]
        rows = selecting.requests(self.access, request_id=query.id, name=query.pipeline, states=states)
        return page(rows, ["-created_at", "-id"], query, request_schemas)


class PipelineRequests(PipelineView):
    """The change requests of a pipeline."""

    while_read_only = frozenset({"POST"})

    @extend_schema(operation_id="create_change_request", request=ChangeBody, responses={201: ChangeRequestSchema})
    @idempotent
    def post(self, request: Request, name: str) -> Response:
        """Request a change that others approve. Nothing is changed; it is of the revision and the wanted state of now,
        and stale once they have changed."""
        body = self.body(ChangeBody)
        read_only.require_allowed(body.kind)
        change = CHANGES[body.kind]
        change.require_rights(self)
        read = change.read(body.arguments)
        made = requests.create(
            pipeline=self.pipeline,
            kind=body.kind,
            arguments=read.model_dump(mode="json"),
            summary=change.summary(self, read),
            reason=body.reason,
            actor=self.actor,
        )
        return answer(request_schema(made), 201, Location=f"/api/v1/pipelines/{name}/change-requests/{made.pk}")


class RequestView(PipelineView):
    """An address of one change request."""

    def found(self) -> ChangeRequest:
        """The request; raises NotFound."""
        return selecting.get_request(self.pipeline, self.kwargs["request_id"])


class RequestDetail(RequestView):
    """One change request."""

    @extend_schema(operation_id="get_change_request", responses=ChangeRequestSchema)
    def get(self, request: Request, name: str, request_id: UUID) -> Response:
        """Show a change request with its approvals."""
        return answer(request_schema(self.found()))


class ApproveRequest(RequestView):
    """Somebody's word for a change."""

    while_read_only = frozenset({"POST"})

    @extend_schema(operation_id="approve_change_request", request=HashBody, responses=ChangeRequestSchema)
    @idempotent
    def post(self, request: Request, name: str, request_id: UUID) -> Response:
        """Approve the change with this hash. Its author may not where others have to, and those need
        the role approver."""
        named, row = self.body(HashBody).hash, self.found()
        require_approver(self, self.pipeline, author=row.created_by)
        kind = ChangeKind(row.kind)
        read_only.require_allowed(kind)
        change = CHANGES[kind]
        change.summary(self, change.read(row.arguments))
        return answer(request_schema(requests.approve(request=row, named=named, actor=self.actor)))


class DenyRequest(RequestView):
    """Refusing it."""

    while_read_only = frozenset({"POST"})

    @extend_schema(operation_id="deny_change_request", request=DenialBody, responses=ChangeRequestSchema)
    @idempotent
    def post(self, request: Request, name: str, request_id: UUID) -> Response:
        """Deny a change: it cannot be applied any more."""
        reason = self.body(DenialBody).reason
        return answer(request_schema(requests.deny(request=self.found(), reason=reason, actor=self.actor)))


class CancelRequest(RequestView):
    """Taking it back."""

    while_read_only = frozenset({"POST"})

    @extend_schema(operation_id="cancel_change_request", request=WhyBody, responses=ChangeRequestSchema)
    @idempotent
    def post(self, request: Request, name: str, request_id: UUID) -> Response:
        """Cancel a change request that is not wanted any more."""
        reason = self.body(WhyBody).reason
        return answer(request_schema(requests.cancel(request=self.found(), reason=reason, actor=self.actor)))


class ApplyRequest(RequestView):
    """Making the change."""

    while_read_only = frozenset({"POST"})

    @extend_schema(operation_id="apply_change_request", request=ActionBody, responses=AppliedSchema)
    @idempotent
    def post(self, request: Request, name: str, request_id: UUID) -> Response:
        """Make the change that was approved, once. 409 `not_approved`, `change_frozen` during a freeze, and
        `request_stale` where the pipeline has changed since the request."""
        self.body(ActionBody)
        row = self.found()
        kind = ChangeKind(row.kind)
        read_only.require_allowed(kind)
        change = CHANGES[kind]
        change.require_rights(self)
        body = change.read(row.arguments)
        _, operation = requests.apply(
            request=row, actor=self.actor, act=lambda granted: change.make(self, body, granted)
        )
        return answer(_applied(name, kind, operation))


class BreakGlass(PipelineView):
    """The emergency."""

    roles = {"POST": Role.ADMIN}
    reauthenticate = frozenset({"POST"})
    while_read_only = frozenset({"POST"})

    @extend_schema(operation_id="break_glass", request=ChangeBody, responses=AppliedSchema)
    @idempotent
    def post(self, request: Request, name: str) -> Response:
        """Make one change at once, in spite of approvals and freezes. It raises the alert `glass_broken` and is in the
        audit with the reason."""
        body = self.body(ChangeBody)
        read_only.require_allowed(body.kind)
        change = CHANGES[body.kind]
        read = change.read(body.arguments)
        operation = governing.break_glass(
            pipeline=self.pipeline,
            kind=body.kind,
            arguments=read.model_dump(mode="json"),
            reason=body.reason,
            actor=self.actor,
            act=lambda granted: change.make(self, read, granted),
        )
        return answer(_applied(name, body.kind, operation))


def _applied(name: str, kind: ChangeKind, operation: Operation | None) -> AppliedSchema:
    return AppliedSchema(
        pipeline=name, kind=kind, operation=operation_schema(operation) if operation is not None else None
    )
