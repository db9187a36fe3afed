"""What a request may cost before anything of it is understood. Around the whole application, since Django reads a body
to its end before a view could refuse it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from django.conf import settings

from pipelines.api.http.problems import CONTENT_TYPE, problem

Message = Any
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[Any, Receive, Send], Awaitable[None]]

BODY_SECONDS = 30.0
LOGINS = frozenset({"/api/v1/session", "/api/v1/session/oidc"})
LARGEST_LOGIN = 16 * 1024


class _Refused(Exception):
    def __init__(self, status: int, detail: str, hint: str = "") -> None:
        super().__init__(detail)
        self.body = problem(status, detail, hint=hint)


class Limits:
    """Refuses bodies without credentials, and cuts those that are too large or too slow."""

    def __init__(self, application: Application) -> None:
        self._application = application

    async def __call__(self, scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._application(scope, receive, send)
            return
        begun = False

        async def noted(message: Message) -> None:
            nonlocal begun
            begun = begun or message["type"] == "http.response.start"
            await send(message)

        try:
            await self._application(scope, _bounded(scope, receive), noted)
        except _Refused as refused:
            if not begun:
                await _answer(refused.body, send)


def _bounded(scope: MutableMapping[str, Any], receive: Receive) -> Receive:
    """`receive` with the limits of this request. Raises _Refused, at once where the headers say it already."""
    headers = dict(scope["headers"])
    largest = LARGEST_LOGIN if scope["path"] in LOGINS else settings.DATA_UPLOAD_MAX_MEMORY_SIZE
    declared = headers.get(b"content-length", b"0")
    if declared != b"0" or b"transfer-encoding" in headers:
        _require_credentials(scope["path"], headers)
    if not declared.isdigit() or int(declared) > largest:
        raise _too_large(largest)
    deadline = asyncio.get_running_loop().time() + BODY_SECONDS
    taken, is_whole = 0, False

    async def bounded() -> Message:
        nonlocal taken, is_whole
        if is_whole:
            return await receive()
        try:
            async with asyncio.timeout_at(deadline):
                message = await receive()
        except TimeoutError:
            raise _Refused(408, f"The body did not arrive within {BODY_SECONDS:.0f} s.") from None
        taken += len(message.get("body", b""))
        is_whole = not message.get("more_body", False)
        if taken > largest:
            raise _too_large(largest)
        return message

    return bounded


def _require_credentials(path: str, headers: MutableMapping[bytes, bytes]) -> None:
    """Whether they are right is found out later; a client without any has nothing to send but a log-in."""
    cookie = f"{settings.SESSION_COOKIE_NAME}=".encode()
    if path not in LOGINS and b"authorization" not in headers and cookie not in headers.get(b"cookie", b""):
        raise _Refused(401, "Authentication credentials were not provided.")


def _too_large(largest: int) -> _Refused:
    return _Refused(413, f"The body is too large: {largest} bytes are allowed.")


async def _answer(body: dict[str, Any], send: Send) -> None:
    content = json.dumps(body).encode()
    headers = [
        (b"content-type", CONTENT_TYPE.encode()),
        (b"content-length", str(len(content)).encode()),
        (b"cache-control", b"no-store"),
        (b"connection", b"close"),
    ]
    if body["status"] == 401:
        headers.append((b"www-authenticate", b"Token"))
    await send({"type": "http.response.start", "status": body["status"], "headers": headers})
    await send({"type": "http.response.body", "body": content})
