"""Teams and the roles in them, over the API."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth.models import Group, User
from rest_framework.test import APIClient

from pipelines.domain.base.roles import Role
from pipelines.domain.base.states import MigrationKind, MigrationStage
from pipelines.models import DEFAULT_TEAM, AuditRow, Event, Migration, Pipeline, RoleBinding, Team
from tests.factories import PipelineFactory, UserFactory, definition_data, now

pytestmark = pytest.mark.django_db
TEAMS = "/api/v1/teams"


def client_of(name: str, role: Role | None = None, **in_teams: Role) -> APIClient:
    """A client of a new user with a role in every team, or in some."""
    teams = {Team.objects.get(name=team): own for team, own in in_teams.items()}
    client = APIClient()
    client.force_authenticate(UserFactory.create(username=name, role=role, in_teams=teams))
    return client


def put(client: APIClient, team: str, **binding: Any) -> tuple[int, Any]:
    answer = client.put(f"{TEAMS}/{team}/bindings", binding, format="json")
    return answer.status_code, answer.json()


def create(client: APIClient, name: str, **body: Any) -> tuple[int, Any]:
    answer = client.post("/api/v1/pipelines", {"definition": definition_data(name), **body}, format="json")
    return answer.status_code, answer.json()


@pytest.fixture
def root() -> APIClient:
    """An administrator of all teams."""
    return client_of("root", Role.ADMIN)


def test_an_administrator_of_all_makes_renames_and_deletes_teams(root: APIClient) -> None:
    made = root.post(TEAMS, {"name": "payments", "description": "Cards"}, format="json")
    assert (made.status_code, made.json()["role"], made.json()["pipelines"]) == (201, "admin", 0)
    assert root.post(TEAMS, {"name": "payments"}, format="json").json()["code"] == "team_exists"
    renamed = root.patch(f"{TEAMS}/payments", {"name": "cards"}, format="json")
    assert (renamed.status_code, renamed.json()["name"], renamed.json()["description"]) == (200, "cards", "Cards")
    assert root.patch(f"{TEAMS}/cards", {"name": "default"}, format="json").json()["code"] == "team_exists"
    assert [team["name"] for team in root.get(TEAMS).json()["results"]] == ["cards", "default"]
    assert root.delete(f"{TEAMS}/cards").status_code == 204
    assert root.get(f"{TEAMS}/cards").status_code == 404
    found = list(AuditRow.objects.filter(action__startswith="team.").values_list("action", "team"))
    assert found == [("team.created", "payments"), ("team.changed", "cards"), ("team.deleted", "cards")]


def test_no_team_takes_a_name_under_which_the_audit_has_rows_of_another(root: APIClient) -> None:
    for name in ("payments", "risk"):
        assert root.post(TEAMS, {"name": name}, format="json").status_code == 201
    assert root.patch(f"{TEAMS}/payments", {"name": "cards"}, format="json").status_code == 200
    assert root.delete(f"{TEAMS}/cards").status_code == 204
    for name in ("payments", "cards"):
        assert root.post(TEAMS, {"name": name}, format="json").json()["code"] == "team_name_used"
        assert root.patch(f"{TEAMS}/risk", {"name": name}, format="json").json()["code"] == "team_name_used"
    assert root.patch(f"{TEAMS}/risk", {"description": "Models"}, format="json").status_code == 200


@pytest.mark.parametrize("name", ["all", "", "A", "a b", "-a", "a/b", "a" * 64, "a\n"])
def test_a_name_that_cannot_stand_in_an_address_is_refused(root: APIClient, name: str) -> None:
    assert root.post(TEAMS, {"name": name}, format="json").status_code == 422


def test_the_default_team_keeps_its_name_and_stays(root: APIClient) -> None:
    assert root.patch(f"{TEAMS}/default", {"name": "x"}, format="json").json()["code"] == "default_team"
    assert root.patch(f"{TEAMS}/default", {"description": "x"}, format="json").status_code == 200
    assert root.delete(f"{TEAMS}/default").json()["code"] == "default_team"


def test_a_team_is_not_deleted_while_it_owns_anything(root: APIClient, payments: Team) -> None:
    PipelineFactory.create(team=payments, archived_at=now())
    refused = root.delete(f"{TEAMS}/payments")
    assert (refused.status_code, refused.json()["code"]) == (409, "team_not_empty")
    assert refused.json()["owns"] == {"pipelines": 1}
    Pipeline.objects.update(team=Team.objects.get(name=DEFAULT_TEAM))
    UserFactory.create(username="eva", in_teams={payments: Role.ADMIN})
    assert root.delete(f"{TEAMS}/payments").status_code == 204
    assert not RoleBinding.objects.filter(user__username="eva").exists()
    assert AuditRow.objects.get(action="role.unbound").before == {"team": "payments", "user": "eva", "role": "admin"}


def test_a_user_sees_the_own_teams_alone(payments: Team, risk: Team) -> None:
    eva = client_of("eva", payments=Role.ADMIN)
    (seen,) = eva.get(TEAMS).json()["results"]
    assert (seen["name"], seen["role"]) == ("payments", "admin")
    assert eva.get(f"{TEAMS}/risk").status_code == eva.get(f"{TEAMS}/missing").status_code == 404
    for path in (f"{TEAMS}/risk/bindings", f"{TEAMS}/missing/bindings"):
        assert eva.get(path).status_code == eva.put(path, {}, format="json").status_code == 404


def test_administrators_of_one_team_make_and_change_no_team(payments: Team) -> None:
    eva = client_of("eva", payments=Role.ADMIN)
    assert eva.post(TEAMS, {"name": "mine"}, format="json").status_code == 403
    assert eva.patch(f"{TEAMS}/payments", {"name": "mine"}, format="json").status_code == 403
    assert eva.delete(f"{TEAMS}/payments").status_code == 403


def test_an_administrator_of_a_team_grants_roles_in_it_and_nowhere_else(payments: Team, risk: Team) -> None:
    eva = client_of("eva", payments=Role.ADMIN, risk=Role.APPROVER)
    UserFactory.create(username="ben")
    status, made = put(eva, "payments", user="ben", role="operator")
    assert (status, made["team"], made["user"], made["group"], made["role"]) == (
        201,
        "payments",
        "ben",
        None,
        "operator",
    )
    assert put(eva, "payments", user="ben", role="admin")[0] == 200
    row = AuditRow.objects.filter(action="role.bound").latest("pk")
    assert (row.team, row.actor) == ("payments", "eva")
    assert row.before == {"team": "payments", "user": "ben", "role": "operator"}
    assert row.after == {"team": "payments", "user": "ben", "role": "admin"}
    assert put(eva, "risk", user="ben", role="viewer")[0] == 403
    assert put(eva, "all", user="ben", role="viewer")[0] == 403
    assert put(eva, "default", user="ben", role="viewer")[0] == 404
    assert eva.get(f"{TEAMS}/risk/bindings").status_code == eva.get(f"{TEAMS}/all/bindings").status_code == 403
    assert RoleBinding.objects.filter(user__username="ben").count() == 1


@pytest.mark.parametrize("role", [Role.VIEWER, Role.OPERATOR, Role.APPROVER])
def test_who_is_no_administrator_of_a_team_grants_nothing_in_it(payments: Team, role: Role) -> None:
    eva = client_of("eva", payments=role)
    assert put(eva, "payments", user="eva", role="admin")[0] == 403
    assert eva.get(f"{TEAMS}/payments/bindings").status_code == 403


def test_a_binding_of_another_team_is_not_found_below_the_own_one(payments: Team, risk: Team) -> None:
    eva = client_of("eva", payments=Role.ADMIN)
    UserFactory.create(username="ben", in_teams={risk: Role.ADMIN})
    foreign = RoleBinding.objects.get(team=risk)
    assert eva.delete(f"{TEAMS}/payments/bindings/{foreign.pk}").status_code == 404
    assert eva.delete(f"{TEAMS}/risk/bindings/{foreign.pk}").status_code == 404
    assert RoleBinding.objects.filter(pk=foreign.pk).exists()


@pytest.mark.parametrize(
    "body",
    [
        {"role": "viewer"},
        {"user": "ben", "group": "oidc:x", "role": "viewer"},
        {"user": "ben", "role": "owner"},
        {"user": "ben"},
        {"group": "staff", "role": "viewer"},
        {"group": "oidc:", "role": "viewer"},
    ],
)
def test_a_binding_that_is_none_is_refused(root: APIClient, payments: Team, body: dict[str, str]) -> None:
    UserFactory.create(username="ben")
    assert put(root, "payments", **body)[0] == 422
    assert put(root, "payments", user="nobody", role="viewer")[0] == 404


def test_an_administrator_of_all_teams_is_always_left(root: APIClient) -> None:
    (own,) = root.get(f"{TEAMS}/all/bindings").json()["results"]
    refused = root.delete(f"{TEAMS}/all/bindings/{own['id']}")
    assert (refused.status_code, refused.json()["code"]) == (409, "last_administrator")
    assert put(root, "all", user="root", role="operator")[1]["code"] == "last_administrator"
    ben = UserFactory.create(username="ben", role=Role.ADMIN, is_active=False)
    assert put(root, "all", user="root", role="operator")[0] == 409
    User.objects.filter(pk=ben.pk).update(is_active=True)
    assert root.delete(f"{TEAMS}/all/bindings/{own['id']}").status_code == 204
    assert root.get(f"{TEAMS}/all/bindings").status_code == 403


def test_a_role_of_a_group_is_that_of_its_members(root: APIClient, payments: Team) -> None:
    assert put(root, "payments", group="oidc:cards", role="operator")[0] == 201
    eva = client_of("eva")
    assert eva.get(TEAMS).status_code == 403
    user = User.objects.get(username="eva")
    user.groups.add(Group.objects.get(name="oidc:cards"))
    assert [team["role"] for team in eva.get(TEAMS).json()["results"]] == ["operator"]
    shown = root.get("/api/v1/users/eva").json()
    assert (shown["role"], shown["teams"]) == (None, [{"team": "payments", "role": "operator"}])


def test_a_new_pipeline_belongs_to_the_only_team_of_its_maker(payments: Team, risk: Team) -> None:
    status, made = create(client_of("eva", payments=Role.OPERATOR, risk=Role.VIEWER), "orders")
    assert (status, made["team"]) == (201, "payments")
    assert Event.objects.get(kind="pipeline.created").data["team"] == "payments"


def test_a_new_pipeline_belongs_to_the_default_team_where_its_maker_may_choose(root: APIClient, payments: Team) -> None:
    assert create(root, "orders")[1]["team"] == "default"
    assert create(root, "cards", team="payments")[1]["team"] == "payments"
    eva = client_of("eva", payments=Role.OPERATOR, default=Role.OPERATOR)
    assert create(eva, "books")[1]["team"] == "default"
    assert [each["name"] for each in root.get("/api/v1/pipelines?team=payments").json()["results"]] == ["cards"]


def test_the_team_has_to_be_named_where_there_are_several(payments: Team, risk: Team) -> None:
    eva = client_of("eva", payments=Role.OPERATOR, risk=Role.OPERATOR)
    status, refused = create(eva, "orders")
    assert (status, refused["code"]) == (422, "team_missing")
    assert "payments, risk" in refused["findings"][0]["message"]
    assert create(eva, "orders", team="risk")[1]["team"] == "risk"


def test_a_pipeline_is_made_in_no_team_of_others(payments: Team, risk: Team) -> None:
    eva = client_of("eva", payments=Role.OPERATOR, risk=Role.VIEWER)
    assert create(eva, "orders", team="risk")[0] == 403
    assert create(eva, "orders", team="default")[0] == create(eva, "orders", team="missing")[0] == 404
    assert not Pipeline.objects.exists()


def test_a_higher_role_elsewhere_publishes_nothing_here(payments: Team, risk: Team) -> None:
    data = definition_data("orders")
    data["sources"]["shop"] = {"type": "exec", "command": ["true"]}
    eva = client_of("eva", payments=Role.OPERATOR, risk=Role.ADMIN)
    refused = eva.post("/api/v1/pipelines", {"definition": data, "team": "payments"}, format="json")
    assert (refused.status_code, refused.json()["code"]) == (403, "component_needs_role")


def move(client: APIClient, team: str) -> tuple[int, Any]:
    answer = client.post("/api/v1/pipelines/orders/team", {"team": team}, format="json")
    return answer.status_code, answer.json()


def test_a_pipeline_moves_by_an_administrator_of_both_teams(payments: Team, risk: Team) -> None:
    pipeline = PipelineFactory.create(name="orders", team=payments)
    assert move(client_of("ana", payments=Role.ADMIN), "risk")[0] == 404
    assert move(client_of("ben", payments=Role.ADMIN, risk=Role.APPROVER), "risk")[0] == 403
    assert move(client_of("eva", payments=Role.APPROVER, risk=Role.ADMIN), "risk")[0] == 403
    assert move(client_of("tom", risk=Role.ADMIN), "risk")[0] == 404
    both = client_of("sue", payments=Role.ADMIN, risk=Role.ADMIN)
    status, moved = move(both, "risk")
    assert (status, moved["team"], moved["etag"]) == (200, "risk", f'"{pipeline.version + 1}"')
    row = AuditRow.objects.get(action="pipeline.move", outcome="accepted")
    assert (row.before, row.after) == ({"team": "payments"}, {"team": "risk"})
    assert move(both, "risk")[0] == 200
    assert AuditRow.objects.filter(action="pipeline.move").count() == 1


def test_a_pipeline_does_not_move_while_a_migration_of_it_is_open(root: APIClient, payments: Team) -> None:
    pipeline = PipelineFactory.create(name="orders")
    fields = {"stage_since": now(), "created_at": now(), "created_by": "x", "reason": "x"}
    Migration.objects.create(pipeline=pipeline, kind=MigrationKind.HOST, stage=MigrationStage.PLANNED, **fields)
    assert move(root, "payments")[1]["code"] == "migration_open"
