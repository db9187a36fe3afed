"""A component that runs commands needs more than the role that other pipelines need."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from rest_framework.test import APIClient

from pipelines.domain.base.roles import Role
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


def test_whoever_may_not_start_a_command_sees_so_before_asking() -> None:
    operator, admin = client(Role.OPERATOR), client(Role.ADMIN)
    name = with_exec()["name"]
    assert admin.post("/api/v1/pipelines", {"definition": with_exec()}, format="json").status_code == 201
    for path in (f"/api/v1/pipelines/{name}", f"/api/v1/pipelines/{name}/status", "/api/v1/pipelines"):
        for who, allowed in ((operator, False), (admin, True)):
            answer = who.get(path).json()
            shown = answer["results"][0] if "results" in answer else answer
            start = next(each for each in shown["allowed_actions"] if each["name"] == "start")
            assert start["allowed"] is allowed, path
            assert ("needs the role admin" in start["reason"]) is not allowed


def test_the_present_revision_decides_who_may_start() -> None:
    admin, operator = client(Role.ADMIN), client(Role.OPERATOR)
    data = definition_data()
    path = f"/api/v1/pipelines/{data['name']}"
    assert admin.post("/api/v1/pipelines", {"definition": with_exec()}, format="json").status_code == 201
    assert admin.post(f"{path}/revisions", {"definition": data}, format="json").status_code == 201
    actions = {each["name"]: each["allowed"] for each in operator.get(path).json()["allowed_actions"]}
    assert actions["start"]
