"""Events, as a list or as a stream."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from asgiref.sync import sync_to_async
from django.http import HttpRequest, HttpResponseBase
from drf_spectacular.utils import extend_schema
from rest_framework.negotiation import BaseContentNegotiation
from rest_framework.renderers import JSONRenderer
from rest_framework.request import Request
from rest_framework.response import Response

from pipelines.api.http.base import View, in_place_of
from pipelines.api.http.paging import Page, each, page
from pipelines.api.http.requests import EventsQuery, StreamQuery
from pipelines.api.monitoring import stream
from pipelines.selectors.monitoring.events import event_schema, events
from pipelines.selectors.monitoring.schemas import EventSchema


class Events(View):
    """What happened."""

    queries = {"GET": EventsQuery}

    @extend_schema(
        operation_id="list_events",
        responses={(200, "application/json"): Page[EventSchema], (200, stream.MEDIA_TYPE): str},
    )
    def get(self, request: Request) -> Response:
        """List events, newest first; with `Accept: text/event-stream`, a stream of them as they happen."""
        query = self.query(EventsQuery)
        found = events(self.access, pipeline=query.pipeline, kinds=query.kinds)
        return page(found, ["-id"], query, each(event_schema))

    @classmethod
    def as_view(cls, **initkwargs: Any) -> Any:
        """The list, or the stream for those who accept one."""
        return negotiated(super().as_view(**initkwargs), Admission.as_view())


class AnyMediaType(BaseContentNegotiation):
    """Failures are JSON whatever the client accepts."""

    def select_parser(self, request: Request, parsers: Any) -> Any:
        """There is no body."""
        return parsers[0]

    def select_renderer(self, request: Request, renderers: Any, format_suffix: str | None = None) -> Any:
        """JSON."""
        return JSONRenderer(), JSONRenderer.media_type


class Admission(View):
    """Decides who may open a stream, and of what."""

    content_negotiation_class = AnyMediaType
    queries = {"GET": StreamQuery}

    def get(self, request: Request) -> Response:
        """Answer with a `subscription`, or with a problem as any other view."""
        query = self.query(StreamQuery)
        header = request.headers.get("Last-Event-ID", "")
        last = int(header) if header.isascii() and header.isdigit() and len(header) < 19 else query.last_event_id
        response = Response()
        response.subscription = stream.admit(request, self.access, query, last)  # type: ignore[attr-defined]
        return response


def negotiated(
    listing: Callable[..., HttpResponseBase], admission: Callable[..., HttpResponseBase]
) -> Callable[..., Any]:
    """One view for both forms."""

    async def view(request: HttpRequest) -> HttpResponseBase:
        if stream.MEDIA_TYPE not in request.headers.get("Accept", ""):
            return await sync_to_async(listing)(request)
        admitted = await sync_to_async(admission)(request)
        subscription = getattr(admitted, "subscription", None)
        return admitted if subscription is None else stream.open_stream(subscription)

    return in_place_of(listing, view)
