"""Messages over HTTP: one bounded request to an address that was checked, and no other.

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

from pipelines.domain.base.addresses import Address, address_of
from pipelines.domain.base.causes import explain
from pipelines.domain.monitoring.webhooks import DeliveryResponse, Reach, not_public

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


class Route:
    """The way to a host: a name is looked up once, and only addresses that `reach` allows are connected to."""

    def __init__(self, reach: Reach, resolve: Resolve = look_up) -> None:
        self.reach = reach
        self._resolve = resolve
        # A look-up cannot be interrupted: one that hangs takes a place here, and not the time of the attempt.
        self._look_ups = ThreadPoolExecutor(LOOK_UPS_AT_ONCE, thread_name_prefix="receiver-names")

    def addresses(self, host: str, port: int, deadline: float) -> list[Address]:
        """Those of a host that may be connected to. Raises Refused, OSError or TimeoutError."""
        found = self._look_ups.submit(self._resolve, host, port).result(timeout=left(deadline))
        allowed = [each for each in found if self.reach.allows(each)]
        if not allowed:
            raise Refused(not_public(host, found))
        return allowed[:MOST_ADDRESSES]


def connected(addresses: Sequence[Address], port: int, deadline: float) -> socket.socket:
    """A connection to the first address that answers. Raises OSError."""
    failures = []
    for address in addresses:
        try:
            made = socket.create_connection((str(address), port), min(CONNECT_SECONDS, left(deadline)))
        except OSError as error:
            failures.append(error)
            continue
        made.settimeout(left(deadline))
        return made
    raise failures[-1]


class HttpPosts:
    """`workers.ports.Posts`. `seconds`: for a whole attempt; `trust`: authorities other than the system's."""

    def __init__(
        self, reach: Reach, *, seconds: float = SECONDS, resolve: Resolve = look_up, trust: ssl.SSLContext | None = None
    ) -> None:
        self._route = Route(reach, resolve)
        self._seconds = seconds
        self._trust = trust

    @cached_property
    def _context(self) -> ssl.SSLContext:
        return self._trust or ssl.create_default_context()

    def post(self, url: str, headers: Mapping[str, str], body: bytes) -> DeliveryResponse:
        deadline = time.monotonic() + self._seconds
        try:
            return self._post(urlsplit(url), headers, body, deadline)
        except Refused as refused:
            return DeliveryResponse(None, str(refused))
        except (OSError, HTTPException, ValueError) as error:
            if time.monotonic() >= deadline:
                return DeliveryResponse(None, f"No answer came within {self._seconds:g} s.")
            return DeliveryResponse(None, printable(explain(error)))

    def _post(self, parts: SplitResult, headers: Mapping[str, str], body: bytes, deadline: float) -> DeliveryResponse:
        connection = self._connection(parts, deadline)
        try:
            with _cut_off(connection, deadline):
                connection.connect()
                connection.request("POST", _target(parts), body=body, headers=dict(headers))
                response = connection.getresponse()
                left(deadline)  # headers that were cut off look like all of them
                return _answer(response)
        finally:
            connection.close()

    def _connection(self, parts: SplitResult, deadline: float) -> _Pinned:
        if parts.scheme != "https" and not (self._route.reach.http and parts.scheme == "http"):
            raise Refused("Messages are sent with encryption only; use https://.")
        host, context = parts.hostname or "", self._context if parts.scheme == "https" else None
        port = parts.port or (443 if context else 80)
        return _Pinned(host, port, self._route.addresses(host, port, deadline), context, deadline)


class _Pinned(HTTPConnection):
    """A connection to given addresses, the first that answers, whatever the name is looked up to meanwhile."""

    def __init__(
        self, host: str, port: int, addresses: Sequence[Address], context: ssl.SSLContext | None, deadline: float
    ) -> None:
        self.default_port = 443 if context else 80
        super().__init__(host, port, timeout=left(deadline))
        self._addresses = addresses
        self._context = context
        self._deadline = deadline

    def connect(self) -> None:
        """Connect, and encrypt under the name that the certificate must have."""
        self.sock = connected(self._addresses, self.port, self._deadline)
        if self._context is not None:
            self.sock = self._context.wrap_socket(self.sock, server_hostname=self.host, do_handshake_on_connect=False)
            self.sock.do_handshake()


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

    timer = threading.Timer(left(deadline), cut)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def left(deadline: float) -> float:
    """Seconds until the deadline. Raises TimeoutError after it."""
    left = deadline - time.monotonic()
    if left <= 0:
        raise TimeoutError
    return left


def _target(parts: SplitResult) -> str:
    path = parts.path or "/"
    return f"{path}?{parts.query}" if parts.query else path


def _answer(response: HTTPResponse) -> DeliveryResponse:
    status, later = response.status, response.getheader("Retry-After") or ""
    if 200 <= status < 300:
        return DeliveryResponse(status)
    said = printable(response.read(MOST_SHOWN).decode("utf-8", "replace"))
    if 300 <= status < 400:
        return DeliveryResponse(
            status, f"The endpoint answers {status}; redirects are not followed, so correct the address.", later
        )
    return DeliveryResponse(
        status, f"The endpoint answers {status}: {said}" if said else f"The endpoint answers {status}.", later
    )


def printable(text: str) -> str:
    """The beginning of what an endpoint says, in one line."""
    return _UNPRINTABLE.sub(" ", text).strip()[:MOST_SHOWN]
