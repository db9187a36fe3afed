"""What is allowed to one team is not there for another one: directories, networks and clusters."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings as django_settings
from pytest_django import Settings
from rest_framework.test import APIClient

from pipelines.domain.base.roles import Role
from pipelines.domain.runs.protocol import SparkSettings
from pipelines.models import AllowedNetwork, AllowedRoot, AuditRow, Cluster, Pipeline, Team
from pipelines.services.access import clusters, reach
from pipelines.services.base.audit import Actor
from tests.attacks.two_teams import client_of, user
from tests.factories import UserFactory, definition_data
from workers.adapters.secrets import backends
from workers.ports import SecretValue, Unreadable
from workers.supervisor.launch.launch import Launcher
from workers.supervisor.launch.references import References

pytestmark = pytest.mark.django_db
ROOT = Actor("root")
MASTER = "spark://spark.internal:7077"
EXECUTORS = {"count": 2, "cores": 1, "memory": "1024m"}


class NoSecrets:
    """A store of secrets without one."""

    def read(self, names: Collection[str]) -> Mapping[str, SecretValue | Unreadable]:
        """None."""
        return {}


@pytest.fixture(autouse=True)
def _nothing_is_allowed_to_all(settings: Settings) -> None:
    settings.HEADGATE = django_settings.HEADGATE.model_copy(update={"allowed_roots": ""})


def operator(*teams: Team, role: Role = Role.OPERATOR) -> APIClient:
    return user(*teams, role=role)


def root() -> APIClient:
    return client_of(UserFactory.create(role=Role.ADMIN))


def writing(path: str) -> dict[str, Any]:
    """A definition whose dead letters lie in a directory."""
    return definition_data(errors={"dead_letter": {"type": "file", "path": path}})


def reading(server: str) -> dict[str, Any]:
    """A definition that reads from a server."""
    data = definition_data()
    data["sources"]["shop"]["bootstrap_servers"] = server
    return data


def placed() -> dict[str, Any]:
    """A definition that runs on the cluster analytics."""
    launcher = {"type": "spark", "cluster": "analytics", "storage": "/opt/shared", "executors": EXECUTORS}
    return definition_data(placement={"launcher": launcher})


def codes(client: APIClient, data: dict[str, Any]) -> set[str]:
    """What creating a pipeline by this definition is refused for."""
    answer = client.post("/api/v1/pipelines", {"definition": data}, format="json")
    return set() if answer.status_code == 201 else {each["code"] for each in answer.json()["findings"]}


def allow(kind: str, team: Team) -> tuple[dict[str, Any], str]:
    """Allow it to the team; returns a definition that needs it, and the finding where it is not allowed."""
    if kind == "root":
        reach.allow_root(path="/opt/payments", mode="write", note="", team=team, actor=ROOT)
        return writing("/opt/payments/dead"), "PATH_NOT_ALLOWED"
    if kind == "network":
        reach.allow_network(target="169.254.10.1", ports="9092", note="", team=team, actor=ROOT)
        return reading("169.254.10.1:9092"), "ADDRESS_NOT_ALLOWED"
    reach.allow_root(path="/opt/shared", mode="write", note="", actor=ROOT)
    clusters.put(name="analytics", spec={"master": MASTER}, team=team, actor=ROOT)
    return placed(), "unknown_cluster"


@pytest.mark.parametrize("kind", ["root", "network", "cluster"])
def test_what_is_of_one_team_is_used_by_its_pipelines_alone(kind: str, payments: Team, risk: Team) -> None:
    data, refusal = allow(kind, payments)
    assert refusal in codes(operator(risk), data)
    checked = operator(risk).post("/api/v1/pipelines/validate", {"definition": data}, format="json").json()
    assert refusal in {each["code"] for each in checked["findings"]}
    assert codes(operator(payments), data) == set()


@pytest.mark.parametrize("kind", ["root", "network", "cluster"])
def test_a_start_is_refused_where_it_is_of_the_team_no_longer(kind: str, payments: Team, risk: Team) -> None:
    data, refusal = allow(kind, payments)
    assert codes(operator(payments), data) == set()
    pipeline = Pipeline.objects.select_related("current_revision").get()
    references = References(backends({}, None, NoSecrets()))
    launcher = Launcher("alpha", Path("/state"), references, lambda: SparkSettings(classpath=[]))

    def refused() -> set[str]:
        assert pipeline.current_revision is not None
        return {each.code for each in launcher.against(pipeline, pipeline.current_revision.definition)}

    assert refusal not in refused()
    for model in (AllowedRoot, AllowedNetwork, Cluster):
        model._default_manager.update(team=risk)
    assert refusal in refused()


@pytest.mark.parametrize("kind", ["root", "network", "cluster"])
def test_a_pipeline_does_not_move_away_from_what_it_uses(kind: str, payments: Team, risk: Team) -> None:
    data, refusal = allow(kind, payments)
    assert codes(operator(payments), data) == set()
    refused = root().post("/api/v1/pipelines/orders/team", {"team": "risk"}, format="json")
    assert (refused.status_code, refused.json()["code"]) == (422, "not_of_the_team")
    assert refusal in {each["code"] for each in refused.json()["findings"]}
    assert Pipeline.objects.get().team == payments


@pytest.mark.parametrize(
    ("address", "body"),
    [
        ("allowed-roots", {"path": "/opt/payments", "mode": "read"}),
        ("allowed-networks", {"target": "10.9.0.0/16"}),
    ],
)
def test_administrators_of_all_teams_allow_to_one(
    address: str, body: dict[str, str], payments: Team, risk: Team
) -> None:
    """What a host lets its users do ends at no team: who allows /opt/risk to payments has taken it from risk."""
    own = operator(payments, role=Role.ADMIN)
    assert own.post(f"/api/v1/{address}", body | {"team": "payments"}, format="json").status_code == 403
    made = root().post(f"/api/v1/{address}", body | {"team": "payments"}, format="json")
    assert (made.status_code, made.json()["team"]) == (201, "payments")
    assert root().post(f"/api/v1/{address}", body | {"team": "risk"}, format="json").status_code == 201
    assert root().post(f"/api/v1/{address}", body, format="json").status_code == 201
    assert root().post(f"/api/v1/{address}", body, format="json").status_code == 409
    assert root().post(f"/api/v1/{address}", body | {"team": "missing"}, format="json").status_code == 404
    assert {each["team"] for each in own.get(f"/api/v1/{address}").json()["results"]} == {"payments", None}
    assert AuditRow.objects.filter(action__endswith=".add", team="payments").count() == 1


def test_a_cluster_of_another_team_does_not_exist(payments: Team, risk: Team) -> None:
    made = root().put("/api/v1/clusters/analytics", {"spec": {"master": MASTER}, "team": "payments"}, format="json")
    assert (made.status_code, made.json()["team"]) == (201, "payments")
    assert operator(risk).get("/api/v1/clusters").json()["results"] == []
    assert operator(risk).get("/api/v1/clusters/analytics").status_code == 404
    assert operator(payments).get("/api/v1/clusters/analytics").json()["team"] == "payments"


def test_a_cluster_stays_with_the_team_whose_pipelines_are_placed_on_it(payments: Team, risk: Team) -> None:
    data, _ = allow("cluster", payments)
    assert codes(operator(payments), data) == set()
    body = {"spec": {"master": MASTER}}
    refused = root().put("/api/v1/clusters/analytics", body | {"team": "risk"}, format="json")
    assert (refused.status_code, refused.json()["code"], refused.json()["used_by"]) == (
        409,
        "cluster_in_use",
        ["orders"],
    )
    assert root().put("/api/v1/clusters/analytics", body, format="json").json()["team"] is None


def test_a_team_is_not_deleted_while_something_is_allowed_to_it(payments: Team) -> None:
    allow("root", payments)
    assert root().delete("/api/v1/teams/payments").json()["owns"] == {"allowed roots": 1}
