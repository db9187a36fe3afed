"""The way out: the address that was checked is the one that is connected to, and nothing takes longer than allowed."""

from __future__ import annotations

import socket
import ssl
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from ipaddress import ip_address, ip_network
from pathlib import Path

import pytest

from pipelines.domain.base.addresses import Address
from pipelines.domain.monitoring.webhooks import Reach
from tests.certificates import issue
from tests.fakes.http_servers import Reply, serving
from workers.adapters.receivers.posts import HttpPosts, look_up

LOOPBACK = Reach(http=True, networks=(ip_network("127.0.0.0/8"),))
HEADERS = {"content-type": "application/json", "webhook-id": "msg_1"}


@pytest.fixture
def tls(tmp_path: Path) -> tuple[ssl.SSLContext, ssl.SSLContext]:
    """What a server on localhost shows, and a client that trusts its authority."""
    issued = issue()
    files = {name: tmp_path / name for name in ("certificate", "key")}
    for name, file in files.items():
        file.write_text(getattr(issued, name))
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(files["certificate"], files["key"])
    return server, ssl.create_default_context(cadata=issued.ca)


def names(*addresses: str) -> object:
    """A look-up that always finds these."""
    return lambda _host, _port: [ip_address(each) for each in addresses]


@contextmanager
def raw_server(answer: Sequence[bytes], *, gap: float = 0.0) -> Iterator[int]:
    """Sends pieces of an answer, `gap` seconds apart, to every client; then it is silent."""
    listener = socket.create_server(("127.0.0.1", 0))
    over = threading.Event()

    def serve() -> None:
        while not over.is_set():
            try:
                client, _ = listener.accept()
            except OSError:
                return
            client.recv(65536)
            try:
                for piece in answer:
                    client.sendall(piece)
                    over.wait(gap)
            except OSError:
                continue
            over.wait(60)
            client.close()

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    try:
        yield listener.getsockname()[1]
    finally:
        over.set()
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        thread.join(10)


def test_a_message_arrives_as_it_is() -> None:
    with serving(lambda _: Reply(204)) as server:
        answer = HttpPosts(LOOPBACK).post(f"{server.url}/hook?a=b", HEADERS, b'{"a":1}')
    (asked,) = server.seen
    assert (answer.status, answer.error, answer.accepted) == (204, "", True)
    assert (asked.method, asked.path, asked.body) == ("POST", "/hook?a=b", b'{"a":1}')
    assert asked.headers["webhook-id"] == "msg_1"
    assert asked.headers["host"] == server.url.removeprefix("http://")


def test_no_redirect_is_followed() -> None:
    with (
        serving(lambda _: Reply(200)) as other,
        serving(lambda _: Reply(307, headers={"Location": other.url})) as first,
    ):
        answer = HttpPosts(LOOPBACK).post(first.url, HEADERS, b"{}")
    assert (answer.status, answer.accepted, other.seen) == (307, False, [])
    assert "redirects are not followed" in answer.error


def test_what_a_server_says_is_shown_in_part() -> None:
    with serving(lambda _: Reply(503, body="x" * 100_000, headers={"Retry-After": "7"})) as server:
        answer = HttpPosts(LOOPBACK).post(server.url, HEADERS, b"{}")
    assert (answer.status, answer.retry_after) == (503, "7")
    assert len(answer.error) < 400


@pytest.mark.parametrize(
    "url", ["http://127.0.0.1:1/", "http://localhost:1/", "https://[::ffff:127.0.0.1]/", "http://2130706433/"]
)
def test_a_private_address_is_refused_before_anything_is_sent(url: str) -> None:
    answer = HttpPosts(Reach(http=True)).post(url, HEADERS, b"{}")
    assert answer.status is None
    assert "not public" in answer.error
    assert "HEADGATE_WEBHOOK_NETWORKS" in answer.error


def test_without_encryption_nothing_is_sent_unless_it_is_allowed() -> None:
    with serving(lambda _: Reply(200)) as server:
        answer = HttpPosts(Reach(networks=LOOPBACK.networks)).post(server.url, HEADERS, b"{}")
    assert (answer.status, server.seen) == (None, [])
    assert "https://" in answer.error


def test_a_name_is_looked_up_once_and_only_what_passed_is_connected_to() -> None:
    asked: list[str] = []

    def rebinding(host: str, _: int) -> list[Address]:
        asked.append(host)
        return [ip_address("10.0.0.1"), ip_address("127.0.0.1")] if len(asked) == 1 else [ip_address("10.0.0.1")]

    with serving(lambda _: Reply(200)) as server:
        port = server.url.rpartition(":")[2]
        answer = HttpPosts(LOOPBACK, resolve=rebinding).post(f"http://hooks.example.com:{port}/", HEADERS, b"{}")
    assert (answer.status, asked) == (200, ["hooks.example.com"])
    assert server.seen[0].headers["host"] == f"hooks.example.com:{port}"


def test_the_next_address_is_tried_where_one_does_not_answer() -> None:
    with serving(lambda _: Reply(200)) as server:
        port = server.url.rpartition(":")[2]
        both = HttpPosts(LOOPBACK, resolve=names("127.0.0.2", "127.0.0.1"))  # type: ignore[arg-type]
        assert both.post(f"http://hooks.example.com:{port}/", HEADERS, b"{}").status == 200


@pytest.mark.parametrize(
    "answer",
    [
        [],
        [b"HTTP/1.1 200 OK\r\n", *[b"X-%d: y\r\n" % number for number in range(90)]],
        [b"HTTP/1.1 100 Continue\r\n\r\n"] * 200,
    ],
    ids=["silent", "headers that drip", "continue without end"],
)
def test_an_attempt_is_bounded_as_a_whole(answer: list[bytes]) -> None:
    with raw_server(answer, gap=0.05) as port:
        started = time.monotonic()
        found = HttpPosts(LOOPBACK, seconds=0.5).post(f"http://127.0.0.1:{port}/", HEADERS, b"{}")
    assert not found.accepted
    assert "0.5 s" in found.error
    assert time.monotonic() - started < 30


def test_a_failure_whose_words_drip_is_known_by_its_status() -> None:
    with raw_server([b"HTTP/1.1 410 Gone\r\nContent-Length: 9999\r\n\r\n", *[b"x"] * 200], gap=0.05) as port:
        assert HttpPosts(LOOPBACK, seconds=2.0).post(f"http://127.0.0.1:{port}/", HEADERS, b"{}").status == 410


def test_a_look_up_that_hangs_is_bounded_too() -> None:
    over = threading.Event()

    def hanging(_: str, __: int) -> list[Address]:
        over.wait(60)
        return []

    answer = HttpPosts(LOOPBACK, seconds=0.2, resolve=hanging).post("http://hooks.example.com/", HEADERS, b"{}")
    over.set()
    assert (answer.status, answer.error) == (None, "No answer came within 0.2 s.")


@pytest.mark.parametrize("garbage", [[b"\x00\xff\r\n\r\n"], [b"HTTP/1.1 abc\r\n\r\n"]])
def test_what_is_not_http_is_a_failure_in_words(garbage: list[bytes]) -> None:
    with raw_server(garbage) as port:
        answer = HttpPosts(LOOPBACK, seconds=5).post(f"http://127.0.0.1:{port}/", HEADERS, b"{}")
    assert answer.status is None
    assert answer.error


def test_a_server_whose_certificate_nobody_vouches_for_gets_nothing(tls: tuple[ssl.SSLContext, ssl.SSLContext]) -> None:
    server_side, trusting = tls
    with serving(lambda _: Reply(200), server_side) as server:
        url = server.url.replace("127.0.0.1", "localhost")
        loopback = {"resolve": names("127.0.0.1")}
        refused = HttpPosts(LOOPBACK, **loopback).post(url, HEADERS, b"{}")  # type: ignore[arg-type]
        accepted = HttpPosts(LOOPBACK, trust=trusting, **loopback).post(url, HEADERS, b"{}")  # type: ignore[arg-type]
        elsewhere = HttpPosts(LOOPBACK, trust=trusting, **loopback).post(  # type: ignore[arg-type]
            server.url.replace("127.0.0.1", "other.example"), HEADERS, b"{}"
        )
    assert "CERTIFICATE_VERIFY_FAILED" in refused.error
    assert accepted.status == 200
    assert "CERTIFICATE_VERIFY_FAILED" in elsewhere.error
    assert len(server.seen) == 1


def test_numbers_that_stand_for_addresses_are_looked_up_like_names() -> None:
    assert [str(each) for each in look_up("127.1", 80)] == ["127.0.0.1"]
