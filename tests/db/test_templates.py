"""Templates: each is valid, says what it is for, and is read through the API and the command line."""

from __future__ import annotations

import json

import pytest
from rest_framework.test import APIClient

from pipelines.domain.base.roles import Role
from pipelines.domain.definitions.checks.validate import validate_text
from pipelines.selectors.lifecycle.gallery import TemplateSchema, templates
from tests.db.conftest import CommandLine


@pytest.mark.parametrize("template", templates(), ids=lambda each: each.name)
def test_a_template_is_valid_and_says_what_to_fill_in(template: TemplateSchema) -> None:
    validation = validate_text(template.definition_yaml)
    assert validation.definition is not None, validation.findings
    assert validation.findings == []
    assert template.title
    assert template.description.endswith(".")
    assert all(f"{key}:" in template.definition_yaml for key in template.fill_in)


@pytest.mark.django_db
def test_templates_are_listed_and_shown(viewer: APIClient) -> None:
    found = viewer.get("/api/v1/templates").json()
    assert len(found) >= 8
    assert [each["name"] for each in found] == sorted(each["name"] for each in found)
    (one,) = [each for each in found if each["name"] == "kafka-to-postgres"]
    assert (one["title"], one["sources"], one["sinks"]) == ("Kafka to PostgreSQL", ["kafka"], ["postgres"])
    assert viewer.get("/api/v1/templates/kafka-to-postgres").json() == one
    assert viewer.get("/api/v1/templates/nothing").json()["code"] == "template_not_found"


@pytest.mark.django_db(transaction=True)
def test_the_command_line_prints_a_template_that_can_be_applied(command_line: CommandLine) -> None:
    run = command_line("eva", Role.OPERATOR)
    assert "kafka-to-kafka" in run("templates", "list").stdout
    shown = run("templates", "show", "kafka-to-kafka").stdout
    assert shown.startswith("# Kafka to Kafka")
    assert run("validate", "-f", "-", text=shown).exit_code == 0
    assert json.loads(run("templates", "list", "-o", "json").stdout)[0]["fill_in"]
