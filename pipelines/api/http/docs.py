"""The API, to read and to try, from assets of this server."""

from __future__ import annotations

from drf_spectacular.views import SpectacularJSONAPIView, SpectacularSwaggerSplitView
from rest_framework.renderers import JSONRenderer
from rest_framework.response import Response

from pipelines.api.http.base import View


class Document(View, SpectacularJSONAPIView):
    """The description of the API."""


class Docs(SpectacularSwaggerSplitView):
    """A page for people who are logged in; its failures are problems like all others."""

    url_name = "schema"

    def handle_exception(self, exc: Exception) -> Response:
        """Answer in JSON what the page's template cannot show."""
        self.request.accepted_renderer = JSONRenderer()
        self.request.accepted_media_type = JSONRenderer.media_type
        return super().handle_exception(exc)
