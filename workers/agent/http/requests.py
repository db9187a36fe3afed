"""Requests of a sink to an HTTP server: log-in, encryption, time limits, and sending again where the server asks so."""

from __future__ import annotations

import gzip
import os
import random
import ssl
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from pathlib import Path
from typing import Any

import httpcore2
import httpx2

from pipelines.domain.access.reach import ReachPolicy
from pipelines.domain.base.causes import explain
from workers.agent.base.log import say
from workers.agent.base.reach import PinnedBackend
from workers.agent.spark.executor_writer import Deadline

_LARGEST_ANSWER = 64 << 20
_FIRST_PAUSE = 0.2
_LONGEST_PAUSE = 30.0
_SHOWN = 200
_PHRASES = {status.value: status.phrase for status in HTTPStatus}


class RequestFailed(Exception):
    """The server is away, or its answer says that this request cannot be delivered now."""


@dataclass(frozen=True)
class HttpResponse:
    """Status and body of a response."""

    status: int
    body: bytes

    @property
    def is_success(self) -> bool:
        """2xx."""
        return 200 <= self.status < 300

    def summary(self) -> str:
        """The status and what it means, which every viewer may see. The body goes to the agent's log alone: it may come
        from a server that only this host reaches."""
        return f"{self.status} {_PHRASES.get(self.status, '')}".strip()

    def log_body(self, url: str) -> None:
        """Write the beginning of the body to the agent's log, which is for operators."""
        start = " ".join(self.body[:_SHOWN].decode(errors="replace").split())
        if start:
            say(f"{url} answered {self.summary()}: {start}", "WARNING")


@dataclass(frozen=True)
class Connection:
    """How to reach a server; picklable, so it goes to the executors with the writer."""

    urls: tuple[str, ...]
    headers: Mapping[str, str] = field(default_factory=dict)
    username: str | None = None
    password: str | None = field(default=None, repr=False)
    token: str | None = field(default=None, repr=False)
    ca: str | None = None
    certificate: str | None = None
    key: str | None = field(default=None, repr=False)
    connect_timeout: float = 5.0
    read_timeout: float = 30.0
    total_timeout: float = 120.0
    retry_statuses: frozenset[int] = frozenset()
    gzip: bool = False
    reach: ReachPolicy | None = None

    @classmethod
    def of(cls, spec: Any, urls: list[str], headers: Mapping[str, str], reach: ReachPolicy | None = None) -> Connection:
        """From the keys that every sink with HTTP has. `reach`: the servers that may be connected to."""
        return cls(
            urls=tuple(urls),
            headers=dict(headers),
            username=spec.username,
            password=spec.password,
            token=spec.token,
            ca=spec.tls.ca,
            certificate=spec.tls.certificate,
            key=spec.tls.private_key,
            connect_timeout=spec.connect_timeout,
            read_timeout=spec.read_timeout,
            total_timeout=spec.total_timeout,
            retry_statuses=frozenset(spec.retry_statuses),
            gzip=spec.gzip,
            reach=reach,
        )

    def context(self) -> ssl.SSLContext:
        """What is trusted and shown. Raises ssl.SSLError where the PEM texts are none."""
        context = ssl.create_default_context(cadata=self.ca) if self.ca else ssl.create_default_context()
        if self.certificate:
            _load_certificate(context, self.certificate, self.key)
        return context

    def authorization(self) -> httpx2.Auth | None:
        """Basic authentication, where there is a user name."""
        return httpx2.BasicAuth(self.username, self.password or "") if self.username else None


def _load_certificate(context: ssl.SSLContext, certificate: str, key: str | None) -> None:
    """OpenSSL reads a private key from a file only: one that nobody else may read, for the time of the call."""
    descriptor, name = tempfile.mkstemp(prefix="headgate-", suffix=".pem")
    try:
        with os.fdopen(descriptor, "w") as file:
            file.write("\n".join(part for part in (certificate, key) if part))
        context.load_cert_chain(name)
    finally:
        Path(name).unlink()


def _transport(connection: Connection) -> httpx2.HTTPTransport:
    """The way to the server: over addresses that were checked, where there are rules."""
    transport = httpx2.HTTPTransport(verify=connection.context(), trust_env=False)
    if connection.reach is not None:
        transport._pool = httpcore2.ConnectionPool(  # the library takes a backend here alone
            ssl_context=connection.context(), network_backend=PinnedBackend(connection.reach)
        )
    return transport


class Requests:
    """Sends requests over kept connections; one per task, not shared between threads."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._first = random.randrange(len(connection.urls))  # noqa: S311 - spreads load
        headers = {**connection.headers, "User-Agent": "headgate"}
        if connection.token:
            headers["Authorization"] = f"Bearer {connection.token}"
        self._client = httpx2.Client(
            auth=connection.authorization(),
            headers=headers,
            transport=_transport(connection),
            trust_env=False,
            follow_redirects=False,
        )

    def close(self) -> None:
        """Close all connections."""
        self._client.close()

    def send(
        self, method: str, path: str, content: bytes, deadline: Deadline, headers: Mapping[str, str] | None = None
    ) -> HttpResponse:
        """Send until there is an answer that is not one of `retry_statuses`, within `total_timeout` and the deadline.

        A node that cannot be connected to is passed over. Raises RequestFailed.
        """
        own = Deadline.after(deadline.left("the write", self._connection.total_timeout))
        headers = dict(headers or {})
        if self._connection.gzip and content:
            content = gzip.compress(content, 1)
            headers["Content-Encoding"] = "gzip"
        number = 0
        while True:
            answer, wanted = self._ask(method, path, content, own, headers)
            if answer.status not in self._connection.retry_statuses:
                return answer
            pause = wanted if wanted is not None else _backoff(number)
            if time.monotonic() + pause >= own.at:
                answer.log_body(self._url(path))
                raise RequestFailed(f"{self._url(path)} answered {answer.summary()} until the timeout")
            time.sleep(pause)
            number += 1

    def failed(self, what: str, answer: HttpResponse) -> RequestFailed:
        """The error of an answer that fails a batch; its body is logged."""
        answer.log_body(self._url(""))
        return RequestFailed(f"{what} answered {answer.summary()}")

    def wait(self, number: int, deadline: Deadline) -> None:
        """Pause before a repetition, the longer the more there were before."""
        time.sleep(deadline.left("the write", _backoff(number)))

    def _url(self, path: str) -> str:
        return self._connection.urls[self._first].rstrip("/" if path else "") + path

    def _ask(
        self, method: str, path: str, content: bytes, deadline: Deadline, headers: Mapping[str, str]
    ) -> tuple[HttpResponse, float | None]:
        for _ in self._connection.urls:
            try:
                return self._once(method, path, content, deadline, headers)
            except (httpx2.ConnectError, httpx2.ConnectTimeout) as error:
                failure = f"{self._url(path)} cannot be reached: {explain(error)}"
                self._first = (self._first + 1) % len(self._connection.urls)
            except httpx2.HTTPError as error:
                raise RequestFailed(f"{self._url(path)}: {explain(error)}") from error
        raise RequestFailed(failure)

    def _once(
        self, method: str, path: str, content: bytes, deadline: Deadline, headers: Mapping[str, str]
    ) -> tuple[HttpResponse, float | None]:
        url = self._url(path)
        left = deadline.left(url)
        timeout = httpx2.Timeout(
            min(left, self._connection.read_timeout), connect=min(left, self._connection.connect_timeout)
        )
        with self._client.stream(method, url, content=content, headers=dict(headers), timeout=timeout) as response:
            body = bytearray()
            for chunk in response.iter_bytes():
                body += chunk
                deadline.left(url)
                if len(body) > _LARGEST_ANSWER:
                    raise RequestFailed(f"{url}: the answer is larger than {_LARGEST_ANSWER} bytes")
            return HttpResponse(response.status_code, bytes(body)), retry_after(response.headers.get("retry-after"))


def _backoff(number: int) -> float:
    """Doubling pauses, each between a half and the whole of its length, so that clients do not come back together."""
    longest: float = min(_LONGEST_PAUSE, _FIRST_PAUSE * 2 ** min(number, 20))
    return longest * random.uniform(0.5, 1.0)  # noqa: S311


def retry_after(value: str | None) -> float | None:
    """Seconds to wait, out of a Retry-After header: a number or a date (RFC 9110, 10.2.3); None where it is neither."""
    if value is None:
        return None
    if value.strip().isdigit():
        return float(value.strip()[:9])
    try:
        at = parsedate_to_datetime(value)
    except ValueError:
        return None
    at = at if at.tzinfo else at.replace(tzinfo=UTC)
    return max(0.0, (at - datetime.now(UTC)).total_seconds())
