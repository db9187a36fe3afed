"""An operator starts by a migration what only an administrator may start."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from rest_framework.test import APIClient

from pipelines.domain.base.roles import Role
from pipelines.domain.base.states import MigrationKind, MigrationStage
from pipelines.foundation import clock
from pipelines.models import Migration, Pipeline, Revision
from tests.factories import UserFactory, definition_data

pytestmark = pytest.mark.django_db


def client(role: Role) -> APIClient:
    made = APIClient()
    made.force_authenticate(UserFactory.create(role=role))
    return made


def with_command() -> dict[str, Any]:
    data = copy.deepcopy(definition_data())
    name = next(iter(data["sources"]))
    data["sources"][name] = {"type": "exec", "command": ["id"]}
    return data


@pytest.fixture
def pipeline() -> Pipeline:
    """Revision 1 runs a command, revision 2, the present one, does not."""
    admin, data = client(Role.ADMIN), definition_data()
    made = admin.post("/api/v1/pipelines", {"definition": with_command()}, format="json")
    assert made.status_code == 201, made.content
    path = f"/api/v1/pipelines/{data['name']}/revisions"
    assert admin.post(path, {"definition": data}, format="json").status_code == 201
    return Pipeline.objects.get(name=data["name"])


def migration(pipeline: Pipeline, **fields: Any) -> Migration:
    return Migration.objects.create(
        pipeline=pipeline, kind=MigrationKind.REVISION, stage_since=clock.now(), created_at=clock.now(), **fields
    )


@pytest.mark.parametrize("revision", [1, "1", 1.0, " 1 ", True])
def test_a_revision_is_asked_for_in_another_type(pipeline: Pipeline, revision: Any) -> None:
    body = {"pipeline": pipeline.name, "kind": "revision", "spec": {"revision": revision}, "reason": "change"}
    answer = client(Role.OPERATOR).post("/api/v1/migrations", body, format="json")
    assert answer.status_code in {403, 422}, answer.content
    assert answer.json()["code"] in {"component_needs_role", "spec_invalid", "body_invalid", "invalid"}
    assert not Migration.objects.exists()


def test_the_number_as_text_is_refused_for_the_right_it_needs(pipeline: Pipeline) -> None:
    body = {"pipeline": pipeline.name, "kind": "revision", "spec": {"revision": "1"}, "reason": "change"}
    answer = client(Role.OPERATOR).post("/api/v1/migrations", body, format="json")
    assert (answer.status_code, answer.json()["code"]) == (403, "component_needs_role")
    assert client(Role.ADMIN).post("/api/v1/migrations", body, format="json").status_code == 201


def test_a_migration_is_rolled_back_to_a_command(pipeline: Pipeline) -> None:
    first = Revision.objects.get(pipeline=pipeline, number=1)
    row = migration(pipeline, stage=MigrationStage.VERIFYING, old_revision=first)
    answer = client(Role.OPERATOR).post(f"/api/v1/migrations/{row.pk}/rollback", {"reason": "back"}, format="json")
    assert (answer.status_code, answer.json()["code"]) == (403, "component_needs_role")
    row.refresh_from_db()
    assert row.stage == MigrationStage.VERIFYING


@pytest.mark.parametrize("action", ["approve", "advance"])
def test_a_stored_spec_in_another_type_is_begun(pipeline: Pipeline, action: str) -> None:
    row = migration(pipeline, stage=MigrationStage.PLANNED, spec={"revision": "1"})
    answer = client(Role.OPERATOR).post(f"/api/v1/migrations/{row.pk}/{action}", {"hash": "x"}, format="json")
    assert (answer.status_code, answer.json()["code"]) == (403, "component_needs_role")
