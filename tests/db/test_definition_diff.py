"""What a definition would change, before it is published: through the API and the command line."""

from __future__ import annotations

import json
from typing import Any

import pytest
import yaml
from rest_framework.test import APIClient

from pipelines.domain.base.roles import Role
from pipelines.models import AuditRow, Pipeline, Revision
from tests.db.conftest import CommandLine
from tests.factories import definition_data

pytestmark = pytest.mark.django_db
LIST = "/api/v1/pipelines"
DIFF = f"{LIST}/orders/diff"


def changed() -> dict[str, Any]:
    data = definition_data("orders", description="with returns", placement={"host": "beta"})
    data["sinks"]["out"]["topic"] = "elsewhere"
    return data


@pytest.fixture
def orders(operator: APIClient) -> APIClient:
    assert operator.post(LIST, {"definition": definition_data("orders")}, format="json").status_code == 201
    return operator


def test_each_change_has_its_consequence_and_the_heaviest_counts(orders: APIClient) -> None:
    answer = orders.post(DIFF, {"definition": yaml.safe_dump(changed())}, format="json")
    assert answer.status_code == 200, answer.content
    found = answer.json()
    assert (found["revision"], found["consequence"]) == (1, "new_lineage")
    assert [(each["change"]["path"], each["consequence"]) for each in found["changes"]] == [
        ("description", "hot"),
        ("placement.host", "new_lineage"),
        ("sinks.out.topic", "restart"),
    ]
    assert Revision.objects.count() == 1
    assert not AuditRow.objects.exclude(action="pipeline.create").exists()


def test_another_text_of_the_same_definition_changes_no_key(orders: APIClient) -> None:
    text = f"# ours\n{yaml.safe_dump(definition_data('orders'))}"
    assert orders.post(DIFF, text, content_type="application/yaml").json() == {
        "revision": 1,
        "changes": [],
        "consequence": None,
    }


def test_a_definition_that_is_not_valid_is_refused_with_its_findings(orders: APIClient) -> None:
    answer = orders.post(DIFF, {"definition": {**changed(), "labells": {}}}, format="json")
    assert (answer.status_code, answer.json()["code"]) == (422, "definition_invalid")
    assert "labells" in {each["path"] for each in answer.json()["findings"]}


def test_a_current_definition_that_is_no_longer_valid_is_compared_all_the_same(orders: APIClient) -> None:
    Revision.objects.update(definition={**Revision.objects.get().definition, "gone": 1})
    found = orders.post(DIFF, {"definition": definition_data("orders")}, format="json").json()
    assert [(each["change"]["path"], each["change"]["op"]) for each in found["changes"]] == [("gone", "remove")]


@pytest.mark.django_db(transaction=True)
def test_the_command_line_shows_what_would_change(command_line: CommandLine) -> None:
    run = command_line("eva", Role.OPERATOR)
    same = yaml.safe_dump(definition_data("orders"))
    run("apply", "-f", "-", text=same)
    assert run("diff", "-f", "-", text=same).stdout == "orders: the definition is that of revision 1.\n"
    shown = run("diff", "-f", "-", text=yaml.safe_dump(changed()))
    assert shown.exit_code == 0
    (row,) = [line for line in shown.stdout.splitlines() if "sinks.out.topic" in line]
    assert row.split()[1:4] == ["orders-out", "elsewhere", "restart"]
    as_json = run("diff", "-f", "-", "-o", "json", text=yaml.safe_dump(changed()))
    assert json.loads(as_json.stdout)["consequence"] == "new_lineage"
    assert Pipeline.objects.get().current_revision == Revision.objects.get()
