"""The REST API as the command line uses it: bounded waiting, retries of safe requests, problems as errors."""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any
from urllib.parse import urlsplit

import httpx2

from controlplane.cli.base.errors import CommandError, ExitCode
from pipelines.domain.base.causes import explain

CONNECT_TIMEOUT_S = 5.0
READ_TIMEOUT_S = 30.0
HEARTBEAT_TIMEOUT_S = 35.0
"""The server sends a comment every 10 s; without one for this time the stream is broken."""

ATTEMPTS = 3
PAUSE_S = 0.3
MAX_PAGES = 1000

SERVICE_UNAVAILABLE = 503
_TEMPORARY = {502, SERVICE_UNAVAILABLE, 504}
_LISTS = {
    "pipeline_not_found": ("pipelines", "`headgate list` lists the pipelines."),
    "host_not_found": ("hosts", "`headgate hosts list` lists the hosts."),
}
"""Where the known names of an object are that does not exist, and the command that lists them."""


class Client:
    """One server and one token."""

    def __init__(self, url: str, token: str, transport: httpx2.BaseTransport | None = None) -> None:
        self.url = url.rstrip("/")
        headers = {"Accept": "application/json", "User-Agent": "headgate-cli"}
        if token:
            _check_token(token)
            headers["Authorization"] = f"Token {token}"
        _check_address(self.url)
        self._http = httpx2.Client(
            base_url=f"{self.url}/api/v1/",
            headers=headers,
            timeout=httpx2.Timeout(READ_TIMEOUT_S, connect=CONNECT_TIMEOUT_S),
            transport=transport,
        )

    def get(self, path: str, *, wait: float = 0.0, **query: Any) -> Any:
        """Read a resource; retried while the server is unreachable. `wait`: seconds that the server may take."""
        parameters = {name: value for name, value in query.items() if value is not None}
        if wait:
            parameters["wait"] = wait
        return self._answer(self._get(path, parameters, READ_TIMEOUT_S + wait))

    def find(self, path: str) -> Any:
        """Read a resource; None where it does not exist."""
        response = self._get(path, {}, READ_TIMEOUT_S)
        return None if response.status_code == 404 else self._answer(response)

    def pages(self, path: str, *, limit: int | None = None, **query: Any) -> list[Any]:
        """Read a list, page by page, up to `limit` entries."""
        found: list[Any] = []
        cursor = None
        for _ in range(MAX_PAGES):
            size = 500 if limit is None else min(500, limit - len(found))
            page = self.get(path, cursor=cursor, limit=size, **query)
            found += page["results"]
            cursor = page["next"]
            if cursor is None or (limit is not None and len(found) >= limit):
                break
        return found[:limit]

    def post(self, path: str, body: Any) -> tuple[int, Any]:
        """Request a change once: a retry after a lost answer has the same key. Returns status and answer."""
        headers = {"Idempotency-Key": str(uuid.uuid4())}
        response = self._repeated(lambda: self._http.post(path, json=body, headers=headers))
        return response.status_code, self._answer(response)

    def put(self, path: str, body: Any, *, if_match: str | None = None) -> Any:
        """Replace or create a resource; idempotent. `if_match`: the `etag` of what was read, where the write needs
        it."""
        headers = {"If-Match": if_match} if if_match else {}
        return self._answer(self._repeated(lambda: self._http.put(path, json=body, headers=headers)))

    def patch(self, path: str, body: Any) -> Any:
        """Change parts of a resource; idempotent."""
        return self._answer(self._repeated(lambda: self._http.patch(path, json=body)))

    def delete(self, path: str, **query: Any) -> None:
        """Remove a resource."""
        parameters = {name: value for name, value in query.items() if value is not None}
        response = self._repeated(lambda: self._http.delete(path, params=parameters))
        if response.status_code != 204:
            self._answer(response)

    def download(self, path: str, **query: Any) -> Iterator[bytes]:
        """A file, part by part, in whatever time it takes. Raises CommandError where it breaks off."""
        parameters = {name: value for name, value in query.items() if value is not None}
        try:
            with self._http.stream("GET", path, params=parameters) as response:
                if "attachment" not in response.headers.get("content-disposition", ""):
                    response.read()
                    self._answer(response)
                yield from response.iter_bytes()
        except httpx2.RemoteProtocolError as error:
            raise CommandError("The download broke off", explain(error), "Try again.", "incomplete") from None
        except httpx2.TransportError as error:
            raise self.unreachable(error) from None

    @contextmanager
    def stream(self, path: str, *, last_id: str, **query: Any) -> Iterator[Iterator[httpx2.ServerSentEvent]]:
        """Server-sent events after `last_id`, or from now on."""
        headers = {"Accept": "text/event-stream"} | ({"Last-Event-ID": last_id} if last_id else {})
        parameters = {name: value for name, value in query.items() if value is not None}
        timeout = httpx2.Timeout(HEARTBEAT_TIMEOUT_S, connect=CONNECT_TIMEOUT_S)
        with self._http.stream("GET", path, params=parameters, headers=headers, timeout=timeout) as response:
            if response.is_error:
                response.read()
                self._answer(response)
            yield iter(httpx2.EventSource(response))

    def unreachable(self, error: Exception) -> CommandError:
        """The failure of a server that does not answer."""
        return CommandError(
            title=f"{self.url} is unreachable",
            detail=explain(error),
            hint="Check that the server runs and that HEADGATE_URL is its address.",
            code="unreachable",
            exit_code=ExitCode.NO_ACCESS,
        )

    def _get(self, path: str, parameters: dict[str, Any], timeout: float) -> httpx2.Response:
        limits = httpx2.Timeout(timeout, connect=CONNECT_TIMEOUT_S)
        return self._patiently(lambda: self._http.get(path, params=parameters, timeout=limits), timeout)

    def _patiently(self, read: Any, seconds: float) -> httpx2.Response:
        """Repeat a read while the server names a time to try again at, for as long as one read may take."""
        deadline = time.monotonic() + seconds
        while True:
            response = self._repeated(read)
            pause = _retry_after(response)
            if pause is None or time.monotonic() + pause > deadline:
                return response
            time.sleep(pause)

    def _repeated(self, send: Any) -> httpx2.Response:
        """Send, and again after a lost answer. An answer that names a time to try again at is one."""
        for attempt in range(1, ATTEMPTS + 1):
            try:
                response: httpx2.Response = send()
            except httpx2.TransportError as error:
                if attempt == ATTEMPTS:
                    raise self.unreachable(error) from None
            else:
                if response.status_code not in _TEMPORARY or attempt == ATTEMPTS or _retry_after(response) is not None:
                    return response
            time.sleep(PAUSE_S * attempt)
        raise AssertionError("the last attempt returns or raises")

    def _answer(self, response: httpx2.Response) -> Any:
        document = _document(response)
        if response.is_error:
            raise self._refusal(response, document if isinstance(document, dict) else {})
        if document is None or response.is_redirect:
            raise CommandError(
                title=f"{self.url} is not a Headgate server",
                detail=f"It answered {response.status_code} {response.headers.get('content-type', '')}.",
                hint="Check HEADGATE_URL.",
                code="not_headgate",
                exit_code=ExitCode.NO_ACCESS,
            )
        return document

    def _refusal(self, response: httpx2.Response, problem: dict[str, Any]) -> CommandError:
        error = CommandError.of_problem(response.status_code, problem)
        if error.code in _LISTS:
            error.hint = self._similar(*_LISTS[error.code], response.request.url.path) or error.hint
        return error

    def _similar(self, collection: str, command: str, address: str) -> str:
        """A suggestion for a name that does not exist; none where the list of names is unavailable."""
        from pipelines.domain.base.findings import did_you_mean

        _, _, rest = address.partition(f"/{collection}/")
        with suppress(CommandError):
            found = self.get(collection, limit=500) if collection == "pipelines" else self.get(collection)
            rows = found["results"] if isinstance(found, dict) else found
            return did_you_mean(rest.split("/")[0], [row["name"] for row in rows], otherwise=command)
        return ""


def _retry_after(response: httpx2.Response) -> float | None:
    """The seconds after which a server that is unavailable can be asked again, where it names them."""
    named = response.headers.get("retry-after", "")
    return float(named) if response.status_code == SERVICE_UNAVAILABLE and named.isdecimal() else None


def _check_address(url: str) -> None:
    try:
        parts = urlsplit(url)
        usable = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    except ValueError:
        usable = False
    if not usable:
        raise CommandError(
            title="HEADGATE_URL is not a valid address",
            detail=url,
            hint="Write http://host:port or https://host:port.",
            code="bad_address",
            exit_code=ExitCode.USAGE,
        )


def _check_token(token: str) -> None:
    """A token with other characters would appear in the message of an exception."""
    if not (token.isascii() and token.isprintable() and " " not in token):
        raise CommandError(
            title="HEADGATE_TOKEN is not a valid token",
            detail="It contains spaces or characters that no token has.",
            hint="Copy it again; `headgate create-token` creates a new one.",
            code="bad_token",
            exit_code=ExitCode.USAGE,
        )


def _document(response: httpx2.Response) -> Any:
    if "json" not in response.headers.get("content-type", ""):
        return None
    try:
        return json.loads(response.content)
    except ValueError:
        return None
