"""Events, as a list or as a stream."""

from __future__ import annotations

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from pipelines.api.base import View
from pipelines.api.openapi import query_parameters
from pipelines.api.paging import Page, each, page
from pipelines.api.requests import PipelineQuery
from pipelines.selectors import views
from pipelines.selectors.events import event_view, events


class Events(View):
    """What happened."""

    @extend_schema(
        operation_id="list_events", parameters=query_parameters(PipelineQuery), responses=Page[views.EventView]
    )
    def get(self, request: Request) -> Response:
        """List events, newest first; with `Accept: text/event-stream`, a stream of them as they happen."""
        query = self.query(PipelineQuery)
        return page(events(pipeline=query.pipeline), ["-id"], query, each(event_view))
