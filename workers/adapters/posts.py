"""Webhooks over HTTP: one bounded request to an address that was checked, and no other.

A name is looked up once, its addresses are judged, and the connection goes to one of those that passed, so that a
second look-up cannot lead elsewhere. No redirect is followed, no proxy is asked, and of an answer only its beginning is
read.
"""

from __future__ import annotations

import re
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cached_property
from http.client import HTTPConnection, HTTPException, HTTPResponse
from typing import Any
from urllib.parse import SplitResult, urlsplit

from pipelines.domain.base.causes import explain
from pipelines.domain.monitoring.webhooks import Address, Reach, WebhookResponse, address_of, not_public

SECONDS = 15.0
"""For a whole attempt, from looking the name up to the end of the answer."""
CONNECT_SECONDS = 5.0
LOOK_UPS_AT_ONCE = 8
MOST_ADDRESSES = 3
MOST_SHOWN = 300
_UNPRINTABLE = re.compile(r"[^\x20-\x7e\xa0-\uffff]+")

Resolve = Callable[[str, int], Sequence[Address]]


class Refused(Exception):
    """The message is not sent; the text says why."""


def look_up(host: str, port: int) -> list[Address]:
    """The addresses of a name. Raises OSError."""
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    addresses = (address_of(str(place[0])) for *_, place in found)
    return list(dict.fromkeys(each for each in addresses if each is not None))


class HttpPosts:
    """`workers.ports.Posts`. `seconds`: for a whole attempt; `trust`: authorities other than the system's."""

    def __init__(
        self, reach: Reach, *, seconds: float = SECONDS, resolve: Resolve = look_up, trust: ssl.SSLContext | None = None
    ) -> None:
        self._reach = reach
        self._seconds = seconds
        self._resolve = resolve
        self._trust = trust
        # A look-up cannot be interrupted: one that hangs takes a place here, and not the time of the attempt.
        self._look_ups = ThreadPoolExecutor(LOOK_UPS_AT_ONCE, thread_name_prefix="webhook-names")

    @cached_property
    def _context(self) -> ssl.SSLContext:
        return self._trust or ssl.create_default_context()

    def post(self, url: str, headers: Mapping[str, str], body: bytes) -> WebhookResponse:
        deadline = time.monotonic() + self._seconds
        try:
            return self._post(urlsplit(url), headers, body, deadline)
        except Refused as refused:
            return WebhookResponse(None, str(refused))
        except (OSError, HTTPException, ValueError) as error:
            if time.monotonic() >= deadline:
                return WebhookResponse(None, f"No answer came within {self._seconds:g} s.")
            return WebhookResponse(None, _printable(explain(error)))

    def _post(self, parts: SplitResult, headers: Mapping[str, str], body: bytes, deadline: float) -> WebhookResponse:
        connection = self._connection(parts, deadline)
        try:
            with _cut_off(connection, deadline):
                connection.connect()
                connection.request("POST", _target(parts), body=body, headers=dict(headers))
                response = connection.getresponse()
                _left(deadline)  # headers that were cut off look like all of them
                return _answer(response)
        finally:
            connection.close()

    def _connection(self, parts: SplitResult, deadline: float) -> _Pinned:
        if parts.scheme != "https" and not (self._reach.http and parts.scheme == "http"):
            raise Refused("Webhooks are sent with encryption only; use https://.")
        host, context = parts.hostname or "", self._context if parts.scheme == "https" else None
        port = parts.port or (443 if context else 80)
        return _Pinned(host, port, self._addresses(host, port, deadline), context, deadline)

    def _addresses(self, host: str, port: int, deadline: float) -> list[Address]:
        """Those of a host that may be connected to. Raises Refused, OSError or TimeoutError."""
        found = self._look_ups.submit(self._resolve, host, port).result(timeout=_left(deadline))
        allowed = [each for each in found if self._reach.allows(each)]
        if not allowed:
            raise Refused(not_public(host, found))
        return allowed[:MOST_ADDRESSES]


class _Pinned(HTTPConnection):
    """A connection to given addresses, the first that answers, whatever the name is looked up to meanwhile."""

    def __init__(
        self, host: str, port: int, addresses: Sequence[Address], context: ssl.SSLContext | None, deadline: float
    ) -> None:
        self.default_port = 443 if context else 80
        super().__init__(host, port, timeout=_left(deadline))
        self._addresses = addresses
        self._context = context
        self._deadline = deadline

    def connect(self) -> None:
        """Connect, and encrypt under the name that the certificate must have."""
        self.sock = self._reached()
        if self._context is not None:
            self.sock = self._context.wrap_socket(self.sock, server_hostname=self.host, do_handshake_on_connect=False)
            self.sock.do_handshake()

    def _reached(self) -> socket.socket:
        failures = []
        for address in self._addresses:
            try:
                made = socket.create_connection((str(address), self.port), min(CONNECT_SECONDS, _left(self._deadline)))
            except OSError as error:
                failures.append(error)
                continue
            made.settimeout(_left(self._deadline))
            return made
        raise failures[-1]


@contextmanager
def _cut_off(connection: HTTPConnection, deadline: float) -> Iterator[None]:
    """End the connection at the deadline, however slowly bytes drip in."""

    def cut() -> None:
        made: Any = connection.sock
        if made is not None:
            try:
                socket.socket.shutdown(made, socket.SHUT_RDWR)
            except OSError:
                return

    timer = threading.Timer(_left(deadline), cut)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def _left(deadline: float) -> float:
    """Seconds until the deadline. Raises TimeoutError after it."""
    left = deadline - time.monotonic()
    if left <= 0:
        raise TimeoutError
    return left


def _target(parts: SplitResult) -> str:
    path = parts.path or "/"
    return f"{path}?{parts.query}" if parts.query else path


def _answer(response: HTTPResponse) -> WebhookResponse:
    status, later = response.status, response.getheader("Retry-After") or ""
    if 200 <= status < 300:
        return WebhookResponse(status)
    said = _printable(response.read(MOST_SHOWN).decode("utf-8", "replace"))
    if 300 <= status < 400:
        return WebhookResponse(
            status, f"The endpoint answers {status}; redirects are not followed, so correct the address.", later
        )
    return WebhookResponse(
        status, f"The endpoint answers {status}: {said}" if said else f"The endpoint answers {status}.", later
    )


def _printable(text: str) -> str:
    return _UNPRINTABLE.sub(" ", text).strip()[:MOST_SHOWN]
