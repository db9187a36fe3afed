"""Values that are kept elsewhere, bound over the API and the command line, and their versions as they become known."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest
from rest_framework.test import APIClient

from pipelines.domain.base.roles import Role
from pipelines.models import AuditRow, Pipeline, Run, Secret
from pipelines.services.access.secrets import record_version
from pipelines.services.runs import runs
from tests.db.conftest import CommandLine
from tests.factories import PipelineFactory, RevisionFactory, RunFactory, definition_data
from workers.ports import SecretValue, Unreadable
from workers.supervisor.background.secret_versions import SecretVersions

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("key_file")]
NAME = "vault:kv/shop#password"
ADDRESS = "/api/v1/secrets/vault:kv%2Fshop%23password"
BOUND = {"pipelines": ["orders"], "destinations": ["broker.example:9093"]}
CHANGED = datetime(2026, 1, 2, tzinfo=UTC)


@pytest.fixture
def bound(admin: APIClient) -> Secret:
    assert admin.put(ADDRESS, BOUND, format="json").status_code == 201
    return Secret.objects.get()


def orders() -> Pipeline:
    """A pipeline whose definition refers to it."""
    pipeline: Pipeline = PipelineFactory.create(name="orders")
    data = definition_data(name="orders")
    data["sources"]["shop"]["options"] = {"sasl.password": f"${{{NAME}}}"}
    revision = RevisionFactory.create(pipeline=pipeline, number=7, definition=data)
    Pipeline.objects.filter(pk=pipeline.pk).update(current_revision=revision)
    return Pipeline.objects.get(pk=pipeline.pk)


def given(version: int, pipeline: Pipeline) -> Run:
    run: Run = RunFactory.create(pipeline=pipeline, revision=pipeline.current_revision, host__name="alpha")
    runs.record_secrets(run=run, versions={NAME: version})
    return run


def test_what_is_kept_elsewhere_is_bound_without_a_value(bound: Secret, admin: APIClient) -> None:
    assert (bound.name, bound.ciphertext, bound.version) == (NAME, "", 0)
    (shown,) = admin.get("/api/v1/secrets").json()["results"]
    assert (shown["backend"], shown["version"], shown["readable"]) == ("vault", 0, None)
    again = admin.put(ADDRESS, {"destinations": ["other.example:9093"]}, format="json")
    assert (again.status_code, again.json()["destinations"]) == (200, ["other.example:9093"])
    assert admin.patch(ADDRESS, {"pipelines": ["clicks"]}, format="json").json()["pipelines"] == ["clicks"]
    rows = AuditRow.objects.filter(action__startswith="secret.").order_by("id")
    assert [each.action for each in rows] == ["secret.created", "secret.bound", "secret.bound"]


@pytest.mark.parametrize(
    ("name", "body"),
    [
        ("vault:kv%2Fshop%23password", {"value": "canary", **BOUND}),
        ("env:PASSWORD", {"value": "canary", **BOUND}),
        ("shop", BOUND),
        ("file:ca.pem", {}),
        ("env:PASSWORD", {"purpose": "receivers"}),
        ("env:PASSWORD", {"pipelines": ["orders"], "destinations": ["*:443"]}),
    ],
)
def test_a_value_is_sent_where_it_is_kept_here_and_nowhere_else(
    name: str, body: dict[str, Any], admin: APIClient
) -> None:
    refused = admin.put(f"/api/v1/secrets/{name}", body, format="json")
    assert (refused.status_code, refused.json()["code"]) == (422, "secret_invalid")
    assert refused.json()["findings"]
    assert "canary" not in refused.content.decode()
    assert not Secret.objects.exists()


@pytest.mark.parametrize(
    "name", ["vault:kv%2F..%2Fsys%23x", "vault:kv%23x", "vault:", "ftp:x", "env:", "env:" + "x" * 130]
)
def test_other_names_have_no_address(name: str, admin: APIClient) -> None:
    assert admin.put(f"/api/v1/secrets/{name}", BOUND, format="json").status_code == 404


def test_another_key_of_the_store_leaves_it_alone(bound: Secret, admin: APIClient) -> None:
    assert admin.post("/api/v1/secrets/rotate", {}, format="json").json() == {"rotated": 0, "unreadable": []}


def test_it_is_used_by_what_refers_to_it_and_kept_while_that_is_so(bound: Secret, admin: APIClient) -> None:
    orders()
    (shown,) = admin.get("/api/v1/secrets").json()["results"]
    assert shown["used_by"] == ["orders"]
    refused = admin.delete(ADDRESS)
    assert (refused.status_code, refused.json()["code"]) == (409, "secret_in_use")
    assert f"${{{NAME}}}" in refused.json()["hint"]
    assert admin.delete(f"{ADDRESS}?force=true").status_code == 204


class Backend:
    """Vault, with one secret of a version; it is away at version 0."""

    def __init__(self) -> None:
        self.version = 1
        self.asked: list[str] = []

    def read(self, names: Any) -> dict[str, SecretValue | Unreadable]:
        self.asked += sorted(names)
        away = Unreadable("Vault is away.", "Wait.")
        return {name: SecretValue("canary", self.version, CHANGED) if self.version else away for name in names}


def test_a_new_version_is_noticed_and_the_runs_with_the_old_one_are_shown(bound: Secret, admin: APIClient) -> None:
    backend, pipeline = Backend(), orders()
    watch = SecretVersions("alpha", "vault", backend)
    watch.turn()
    assert backend.asked == []
    run = given(1, pipeline)
    watch.turn()
    status = "/api/v1/pipelines/orders/status"
    assert admin.get(status).json()["outdated_secrets"] == []
    backend.version = 2
    watch.turn()
    watch.turn()
    assert admin.get(status).json()["outdated_secrets"] == [{"name": NAME, "running": 1, "current": 2}]
    (shown,) = admin.get("/api/v1/secrets").json()["results"]
    assert (shown["version"], shown["updated_by"], shown["outdated"]) == (2, "vault", ["orders"])
    assert (shown["updated_at"], shown["last_used_by"]) == ("2026-01-02T00:00:00Z", f"orders/{run.number}")
    replaced = AuditRow.objects.filter(action="secret.replaced").order_by("id")
    assert [(each.actor, (each.after or {})["version"]) for each in replaced] == [("vault", 1), ("vault", 2)]
    assert "canary" not in json.dumps(list(AuditRow.objects.values("before", "after")))
    backend.version = 0
    watch.turn()
    assert Secret.objects.get().version == 2


def test_each_host_asks_for_what_its_own_runs_were_given(bound: Secret) -> None:
    backend = Backend()
    given(1, orders())
    SecretVersions("beta", "vault", backend).turn()
    assert backend.asked == []


def test_an_older_version_changes_nothing(bound: Secret) -> None:
    assert record_version(name=NAME, version=3, changed_at=CHANGED)
    assert not record_version(name=NAME, version=2, changed_at=CHANGED)
    assert not record_version(name="vault:kv/none#x", version=2, changed_at=CHANGED)
    assert Secret.objects.get().version == 3


def test_the_command_line_binds_it(command_line: CommandLine) -> None:
    run = command_line("ana", Role.ADMIN)
    to = ("--pipeline", "orders", "--destination", "broker.example:9093")
    done = run("secrets", "set", NAME, *to)
    assert done.stdout == f"{NAME}: kept in vault\nIt goes to broker.example:9093, for orders.\n"
    assert run("secrets", "set", NAME, "--from-file", "x").exit_code == 2
    assert run("secrets", "rotate", NAME).exit_code == 2
    assert run("secrets", "bind", NAME, "--pipeline", "clicks").exit_code == 0
    assert NAME in run("secrets", "list").stdout.replace("\n", "")
    given(1, orders())
    record_version(name=NAME, version=2, changed_at=None)
    assert "headgate restart orders takes the current values" in run("status", "orders").stdout
    assert run("secrets", "remove", NAME, "--force").exit_code == 0
