"""Traces: where one record went, by the ledger, by evaluating it again, and by what its sinks hold.

The worker of the pipeline's host makes them; nothing is committed and nothing delivered.
"""

from __future__ import annotations

from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from pipelines.api.http.base import PipelineView, answer, idempotent
from pipelines.api.http.paging import Page, PageQuery, each, page
from pipelines.api.http.requests import Shape
from pipelines.domain.trace.question import TraceQuestion
from pipelines.foundation.errors import Forbidden
from pipelines.models import RecordTrace
from pipelines.selectors.trace.traces import TraceSchema, get_trace, trace_schema, traces
from pipelines.services.trace import traces as service


class TraceBody(TraceQuestion, Shape):
    """Which record: `at` its place in the source, by the place of a record `from_sink`, or searched for by `key`, by
    what its body `contains`, and from a `time` on, in one `source` where there are several."""


class TraceView(PipelineView):
    """Traces of one pipeline."""

    def shown(self, trace: RecordTrace) -> TraceSchema:
        """A trace for the caller."""
        return trace_schema(trace, shows_records=self.shows_records)


class TraceList(TraceView):
    """The traces of a pipeline."""

    costs = {"POST": 5}
    queries = {"GET": PageQuery}
    while_read_only = frozenset({"POST"})

    @extend_schema(operation_id="list_traces", responses=Page[TraceSchema])
    def get(self, request: Request, name: str) -> Response:
        """List the traces that are kept, newest first."""
        return page(traces(self.pipeline), ["-requested_at", "-id"], self.query(PageQuery), each(self.shown))

    @extend_schema(operation_id="create_trace", request=TraceBody, responses={202: TraceSchema})
    @idempotent
    def post(self, request: Request, name: str) -> Response:
        """Find out where a record went: which batches had it, what each component did to it, and what became of it. It
        is read beside the pipeline; nothing is committed and nothing delivered. The address of the trace is in
        Location."""
        question = self.body(TraceBody)
        if question.asks_for_content and not self.shows_records:
            raise Forbidden(
                "A search by key or content shows what records hold, which your role or token does not allow.",
                code="records_not_shown",
                hint="Search by time, or ask an operator who may see records.",
            )
        trace = service.request(pipeline=self.pipeline, question=question, actor=self.actor)
        return answer(self.shown(trace), 202, Location=f"/api/v1/pipelines/{name}/traces/{trace.pk}")


class TraceDetail(TraceView):
    """One trace."""

    @extend_schema(operation_id="get_trace", responses=TraceSchema)
    def get(self, request: Request, name: str, trace_id: UUID) -> Response:
        """Show a trace: evidence by its kind, and what cannot be known. `state` is PENDING or RUNNING until then."""
        return answer(self.shown(get_trace(self.pipeline, trace_id)))
