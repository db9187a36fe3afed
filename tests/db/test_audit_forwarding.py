"""The audit arrives at real receivers, row after row in its order, whatever happens to receivers and workers."""

from __future__ import annotations

import json
import re
import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from rest_framework.test import APIClient

from controlplane.environment import InvalidEnvironment, load
from pipelines.domain.access.audit.export import head_line, verify_export
from pipelines.domain.access.audit.messages import MOST_BYTES
from pipelines.domain.access.audit.settings import SyslogTarget, parse_syslog
from pipelines.foundation import clock
from pipelines.models import AuditForwarding
from pipelines.selectors.access import audit as selecting
from pipelines.services.access.audit import forwarding
from pipelines.services.access.audit.sealing import seal
from pipelines.services.base import audit
from pipelines.services.base.audit import Actor
from tests.certificates import issue
from tests.fakes.http_servers import Reply, serving
from tests.waiting import wait_for
from workers.adapters.receivers import audit as audit_receivers
from workers.adapters.receivers.audit import OtlpReceiver, SyslogReceiver
from workers.ports import NotForwarded
from workers.supervisor.background.sending import audit as audit_forwarder
from workers.supervisor.background.sending.audit import AuditForwarder

pytestmark = pytest.mark.django_db
SEQUENCE = re.compile(r' sequence="(\d+)"')


def _written(number: int, **more: Any) -> None:
    for n in range(number):
        audit.record(actor=Actor("ana", "10.0.0.1", "r-1"), action="pipeline.stop", after={"n": n}, **more)
    seal(signer=settings.HEADGATE.signer)


@dataclass
class Server:
    """A syslog server, as far as a test looks at one: it reads to the end and closes."""

    scheme: str
    place: Any
    received: list[str] = field(default_factory=list)

    @property
    def sequences(self) -> list[int]:
        return [int(found[1]) for text in self.received if (found := SEQUENCE.search(text))]

    @property
    def target(self) -> SyslogTarget:
        if self.scheme == "unix":
            return parse_syslog(f"unix://{self.place}")
        return parse_syslog(f"{self.scheme}://localhost:{self.place}")


@contextmanager
def stream_server(port: int = 0, tls: ssl.SSLContext | None = None, *, most: int | None = None) -> Iterator[Server]:
    """By TCP. `most`: after so many bytes it dies without having read the rest."""
    listener = socket.create_server(("127.0.0.1", port), reuse_port=True)
    found = Server("tls" if tls else "tcp", listener.getsockname()[1])

    def serve() -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            with suppress(OSError), tls.wrap_socket(connection, server_side=True) if tls else connection as made:
                if most is not None:
                    made.recv(most)
                    continue
                found.received += framed(b"".join(iter(lambda: made.recv(65536), b"")))

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    try:
        yield found
    finally:
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        thread.join(10)


def framed(data: bytes) -> list[str]:
    """Messages by octet counting."""
    found = []
    while data:
        length, _, rest = data.partition(b" ")
        found.append(rest[: int(length)].decode())
        data = rest[int(length) :]
    return found


@contextmanager
def datagram_server(place: Any = 0) -> Iterator[Server]:
    family = socket.AF_INET if isinstance(place, int) else socket.AF_UNIX
    made = socket.socket(family, socket.SOCK_DGRAM)
    made.bind(("127.0.0.1", place) if isinstance(place, int) else str(place))
    made.settimeout(0.1)
    found = Server("udp", made.getsockname()[1]) if isinstance(place, int) else Server("unix", place)
    ended = threading.Event()

    def serve() -> None:
        while not ended.is_set():
            with suppress(TimeoutError):
                found.received.append(made.recv(65536).decode())

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    try:
        yield found
    finally:
        ended.set()
        thread.join(10)
        made.close()


def forwarder(target: SyslogTarget, owner: str = "alpha", **more: Any) -> AuditForwarder:
    return AuditForwarder("syslog", SyslogReceiver(target, host=owner, **more), owner)


def state() -> AuditForwarding:
    return AuditForwarding.objects.get(destination="syslog")


@pytest.mark.parametrize("kind", ["tcp", "udp"])
def test_every_row_arrives_in_order_when_the_server_is_away_and_comes_back(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(audit_forwarder, "AT_ONCE", 4)
    serve: Any = stream_server if kind == "tcp" else datagram_server
    _written(10)
    with serve() as first:
        worker = forwarder(first.target)
        assert worker.turn() == 0.0
        assert worker.turn() == 0.0
        wait_for(lambda: len(first.sequences) == 8, "two parts have arrived")
    assert worker.turn() == audit_forwarder.RETRY_SECONDS
    assert worker.turn() == 2 * audit_forwarder.RETRY_SECONDS
    assert (state().sequence, state().failing_since is not None) == (8, True)
    assert state().last_error
    _written(5)
    with serve(first.place) as second:
        while worker.turn() == 0.0:
            pass
        wait_for(lambda: len(second.sequences) == 7, "the rest has arrived")
    assert first.sequences + second.sequences == list(range(1, 16))
    assert (state().sequence, state().failing_since, state().last_error) == (15, None, "")


def test_rows_that_a_dying_server_did_not_read_are_sent_again() -> None:
    _written(3)
    with stream_server(most=1) as dying:
        worker = forwarder(dying.target)
        assert worker.turn() == audit_forwarder.RETRY_SECONDS
        assert state().sequence == 0
    with stream_server(dying.place) as server:
        worker.turn()
        wait_for(lambda: server.sequences == [1, 2, 3], "all have arrived")


def test_a_server_is_spoken_to_by_tls_and_must_prove_who_it_is(tmp_path: Path) -> None:
    issued = issue()
    for name, text in (("ca", issued.ca), ("certificate", issued.certificate), ("key", issued.key)):
        (tmp_path / name).write_text(text)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "certificate", tmp_path / "key")
    _written(3)
    with stream_server(tls=context) as server:
        assert forwarder(server.target).turn() == audit_forwarder.RETRY_SECONDS
        assert server.received == []
        forwarder(server.target, authorities=tmp_path / "ca").turn()
        wait_for(lambda: server.sequences == [1, 2, 3], "all have arrived")
    assert state().sequence == 3


def test_the_socket_of_the_machine_takes_messages(tmp_path: Path) -> None:
    _written(3)
    assert forwarder(parse_syslog(f"unix://{tmp_path}/log")).turn() == audit_forwarder.RETRY_SECONDS
    with datagram_server(tmp_path / "log") as server:
        forwarder(server.target).turn()
        wait_for(lambda: server.sequences == [1, 2, 3], "all have arrived")


def test_a_message_is_of_rfc_5424_and_its_text_verifies(tmp_path: Path) -> None:
    hostile = 'a"]b\\\n<1>1 - forged'
    audit.record(actor=Actor(hostile), action="session.login", outcome="refused")
    _written(1, pipeline_name="orders")
    with stream_server() as server:
        forwarder(server.target).turn()
        wait_for(lambda: len(server.received) == 2, "both have arrived")
    refused, accepted = server.received
    assert re.match(
        r"<108>1 \d{4}-\d\d-\d\dT[\d:.]+\+00:00 alpha headgate - audit \[headgate@32473 sequence=\"1\"", refused
    )
    assert r'actor="a\"\]b\\ <1>1 - forged"' in refused
    assert "\n" not in refused
    assert accepted.startswith("<109>1 ")
    assert 'pipeline="orders" address="10.0.0.1" request="r-1"] {' in accepted
    lines = [head_line(selecting.head()), *(each[each.index("] {") + 2 :] for each in server.received)]
    assert verify_export(lines, settings.HEADGATE.signer.public).rows == 2


def test_a_row_that_no_receiver_takes_whole_goes_without_its_content() -> None:
    audit.record(actor=Actor("ana"), action="revision.create", after={"text": "x" * MOST_BYTES})
    seal(signer=settings.HEADGATE.signer)
    with datagram_server() as server:
        forwarder(server.target).turn()
        wait_for(lambda: server.sequences == [1], "it has arrived")
    assert 'truncated="true"' in server.received[0]
    assert "xxx" not in server.received[0]


def test_one_worker_holds_a_destination_until_it_is_silent() -> None:
    _written(3)
    now = clock.now()
    assert forwarding.claim(destination="syslog", owner="alpha", now=now) == 0
    assert forwarding.claim(destination="syslog", owner="bravo", now=now) is None
    assert forwarding.claim(destination="syslog", owner="alpha", now=now) == 0
    later = now + forwarding.LEASE + timedelta(seconds=1)
    assert forwarding.claim(destination="syslog", owner="bravo", now=later) == 0
    assert not forwarding.advance(destination="syslog", owner="alpha", old=0, new=3, now=later)
    assert forwarding.advance(destination="syslog", owner="bravo", old=0, new=2, now=later)
    assert not forwarding.advance(destination="syslog", owner="bravo", old=0, new=3, now=later)
    assert state().sequence == 2


def test_a_worker_that_dies_after_sending_sends_again_and_loses_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    _written(3)
    with stream_server() as server:
        with monkeypatch.context() as dying:
            dying.setattr(forwarding, "advance", lambda **_: (_ for _ in ()).throw(KeyboardInterrupt))
            with pytest.raises(KeyboardInterrupt):
                forwarder(server.target).turn()
        forwarder(server.target).turn()
        wait_for(lambda: server.sequences == [1, 2, 3, 1, 2, 3], "all have arrived twice")


def test_a_server_that_hangs_is_waited_for_within_a_bound() -> None:
    _written(1)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        target = parse_syslog(f"tcp://127.0.0.1:{silent.getsockname()[1]}")
        receiver = SyslogReceiver(target, host="alpha", seconds=0.3)
        with pytest.raises(NotForwarded, match=r"within 0\.3 s"):
            receiver.send(selecting.sealed_after(0, most=1))
    assert forwarding.LEASE.total_seconds() > audit_receivers.SECONDS


def test_a_collector_takes_log_records_and_what_it_refuses_is_sent_again() -> None:
    _written(2)
    audit.record(actor=Actor("eve"), action="session.login", outcome="refused")
    seal(signer=settings.HEADGATE.signer)
    replies = iter([Reply(503, "busy"), Reply(200, {})])
    with serving(lambda _: next(replies)) as server:
        receiver = OtlpReceiver(f"{server.url}/v1/logs", {"authorization": "Bearer t"}, host="alpha", version="1")
        worker = AuditForwarder("otlp", receiver, "alpha")
        assert worker.turn() == audit_forwarder.RETRY_SECONDS
        assert "503" in AuditForwarding.objects.get(destination="otlp").last_error
        worker.turn()
        last = server.seen[-1]
    assert last.headers["authorization"] == "Bearer t"
    (resource,) = json.loads(last.body)["resourceLogs"]
    (scope,) = resource["scopeLogs"]
    found = [{each["key"]: each["value"] for each in record["attributes"]} for record in scope["logRecords"]]
    assert [each["headgate.audit.sequence"] for each in found] == [{"intValue": str(n)} for n in (1, 2, 3)]
    assert [record["severityText"] for record in scope["logRecords"]] == ["INFO2", "INFO2", "WARN"]
    assert AuditForwarding.objects.get(destination="otlp").sequence == 3


def test_page_and_metrics_say_how_far_it_is_behind(admin: APIClient, monkeypatch: pytest.MonkeyPatch) -> None:
    changed = {"audit_syslog": "tcp://127.0.0.1:1"}
    monkeypatch.setattr(settings, "HEADGATE", settings.HEADGATE.model_copy(update=changed))
    _written(4)
    assert forwarder(parse_syslog("tcp://127.0.0.1:1")).turn() > 0
    (shown,) = admin.get("/api/v1/audit/chain").json()["forwarding"]
    assert (shown["destination"], shown["sequence"], shown["behind"]) == ("syslog", 0, 4)
    assert shown["behind_since"] is not None
    assert shown["failing_since"] is not None
    assert 'headgate_audit_forwarding_behind_rows{destination="syslog"} 4.0' in admin.get("/metrics").content.decode()


@pytest.mark.parametrize(
    "wrong", ["logs:514", "tcp://", "http://logs", "tls://u:p@logs", "unix://relative", "tcp://logs/x"]
)
def test_what_is_no_server_is_refused_at_the_start(wrong: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADGATE_AUDIT_SYSLOG", wrong)
    with pytest.raises(InvalidEnvironment, match="HEADGATE_AUDIT_SYSLOG"):
        load()


def test_addresses_have_the_ports_and_paths_of_their_protocols(monkeypatch: pytest.MonkeyPatch) -> None:
    assert parse_syslog("tls://logs") == SyslogTarget("tls", "logs", 6514)
    assert parse_syslog("unix:///dev/log") == SyslogTarget("unix", path="/dev/log")
    monkeypatch.setenv("HEADGATE_AUDIT_OTLP", "https://otel.example.com:4318/")
    monkeypatch.setenv("HEADGATE_AUDIT_OTLP_HEADERS", "authorization=Bearer%20abc, x=1")
    found = load()
    assert found.otlp_address == "https://otel.example.com:4318/v1/logs"
    assert found.otlp_headers == {"authorization": "Bearer abc", "x": "1"}
    assert "abc" not in repr(found)
