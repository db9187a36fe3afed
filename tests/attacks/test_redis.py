"""A local user, and a client of Redis, against a real Redis: nothing is answered without the password, and nothing that
is written there by another reaches a viewer, ends the tail, or ends the worker."""

from __future__ import annotations

import json
import re
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import psutil
import pytest
from django.conf import settings
from structlog.testing import capture_logs

from controlplane.install.services.child import Service, running
from controlplane.install.services.ports import free_port
from controlplane.install.services.redis import redis_service, redis_url, running_redis
from controlplane.install.tools.redis import server_binary
from controlplane.messages import checked
from pipelines.foundation import dispatch
from pipelines.foundation.entries import Entry, Unsealed, seal, unseal
from pipelines.foundation.redis_py import redis
from pipelines.foundation.refusals import Refusals
from pipelines.services.base import events
from tests.db.conftest import Server
from tests.db.test_event_stream import listening, use_redis
from tests.factories import PipelineFactory
from workers.adapters.broker_server import broker_warnings, inspect

CONTENT = json.dumps({"id": 2**40, "pipeline": "orders", "kind": "forged", "message": "x"})
FORGED = {"entries": f"event\t\torders\t{CONTENT}"}


@pytest.fixture
def broker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[redis.Redis]:
    """A Redis that server and services use, and a client of it that knows the password and nothing else."""
    with running_redis(tmp_path / "redis") as url:
        use_redis(url, monkeypatch)
        yield redis.Redis.from_url(url, socket_timeout=5)
    dispatch.event_stream.cache_clear()


def test_nothing_is_answered_without_the_password_which_nobody_else_can_read(tmp_path: Path) -> None:
    directory, port = tmp_path / "redis", free_port()
    with running(redis_service(data_dir=directory, port=port), tmp_path / "log") as child:
        with pytest.raises(redis.AuthenticationError):
            redis.Redis(port=port, socket_timeout=5).ping()
        known = redis.Redis.from_url(redis_url(directory, port), socket_timeout=5)
        assert known.ping()
        with pytest.raises(redis.ResponseError, match="unknown command"):
            known.execute_command("MODULE", "LIST")  # type: ignore[no-untyped-call]
        password = (directory / "password").read_text().strip()
        assert len(password) > 40
        assert password not in " ".join(psutil.Process(child.process.pid).cmdline())
        addresses = {each.laddr.ip for each in psutil.Process(child.process.pid).net_connections("tcp")}
    assert addresses == {"127.0.0.1"}
    assert directory.stat().st_mode & 0o077 == 0
    assert [file for file in directory.iterdir() if file.name != "log" and file.stat().st_mode & 0o077] == []


@pytest.mark.django_db(transaction=True)
def test_a_forged_event_reaches_no_viewer_and_a_malformed_entry_ends_nothing(
    server: Server, broker: redis.Redis
) -> None:
    pipeline = PipelineFactory.create(name="orders")
    malformed: list[dict[str, str | bytes]] = [
        {"nothing": "here"},
        {"entries": "event"},
        {"entries": "", "seal": ""},
        {"entries": "event\t\t\t[]", "seal": "0"},
        {"entries": b"\xff\xfe", "seal": b"\xff"},
        {"entries": "event\t\t\t" + "[" * 100_000, "seal": "0"},
        {**seal([])},
        {**seal([Entry("other", None, None, "{}")])},
        {**seal([Entry("event", None, None, "null")])},
        {**seal([Entry("event", None, None, '{"id": "no number"}')])},
    ]
    with listening(server) as listener, capture_logs() as lines:
        first = events.record(kind="run.started", message="First.", pipeline=pipeline)
        assert listener.next("event")[0]["id"] == first.pk
        for each in [FORGED, {**FORGED, "seal": "0" * 64}, *malformed]:
            broker.xadd(dispatch.STREAM, each)  # type: ignore[arg-type]
        last = events.record(kind="run.started", message="Last.", pipeline=pipeline)
        found, _ = listener.next("event")
        seen = list(listener.frames.queue)

    assert found["id"] == last.pk
    assert [line["event"] for line in lines].count("stream_entries_refused") == 1
    assert "forged" not in json.dumps([found, *(data for _, data, _ in seen)])


def test_what_was_sealed_is_read_and_what_was_changed_is_not() -> None:
    entries = [Entry("event", 3, "orders", '{"id": 7}'), Entry("live", None, None, '{"rate": 1}')]
    sealed = seal(entries)
    text = sealed["entries"]
    assert unseal(sealed) == entries
    changes = [
        text.replace("event", "live"),
        text.replace("\t3\t", "\t4\t"),
        text.replace("\t3\t", "\t\t"),
        text.replace("orders", "other"),
        text.replace("7", "8"),
        text.partition("\n")[0],
        f"{text}\n{text}",
    ]
    for changed in [*({"entries": each} for each in changes), {"seal": "é"}, {"seal": ""}]:
        with pytest.raises(Unsealed):
            unseal(sealed | changed)


@pytest.mark.parametrize("entries", [[], [Entry("other", None, None, "{}")]])
def test_what_was_sealed_and_is_no_entry_is_refused(entries: list[Entry]) -> None:
    """A version that writes others may run beside this one."""
    with pytest.raises(Unsealed):
        unseal(seal(entries))


@pytest.mark.parametrize("entry", [("event", 1, "a\tb", "{}"), ("event", 1, None, '{}\nevent\t\t\t{"id": 1}')])
def test_nothing_is_sealed_that_would_be_read_as_something_else(entry: tuple[str, int, str | None, str]) -> None:
    with pytest.raises(ValueError, match="one line of four fields"):
        seal([Entry(*entry)])


def test_a_worker_takes_no_orders_from_redis() -> None:
    from controlplane.celery import app

    assert app.conf.worker_enable_remote_control is False
    assert app.conf.accept_content == ["json"]


def test_arguments_of_a_message_are_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    from workers import tasks

    sent: list[object] = []
    monkeypatch.setattr(dispatch, "send_now", lambda *given, **named: sent.append((given, named)))
    monkeypatch.setattr(tasks, "_REFUSALS", Refusals("canaries_refused"))
    monkeypatch.setattr(tasks, "CANARIES", lambda *given: sent.append(given))
    with capture_logs() as lines:
        for host in ("../x", "a" * 64, 7, None, ["here"], {"a": 1}):
            tasks.canary(host, "control", 0.0)
        for queue, at in (
            (7, 0.0),
            ("control", "late"),
            ("control", float("nan")),
            ("orders", 0.0),
            ("control", True),
        ):
            tasks.canary("here", queue, at)
    assert sent == []
    assert [line["event"] for line in lines] == ["canaries_refused"]


def a_message() -> dict[str, Any]:
    """A message as Celery writes it."""
    content = [["here", "control", 1.5], {}, {"callbacks": None, "errbacks": None, "chain": None, "chord": None}]
    return {
        "body": b64encode(json.dumps(content).encode()).decode(),
        "content-encoding": "utf-8",
        "content-type": "application/json",
        "headers": {"task": "workers.canary", "id": "1", "expires": "2026-01-01T00:00:00+00:00", "eta": None},
        "properties": {
            "correlation_id": "1",
            "delivery_tag": "2",
            "delivery_info": {"exchange": "", "routing_key": "control"},
            "body_encoding": "base64",
        },
    }


def test_a_message_of_ours_is_passed_on_without_what_its_kind_does_not_have() -> None:
    message = a_message()
    message["headers"] |= {"shadow": {}, "timelimit": 7, "stamped_headers": 7}
    found = json.loads(checked(json.dumps(message).encode()) or "null")
    assert found["headers"] == {"task": "workers.canary", "id": "1", "expires": "2026-01-01T00:00:00Z"}
    assert found["content-type"] == "application/json"
    assert json.loads(b64decode(found["body"])) == [["here", "control", 1.5], {}, {}]


def test_messages_arrive_through_a_socket_with_a_password(tmp_path: Path) -> None:
    from controlplane.celery import app, broker_url

    socket = tmp_path / "redis.sock"
    argv = [str(server_binary()), "--port", "0", "--unixsocket", str(socket), "--requirepass", "secret", "--save", ""]
    url = f"unix://:secret@{socket}?db=3"
    client = redis.Redis.from_url(url)
    with (
        running(Service("redis", argv, is_ready=socket.exists, ready_timeout=60), tmp_path / "log"),
        app.connection_for_write(broker_url(url)) as connection,
    ):
        app.send_task("workers.canary", args=["here", "host.here", 1.5], queue="host.here", connection=connection)
        sent = client.lrange("host.here", 0, -1)
        with connection.SimpleQueue("host.here", no_ack=True) as queue:
            received = queue.get(timeout=10)
    assert len(sent) == 1
    assert set(received.headers) == {"task", "id", "expires"}, "it has been checked"


MALFORMED: dict[str, Callable[[dict[str, Any]], object]] = {
    "other task": lambda it: it["headers"].update(task="celery.backend_cleanup"),
    "no id": lambda it: it["headers"].pop("id"),
    "end that is no time": lambda it: it["headers"].update(expires="soon"),
    "other type": lambda it: it.update({"content-type": "application/x-python-serialize"}),
    "other encoding": lambda it: it.update({"content-encoding": "rot13"}),
    "body that is no text": lambda it: it.update(body=7),
    "body that is no base64": lambda it: it.update(body="@"),
    "body without arguments": lambda it: it.update(body=b64encode(b"7").decode()),
    "arguments that are no list": lambda it: it.update(body=b64encode(b'["a", {}, {}]').decode()),
    "nested body": lambda it: it.update(body=b64encode(b"[" * 5000).decode()),
    "large body": lambda it: it.update(body="A" * 20_000),
    "other exchange": lambda it: it["properties"]["delivery_info"].update(exchange="celeryev"),
    "no tag": lambda it: it["properties"].pop("delivery_tag"),
}


@pytest.mark.parametrize("change", MALFORMED.values(), ids=MALFORMED.keys())
def test_a_message_that_no_process_of_headgate_writes_is_refused(change: Callable[[dict[str, Any]], object]) -> None:
    message = a_message()
    change(message)
    assert checked(json.dumps(message).encode()) is None


@pytest.mark.parametrize("raw", [b"", b"\xff", b"{", b"[]", b"{}", b"null", b"[" * 100_000])
def test_what_is_no_message_is_refused(raw: bytes) -> None:
    assert checked(raw) is None


def test_a_server_is_inspected_as_the_worker_reaches_it(tmp_path: Path) -> None:
    with running_redis(tmp_path / "redis") as url:
        client = redis.Redis.from_url(url)
        found = inspect(client)
        assert (found.loopback, found.password, found.tls) == (True, True, False)
        assert (found.software in {"Redis", "Valkey"}, found.version[0].isdigit()) == (True, True)
        client.acl_setuser("worker", enabled=True, passwords=["+secret"], categories=["+@all"], commands=["-info"])
        other = inspect(redis.Redis.from_url(url.replace("//:", "//worker:").replace(_password(url), "secret")))
    assert replace(other, software=found.software, version=found.version) == found
    assert (other.software, other.version) == ("", ""), "it may not be asked"


def _password(url: str) -> str:
    return urlsplit(url).password or ""


def test_a_server_that_others_can_use_is_said_once_in_the_log(
    broker: redis.Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    broker.config_set("requirepass", "")
    open_url = re.sub("//.*@", "//", settings.HEADGATE.redis_url.get_secret_value())
    use_redis(open_url, monkeypatch)
    with capture_logs() as lines:
        found = broker_warnings()
        assert broker_warnings() == found
    assert any("asks for no password" in each for each in found)
    assert [line["detail"] for line in lines if line["event"] == "broker_warning"] == found


def test_a_server_that_does_not_answer_has_no_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    use_redis(f"redis://127.0.0.1:{free_port()}/0", monkeypatch)
    assert broker_warnings() == []
    dispatch.event_stream.cache_clear()
