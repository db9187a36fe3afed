"""Tests of connections to Spark clusters: requested by administrators, made by every host, shown host by host."""

from __future__ import annotations

import json
import socket
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.utils import timezone
from rest_framework.test import APIClient

from controlplane.cli.access import clusters as commands
from controlplane.cli.base.errors import ExitCode
from pipelines.domain.base.roles import Role
from pipelines.domain.hosts.connection_tests import ConnectionResult, ServerContact, StandaloneCluster
from pipelines.models import AuditRow, Cluster, ConnectionTest, Host
from pipelines.selectors.hosts.connections import open_tests
from pipelines.services.access import clusters
from pipelines.services.base import host_tasks
from pipelines.services.base.audit import Actor
from tests.db.conftest import CommandLine
from tests.factories import HostFactory, UserFactory
from tests.fakes.spark_clusters import FakeSparkClusters
from workers.adapters.filelock import FileLock
from workers.adapters.secrets import backends
from workers.adapters.surveys import ChildSparkClusters
from workers.ports import ConnectionFailed, SecretValue, Unreadable
from workers.supervisor.background.connections import ConnectionTester
from workers.supervisor.launch.references import References
from workers.wake import CONNECT

pytestmark = pytest.mark.django_db
ROOT = Actor("root")
ADDRESS = "/api/v1/clusters/analytics/test"
VALUE = "a-secret-of-the-cluster"
REACHED = ConnectionResult(
    servers=[ServerContact(server="spark.internal:7077", reached=True, milliseconds=1.5)],
    standalone=StandaloneCluster(workers=2, dead_workers=0, cores=8, free_cores=6, applications=1),
    unchecked=["The Spark version: a start checks it."],
)


class Stored(dict[str, str]):
    """Secrets of clusters."""

    def read(self, names: Any) -> dict[str, SecretValue | Unreadable]:
        gone = Unreadable("no such secret", "Store it.")
        return {name: SecretValue(self[name]) if name in self else gone for name in names}


def a_tester(made: Any, host: str = "alpha", variables: dict[str, str] | None = None) -> ConnectionTester:
    known = backends(variables or {}, None, Stored(), Stored(SPARK=VALUE))
    return ConnectionTester(host, References(known), made)


def carry_out(made: Any, host: str = "alpha", variables: dict[str, str] | None = None) -> None:
    """What the worker of a host does."""
    for test in open_tests(host):
        a_tester(made, host, variables).make(test)


@pytest.fixture
def analytics() -> Cluster:
    HostFactory.create(responding=True)
    return clusters.put(name="analytics", spec={"master": "spark://spark.internal:7077"}, actor=ROOT)[0]


@pytest.fixture
def admin() -> APIClient:
    made = APIClient()
    made.force_authenticate(UserFactory.create(role=Role.ADMIN))
    return made


def only_host(client: APIClient) -> dict[str, Any]:
    (host,) = client.get(ADDRESS).json()["hosts"]
    return host  # type: ignore[no-any-return]


def test_nothing_is_called_reachable_before_a_host_has_connected(analytics: Cluster, admin: APIClient) -> None:
    before = only_host(admin)
    assert (before["state"], before["checked_at"], before["servers"]) == ("NOT_CHECKED", None, [])
    asked = admin.post(ADDRESS, {}, format="json")
    assert (asked.status_code, asked["Location"], asked.json()["checking"]) == (202, ADDRESS, True)
    assert only_host(admin)["state"] == "CHECKING"
    carry_out(FakeSparkClusters(lambda _: REACHED))
    after = admin.get(ADDRESS).json()
    assert after["checking"] is False
    (host,) = after["hosts"]
    assert (host["state"], host["standalone"]["free_cores"]) == ("REACHABLE", 6)
    assert host["servers"][0] == {"server": "spark.internal:7077", "reached": True, "milliseconds": 1.5, "detail": ""}
    assert host["checked_at"] is not None
    told = {"cluster": "analytics", "version": 1, "hosts": ["alpha"]}
    assert AuditRow.objects.get(action="cluster.tested").after == told


def test_every_host_tests_and_a_silent_one_is_not_checked(analytics: Cluster, admin: APIClient) -> None:
    HostFactory.create(name="beta", responding=True)
    HostFactory.create(name="gone", seen_at=timezone.now() - timedelta(hours=1))
    admin.post(ADDRESS, {}, format="json")
    carry_out(FakeSparkClusters(lambda _: REACHED))
    failed = ConnectionResult(servers=[], code="MASTER_UNREACHABLE", message="Nobody there.", hint="Start it.")
    carry_out(FakeSparkClusters(lambda _: failed), "beta")
    hosts = {each["host"]: each for each in admin.get(ADDRESS).json()["hosts"]}
    assert {name: each["state"] for name, each in hosts.items()} == {
        "alpha": "REACHABLE",
        "beta": "FAILED",
        "gone": "NOT_CHECKED",
    }
    assert (hosts["beta"]["message"], hosts["beta"]["hint"]) == ("Nobody there.", "Start it.")
    assert "not running" in hosts["gone"]["message"]


def test_a_change_of_the_cluster_makes_it_unchecked(analytics: Cluster, admin: APIClient) -> None:
    admin.post(ADDRESS, {}, format="json")
    carry_out(FakeSparkClusters(lambda _: REACHED))
    clusters.put(name="analytics", spec={"master": "spark://other:7077"}, actor=ROOT)
    assert (only_host(admin)["state"], only_host(admin)["servers"]) == ("NOT_CHECKED", [])
    assert "changed" in only_host(admin)["message"]


def test_variables_are_those_of_the_host_and_the_secret_stays_where_it_is(analytics: Cluster, admin: APIClient) -> None:
    spec = {"master": "${env:SPARK_MASTER}", "cluster_secret": "${secret:SPARK}"}
    clusters.put(name="analytics", spec=spec, actor=ROOT)
    made = FakeSparkClusters(lambda _: REACHED)
    admin.post(ADDRESS, {}, format="json")
    carry_out(made, variables={"SPARK_MASTER": "spark://here:7077"})
    (asked,) = made.asked
    assert (asked.master, asked.cluster_secret) == ("spark://here:7077", "${secret:SPARK}")
    assert VALUE not in admin.get(ADDRESS).content.decode()


@pytest.mark.parametrize(
    ("spec", "code", "words"),
    [
        ({"master": "${env:MISSING}"}, "UNRESOLVED_REFERENCE", "${env:MISSING}"),
        ({"master": "${env:BAD}"}, "cluster_invalid", "is not a cluster"),
        ({"master": "yarn", "cluster_secret": "${secret:GONE}"}, "UNRESOLVED_REFERENCE", "${secret:GONE}"),
    ],
)
def test_what_this_host_cannot_resolve_fails_the_test_and_connects_to_nothing(
    analytics: Cluster, admin: APIClient, spec: dict[str, Any], code: str, words: str
) -> None:
    clusters.put(name="analytics", spec=spec, actor=ROOT)
    made = FakeSparkClusters(lambda _: REACHED)
    admin.post(ADDRESS, {}, format="json")
    carry_out(made, variables={"BAD": "ftp://canary"})
    host = only_host(admin)
    assert (host["state"], host["code"], made.asked) == ("FAILED", code, [])
    assert words in host["message"]
    assert "canary" not in json.dumps(host)


def test_a_host_that_does_not_answer_fails_at_the_deadline(analytics: Cluster, admin: APIClient) -> None:
    admin.post(ADDRESS, {}, format="json")
    ConnectionTest.objects.update(deadline=timezone.now())
    assert (only_host(admin)["state"], only_host(admin)["code"]) == ("FAILED", "connection_timed_out")
    assert open_tests("alpha") == []
    host_tasks.expire(ConnectionTest, now=timezone.now())
    assert only_host(admin)["code"] == "connection_timed_out"


def test_what_no_answer_comes_from_is_told_with_its_advice(analytics: Cluster, admin: APIClient) -> None:
    def hangs(_: object) -> ConnectionResult:
        raise ConnectionFailed("CLUSTER_TIMED_OUT", "Not within 10 s.", "Check the names.")

    admin.post(ADDRESS, {}, format="json")
    carry_out(FakeSparkClusters(hangs))
    assert (only_host(admin)["state"], only_host(admin)["hint"]) == ("FAILED", "Check the names.")


def test_a_test_that_waits_is_not_requested_twice(analytics: Cluster, admin: APIClient) -> None:
    for _ in range(3):
        assert admin.post(ADDRESS, {}, format="json").status_code == 202
    assert ConnectionTest.objects.count() == 1


def test_without_a_worker_the_request_is_refused(analytics: Cluster, admin: APIClient) -> None:
    Host.objects.update(seen_at=timezone.now() - timedelta(hours=1))
    refused = admin.post(ADDRESS, {}, format="json")
    assert (refused.status_code, refused.json()["code"]) == (409, "host_silent")
    assert admin.post("/api/v1/clusters/nowhere/test", {}, format="json").status_code == 404


@pytest.mark.django_db(transaction=True)
def test_the_command_waits_for_the_hosts_and_fails_where_one_cannot_use_it(
    command_line: CommandLine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the loop of a worker and a real connection."""
    run = command_line("admin", Role.ADMIN)
    HostFactory.create(responding=True)
    with socket.create_server(("127.0.0.1", 0)) as server:
        master = f"k8s://https://127.0.0.1:{server.getsockname()[1]}"
        clusters.put(name="analytics", spec={"master": master}, actor=ROOT)
        loop = a_tester(ChildSparkClusters(seconds=60.0)).loop(FileLock(tmp_path / "lock"), CONNECT)
        loop.start()
        try:
            good = run("clusters", "test", "analytics")
            assert good.exit_code == 0, good.output
            server.close()
            bad = run("clusters", "test", "analytics", "-o", "json")
        finally:
            assert loop.stop(60)
    assert "REACHABLE" in good.stdout
    assert "Not checked: The certificate, the login and the rights" in good.stdout
    assert bad.exit_code == ExitCode.FAILED
    assert json.loads(bad.stdout)["hosts"][0]["code"] == "MASTER_UNREACHABLE"
    last = run("clusters", "test", "analytics", "--last")
    assert (last.exit_code, ConnectionTest.objects.count()) == (ExitCode.FAILED, 2)
    monkeypatch.setattr(commands, "TESTED_WITHIN", 0.0)
    assert "CHECKING" in run("clusters", "test", "analytics").stdout
