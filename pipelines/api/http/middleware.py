"""What every answer carries: headers that confine the page to this server, and the name of the request."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from asgiref.sync import iscoroutinefunction, markcoroutinefunction
from django.http import HttpRequest, HttpResponseBase
from django.utils.decorators import sync_only_middleware

from pipelines.api.http.problems import is_api, request_id
from pipelines.foundation.availability import bounded

CONTENT_SECURITY_POLICY = "; ".join(
    [
        "default-src 'self'",
        "script-src 'self'",
        "style-src 'self' 'unsafe-inline'",  # the component library writes its styles at run time
        "img-src 'self' data:",
        "font-src 'self'",
        "connect-src 'self'",
        "object-src 'none'",
        "base-uri 'none'",
        "form-action 'self'",
        "frame-ancestors 'none'",
    ]
)
HEADERS = {
    "Content-Security-Policy": CONTENT_SECURITY_POLICY,
    "Permissions-Policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
    "Cross-Origin-Resource-Policy": "same-origin",
}
GetResponse = Callable[[HttpRequest], HttpResponseBase | Awaitable[HttpResponseBase]]


class DatabaseAllowance:
    """Requests wait for the database so long and no longer."""

    sync_capable = True
    async_capable = True

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response
        if iscoroutinefunction(get_response):
            markcoroutinefunction(self)

    def __call__(self, request: HttpRequest) -> HttpResponseBase | Awaitable[HttpResponseBase]:
        with bounded():
            response = self.get_response(request)
        return response if isinstance(response, HttpResponseBase) else self._bounded(response)

    async def _bounded(self, awaited: Awaitable[HttpResponseBase]) -> HttpResponseBase:
        with bounded():
            return await awaited


class ResponseMiddleware:
    """Middleware for both kinds of server that only looks at finished answers."""

    sync_capable = True
    async_capable = True

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response
        if iscoroutinefunction(get_response):
            markcoroutinefunction(self)

    def __call__(self, request: HttpRequest) -> HttpResponseBase | Awaitable[HttpResponseBase]:
        response = self.get_response(request)
        if isinstance(response, HttpResponseBase):
            self.finish(request, response)
            return response
        return self._finish_later(request, response)

    async def _finish_later(self, request: HttpRequest, awaited: Awaitable[HttpResponseBase]) -> HttpResponseBase:
        response = await awaited
        self.finish(request, response)
        return response

    def finish(self, request: HttpRequest, response: HttpResponseBase) -> None:
        """Complete the answer."""
        raise NotImplementedError


class SecurityHeaders(ResponseMiddleware):
    """Answers run no foreign script, sit in no frame, and what the API says is kept by no cache."""

    def finish(self, request: HttpRequest, response: HttpResponseBase) -> None:
        """Add the headers that are missing."""
        for name, value in HEADERS.items():
            response.headers.setdefault(name, value)
        if is_api(request):
            response.headers.setdefault("Cache-Control", "no-store")


class RequestName(ResponseMiddleware):
    """Answers name their request as the log does."""

    def finish(self, request: HttpRequest, response: HttpResponseBase) -> None:
        """Add the id of the request in hand."""
        response.headers["X-Request-ID"] = request_id()


@sync_only_middleware
def one_thread(get_response: GetResponse) -> GetResponse:
    """The innermost: all around it then run in the request's own thread, one after another. Around asynchronous code
    Django has each of them change threads twice, which costs more than what they do."""
    return get_response
