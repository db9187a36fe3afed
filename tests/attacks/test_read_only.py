"""Every user on every route of an installation that is read-only: nothing is changed but what an emergency needs."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from pytest_django import Settings
from rest_framework.test import APIClient

from pipelines.api.http.base import View
from pipelines.domain.base.roles import Role
from pipelines.domain.base.states import DesiredState, Phase
from pipelines.domain.governance.changes import ChangeKind
from pipelines.domain.governance.read_only import EMERGENCY
from pipelines.models import AuditRow, ChangeRequest, Event, Operation, Pipeline, ReadOnlyMode
from tests.attacks.test_audit_is_complete import HANDLERS
from tests.attacks.test_roles_on_every_route import ROUTES, Identity, send
from tests.attacks.world import address, world
from tests.factories import HostFactory, PipelineFactory, RunFactory, TeamFactory, UserFactory, bind, now

pytestmark = pytest.mark.django_db
ADDRESS = "/api/v1/installation/read-only"
ORDERS = "/api/v1/pipelines/orders"

ENDING = """
POST /pipelines/{name}/pause
POST /pipelines/{name}/stop
POST /pipelines/{name}/force-stop
DELETE /operations/{operation_id}
POST /migrations/{migration_id}/abort
POST /migrations/{migration_id}/rollback
DELETE /evacuations/{evacuation_id}
POST /alerts/{alert_id}/acknowledge
DELETE /tokens/{token_key}
PUT /installation/read-only
"""
"""What an emergency needs, and what ends the mode."""
BY_KIND = """
POST /pipelines/{name}/break-glass
POST /pipelines/{name}/change-requests
POST /pipelines/{name}/change-requests/{request_id}/approve
POST /pipelines/{name}/change-requests/{request_id}/apply
POST /pipelines/{name}/change-requests/{request_id}/deny
POST /pipelines/{name}/change-requests/{request_id}/cancel
"""
"""The same where changes are governed, for the kinds of `EMERGENCY`; and what ends a request."""
LOOKING = """
POST /pipelines/validate
POST /pipelines/rehearse
POST /pipelines/{name}/rehearse
POST /pipelines/{name}/diff
POST /imports/flume
POST /imports/connect
POST /pipelines/{name}/positions/plan
POST /pipelines/{name}/range-replays/plan
POST /pipelines/{name}/traces
POST /pipelines/{name}/peeks
DELETE /pipelines/{name}/peeks/{peek_id}
POST /runs/{run_id}/stacks
POST /consumer-groups/{group_id}/plan
POST /audit/chain/verify
"""
"""What changes nothing but what is known."""
OWN_ACCOUNT = """
POST /session
DELETE /session
POST /session/code
POST /session/oidc
POST /session/proof
POST /session/password
POST /session/passkeys
DELETE /session/passkeys/{passkey_id}
POST /session/passkeys/challenge
POST /session/passkeys/registration
POST /session/second-factor/recovery-codes
POST /session/second-factor/totp
PUT /session/second-factor/totp
DELETE /session/second-factor/totp
"""
"""Signing in and out, and what protects the own account."""
POSSIBLE = {line for part in (ENDING, BY_KIND, LOOKING, OWN_ACCOUNT) for line in part.split("\n") if line}
CHANGING = [(method, path) for method, path in ROUTES if method not in ("GET", "HEAD")]


@pytest.fixture
def frozen(db: None) -> ReadOnlyMode:
    return ReadOnlyMode.objects.create(pk=1, on=True, reason="Upgrade to 2.0", set_by="root", since=now(), version=3)


def name_of(method: str, path: str) -> str:
    return f"{method} {path.removeprefix('/api/v1')}"


@pytest.mark.parametrize("by", ["token", "session"])
def test_every_changing_route_is_refused_but_the_named_ones(frozen: ReadOnlyMode, by: str) -> None:
    rows = world()
    client, own = Identity(by, Role.ADMIN).client()
    refused = set()
    for method, path in CHANGING:
        answer = send(client, method, address(path, rows | own))
        if answer.status_code == 403 and answer.json()["code"] == "installation_read_only":
            refused.add(name_of(method, path))
    assert refused == {name_of(*route) for route in CHANGING} - POSSIBLE


def test_every_exception_is_a_route_and_says_it_once() -> None:
    assert {name_of(*route) for route in CHANGING} >= POSSIBLE
    assert all(view.while_read_only.isdisjoint(view.reading) for _, _, view in HANDLERS)


def test_a_new_view_is_refused_by_default(frozen: ReadOnlyMode, admin: APIClient) -> None:
    assert View.while_read_only == frozenset()
    assert admin.put("/api/v1/teams/none/bindings", {}, format="json").json()["code"] == "installation_read_only"


def test_nothing_is_refused_while_it_is_off() -> None:
    rows = world()
    client, own = Identity("token", Role.ADMIN).client()
    for method, path in CHANGING:
        answer = send(client, method, address(path, rows | own))
        assert b"installation_read_only" not in answer.content, (method, path)


def test_a_refusal_says_who_since_when_why_and_what_to_do(frozen: ReadOnlyMode, operator: APIClient) -> None:
    PipelineFactory.create(name="orders")
    problem = operator.post(f"{ORDERS}/start", {}, format="json").json()
    assert (problem["status"], problem["code"]) == (403, "installation_read_only")
    assert problem["read_only"] == {
        "source": "administrator",
        "reason": "Upgrade to 2.0",
        "set_by": "root",
        "since": frozen.since.isoformat(),
    }
    for words in ("root", "Upgrade to 2.0", f"{frozen.since:%Y-%m-%d %H:%M}"):
        assert words in problem["detail"]
    assert "administrator" in problem["hint"]
    assert Operation.objects.count() == 0
    assert AuditRow.objects.get().action == "request.refused"


def test_rights_come_before_the_mode(frozen: ReadOnlyMode, viewer: APIClient) -> None:
    PipelineFactory.create(name="orders")
    assert viewer.post(f"{ORDERS}/start", {}, format="json").json()["code"] == "forbidden"
    assert APIClient().post(f"{ORDERS}/start", {}, format="json").status_code == 401


def running() -> Pipeline:
    HostFactory.create(responding=True)
    pipeline: Pipeline = PipelineFactory.create(name="orders", phase=Phase.RUNNING, desired_state=DesiredState.RUNNING)
    RunFactory.create(pipeline=pipeline, number=1)
    return pipeline


@pytest.mark.parametrize("action", ["pause", "stop", "force-stop"])
def test_operators_stop_and_pause_what_runs(frozen: ReadOnlyMode, operator: APIClient, action: str) -> None:
    running()
    answer = operator.post(f"{ORDERS}/{action}", {}, format="json")
    assert answer.status_code == 202, answer.content
    assert Operation.objects.get().kind == action


def test_actions_of_a_pipeline_say_why_they_are_not_possible(frozen: ReadOnlyMode, operator: APIClient) -> None:
    running()
    for shown in (operator.get(ORDERS).json(), operator.get("/api/v1/pipelines").json()["results"][0]):
        actions = {each["name"]: each for each in shown["allowed_actions"]}
        assert {name for name, each in actions.items() if each["allowed"]} == {"pause", "stop", "force-stop"}
        assert "Upgrade to 2.0" in actions["restart"]["reason"]


@pytest.mark.parametrize("kind", ChangeKind)
def test_glass_is_broken_and_requests_are_made_for_an_emergency_alone(
    frozen: ReadOnlyMode, admin: APIClient, kind: ChangeKind
) -> None:
    running()
    body = {"kind": kind, "arguments": {}, "reason": "fire"}
    for path in ("break-glass", "change-requests"):
        answer = admin.post(f"{ORDERS}/{path}", body, format="json")
        refused = answer.status_code == 403 and answer.json()["code"] == "installation_read_only"
        assert refused is (kind not in EMERGENCY), (path, answer.content)


@pytest.mark.parametrize("kind", ["start", "stop"])
@pytest.mark.parametrize("step", ["approve", "apply"])
def test_a_request_that_was_made_before_is_judged_by_its_kind(
    frozen: ReadOnlyMode, admin: APIClient, kind: str, step: str
) -> None:
    request = ChangeRequest.objects.create(
        pipeline=running(),
        kind=kind,
        reason="why",
        basis={},
        hash="f00d",
        expires_at=now() + timedelta(days=1),
        created_by="ana",
        created_at=now(),
    )
    body = {"hash": "f00d"} if step == "approve" else {}
    answer = admin.post(f"{ORDERS}/change-requests/{request.pk}/{step}", body, format="json")
    assert (b"installation_read_only" in answer.content) is (kind == "start"), answer.content


def put(client: APIClient, on: bool, reason: str = "Upgrade to 2.0", etag: str = "*") -> Any:
    body = {"read_only": on, "reason": reason}
    return client.put(ADDRESS, body, format="json", headers={"If-Match": etag})


def test_an_administrator_turns_it_on_and_off_with_one_event_and_one_row_each(
    admin: APIClient, viewer: APIClient
) -> None:
    before = viewer.get(ADDRESS).json()
    assert (before["read_only"], before["source"], before["since"]) == (False, None, None)
    assert put(admin, True, etag=before["etag"]).status_code == 200
    shown = viewer.get(ADDRESS).json()
    assert (shown["read_only"], shown["source"], shown["reason"]) == (True, "administrator", "Upgrade to 2.0")
    assert shown["set_by"]
    assert shown["since"]
    assert put(admin, False, "done", shown["etag"]).json()["read_only"] is False
    kinds = ["installation.read_only_on", "installation.read_only_off"]
    assert list(Event.objects.order_by("pk").values_list("kind", flat=True)) == kinds
    assert list(AuditRow.objects.order_by("pk").values_list("action", flat=True)) == kinds
    row = AuditRow.objects.order_by("pk").first()
    assert row
    assert (row.before, row.after) == (
        {"read_only": False, "reason": ""},
        {"read_only": True, "reason": "Upgrade to 2.0"},
    )


def test_the_same_again_changes_nothing_and_another_reason_keeps_the_time(admin: APIClient) -> None:
    first = put(admin, True).json()
    assert put(admin, True).json() == first
    assert Event.objects.count() == 1
    second = put(admin, True, "It takes longer").json()
    assert (second["since"], second["reason"]) == (first["since"], "It takes longer")
    put(admin, False)
    put(admin, False, "again")
    assert Event.objects.count() == 3


def test_of_two_administrators_the_second_is_told_of_the_first(admin: APIClient) -> None:
    etag = admin.get(ADDRESS).json()["etag"]
    assert put(admin, True, etag=etag).status_code == 200
    late = put(admin, True, "another reason", etag)
    assert (late.status_code, late.json()["code"]) == (412, "changed_meanwhile")
    assert ReadOnlyMode.objects.get().reason == "Upgrade to 2.0"
    body = {"read_only": False, "reason": "x"}
    assert admin.put(ADDRESS, body, format="json").status_code == 428


@pytest.mark.parametrize("body", [{"read_only": True}, {"read_only": True, "reason": " "}, {"reason": "x"}])
def test_it_needs_a_reason(admin: APIClient, body: dict[str, Any]) -> None:
    assert admin.put(ADDRESS, body, format="json", headers={"If-Match": "*"}).status_code == 422


def test_administrators_of_one_team_cannot_turn_it_on() -> None:
    user = UserFactory.create(role=None)
    bind(user, Role.ADMIN, TeamFactory.create(name="shop"))
    client = APIClient()
    client.force_authenticate(user)
    assert put(client, True).status_code == 403
    assert client.get(ADDRESS).status_code == 200


def test_the_setting_counts_before_what_administrators_say(
    admin: APIClient, viewer: APIClient, settings: Settings
) -> None:
    settings.HEADGATE = settings.HEADGATE.model_copy(update={"read_only": "Move of the database"})
    shown = viewer.get(ADDRESS).json()
    assert (shown["source"], shown["reason"], shown["since"]) == ("setting", "Move of the database", None)
    answer = put(admin, False, "now")
    assert (answer.status_code, answer.json()["code"]) == (409, "read_only_by_setting")
    assert "HEADGATE_READ_ONLY" in answer.json()["detail"]
    assert admin.post("/api/v1/teams", {"name": "x"}, format="json").json()["code"] == "installation_read_only"


def test_the_session_of_a_user_says_it_and_that_of_a_visitor_does_not(frozen: ReadOnlyMode, viewer: APIClient) -> None:
    assert viewer.get("/api/v1/session").json()["read_only"]["reason"] == "Upgrade to 2.0"
    assert APIClient().get("/api/v1/session").json()["read_only"] is None
