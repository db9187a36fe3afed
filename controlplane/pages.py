"""The page's only document, and the two questions that a load balancer asks."""

from __future__ import annotations

from collections.abc import Callable

from django.conf import settings
from django.db import connection
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.views.decorators.csrf import ensure_csrf_cookie
from django.views.decorators.http import require_safe

from pipelines.foundation import dispatch

NOT_BUILT = "The page has not been built yet. Run `make setup` in the project's directory, then load this page again.\n"


@require_safe
@ensure_csrf_cookie
def index(request: HttpRequest) -> HttpResponse:
    """The single-page application; it carries no data and asks for a login itself."""
    document = settings.FRONTEND_DIST / "index.html"
    if not document.is_file():
        return HttpResponse(NOT_BUILT, status=503, content_type="text/plain; charset=utf-8")
    response = HttpResponse(document.read_bytes(), content_type="text/html; charset=utf-8")
    response.headers["Cache-Control"] = "no-cache"
    return response


@require_safe
def healthz(request: HttpRequest) -> JsonResponse:
    """The process answers."""
    return JsonResponse({"status": "ok"})


@require_safe
def readyz(request: HttpRequest) -> JsonResponse:
    """The database and Redis answer. Without Redis the API works, later by a tick, so only the database decides."""
    checks = {"database": _answers(_ask_database), "redis": _answers(dispatch.event_stream().ping)}
    ready = checks["database"]
    words = {name: "ok" if well else "unreachable" for name, well in checks.items()}
    return JsonResponse({"status": "ok" if ready else "unavailable", "checks": words}, status=200 if ready else 503)


def _ask_database() -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1 FROM pipelines_pipeline LIMIT 1")


def _answers(ask: Callable[[], object]) -> bool:
    try:
        ask()
    except Exception:  # whatever the client raises, the answer is no
        return False
    return True
