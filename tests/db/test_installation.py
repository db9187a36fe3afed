"""The installation: what is checked, when, and what its settings show to whom."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

import pytest
from pydantic import SecretStr
from pytest_django import Settings
from rest_framework.test import APIClient

from controlplane.cli.base.errors import ExitCode
from controlplane.environment import Environment
from pipelines.domain.base.roles import Role
from pipelines.foundation import dispatch
from tests.db.conftest import CommandLine
from tests.factories import HostFactory, PipelineFactory, TeamFactory, UserFactory, bind, now

pytestmark = pytest.mark.django_db
ADDRESS = "/api/v1/installation"


def checks(client: APIClient) -> dict[tuple[str, str], dict[str, Any]]:
    response = client.get(ADDRESS)
    assert response.status_code == 200, response.content
    return {(each["kind"], each["subject"]): each for each in response.json()["checks"]}


class Queues:
    """A Redis whose queues have these lengths."""

    def __init__(self, lengths: dict[str, int]) -> None:
        self.lengths, self.asked = lengths, list[str]()

    def info(self, section: str) -> dict[str, str]:
        assert section == "server"
        return {"redis_version": "8.0.1"}

    def pipeline(self, *, transaction: bool) -> Queues:
        assert not transaction
        return self

    def __enter__(self) -> Queues:
        return self

    def __exit__(self, *_: object) -> None: ...

    def llen(self, name: str) -> None:
        self.asked.append(name)

    def execute(self) -> list[int]:
        return [self.lengths.get(name, 0) for name in self.asked]


def test_what_answers_is_ok_with_its_version_and_the_time_of_the_check(viewer: APIClient) -> None:
    response = viewer.get(ADDRESS).json()
    database = response["checks"][0]
    assert (database["kind"], database["state"]) == ("database", "OK")
    assert database["detail"].split()[0] in {"SQLite", "PostgreSQL"}
    assert database["checked_at"] == response["checked_at"]
    assert database["milliseconds"] >= 0
    assert response["version"]


def test_a_server_that_does_not_answer_has_failed_and_its_queues_are_unknown(viewer: APIClient) -> None:
    found = checks(viewer)
    assert found["redis", ""]["state"] == "FAILED"
    assert "HEADGATE_REDIS_URL" in found["redis", ""]["hint"]
    assert (found["queue", "control"]["state"], found["queue", "control"]["checked_at"]) == ("UNKNOWN", None)


def test_a_queue_that_no_worker_empties_warns(viewer: APIClient, monkeypatch: pytest.MonkeyPatch) -> None:
    HostFactory.create(name="alpha", responding=True)
    monkeypatch.setattr(dispatch, "event_stream", lambda: Queues({"host.alpha": 100, "control": 99}))
    found = checks(viewer)
    assert (found["redis", ""]["state"], found["redis", ""]["detail"]) == ("OK", "Redis 8.0.1")
    assert (found["queue", "control"]["state"], found["queue", "control"]["detail"]) == ("OK", "99 waiting")
    assert found["queue", "host.alpha"]["state"] == "WARNING"


@pytest.mark.parametrize(("age", "state"), [(1, "OK"), (10, "WARNING"), (60, "FAILED")])
def test_a_worker_is_judged_by_its_last_tick(viewer: APIClient, age: int, state: str) -> None:
    HostFactory.create(name="alpha", seen_at=now() - timedelta(seconds=age), tick_ms=12.3)
    assert checks(viewer)["worker", "alpha"]["state"] == state


def test_what_a_worker_has_not_reported_is_never_ok(viewer: APIClient) -> None:
    HostFactory.create(name="alpha", seen_at=None)
    long_ago = (now() - timedelta(minutes=5)).isoformat()
    disk = {
        "path": "/data",
        "free_bytes": 2**40,
        "total_bytes": 2**41,
        "margin_bytes": 1,
        "state": "OK",
        "at": long_ago,
    }
    messages = {"state": "HEALTHY", "detail": "", "since": long_ago, "at": long_ago, "round_trip_ms": 1.0}
    HostFactory.create(name="beta", seen_at=now(), disk=disk, messages=messages)
    found = checks(viewer)
    for kind in ("worker", "broker_connection", "disk"):
        assert (found[kind, "alpha"]["state"], found[kind, "alpha"]["checked_at"]) == ("UNKNOWN", None)
    for kind in ("broker_connection", "disk"):
        assert found[kind, "beta"]["state"] == "UNKNOWN"
        assert found[kind, "beta"]["checked_at"] is not None


@pytest.mark.parametrize(("reported", "state"), [("OK", "OK"), ("LOW", "WARNING"), ("FULL", "FAILED")])
def test_a_disk_is_as_its_worker_found_it(viewer: APIClient, reported: str, state: str) -> None:
    figures = {"path": "/data", "free_bytes": 2**30, "total_bytes": 2**31, "margin_bytes": 1}
    HostFactory.create(name="alpha", disk={**figures, "state": reported, "at": now().isoformat()})
    found = checks(viewer)["disk", "alpha"]
    assert (found["state"], found["detail"]) == (state, "1.0 of 2.0 GiB free at /data")


def test_every_setting_is_listed_with_where_it_comes_from(admin: APIClient, settings: Settings) -> None:
    settings.HEADGATE = Environment(state=settings.HEADGATE.state, event_days=7, database_url=None)
    found = {each["name"]: each for each in admin.get(f"{ADDRESS}/settings").json()}
    assert set(found) == set(Environment.model_fields)
    event_days = found["event_days"]
    assert (event_days["variable"], event_days["section"]) == ("HEADGATE_EVENT_DAYS", "Retention")
    assert (event_days["value"], event_days["default"], event_days["source"]) == ("7", "90", "environment")
    assert (found["slots"]["value"], found["slots"]["source"]) == (None, "default")
    assert found["require_mfa"]["docs"] == "guides/sign-in/#second-factor"
    assert "](" not in "".join(each["description"] for each in found.values())


def test_no_secret_is_shown(admin: APIClient, settings: Settings) -> None:
    settings.HEADGATE = Environment(
        state=settings.HEADGATE.state,
        database_url=SecretStr("postgresql://headgate:hunter2@db:5433/headgate?password=hunter2"),
        redis_url=SecretStr("rediss://:hunter2@redis:6380/1"),
        secret_key=SecretStr("hunter2" * 8),
        audit_otlp_headers=SecretStr("authorization=hunter2"),
        public_url="https://eve:hunter2@headgate.example.com",
    )
    response = admin.get(f"{ADDRESS}/settings")
    assert "hunter2" not in response.content.decode()
    found = {each["name"]: each["value"] for each in response.json()}
    assert found["database_url"] == "postgresql://db:5433/headgate"
    assert found["redis_url"] == "rediss://redis:6380/1"
    assert found["public_url"] == "https://headgate.example.com"
    assert found["secret_key"] == found["audit_otlp_headers"] == "********"
    assert found["secret_keys"] is None


def test_the_command_prints_what_has_failed_and_ends_with_1(command_line: CommandLine) -> None:
    HostFactory.create(name="alpha", responding=True)
    run = command_line("vera", Role.VIEWER)
    done = run("installation")
    assert done.exit_code == ExitCode.FAILED
    assert "alpha" in done.stdout
    assert "redis" in done.stderr
    assert json.loads(run("installation", "-o", "json").stdout)["checks"]
    assert run("installation", "--settings").exit_code == ExitCode.NO_ACCESS


def test_the_command_lists_settings(command_line: CommandLine) -> None:
    done = command_line("root", Role.ADMIN)("installation", "--settings")
    assert done.exit_code == 0, done.output
    assert "HEADGATE_EVENT_DAYS" in done.stdout


def test_administrators_of_one_team_see_health_and_no_settings() -> None:
    user = UserFactory.create(role=None)
    bind(user, Role.ADMIN, TeamFactory.create(name="shop"))
    client = APIClient()
    client.force_authenticate(user)
    assert client.get(ADDRESS).status_code == 200
    assert client.get(f"{ADDRESS}/settings").status_code == 403


def uses(pipeline: str, interceptor: str) -> None:
    revision = PipelineFactory.create(name=pipeline).current_revision
    assert revision is not None
    revision.definition["sources"]["shop"]["interceptors"] = [{"type": "python", "class": interceptor}]
    revision.save()


def test_the_registry_lists_its_classes_and_those_that_pipelines_name(
    operator: APIClient, viewer: APIClient, settings: Settings
) -> None:
    settings.HEADGATE = Environment(state=settings.HEADGATE.state, interceptors=["acme.orders:Enrich", "acme:Idle"])
    uses("orders", "acme.orders:Enrich")
    uses("bills", "acme.old:Gone")
    assert viewer.get(f"{ADDRESS}/interceptors").status_code == 403
    found = {each["name"]: each for each in operator.get(f"{ADDRESS}/interceptors").json()}
    used = {name: (each["registered"], each["used_by"]) for name, each in found.items()}
    assert used["acme.orders:Enrich"] == (True, ["orders"])
    assert used["acme:Idle"] == (True, [])
    assert used["acme.old:Gone"] == (False, ["bills"])


def test_pipelines_of_other_teams_are_not_named_as_users_of_a_class() -> None:
    uses("orders", "acme.orders:Enrich")
    user = UserFactory.create(role=None)
    bind(user, Role.ADMIN, TeamFactory.create(name="shop"))
    client = APIClient()
    client.force_authenticate(user)
    assert "acme" not in client.get(f"{ADDRESS}/interceptors").content.decode()
