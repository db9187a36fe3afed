"""The HTTP source as an ASGI application (Flume's HTTPSource, JSONHandler and BlobHandler)."""

from __future__ import annotations

import asyncio
import hmac
import json
import math
from collections.abc import Awaitable, Callable
from typing import Any
from urllib.parse import parse_qsl

from pipelines.domain.definitions.components.source.http import HttpSource
from workers.agent.push import log as logs
from workers.agent.push.answers import Answers
from workers.agent.push.event import Event
from workers.agent.push.log import IngestBuffer, LogFull, LogUnwritable, PutQueueFull, usable_bytes
from workers.agent.push.taking import IngestThread

Receive = Callable[[], Awaitable[dict[str, Any]]]
Send = Callable[[dict[str, Any]], Awaitable[None]]

CHARSETS = {"utf-8", "utf8", "utf-16", "utf-16le", "utf-16be", "utf-32", "utf-32le", "utf-32be", "us-ascii", "ascii"}
_BETWEEN_CHUNKS = 30.0
_APPEND_TIMEOUT = 60.0


class Refusal(Exception):
    """An answer other than 200."""

    def __init__(self, status: int, detail: str, **headers: str) -> None:
        super().__init__(detail)
        self.status = status
        self.headers = {name.replace("_", "-"): value for name, value in headers.items()}


def charset_of(content_type: str) -> str:
    """The charset that a content type names, UTF-8 without one. Raises Refusal for one that JSON is never in."""
    parameters = dict(part.strip().lower().partition("=")[::2] for part in content_type.split(";")[1:])
    charset = parameters.get("charset", "utf-8").strip("\"' ") or "utf-8"
    if charset not in CHARSETS:
        raise Refusal(415, f"The charset {charset[:40]!r} is not supported. Send UTF-8, UTF-16 or UTF-32.")
    return charset


def json_events(body: bytes, charset: str = "utf-8") -> list[Event]:
    """The events of a JSON array of objects with `headers` and `body`; without a body it is empty, as Flume's
    JSONHandler has it. Raises Refusal for anything else."""
    try:
        items = json.loads(body.decode(charset))
    except (ValueError, RecursionError) as error:
        raise Refusal(400, f"The request is not JSON in {charset}: {error}") from error
    if not isinstance(items, list):
        raise Refusal(400, "The request must be a JSON array of objects with headers and body.")
    return [_json_event(number, item) for number, item in enumerate(items)]


def _json_event(number: int, item: Any) -> Event:
    headers = (item.get("headers") or {}) if isinstance(item, dict) else None
    body = item.get("body") if isinstance(item, dict) else None
    body = "" if body is None else body
    if not isinstance(headers, dict) or not all(isinstance(value, str) for value in headers.values()):
        raise Refusal(400, f"Event {number} must be an object whose headers are texts by name.")
    if not isinstance(body, str):
        raise Refusal(400, f"The body of event {number} is no text.")
    try:
        return Event(body.encode(), {_encodable(name): _encodable(value) for name, value in headers.items()})
    except UnicodeEncodeError as error:
        raise Refusal(400, f"Event {number} has half a surrogate pair, which is no text.") from error


def _encodable(text: str) -> str:
    text.encode()
    return text


def blob_event(body: bytes, query: str) -> Event:
    """The request as one event; the parameters of the address are its headers."""
    return Event(body, dict(parse_qsl(query, keep_blank_values=True, max_num_fields=100)))


class Application:
    """Takes POST requests; everything else is refused."""

    def __init__(self, spec: HttpSource, log: IngestBuffer, ingest_buffer: IngestThread, answers: Answers) -> None:
        self._spec = spec
        self._answers = answers
        self._log = log
        self._ingestion = ingest_buffer

    async def __call__(self, scope: dict[str, Any], receive: Receive, send: Send) -> None:
        """One request."""
        try:
            accepted = await self._take(scope, receive)
        except Refusal as refusal:
            await self._answer(send, refusal.status, {"detail": str(refusal)}, refusal.headers)
        except Exception as error:
            await self._answer(send, 500, {"detail": f"The events could not be stored: {error}"}, {})
        else:
            await self._answer(send, 200, {"accepted": accepted}, {})

    async def _answer(self, send: Send, status: int, document: dict[str, Any], headers: dict[str, str]) -> None:
        self._answers.note(status)
        await _answer(send, status, document, headers)

    async def _take(self, scope: dict[str, Any], receive: Receive) -> int:
        headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]}
        self._check(scope["method"], scope["path"], headers)
        body = await self._body(headers, receive)
        events = self._events(body, headers, scope["query_string"].decode("latin-1"))
        return await self._append(events) if events else 0

    def _check(self, method: str, path: str, headers: dict[str, str]) -> None:
        if method in {"TRACE", "OPTIONS"}:
            raise Refusal(403, f"{method} is not allowed.")
        if method != "POST":
            raise Refusal(405, "Send events with POST.", Allow="POST")
        if not self._is_authorised(headers.get("authorization", "")):
            raise Refusal(401, "Send the token as: Authorization: Bearer TOKEN", WWW_Authenticate="Bearer")
        if path != self._spec.path:
            raise Refusal(404, f"Send events to {self._spec.path}.")

    def _is_authorised(self, given: str) -> bool:
        token = self._spec.token
        return token is None or hmac.compare_digest(given.encode(), f"Bearer {token}".encode())

    async def _body(self, headers: dict[str, str], receive: Receive) -> bytes:
        most = self._spec.max_request_bytes
        length = headers.get("content-length", "0")
        if length.isdigit() and int(length) > most:
            raise Refusal(413, f"The request has {length} bytes; at most {most} are accepted.", Connection="close")
        chunks: list[bytes] = []
        size, more = 0, True
        while more:
            message = await _within(receive, _BETWEEN_CHUNKS)
            if message["type"] == "http.disconnect":
                raise Refusal(400, "The request is incomplete.")
            chunks.append(message.get("body", b""))
            size, more = size + len(chunks[-1]), message.get("more_body", False)
            if size > most:
                raise Refusal(413, f"The request has more than {most} bytes.", Connection="close")
        return b"".join(chunks)

    def _events(self, body: bytes, headers: dict[str, str], query: str) -> list[Event]:
        if self._spec.handler == "blob":
            return [blob_event(body, query)]
        return json_events(body, charset_of(headers.get("content-type", "")))

    async def _append(self, events: list[Event]) -> int:
        self._check_fit(events)
        try:
            future = asyncio.wrap_future(self._ingestion.submit(events))
            return await asyncio.wait_for(future, _APPEND_TIMEOUT)
        except PutQueueFull as error:
            raise Refusal(413, str(error)) from error
        except (LogFull, LogUnwritable, TimeoutError) as error:
            pin = logs.read_pin(self._log.directory)
            detail = str(error) or f"The ingest buffer did not answer within {_APPEND_TIMEOUT:.0f} s."
            if pin and str(pin) not in detail:
                detail += f" It is pinned by {pin}."
            raise Refusal(503, detail, Retry_After=str(max(1, math.ceil(self._spec.keep_alive)))) from error

    def _check_fit(self, events: list[Event]) -> None:
        """A request that never fits is not told to come again."""
        room = usable_bytes(self._spec)
        if sum(len(event.body or b"") for event in events) > room:
            raise Refusal(413, f"The bodies are larger than the ingest buffer ({room} bytes).")


async def _within(receive: Receive, seconds: float) -> dict[str, Any]:
    try:
        return await asyncio.wait_for(receive(), seconds)
    except TimeoutError as error:
        raise Refusal(408, "The request was too slow.", Connection="close") from error


async def _answer(send: Send, status: int, document: dict[str, Any], headers: dict[str, str]) -> None:
    body = json.dumps(document).encode()
    fields = {"Content-Type": "application/json", "Content-Length": str(len(body)), **headers}
    raw = [(name.lower().encode(), value.encode()) for name, value in fields.items()]
    await send({"type": "http.response.start", "status": status, "headers": raw})
    await send({"type": "http.response.body", "body": body})


def serve(spec: HttpSource, log: IngestBuffer) -> None:
    """Listen until the process is told to end. Exits with a message where the port cannot be had."""
    import uvicorn

    ingest_buffer, answers = IngestThread(log, spec.transaction_capacity), Answers(log.directory)
    ingest_buffer.start()
    answers.start()
    uvicorn.Server(
        uvicorn.Config(
            Application(spec, log, ingest_buffer, answers),
            host=spec.bind,
            port=spec.port,
            lifespan="off",
            access_log=False,
            log_level="warning",
            timeout_keep_alive=30,
            timeout_graceful_shutdown=3,
            limit_concurrency=1000,
            ws="none",
            ssl_certfile=spec.tls_certificate,
            ssl_keyfile=spec.tls_key,
            server_header=False,
        )
    ).run()
