"""Work for the server by clients that may do nothing."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress

import pytest
import uvicorn

from controlplane import protocol
from controlplane.asgi import application
from pipelines.api.http import limits
from pipelines.api.monitoring import stream
from pipelines.foundation.errors import TooManyRequests
from tests.attacks.conftest import Web
from tests.waiting import wait_for

CHUNK = b"10000\r\n" + b"x" * 0x10000 + b"\r\n"


def refused(port: int, head: bytes, chunks: int = 1000) -> tuple[bytes, int]:
    """The status line that comes back, and how many chunks of 64 KiB the server let the client send."""
    with socket.create_connection(("127.0.0.1", port), timeout=20) as client:
        client.sendall(head)
        sent = 0
        try:
            for _ in range(chunks):
                client.settimeout(0.02)
                try:
                    if answer := client.recv(200):
                        return answer.split(b"\r\n")[0], sent
                    return b"closed", sent
                except TimeoutError:
                    pass
                client.settimeout(20)
                client.sendall(CHUNK)
                sent += 1
            return client.recv(200).split(b"\r\n")[0], sent
        except (ConnectionResetError, BrokenPipeError):
            return b"closed", sent


def post(path: str, *headers: str) -> bytes:
    lines = [f"POST {path} HTTP/1.1", "Host: localhost", "Content-Type: application/json", *headers, "", ""]
    return "\r\n".join(lines).encode()


def test_a_body_without_credentials_is_not_read(web: Web) -> None:
    status, sent = refused(web.port, post("/api/v1/pipelines", "Transfer-Encoding: chunked"))
    assert b"401" in status
    assert sent < 10


@pytest.mark.parametrize(("path", "largest"), [("/api/v1/pipelines/validate", 2 << 20), ("/api/v1/session", 16 << 10)])
def test_a_body_is_cut_where_it_is_too_large(web: Web, path: str, largest: int) -> None:
    head = post(path, "Transfer-Encoding: chunked", f"Authorization: Token {web.token}")
    status, sent = refused(web.port, head)
    assert b"413" in status or status == b"closed"
    assert sent <= largest // 0x10000 + 40  # what the system's own buffers take
    status, _ = refused(web.port, post(path, "Content-Length: 313524224", f"Authorization: Token {web.token}"), 0)
    assert b"413" in status


@pytest.mark.parametrize("declared", ["-1", "1e3", "0x10", "١٢"])
def test_a_length_that_is_no_number_is_refused(web: Web, declared: str) -> None:
    status, _ = refused(web.port, post("/api/v1/pipelines", f"Content-Length: {declared}"), 0)
    assert b"400" in status or status in {b"closed", b""}


def test_headers_without_end_are_refused(web: Web) -> None:
    with socket.create_connection(("127.0.0.1", web.port), timeout=20) as client:
        client.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n")
        line = b"X-Header: " + b"x" * 1000 + b"\r\n"
        sent = 0
        with suppress(ConnectionResetError, BrokenPipeError):
            while sent < 100_000:
                client.sendall(line)
                sent += 1
    assert sent < 5_000


@contextmanager
def serving() -> Iterator[int]:
    """The port of a server in this process with the protocol of the web server."""
    made = uvicorn.Server(
        uvicorn.Config(application, port=0, lifespan="off", log_config=None, http=protocol.BoundedProtocol)
    )
    thread = threading.Thread(target=made.run, daemon=True)
    thread.start()
    wait_for(lambda: made.started, "the server listens")
    try:
        yield made.servers[0].sockets[0].getsockname()[1]
    finally:
        made.should_exit = True
        thread.join(20)


def test_a_head_that_does_not_end_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(protocol, "HEAD_SECONDS", 0.3)
    with serving() as port, socket.create_connection(("127.0.0.1", port), timeout=20) as client:
        client.sendall(b"GET /healthz HTTP/1.1\r\nHost: local")
        assert client.recv(100) == b""


def test_a_second_head_that_does_not_end_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(protocol, "HEAD_SECONDS", 0.5)
    with serving() as port, socket.create_connection(("127.0.0.1", port), timeout=20) as client:
        client.sendall(b"GET /nothing HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert client.recv(4000).startswith(b"HTTP/1.1 ")
        client.sendall(b"GET /nothing HTTP/1.1\r\nHost: local")
        while client.recv(4000):
            pass


def test_a_body_that_does_not_come_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "BODY_SECONDS", 0.3)
    with serving() as port, socket.create_connection(("127.0.0.1", port), timeout=20) as client:
        client.sendall(post("/api/v1/session", "Content-Length: 10") + b"{")
        assert client.recv(100).startswith(b"HTTP/1.1 408")


def test_places_of_streams_are_counted_in_one_step() -> None:
    def take(_: int) -> bool:
        try:
            stream._take_place("crowd")
        except TooManyRequests:
            return False
        return True

    with ThreadPoolExecutor(40) as pool:
        assert sum(pool.map(take, range(200))) == stream.STREAMS_PER_USER
    stream._opening.clear()
