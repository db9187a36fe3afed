"""A token, or a user, that should have come to an end, or should do less than it tries to."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any, cast

import pytest
import time_machine
from django.contrib.auth.models import User
from django.test import Client
from rest_framework.test import APIClient

from pipelines.api.monitoring.stream import Caller, access_now
from pipelines.domain.access.scopes import Scope
from pipelines.domain.access.teams import Access
from pipelines.domain.base.roles import Role
from pipelines.models import AccessToken, AuditRow
from pipelines.services.access import access, teams, tokens
from pipelines.services.base.audit import Actor
from tests.factories import PipelineFactory, TeamFactory, UserFactory, definition_data

pytestmark = pytest.mark.django_db

PASSWORD = "correct horse battery"
OTHER = "staple battery horse correct"
START = datetime(2026, 3, 2, 8, tzinfo=UTC)
EVE = Actor("eve")


def holder(user: User, **given: Any) -> APIClient:
    """A client with a fresh token of the user."""
    made = tokens.create(user=user, name="t", **{"expires": None, **given})
    return APIClient(headers={"Authorization": f"Token {made.text}"})


def browser(username: str, password: str = PASSWORD) -> Client:
    """A session of the user."""
    client = Client()
    body = {"username": username, "password": password}
    assert client.post("/api/v1/session", body, content_type="application/json").status_code == 200
    return client


def make(client: Any, **body: Any) -> Any:
    """What the request to make a token is answered."""
    return client.post("/api/v1/tokens", {"name": "new"} | body, content_type="application/json")


def post(client: APIClient, path: str, body: Any) -> int:
    return client.post(f"/api/v1/{path}", body, format="json").status_code


def test_a_capped_token_of_an_administrator_is_no_administrator() -> None:
    admin = UserFactory.create(role=Role.ADMIN)
    viewer = holder(admin, scope=Scope(Role.VIEWER))
    assert viewer.get("/api/v1/pipelines").status_code == 200
    assert viewer.get("/api/v1/session").json()["role"] == "viewer"
    assert post(viewer, "pipelines", {"definition": definition_data()}) == 403
    assert viewer.get("/api/v1/users").status_code == 403
    operator = holder(admin, scope=Scope(Role.OPERATOR))
    assert post(operator, "pipelines", {"definition": definition_data()}) == 201
    assert operator.put("/api/v1/secrets/x", {"value": "y"}, format="json").status_code == 403


def test_a_cap_gives_no_role_that_the_user_lacks() -> None:
    client = holder(UserFactory.create(role=Role.VIEWER), scope=Scope(Role.ADMIN))
    assert client.get("/api/v1/users").status_code == 403
    assert holder(UserFactory.create(role=None), scope=Scope(Role.ADMIN)).get("/api/v1/pipelines").status_code == 403


def test_a_token_for_reading_changes_nothing() -> None:
    client = holder(UserFactory.create(role=Role.ADMIN), scope=Scope(read_only=True))
    refused = client.post("/api/v1/pipelines", {"definition": definition_data()}, format="json")
    assert (refused.status_code, refused.json()["code"]) == (403, "token_read_only")
    assert post(client, "tokens", {"name": "more"}) == 403
    assert post(client, "pipelines/validate", {"definition": definition_data()}) == 200
    assert client.get("/api/v1/pipelines").status_code == 200


def test_a_token_of_one_team_reaches_nothing_of_another_one_and_not_the_installation() -> None:
    payments, risk = TeamFactory.create(name="payments"), TeamFactory.create(name="risk")
    for team in (payments, risk):
        PipelineFactory.create(name=f"of-{team.name}", team=team)
    user = UserFactory.create(username="ana", role=Role.ADMIN)
    client = holder(user, scope=Scope(team=payments.pk))
    assert [each["name"] for each in client.get("/api/v1/pipelines").json()["results"]] == ["of-payments"]
    paths = ["pipelines/of-payments", "pipelines/of-risk", "teams/risk", "users", "teams/all/bindings"]
    assert [client.get(f"/api/v1/{path}").status_code for path in paths] == [200, 404, 404, 403, 403]
    assert client.get("/api/v1/session").json()["everywhere"] is None
    assert post(client, "teams", {"name": "mine"}) == 403
    made = client.post("/api/v1/tokens", {"name": "n"}, format="json").json()
    assert made["team"] == "payments"
    assert post(client, "tokens", {"name": "n", "team": "risk"}) == 404
    other = holder(UserFactory.create(in_teams={risk: Role.ADMIN}), scope=Scope(team=payments.pk))
    assert other.get("/api/v1/pipelines").status_code == 403


def test_the_tokens_of_a_team_end_with_it() -> None:
    team = TeamFactory.create(name="payments")
    holder(UserFactory.create(username="ana", role=Role.ADMIN), scope=Scope(team=team.pk))
    teams.delete(team=team, actor=EVE)
    assert not AccessToken.objects.exists()
    before = AuditRow.objects.get(action="token.revoked").before
    assert before is not None
    assert before["team"] == "payments"


def test_a_token_makes_none_that_may_more_or_holds_longer_than_itself() -> None:
    user = UserFactory.create(role=Role.ADMIN)
    client = holder(user, scope=Scope(Role.OPERATOR), expires=timedelta(days=1))
    for cap in ("admin", None, "viewer"):
        made = client.post("/api/v1/tokens", {"name": "n", "days": 90, "role_cap": cap}, format="json")
        assert made.status_code == 201, made.content
        assert made.json()["role_cap"] == ("viewer" if cap == "viewer" else "operator")
        left = datetime.fromisoformat(made.json()["expires_at"]) - datetime.now(UTC)
        assert left <= timedelta(days=1)


def test_a_session_makes_a_token_once_shown_with_an_end() -> None:
    UserFactory.create(username="ana", role=Role.VIEWER)
    page = browser("ana")
    made = make(page).json()
    assert made["text"].startswith("hg_")
    assert made["text"].startswith(made["id"])
    assert datetime.fromisoformat(made["expires_at"]) < datetime.now(UTC) + timedelta(days=90, minutes=1)
    assert make(page, days=366).json()["code"] == "token_too_long"
    listed = page.get("/api/v1/tokens").json()["results"]
    assert [each["id"] for each in listed] == [made["id"]]
    everything = str(listed) + str(list(AuditRow.objects.values()))
    assert made["text"] not in everything
    assert AccessToken.objects.get().digest not in everything


def test_making_a_token_needs_a_fresh_log_in() -> None:
    UserFactory.create(username="ana", role=Role.VIEWER)
    with time_machine.travel(START, tick=False):
        page = browser("ana")
    with time_machine.travel(START + timedelta(hours=1), tick=False):
        assert make(page).json()["code"] == "reauthentication_required"


def test_tokens_of_others_do_not_exist_for_users() -> None:
    ana, eve = UserFactory.create(role=Role.OPERATOR), UserFactory.create(username="eve", role=Role.OPERATOR)
    token = tokens.create(user=ana, name="hers", expires=None).token
    client = holder(eve)
    for query in ("", "?all=true", f"?user={ana.username}"):
        assert token.token_key not in str(client.get(f"/api/v1/tokens{query}").json())
    assert client.delete(f"/api/v1/tokens/{token.token_key}").status_code == 404
    assert post(client, "tokens", {"name": "x", "user": ana.username}) == 403
    admin = holder(UserFactory.create(role=Role.ADMIN))
    assert token.token_key in str(admin.get("/api/v1/tokens?all=true").json())
    assert admin.delete(f"/api/v1/tokens/{token.token_key}").status_code == 204
    assert AuditRow.objects.filter(action="token.revoked", before__token=token.token_key).exists()


def test_an_administrator_makes_tokens_of_programs_and_of_no_other_person() -> None:
    person = UserFactory.create(role=Role.ADMIN)
    access.create_user(username="robot", password=None, role=Role.OPERATOR)
    admin = holder(UserFactory.create(role=Role.ADMIN))
    assert post(admin, "tokens", {"name": "x", "user": person.username}) == 403
    made = admin.post("/api/v1/tokens", {"name": "x", "user": "robot"}, format="json").json()
    robot = APIClient(headers={"Authorization": f"Token {made['text']}"})
    assert robot.get("/api/v1/session").json()["role"] == "operator"


def test_a_revoked_token_ends_its_stream() -> None:
    user = UserFactory.create(role=Role.VIEWER)
    token = tokens.create(user=user, name="t", expires=None).token
    held = Caller(user.username, None, token.digest)
    assert access_now(held) == Access(Role.VIEWER)
    tokens.revoke(token_key=token.token_key, tokens=AccessToken.objects.all(), actor=EVE)
    assert access_now(held) is None


def test_a_changed_password_ends_tokens_and_other_sessions() -> None:
    user = UserFactory.create(username="ana", role=Role.VIEWER)
    here, there, token = browser("ana"), browser("ana"), holder(user)
    path = "/api/v1/session/password"

    def change(present: str, wanted: str, **more: Any) -> Any:
        body = {"present": present, "wanted": wanted} | more
        return here.post(path, body, content_type="application/json")

    assert change("wrong", OTHER).status_code == 401
    assert change(PASSWORD, "short").json()["code"] == "weak_password"
    assert token.get("/api/v1/pipelines").status_code == 200
    assert change(PASSWORD, OTHER, keep_tokens=True).status_code == 200
    assert token.get("/api/v1/pipelines").status_code == 200
    assert there.get("/api/v1/pipelines").status_code == 401
    assert here.get("/api/v1/pipelines").status_code == 200
    assert change(OTHER, PASSWORD).status_code == 200
    assert token.get("/api/v1/pipelines").status_code == 401
    assert AuditRow.objects.filter(action="user.password_changed", after__tokens_revoked=1).count() == 1
    assert token.post(path, {"present": PASSWORD, "wanted": OTHER}, format="json").status_code in {401, 403}


def test_the_command_that_sets_a_password_ends_tokens() -> None:
    user = UserFactory.create(username="ana", role=Role.VIEWER)
    client = holder(user)
    access.create_user(username="ana", password=OTHER, role=Role.VIEWER)
    assert client.get("/api/v1/pipelines").status_code == 401


def test_a_disabled_user_is_out_for_good() -> None:
    user = UserFactory.create(username="ana", role=Role.ADMIN)
    page, token = browser("ana"), holder(user)
    admin = holder(UserFactory.create(username="root", role=Role.ADMIN))
    path = "/api/v1/users/ana"
    assert admin.patch(path, {"active": False}, format="json").json()["active"] is False
    for after in (False, True):
        assert page.get("/api/v1/pipelines").status_code == 401
        assert token.get("/api/v1/pipelines").status_code == 401
        if not after:
            assert admin.patch(path, {"active": True}, format="json").json()["active"] is True
    actions = set(AuditRow.objects.filter(actor="root").values_list("action", flat=True))
    assert {"user.disabled", "user.enabled", "token.revoked"} <= actions


def test_an_administrator_locks_nobody_out_with_himself() -> None:
    client = holder(UserFactory.create(username="root", role=Role.ADMIN))
    for change in ({"active": False}, {"role": "viewer"}):
        refused = client.patch("/api/v1/users/root", change, format="json")
        assert (refused.status_code, refused.json()["code"]) == (409, "own_user")


@pytest.mark.parametrize("role", [None, Role.VIEWER, Role.OPERATOR])
def test_users_are_the_business_of_administrators(role: Role | None) -> None:
    client = holder(UserFactory.create(username="eve", role=role))
    assert client.get("/api/v1/users").status_code == 403
    assert client.get("/api/v1/users/eve").status_code == 403
    assert client.patch("/api/v1/users/eve", {"role": "admin"}, format="json").status_code == 403
    assert post(client, "users", {"username": "eve2", "role": "admin"}) == 403
    assert post(APIClient(), "users", {"username": "eve2", "role": "admin"}) == 401


def test_a_name_that_reads_like_another_is_refused() -> None:
    UserFactory.create(username="ana", role=Role.ADMIN)
    client = holder(UserFactory.create(role=Role.ADMIN))
    assert post(client, "users", {"username": "ANA", "role": "viewer"}) == 409
    assert post(client, "users", {"username": "a/../b", "role": "viewer"}) == 422


def test_an_expired_token_is_refused_and_still_listed() -> None:
    user = UserFactory.create(username="ana", role=Role.VIEWER)
    with time_machine.travel(START, tick=False):
        old = holder(user, expires=timedelta(days=1))
        assert old.get("/api/v1/pipelines").status_code == 200
    with time_machine.travel(START + timedelta(days=1), tick=False):
        assert old.get("/api/v1/pipelines").status_code == 401
        (shown,) = browser("ana").get("/api/v1/tokens").json()["results"]
        assert shown["expired"] is True
    assert shown["last_used_at"] == "2026-03-02T08:00:00Z"


def test_last_use_is_written_once_a_minute(django_assert_num_queries: Any) -> None:
    client = holder(UserFactory.create(role=Role.VIEWER))

    def writes_at(after: float) -> datetime | None:
        with time_machine.travel(START + timedelta(seconds=after), tick=False):
            assert client.get("/api/v1/session", REMOTE_ADDR="192.0.2.7").status_code == 200
        return cast("datetime | None", AccessToken.objects.get().last_used_at)

    assert writes_at(0) == START
    assert writes_at(59) == START
    assert writes_at(60) == START + timedelta(seconds=60)
    assert AccessToken.objects.get().last_used_address == "192.0.2.7"
