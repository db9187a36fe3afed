"""Peeks: records of the topics that a pipeline reads or writes, and those that a component takes out.

The worker of the pipeline's host reads them; no group is joined, and nothing is committed or delivered.
"""

from __future__ import annotations

from typing import Any
from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from pipelines.api.http.base import PipelineView, answer, idempotent
from pipelines.api.http.paging import Page, PageQuery, each, page
from pipelines.api.http.requests import Shape
from pipelines.domain.base.roles import Role
from pipelines.domain.peek.question import PeekQuestion
from pipelines.foundation.errors import Forbidden
from pipelines.models import Peek
from pipelines.selectors.peek.peeks import PeekSchema, get_peek, peek_schema, peeks
from pipelines.services.peek import peeks as service


class PeekBody(PeekQuestion, Shape):
    """Which records: `of` a component by its path, such as `sources.shop`, `sinks.lake` or `errors.dead_letter`; the
    newest, or those from an `offset` or a `time` on; with a `key` or what they hold. Of an interceptor or a selector,
    those of the newest records of its source that it takes out of the stream."""


class PeekView(PipelineView):
    """Peeks of one user at one pipeline."""

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        """A peek is nothing but what records hold. Raises Forbidden for those who may not see that."""
        super().initial(request, *args, **kwargs)
        if not self.shows_records:
            raise Forbidden(
                "A peek shows what records hold, which your role or token does not allow.",
                code="records_not_shown",
                hint="Ask an operator who may see records.",
            )

    def own(self, peek_id: UUID) -> Peek:
        """One that the caller has asked for; raises NotFound."""
        return get_peek(self.pipeline, self.actor.name, peek_id)


class PeekList(PeekView):
    """The peeks of a user at a pipeline."""

    roles = {"GET": Role.OPERATOR}
    costs = {"POST": 5}
    queries = {"GET": PageQuery}
    while_read_only = frozenset({"POST"})

    @extend_schema(operation_id="list_peeks", responses=Page[PeekSchema])
    def get(self, request: Request, name: str) -> Response:
        """List your peeks that are kept, newest first."""
        return page(
            peeks(self.pipeline, self.actor.name), ["-requested_at", "-id"], self.query(PageQuery), each(peek_schema)
        )

    @extend_schema(operation_id="create_peek", request=PeekBody, responses={202: PeekSchema})
    @idempotent
    def post(self, request: Request, name: str) -> Response:
        """Look at records of a topic that the pipeline reads or writes. They are read beside the pipeline: no group is
        joined, and nothing is committed. The audit says which records were shown to you. The address of the peek is in
        Location."""
        peek = service.request(pipeline=self.pipeline, question=self.body(PeekBody), actor=self.actor)
        return answer(peek_schema(peek), 202, Location=f"/api/v1/pipelines/{name}/peeks/{peek.pk}")


class PeekDetail(PeekView):
    """One peek."""

    roles = {"GET": Role.OPERATOR, "DELETE": Role.OPERATOR}
    while_read_only = frozenset({"DELETE"})

    @extend_schema(operation_id="get_peek", responses=PeekSchema)
    def get(self, request: Request, name: str, peek_id: UUID) -> Response:
        """Show one of your peeks: records, and of each partition what was looked at and which offsets have none.
        `state` is PENDING or RUNNING until then."""
        return answer(peek_schema(self.own(peek_id)))

    @extend_schema(operation_id="cancel_peek", responses={204: None})
    def delete(self, request: Request, name: str, peek_id: UUID) -> Response:
        """Cancel one of your peeks. The host stops reading."""
        service.cancel(peek=self.own(peek_id), actor=self.actor)
        return Response(status=204)
