"""An operator chooses among clusters that administrators have defined, and nothing else of where code runs."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import Any

import pytest
from rest_framework.test import APIClient

from pipelines.domain.access.secret_bindings import SecretBinding
from pipelines.domain.access.teams import Access
from pipelines.domain.base.roles import Role
from pipelines.domain.definitions.document.spec import Definition
from pipelines.domain.runs.protocol import SparkSettings
from pipelines.models import AuditRow, Cluster, Pipeline, Revision, Run
from pipelines.selectors.access.clusters import pending
from pipelines.services.access import clusters
from pipelines.services.base.audit import Actor
from tests.db.test_schema_migrations import at, rows_of
from tests.factories import PipelineFactory, RevisionFactory, RunFactory, UserFactory
from tests.unit.definitions import changed
from workers.adapters.secrets import backends
from workers.ports import SecretValue
from workers.supervisor.launch.launch import Launcher
from workers.supervisor.launch.references import References

pytestmark = pytest.mark.django_db

MASTER = "spark://spark.internal:7077"
ROOT = Actor("root")
EXECUTORS = {"count": 2, "cores": 1, "memory": "1024m"}
PLACED = {"type": "spark", "cluster": "analytics", "storage": "/mnt/headgate", "executors": EXECUTORS}
FORBIDDEN = {
    "master": "spark://attacker.example:7077",
    "python": "/tmp/evil",
    "image": "attacker/image",
    "service_account": "cluster-admin",
    "volumes": {},
    "driver_host": "attacker.example",
    "cluster_secret": "${secret:OTHER}",
}


@pytest.fixture
def analytics() -> Cluster:
    return clusters.put(name="analytics", spec={"master": MASTER}, actor=ROOT)[0]


def client(role: Role) -> APIClient:
    made = APIClient()
    made.force_authenticate(UserFactory.create(role=role))
    return made


def definition(launcher: Any) -> dict[str, Any]:
    return changed({"placement/launcher": launcher})


def codes(answer: Any) -> dict[str, str]:
    return {each["path"]: each["code"] for each in answer.json()["findings"]}


@pytest.mark.parametrize(("key", "value"), FORBIDDEN.items())
def test_a_definition_that_chooses_for_itself_is_refused(key: str, value: Any, analytics: Cluster) -> None:
    body = {"definition": definition({**PLACED, key: value})}
    answer = client(Role.ADMIN).post("/api/v1/pipelines", body, format="json")
    assert answer.status_code == 422
    assert codes(answer)[f"placement.launcher.{key}"] == "belongs_to_cluster"
    assert not Pipeline.objects.exists()


def test_a_definition_names_a_cluster_that_is_there(analytics: Cluster) -> None:
    operator: APIClient = client(Role.OPERATOR)
    unknown = {"definition": definition({**PLACED, "cluster": "analytic"})}
    answer = operator.post("/api/v1/pipelines", unknown, format="json")
    assert codes(answer)["placement.launcher.cluster"] == "unknown_cluster"
    assert operator.post("/api/v1/pipelines", {"definition": definition(PLACED)}, format="json").status_code == 201


@pytest.mark.parametrize("role", [Role.VIEWER, Role.OPERATOR])
def test_administrators_alone_define_clusters(role: Role, analytics: Cluster) -> None:
    caller = client(role)
    body = {"spec": {"master": "spark://attacker.example:7077"}}
    assert caller.put("/api/v1/clusters/analytics", body, format="json").status_code == 403
    assert caller.delete("/api/v1/clusters/analytics").status_code == 403
    assert caller.get("/api/v1/clusters").status_code == (200 if role is Role.OPERATOR else 403)
    analytics.refresh_from_db()
    assert analytics.spec["master"] == MASTER


def test_a_cluster_is_checked_audited_and_kept_while_it_is_used() -> None:
    admin: APIClient = client(Role.ADMIN)
    bad = {"spec": {"master": "local[2]", "cluster_secret": "x" * 20, "conf": {"spark.jars": "evil.jar"}, "imag": "a"}}
    answer = admin.put("/api/v1/clusters/analytics", bad, format="json")
    assert codes(answer) == {"master": "bad_master", 'conf["spark.jars"]': "forbidden_option", "imag": "unknown_key"}
    assert admin.put("/api/v1/clusters/analytics", {"spec": {"master": MASTER}}, format="json").status_code == 201
    again = admin.put("/api/v1/clusters/analytics", {"spec": {"master": "yarn"}}, format="json")
    assert (again.status_code, again.json()["version"]) == (200, 2)
    row = AuditRow.objects.get(action="cluster.changed")
    assert row.before is not None
    assert row.after is not None
    assert (row.before["spec"]["master"], row.after["spec"]["master"]) == (MASTER, "yarn")
    admin.post("/api/v1/pipelines", {"definition": definition(PLACED)}, format="json")
    refused = admin.delete("/api/v1/clusters/analytics")
    assert (refused.status_code, refused.json()["code"], refused.json()["used_by"]) == (
        409,
        "cluster_in_use",
        ["orders"],
    )


EVERYTHING = SecretBinding(pipelines=("*",), destinations=("b:9092", "broker:9092"))


def bound(names: Collection[str]) -> dict[str, SecretBinding]:
    return dict.fromkeys(names, EVERYTHING)


class NoSecrets:
    def read(self, names: Any) -> dict[str, Any]:
        return dict.fromkeys(names, SecretValue("a-secret-of-the-cluster"))


def test_a_launch_has_the_cluster_as_it_was_and_its_secret_as_a_reference(analytics: Cluster) -> None:
    clusters.put(name="analytics", spec={"master": MASTER, "cluster_secret": "${secret:SPARK}"}, actor=ROOT)
    plain = Definition.model_validate(definition(PLACED)).plain()
    pipeline = PipelineFactory.create(name="orders")
    revision = RevisionFactory.create(pipeline=pipeline, number=7, definition=plain)
    run: Run = RunFactory.create(pipeline=pipeline, revision=revision, host__name="alpha", cluster_version=1)
    references = References(backends({}, None, NoSecrets(), NoSecrets()), bindings=bound)
    launcher = Launcher("alpha", Path("/state"), references, lambda: SparkSettings(classpath=[]))
    launch, handover, _ = launcher.launch(run)
    assert launch.cluster is not None
    assert launch.cluster.spec["cluster_secret"] == "${secret:SPARK}"
    assert "a-secret-of-the-cluster" not in launch.model_dump_json()
    assert launch.on_cluster(handover.values).cluster.spec["cluster_secret"] == "a-secret-of-the-cluster"  # type: ignore[union-attr]
    assert pending(Access(Role.ADMIN)) == {"analytics": ["orders"]}
    Cluster.objects.all().delete()
    assert [each.code for each in launcher.against(pipeline, plain)] == ["unknown_cluster"]


def test_a_cluster_that_an_upgrade_could_not_complete_is_a_finding_of_its_own_pipelines(analytics: Cluster) -> None:
    """Settings that Kubernetes alone would have refused are taken over as they were."""
    volume = {"type": "nfs", "read_only": False, "options": {"server": "nas"}}
    broken = {"master": "k8s://https://c", "volumes": {"state": volume}, "conf": {}}
    now = analytics.created_at
    who = {"created_by": "headgate", "updated_by": "headgate", "created_at": now, "updated_at": now}
    Cluster.objects.create(name="broken", spec=broken, **who)
    operator = client(Role.OPERATOR)
    bad = {"definition": definition({**PLACED, "cluster": "broken"})}
    assert codes(operator.post("/api/v1/pipelines", bad, format="json")) == {
        "placement.launcher.cluster": "cluster_invalid"
    }
    assert operator.post("/api/v1/pipelines", {"definition": definition(PLACED)}, format="json").status_code == 201


@pytest.mark.django_db(transaction=True)
def test_an_upgrade_makes_clusters_of_stored_definitions() -> None:
    for apps in at(("pipelines", "0037_reach")):
        plain = Definition.model_validate(definition(PLACED)).plain()
        launcher = plain["placement"]["launcher"]
        del launcher["cluster"]
        launcher |= {"master": MASTER, "python": "/opt/python", "cluster_secret": "${secret:A}"}
        launcher["conf"] = {
            "spark.locality.wait": "0s",
            "spark.kubernetes.container.image": "image:1",
            "spark.kubernetes.namespace": "streaming",
            "spark.kubernetes.executor.volumes.nfs.state.mount.path": "/mnt",
            "spark.kubernetes.executor.volumes.nfs.state.options.server": "nas",
        }
        pipeline = rows_of(apps, "Pipeline").create(name="orders", phase_since="2026-01-01T00:00:00Z")
        for number in (1, 2):
            rows_of(apps, "Revision").create(pipeline=pipeline, number=number, digest="old", definition=plain)
    cluster = Cluster.objects.get()
    assert cluster.name == "spark-spark-internal-7077"
    assert clusters.put(name=cluster.name, spec=cluster.spec, actor=ROOT)[0].version == 1  # it is valid and complete
    for revision in Revision.objects.all():
        found = Definition.model_validate(revision.definition)
        assert found.plain() == revision.definition
        assert (revision.digest, revision.former_digest) == (found.digest(), "old")
        assert revision.definition == found.plain()
        assert revision.definition["placement"]["launcher"]["cluster"] == cluster.name
        assert revision.definition["placement"]["launcher"]["conf"] == {"spark.locality.wait": "0s"}
    assert AuditRow.objects.filter(action="cluster.created").count() == 1
    assert AuditRow.objects.filter(action="revision.upgrade", pipeline_name="orders").count() == 2
    Pipeline.objects.all().delete()
