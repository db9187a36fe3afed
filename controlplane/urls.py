"""Every address. What is neither API nor health is the page."""

from __future__ import annotations

from django.urls import include, path, re_path

from controlplane import pages
from controlplane.shared import api_errors

urlpatterns = [
    path("healthz", pages.healthz),
    path("readyz", pages.readyz),
    path("api/", include("pipelines.api.urls")),
    re_path(r"^(?:api|static|assets)(?:/.*)?$", api_errors.not_found),
    re_path(r"^.*$", pages.index),
]

handler400 = "controlplane.shared.api_errors.bad_request"
handler403 = "controlplane.shared.api_errors.forbidden"
handler404 = "controlplane.shared.api_errors.not_found"
handler500 = "controlplane.shared.api_errors.server_error"
