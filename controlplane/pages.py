"""The page's only document, the site of the documentation, and the two questions that a load balancer asks."""

from __future__ import annotations

import mimetypes
from pathlib import Path

from django.conf import settings
from django.core.exceptions import SuspiciousFileOperation
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect, JsonResponse
from django.utils._os import safe_join
from django.views.decorators.csrf import ensure_csrf_cookie
from django.views.decorators.http import require_safe

from pipelines.foundation.availability import RETRY_AFTER_SECONDS, DatabaseUnavailable
from pipelines.selectors.hosts.health import OK, checks

NOT_BUILT = (
    "The dashboard has not been built yet. Run `make setup` in the project's directory, then load this page again.\n"
)
DOCS_NOT_BUILT = "The documentation has not been built yet. Run `make docs` in the project's directory, then reload.\n"
DOCS_MISSING = "The documentation has no such page. It starts at /docs/.\n"
SESSION_READ = "/api/v1/session"
LIST_READ = "/api/v1/pipelines?limit=1000"
LISTS = frozenset({"/", "/fleet"})
"""Addresses whose first view is the list of pipelines."""


@require_safe
@ensure_csrf_cookie
def index(request: HttpRequest) -> HttpResponse:
    """The single-page application; it carries no data and asks for a login itself."""
    document = settings.FRONTEND_DIST / "index.html"
    if not document.is_file():
        return HttpResponse(NOT_BUILT, status=503, content_type="text/plain; charset=utf-8")
    response = HttpResponse(document.read_bytes(), content_type="text/html; charset=utf-8")
    response.headers["Cache-Control"] = "no-cache"
    response.headers["Link"] = ", ".join(
        f"<{path}>; rel=preload; as=fetch; crossorigin" for path in _first_reads(request)
    )
    return response


def _first_reads(request: HttpRequest) -> list[str]:
    """What the page reads first: the browser asks for it while it still loads the scripts. The paths are exactly those
    of the page's own requests, or they would be read twice."""
    listed = request.path in LISTS and settings.SESSION_COOKIE_NAME in request.COOKIES
    return [SESSION_READ, LIST_READ] if listed else [SESSION_READ]


@require_safe
def docs(request: HttpRequest, path: str = "") -> HttpResponse:
    """A file of the documentation's site. It is the same for every installation, so it asks for no login."""
    site = settings.DOCS_SITE
    if not (site / "index.html").is_file():
        return HttpResponse(DOCS_NOT_BUILT, status=503, content_type="text/plain; charset=utf-8")
    found = _below(site, path)
    if found.is_dir() and not request.path.endswith("/"):
        return HttpResponseRedirect(f"{request.path}/")
    file = found / "index.html" if found.is_dir() else found
    if not file.is_file():
        return HttpResponse(DOCS_MISSING, status=404, content_type="text/plain; charset=utf-8")
    kind = mimetypes.guess_type(file.name)[0] or "application/octet-stream"
    response = HttpResponse(file.read_bytes(), content_type=kind)
    response.headers["Cache-Control"] = "no-cache"
    return response


def _below(site: Path, path: str) -> Path:
    """The file of an address; an address that leaves the site leads to no file."""
    try:
        return Path(safe_join(site, path))
    except (SuspiciousFileOperation, ValueError):
        return site / "index.html" / "none"


@require_safe
def healthz(request: HttpRequest) -> JsonResponse:
    """The process answers."""
    return JsonResponse({"status": "ok"})


@require_safe
def readyz(request: HttpRequest) -> JsonResponse:
    """The database and Redis answer. Without Redis the API works, later by a tick, so only the database decides."""
    words = checks()
    if words["database"] == OK:
        return JsonResponse({"status": "ok", "checks": words})
    body = {"status": "unavailable", "code": DatabaseUnavailable.code, "checks": words}
    return JsonResponse(body, status=503, headers={"Retry-After": str(RETRY_AFTER_SECONDS)})
