"""Errors as RFC 9457 `application/problem+json`, one form for every failure of the API."""

from __future__ import annotations

import sys
from http import HTTPStatus
from typing import Any

import structlog
from django.conf import settings
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from rest_framework import exceptions
from rest_framework.response import Response
from rest_framework.views import set_rollback

from pipelines.foundation.availability import RETRY_AFTER_SECONDS, is_unavailable, unavailable
from pipelines.foundation.errors import HeadgateError

CONTENT_TYPE = "application/problem+json"

HINTS = {
    401: "Log in, or send the header `Authorization: Token <token>`; `headgate create-token` creates one.",
    403: "Ask an administrator for a higher role.",
    404: "The address is listed in /api/docs.",
    405: "The header Allow lists the methods of this address.",
    415: "Send application/json.",
    500: "The server's log has the cause under the request id.",
}
CODES = {
    400: "bad_request",
    401: "not_authenticated",
    403: "forbidden",
    404: "not_found",
    405: "method_not_allowed",
    406: "not_acceptable",
    413: "too_large",
    415: "unsupported_media_type",
    429: "too_many_requests",
    500: "internal_error",
}


def request_id() -> str:
    """The id of the request in hand, as in its log lines."""
    return str(structlog.contextvars.get_contextvars().get("request_id", ""))


def problem(
    status: int, detail: str, *, code: str = "", title: str = "", hint: str = "", **more: Any
) -> dict[str, Any]:
    """The body of a failure. `more` has findings and whatever else belongs to the code."""
    code = code or CODES.get(status, f"http_{status}")
    return {
        "type": f"urn:headgate:problem:{code}",
        "title": title or HTTPStatus(status).phrase,
        "status": status,
        "detail": detail,
        "code": code,
        "hint": hint or HINTS.get(status, ""),
        "findings": [],
        "request_id": request_id(),
        "allowed_actions": None,
        **more,
    }


def problem_of(error: HeadgateError) -> dict[str, Any]:
    """The body that belongs to an error of the project."""
    findings = [each.model_dump() if hasattr(each, "model_dump") else each for each in error.findings]
    return problem(
        error.status,
        error.detail,
        code=error.code,
        title=error.title,
        hint=error.hint,
        findings=findings,
        **error.data,
    )


def problem_response(body: dict[str, Any]) -> JsonResponse:
    """A failure as Django's own response, for where no view of the API is at work."""
    return JsonResponse(body, status=body["status"], content_type=CONTENT_TYPE)


def exception_handler(exc: Exception, _context: dict[str, Any]) -> Response | None:
    """Turn what a view raised into a problem; None leaves it to the last resort, which tells no internals."""
    if is_unavailable(exc):
        exc = unavailable(exc)
    if isinstance(exc, HeadgateError):
        return _respond(problem_of(exc), _retry_after(exc.data.get("retry_after")))
    if isinstance(exc, Http404):
        exc = exceptions.NotFound()
    elif isinstance(exc, PermissionDenied):
        exc = exceptions.PermissionDenied()
    if isinstance(exc, exceptions.APIException):
        return _respond(problem(exc.status_code, _words(exc.detail)), _headers(exc))
    return None


def _respond(body: dict[str, Any], headers: dict[str, str]) -> Response:
    set_rollback()
    return Response(body, status=body["status"], headers=headers, content_type=CONTENT_TYPE)


def _headers(exc: exceptions.APIException) -> dict[str, str]:
    challenge = getattr(exc, "auth_header", None)
    return ({"WWW-Authenticate": challenge} if challenge else {}) | _retry_after(getattr(exc, "wait", None))


def _retry_after(seconds: float | None) -> dict[str, str]:
    return {} if seconds is None else {"Retry-After": str(int(seconds) + 1)}


def _words(detail: Any) -> str:
    if isinstance(detail, dict):
        return " ".join(f"{key}: {_words(value)}" for key, value in detail.items())
    if isinstance(detail, list):
        return " ".join(_words(each) for each in detail)
    return str(detail)


def is_api(request: HttpRequest) -> bool:
    """Whether the request expects JSON rather than the page."""
    return request.path.startswith("/api/")


def not_found(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    """No view has this address."""
    return problem_response(problem(404, f"There is nothing at {request.path}."))


def bad_request(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    """The request was refused before any view saw it."""
    return problem_response(problem(400, "The request was refused: its host, headers or size are not acceptable."))


def forbidden(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    """A view outside the API refused."""
    return problem_response(problem(403, "You are not allowed to do this."))


def csrf_failure(request: HttpRequest, reason: str = "") -> HttpResponse:
    """A write by session without its CSRF token."""
    hint = (
        "GET /api/v1/session answers with a csrf_token; send it as the header X-CSRFToken with the session's cookies."
    )
    if settings.SESSION_COOKIE_SECURE and not request.is_secure():
        hint = "This server expects HTTPS. Open the dashboard by https://, or set HEADGATE_HTTPS=false."
    return problem_response(problem(403, f"The CSRF check failed: {reason}", code="csrf_failed", hint=hint))


def server_error(request: HttpRequest) -> HttpResponse:
    """The last resort: the request id and nothing else; of a database that is away, as every view says it."""
    error = sys.exception()
    if error is not None and is_unavailable(error):
        response = problem_response(problem_of(unavailable(error)))
        for name, value in _retry_after(RETRY_AFTER_SECONDS).items():
            response.headers[name] = value
        return response
    return problem_response(problem(500, "An unexpected error occurred; the server has logged it."))
