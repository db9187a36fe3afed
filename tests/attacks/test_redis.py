"""A local user, and a client of Redis, against a real Redis: nothing is answered without the password, and nothing that
is written there by another reaches a viewer, ends the tail, or ends the worker."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from structlog.testing import capture_logs

from controlplane.install.services.child import running
from controlplane.install.services.ports import free_port
from controlplane.install.services.redis import redis_service, redis_url, running_redis
from pipelines.foundation import dispatch
from pipelines.foundation.entries import Unsealed, seal, unseal
from pipelines.foundation.redis_py import redis
from pipelines.services.base import events
from tests.db.conftest import Server
from tests.db.test_event_stream import listening, use_redis
from tests.factories import PipelineFactory

FORGED = {"kind": "event", "data": json.dumps({"id": 2**40, "pipeline": "orders", "kind": "forged", "message": "x"})}


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
        {"kind": "event"},
        {"kind": "event", "data": "{"},
        {"kind": "event", "data": "[]", "seal": "0"},
        {"kind": b"\xff\xfe", "data": b"\xff", "seal": b"\xff"},
        {"kind": "event", "data": "[" * 100_000, "seal": "0"},
        {**seal("event", '{"id": "no number"}')},
        {**seal("event", "null")},
    ]
    with listening(server) as listener, capture_logs() as lines:
        first = events.record(kind="run.started", message="First.", pipeline=pipeline)
        assert listener.next("event")[0]["id"] == first.pk
        for each in [FORGED, {**FORGED, "kind": "live"}, {**FORGED, "seal": "0" * 64}, *malformed]:
            broker.xadd(dispatch.STREAM, each)  # type: ignore[arg-type]
        last = events.record(kind="run.started", message="Last.", pipeline=pipeline)
        found, _ = listener.next("event")
        seen = list(listener.frames.queue)

    assert found["id"] == last.pk
    assert [line["event"] for line in lines].count("stream_entries_refused") == 1
    assert "forged" not in json.dumps([found, *(data for _, data, _ in seen)])


def test_what_was_sealed_is_read_and_what_was_changed_is_not() -> None:
    sealed = seal("event", '{"id": 7}')
    assert unseal(sealed) == ("event", {"id": 7})
    for changed in ({"kind": "live"}, {"data": '{"id": 8}'}, {"seal": "é"}, {"seal": ""}):
        with pytest.raises(Unsealed):
            unseal(sealed | changed)


def test_a_worker_takes_no_orders_from_redis() -> None:
    from controlplane.celery import app

    assert app.conf.worker_enable_remote_control is False
    assert app.conf.accept_content == ["json"]


def test_arguments_of_a_message_are_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    from workers import tasks

    sent: list[object] = []
    monkeypatch.setattr(dispatch, "send_now", lambda *given, **named: sent.append((given, named)))
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
    assert {line["event"] for line in lines} == {"canary_refused"}
