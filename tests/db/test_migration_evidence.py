"""The evidence of a migration names everybody who asked for something, the runs and the software that it concerns."""

from __future__ import annotations

from typing import Any

import pytest
from rest_framework.test import APIClient

from pipelines.domain.base.roles import Role
from pipelines.domain.base.states import DesiredState, Phase
from pipelines.domain.migration import evidence
from pipelines.models import ApprovalPolicy, Host, Pipeline
from tests.factories import HostFactory, PipelineFactory, RunFactory, UserFactory, definition_data

pytestmark = pytest.mark.django_db
MIGRATIONS = "/api/v1/migrations"


def client_of(name: str, role: Role = Role.OPERATOR) -> APIClient:
    client = APIClient()
    client.force_authenticate(UserFactory.create(username=name, role=role))
    return client


@pytest.fixture
def orders() -> Pipeline:
    HostFactory.create(name="beta", version="0.2.0")
    pipeline = PipelineFactory.create(name="orders", phase=Phase.RUNNING, desired_state=DesiredState.RUNNING)
    RunFactory.create(pipeline=pipeline)
    return pipeline


def post(client: APIClient, path: str, data: Any) -> Any:
    return client.post(f"{MIGRATIONS}{path}", data, format="json").json()


def planned(client: APIClient, reason: str) -> dict[str, Any]:
    data = definition_data("orders")
    data["sinks"]["out"]["topic"] = "elsewhere"
    body = {"pipeline": "orders", "kind": "revision", "spec": {"definition": data}, "reason": reason}
    found: dict[str, Any] = post(client, "", body)
    return found


def content_of(client: APIClient, made: dict[str, Any]) -> dict[str, Any]:
    answer = client.get(f"{MIGRATIONS}/{made['id']}/evidence")
    assert evidence.verify(answer.content.decode()).holds
    found: dict[str, Any] = answer.json()["content"]
    return found


def test_everybody_who_asked_for_something_is_named_and_whoever_was_refused(orders: Pipeline) -> None:
    ApprovalPolicy.objects.create(approvers=1, updated_by="admin")
    ana, ben = client_of("ana"), client_of("ben", Role.APPROVER)
    made = planned(ana, "a new topic")
    hashed, address = {"hash": made["plan_hash"]}, f"/{made['id']}"
    post(ana, f"{address}/approve", hashed)
    post(ben, f"{address}/approve", hashed)
    post(ben, f"{address}/advance", hashed)
    post(ana, f"{address}/abort", {"reason": "not today"})
    rows = content_of(ana, made)["requests"]
    assert [(row["by"], row["action"], row["outcome"]) for row in rows] == [
        ("ana", "create", "accepted"),
        ("ana", "approve", "refused"),
        ("ben", "approve", "accepted"),
        ("ben", "advance", "accepted"),
        ("ana", "abort", "accepted"),
    ]
    assert [row["reason"] for row in rows][::4] == ["a new topic", "not today"]
    assert "ana requested this" in rows[1]["reason"]


def test_requests_of_another_migration_are_not_in_it(orders: Pipeline) -> None:
    ana = client_of("ana")
    first = planned(ana, "one")
    post(ana, f"/{first['id']}/abort", {"reason": "no"})
    second = planned(ana, "two")
    assert [row["reason"] for row in content_of(ana, second)["requests"]] == ["two"]


def test_what_is_refused_after_its_end_does_not_change_the_document(orders: Pipeline) -> None:
    ana = client_of("ana")
    made = planned(ana, "one")
    post(ana, f"/{made['id']}/abort", {"reason": "no"})
    before = content_of(ana, made)
    assert [row["action"] for row in before["requests"]] == ["create", "abort"]
    assert post(ana, f"/{made['id']}/abort", {"reason": "again"})["code"] == "out_of_order"
    assert content_of(ana, made) == before


def test_runs_and_software_are_those_by_which_it_was_begun(orders: Pipeline) -> None:
    ana = client_of("ana")
    made = planned(ana, "why")
    assert (content_of(ana, made)["software"], content_of(ana, made)["runs"]) == (None, [])
    post(ana, f"/{made['id']}/approve", {"hash": made["plan_hash"]})
    post(ana, f"/{made['id']}/advance", {"hash": made["plan_hash"]})
    Host.objects.update(version="9.9.9")
    found = content_of(ana, made)
    assert "9.9.9" not in found["software"].values()
    assert {"server", f"worker on {orders.host_id}"} <= found["software"].keys()
    assert [(row["side"], row["number"]) for row in found["runs"]] == [("before", orders.runs.get().number)]
    assert found["stages"] == []
    assert found["pause"]["last_delivered_at"] is None
