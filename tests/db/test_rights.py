"""A component that runs commands needs more than the role that other pipelines need."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from rest_framework.test import APIClient

from pipelines.domain.roles import Role
from tests.factories import UserFactory, definition_data

pytestmark = pytest.mark.django_db


def with_exec() -> dict[str, Any]:
    data = copy.deepcopy(definition_data())
    name = next(iter(data["sources"]))
    data["sources"][name] = {"type": "exec", "command": ["seq", "5"]}
    return data


def client(role: Role) -> APIClient:
    made = APIClient()
    made.force_authenticate(UserFactory.create(role=role))
    return made


def test_an_operator_neither_publishes_nor_starts_a_command() -> None:
    operator, admin = client(Role.OPERATOR), client(Role.ADMIN)
    refused = operator.post("/api/v1/pipelines", {"definition": with_exec()}, format="json")
    assert (refused.status_code, refused.json()["code"]) == (403, "component_needs_role")
    created = admin.post("/api/v1/pipelines", {"definition": with_exec()}, format="json")
    assert created.status_code == 201, created.content
    name = with_exec()["name"]
    for action in ("start", "restart", "resume"):
        assert operator.post(f"/api/v1/pipelines/{name}/{action}", {}, format="json").status_code == 403
    changed = with_exec() | {"description": "changed"}
    assert (
        operator.post(f"/api/v1/pipelines/{name}/revisions", {"definition": changed}, format="json").status_code == 403
    )
    assert admin.post(f"/api/v1/pipelines/{name}/start", {}, format="json").status_code == 202


def test_an_operator_publishes_and_starts_everything_else() -> None:
    operator = client(Role.OPERATOR)
    data = definition_data()
    assert operator.post("/api/v1/pipelines", {"definition": data}, format="json").status_code == 201
    assert operator.post(f"/api/v1/pipelines/{data['name']}/start", {}, format="json").status_code == 202
