"""A database that is locked or away: every door answers 503 while it is so, and nothing is half done.

The lock is held until the answer has come, so a request that waited for it would never end.
"""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager
from typing import Any

import httpx2
import pytest
from django.contrib.sessions.models import Session
from django.db import OperationalError, ProgrammingError, connection, connections

from controlplane.environment import postgresql
from pipelines.api.http.problems import exception_handler
from pipelines.api.monitoring.stream import MEDIA_TYPE
from pipelines.domain.base.roles import Role
from pipelines.foundation import availability
from pipelines.foundation.availability import bounded, is_unavailable, why_unavailable
from pipelines.models import AuditRow, Operation, Pipeline
from pipelines.services.access import access
from pipelines.services.base import events
from tests.db.conftest import CommandLine, Server
from tests.factories import PipelineFactory, UserFactory

pytestmark = pytest.mark.django_db(transaction=True)
ON_POSTGRES = "HEADGATE_TEST_DATABASE_URL" in os.environ
of_sqlite = pytest.mark.skipif(ON_POSTGRES, reason="locks of SQLite")
of_postgres = pytest.mark.skipif(not ON_POSTGRES, reason="locks of PostgreSQL")
Away = Callable[[], AbstractContextManager[None]]


@contextmanager
def locked() -> Iterator[None]:
    """Another process writes, and does not come to an end."""
    path = connection.settings_dict["NAME"]
    with closing(sqlite3.connect(path, isolation_level=None, timeout=20)) as other:
        other.execute("BEGIN EXCLUSIVE")
        try:
            yield
        finally:
            other.execute("ROLLBACK")


@contextmanager
def gone() -> Iterator[None]:
    """The directory of the file is not mounted."""
    described = connections.settings["default"]
    path = described["NAME"]
    described["NAME"] = "/nowhere/headgate.sqlite3"
    try:
        yield
    finally:
        described["NAME"] = path


@pytest.fixture
def operator(server: Server) -> httpx2.Client:
    user = UserFactory.create(username="olga", role=Role.OPERATOR)
    token = access.create_token(user=user, name="test", expires=None)
    return httpx2.Client(base_url=server.url, headers={"Authorization": f"Token {token}"}, timeout=30)


def is_away(response: Any, reason: str = "another process has locked it") -> bool:
    assert response.status_code == 503, response.text
    assert response.headers["content-type"] == "application/problem+json"
    assert int(response.headers["retry-after"]) >= 1
    body = response.json()
    assert (body["code"], body["status"]) == ("database_unavailable", 503)
    assert reason in body["detail"]
    return True


@of_sqlite
@pytest.mark.parametrize("key", [{}, {"Idempotency-Key": "k1"}], ids=["without a key", "with a key"])
def test_a_write_while_another_process_holds_the_lock_is_answered_and_not_half_done(
    operator: httpx2.Client, key: dict[str, str]
) -> None:
    PipelineFactory.create(name="orders")
    with locked():
        assert is_away(operator.post("/api/v1/pipelines/orders/start", json={}, headers=key))
    assert Operation.objects.count() == 0
    assert Pipeline.objects.get().desired_state == "STOPPED"
    assert not AuditRow.objects.filter(pipeline_name="orders").exists()
    assert operator.post("/api/v1/pipelines/orders/start", json={}, headers=key).status_code == 202
    assert Operation.objects.count() == 1


@of_sqlite
def test_a_login_is_answered_and_makes_no_session(server: Server) -> None:
    UserFactory.create(username="ana", password="a-long-password")
    with httpx2.Client(base_url=server.url, timeout=30) as page:
        token = page.get("/api/v1/session").json()["csrf_token"]
        headers = {"X-CSRFToken": token, "Referer": server.url}
        body = {"username": "ana", "password": "a-long-password"}
        with locked():
            assert is_away(page.post("/api/v1/session", json=body, headers=headers))
        assert Session.objects.count() == 0
        assert page.post("/api/v1/session", json=body, headers=headers).status_code == 200


@of_sqlite
def test_a_database_that_cannot_even_be_read_is_said_at_every_door(server: Server, operator: httpx2.Client) -> None:
    reason = "its file cannot be opened"
    with gone():
        assert is_away(operator.get("/api/v1/pipelines"), reason)
        assert is_away(operator.get("/api/v1/events", headers={"Accept": MEDIA_TYPE}), reason)
        page = httpx2.Client(base_url=server.url, cookies={"sessionid": "x" * 32}, timeout=30)
        assert is_away(page.get("/api/v1/session"), reason)
        assert httpx2.get(f"{server.url}/healthz").status_code == 200
    assert operator.get("/api/v1/pipelines").status_code == 200


@of_sqlite
@pytest.mark.parametrize("away", [locked, gone])
def test_a_server_without_its_database_is_not_ready(server: Server, away: Away) -> None:
    with away():
        answer = httpx2.get(f"{server.url}/readyz", timeout=30)
    assert (answer.status_code, answer.json()["code"]) == (503, "database_unavailable")
    assert answer.json()["checks"]["database"] == "unreachable"
    assert "retry-after" in answer.headers
    assert httpx2.get(f"{server.url}/readyz").status_code == 200


@of_sqlite
def test_a_stream_outlives_a_database_that_is_away(server: Server) -> None:
    """There is no Redis here, so that the database is asked every two seconds."""
    headers = {**server.headers, "Accept": MEDIA_TYPE}
    with (
        httpx2.Client(timeout=30) as client,
        client.stream("GET", f"{server.url}/api/v1/events", headers=headers) as stream,
    ):
        lines = stream.iter_lines()
        assert "event: hello" in next(lines)
        with gone():
            assert next(line for line in lines if line.startswith("event:")) == "event: heartbeat"
        events.record(kind="test.happened", message="It goes on.")
        assert next(line for line in lines if "It goes on." in line)


@of_postgres
def test_a_row_that_another_session_holds_is_answered_and_not_waited_for(operator: httpx2.Client) -> None:
    PipelineFactory.create(name="orders")
    with closing(connection.copy()) as other:
        other.set_autocommit(False)
        with other.cursor() as cursor:
            cursor.execute("LOCK TABLE pipelines_pipeline IN ACCESS EXCLUSIVE MODE")
        answer = operator.get("/api/v1/pipelines")
        other.rollback()
    assert (answer.status_code, answer.json()["code"]) == (503, "database_unavailable")
    assert operator.get("/api/v1/pipelines").status_code == 200


@of_sqlite
def test_the_command_line_says_so_and_ends_with_its_exit_code(command_line: CommandLine) -> None:
    PipelineFactory.create(name="orders")
    run = command_line("eva", Role.OPERATOR)
    with locked():
        ended = run("start", "orders")
    assert ended.exit_code == 3
    assert "The database is unavailable" in ended.stderr
    assert "locked" in ended.stderr


@of_sqlite
def test_all_statements_of_a_request_share_one_allowance(monkeypatch: pytest.MonkeyPatch) -> None:
    def told() -> int:
        assert connection.connection is not None
        return int(connection.connection.execute("PRAGMA busy_timeout").fetchone()[0])

    passed = iter([0.0, 1.2, 1.2, 4.0, 4.0, 4.0])
    monkeypatch.setattr(availability, "monotonic", lambda: next(passed))
    with bounded(3.0):
        waits = []
        for _ in range(3):
            Pipeline.objects.exists()
            waits.append(told())
    assert waits == [3000, 1800, 100]
    assert sum(waits) <= 5000
    Pipeline.objects.exists()
    assert told() == 10_000, "a worker waits longer"


@of_sqlite
def test_a_mistake_in_a_statement_is_no_database_that_is_away() -> None:
    with pytest.raises(OperationalError) as missing, connection.cursor() as cursor:
        cursor.execute("SELECT * FROM nowhere")
    assert not is_unavailable(missing.value)
    assert not is_unavailable(ProgrammingError("x"))
    assert is_unavailable(OperationalError("the connection is lost"))


def test_a_postgres_that_cannot_be_reached_is_away() -> None:
    from urllib.parse import urlsplit

    from django.db.backends.postgresql.base import DatabaseWrapper

    described = postgresql(urlsplit("postgres://ana:pw@127.0.0.1:1/headgate"))
    assert float(described["OPTIONS"]["connect_timeout"]) * 2 < 5
    more = {
        "TIME_ZONE": None,
        "CONN_MAX_AGE": 0,
        "AUTOCOMMIT": True,
        "CONN_HEALTH_CHECKS": False,
        "ATOMIC_REQUESTS": False,
    }
    with pytest.raises(OperationalError) as refused:
        DatabaseWrapper({**described, **more}).ensure_connection()
    assert why_unavailable(refused.value) == "it does not answer"
    response = exception_handler(refused.value, {})
    assert response is not None
    assert (response.status_code, response.data["code"]) == (503, "database_unavailable")
    assert response.headers["Retry-After"]


_ASK = """
import django; django.setup()
from django.test import Client
from django.urls import set_urlconf
client = Client(raise_request_exception=False)
for address in ("/readyz", "/api/v1/session", "/api/v1/pipelines"):
    answer = client.get(address, headers={"Authorization": "Token hg_x"}, HTTP_HOST="localhost")
    print(address, answer.status_code, answer.json().get("code"), "Retry-After" in answer.headers)
"""


def test_a_server_with_a_postgres_that_cannot_be_reached_answers_every_door(tmp_path: Any) -> None:
    environment = {
        **os.environ,
        "DJANGO_SETTINGS_MODULE": "controlplane.settings",
        "HEADGATE_STATE": str(tmp_path),
        "HEADGATE_DATABASE_URL": "postgres://ana:pw@127.0.0.1:1/headgate",
        "HEADGATE_SECRET_KEY": "k" * 50,
    }
    said = subprocess.run([sys.executable, "-c", _ASK], env=environment, capture_output=True, text=True, check=False)
    assert said.stdout.splitlines() == [
        f"{address} 503 database_unavailable True" for address in ("/readyz", "/api/v1/session", "/api/v1/pipelines")
    ], said.stderr
