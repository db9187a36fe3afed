"""Every address. What is neither API, health nor documentation is the page."""

from __future__ import annotations

from django.urls import include, path, re_path

from controlplane import pages
from pipelines.api.http import problems
from pipelines.api.monitoring.metrics import Metrics

urlpatterns = [
    path("healthz", pages.healthz),
    path("readyz", pages.readyz),
    path("metrics", Metrics.as_view()),
    path("api/", include("pipelines.api.urls")),
    re_path(r"^docs(?:/(?P<path>.*))?$", pages.docs),
    re_path(r"^(?:api|static|assets)(?:/.*)?$", problems.not_found),
    re_path(r"^.*$", pages.index),
]

handler400 = "pipelines.api.http.problems.bad_request"
handler403 = "pipelines.api.http.problems.forbidden"
handler404 = "pipelines.api.http.problems.not_found"
handler500 = "pipelines.api.http.problems.server_error"
