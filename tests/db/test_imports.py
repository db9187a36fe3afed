"""Configurations of Flume and Kafka Connect through the API: definitions with findings, and nothing stored."""

from __future__ import annotations

import json
from typing import Any

import pytest
from rest_framework.test import APIClient

from pipelines.domain.definitions.checks.validate import validate_text
from pipelines.models import AuditRow, Pipeline
from tests.unit.domain.connect.test_importing import FILE_SINK, JDBC
from tests.unit.flume.agents import WHOLE, written

pytestmark = pytest.mark.django_db
FLUME, CONNECT = "/api/v1/imports/flume", "/api/v1/imports/connect"


def post(client: APIClient, path: str, **body: Any) -> Any:
    return client.post(path, body, format="json")


def test_a_flume_agent_becomes_a_definition(operator: APIClient) -> None:
    answer = post(operator, FLUME, text=written(WHOLE))
    assert answer.status_code == 200, answer.content
    made = answer.json()
    validation = validate_text(made["definition_yaml"])
    assert (made["valid"], validation.valid) == (True, True)
    assert made["definition"]["sources"]["s"]["type"] == "sequence"
    assert not Pipeline.objects.exists()
    assert not AuditRow.objects.exists()


def test_a_connector_becomes_a_definition_with_the_brokers_that_were_given(operator: APIClient) -> None:
    text = json.dumps([{"name": "one", "config": JDBC}, {"name": "other", "config": FILE_SINK}])
    answer = post(operator, CONNECT, text=text, connector="other", bootstrap_servers="broker:9092")
    made = answer.json()
    assert (answer.status_code, made["valid"], made["definition"]["name"]) == (200, True, "other")
    assert validate_text(made["definition_yaml"]).valid
    assert {"start_from_chosen", "differs"} <= {each["code"] for each in made["findings"]}
    assert all(each["done"] for each in made["findings"])


def test_what_misleads_is_answered_with_its_errors_and_lines(operator: APIClient) -> None:
    text = json.dumps({"name": "one", "config": {**JDBC, "delete.enabled": "true"}}, indent=1)
    made = post(operator, CONNECT, text=text, bootstrap_servers="b:9092").json()
    (found,) = [each for each in made["findings"] if each["severity"] == "error"]
    assert (made["valid"], found["code"], found["key"]) == (False, "deletes_not_expressible", "delete.enabled")
    assert "delete.enabled" in text.splitlines()[found["line"] - 1]


@pytest.mark.parametrize(
    ("path", "text", "code"),
    [(FLUME, "a = \\u00", "malformed"), (CONNECT, "{", "malformed"), (CONNECT, "", "no_connector")],
)
def test_what_cannot_be_read_is_refused(operator: APIClient, path: str, text: str, code: str) -> None:
    answer = post(operator, path, text=text)
    assert (answer.status_code, answer.json()["code"]) == (422, code)
    assert [each["code"] for each in answer.json()["findings"]] == [code]


def test_viewers_import_nothing(viewer: APIClient) -> None:
    assert post(viewer, CONNECT, text="{}").status_code == 403
