"""Changes of governed pipelines: requested, approved by others, applied once; and made at once with broken glass."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
import time_machine
from django.db import connection
from django.test.utils import CaptureQueriesContext
from rest_framework.test import APIClient

from pipelines.domain.base.roles import Role
from pipelines.domain.base.states import DesiredState, OperationKind, Phase
from pipelines.domain.governance.changes import ChangeKind
from pipelines.domain.governance.requests import RequestState
from pipelines.foundation import clock
from pipelines.foundation.errors import Conflict
from pipelines.models import Alert, ApprovalPolicy, AuditRow, ChangeRequest, Event, FreezeWindow, Operation, Pipeline
from pipelines.selectors.governance.requests import get_request
from pipelines.services.base.audit import Actor
from pipelines.services.governance import requests
from tests.attacks.test_governance import ROUTES, Route, client_of, freeze, running, stopped, two_approve
from tests.attacks.test_tokens import START, browser
from tests.factories import OperationFactory, PipelineFactory, RevisionFactory, UserFactory, definition_data

pytestmark = pytest.mark.django_db
ORDERS = "/api/v1/pipelines/orders"
REQUESTS = f"{ORDERS}/change-requests"


def post(client: APIClient, path: str, body: Any = None) -> Any:
    return client.post(path, body or {}, format="json")


def requested(client: APIClient, kind: str = "stop", arguments: Any = None) -> dict[str, Any]:
    answer = post(client, REQUESTS, {"kind": kind, "arguments": arguments or {}, "reason": "maintenance"})
    assert answer.status_code == 201, answer.content
    found: dict[str, Any] = answer.json()
    return found


def act(client: APIClient, made: dict[str, Any], action: str, body: Any = None) -> Any:
    hashed = {"hash": made["hash"]} if action == "approve" else {}
    return post(client, f"{REQUESTS}/{made['id']}/{action}", hashed if body is None else body)


def code(answer: Any) -> tuple[int, str]:
    return answer.status_code, answer.json().get("code", "")


@pytest.fixture
def governed() -> Pipeline:
    """It runs, and two others have to approve its changes."""
    two_approve()
    return running()


@pytest.fixture
def ana() -> APIClient:
    return client_of("ana")


def test_a_change_is_made_once_two_others_have_approved_it(governed: Pipeline, ana: APIClient) -> None:
    made = requested(ana, arguments={"drain": False})
    assert (made["state"], made["approvers_needed"], made["arguments"]["drain"]) == ("AWAITING_APPROVAL", 2, False)
    assert code(act(ana, made, "approve")) == (403, "approval_by_author")
    assert code(act(ana, made, "apply")) == (409, "not_approved")
    for name, state in (("ben", "AWAITING_APPROVAL"), ("cleo", "APPROVED")):
        answer = act(client_of(name), made, "approve")
        assert (answer.status_code, answer.json()["state"]) == (200, state), answer.content
    applied = act(ana, made, "apply")
    assert (applied.status_code, applied.json()["operation"]["kind"]) == (200, "stop"), applied.content
    governed.refresh_from_db()
    assert (governed.desired_state, governed.drain_on_stop) == (DesiredState.STOPPED, False)
    assert code(act(ana, made, "apply")) == (409, "request_over")
    assert Operation.objects.count() == 1


def test_one_user_counts_once(governed: Pipeline, ana: APIClient) -> None:
    made, ben = requested(ana), client_of("ben")
    for _ in range(2):
        assert act(ben, made, "approve").json()["state"] == "AWAITING_APPROVAL"
    assert code(act(ana, made, "apply")) == (409, "not_approved")


def test_every_step_is_in_the_audit_and_an_event(governed: Pipeline, ana: APIClient) -> None:
    made = requested(ana)
    for name in ("ben", "cleo"):
        act(client_of(name), made, "approve")
    act(ana, made, "apply")
    rows = AuditRow.objects.filter(action__startswith="change_request.").order_by("pk")
    assert [(row.actor, row.action.partition(".")[2]) for row in rows] == [
        ("ana", "create"),
        ("ben", "approve"),
        ("cleo", "approve"),
        ("ana", "apply"),
    ]
    assert rows.filter(after__hash=made["hash"]).count() == 4
    assert Event.objects.filter(kind="change_request.updated").count() == 4
    assert AuditRow.objects.filter(action="pipeline.stop", actor="ana", outcome="accepted").exists()


@pytest.mark.parametrize("changed", ["generation", "revision"])
def test_what_was_approved_is_of_one_state_of_the_pipeline(governed: Pipeline, ana: APIClient, changed: str) -> None:
    made = requested(ana)
    for name in ("ben", "cleo"):
        act(client_of(name), made, "approve")
    if changed == "generation":
        Pipeline.objects.update(generation=governed.generation + 1)
    else:
        Pipeline.objects.update(phase=Phase.STOPPED, desired_state=DesiredState.STOPPED)
        Pipeline.objects.update(current_revision=RevisionFactory.create(pipeline=governed, number=2))
    assert ana.get(f"{REQUESTS}/{made['id']}").json()["stale"] is True
    assert code(act(ana, made, "apply")) == (409, "request_stale")
    assert code(act(client_of("dan"), made, "approve")) == (409, "request_stale")


def test_a_right_to_one_pipeline_is_none_to_another(governed: Pipeline, ana: APIClient) -> None:
    made = requested(ana)
    answer = post(ana, f"/api/v1/pipelines/other/change-requests/{made['id']}/apply")
    assert answer.status_code == 404


def test_an_operator_does_not_approve_the_change_of_another_user(governed: Pipeline, ana: APIClient) -> None:
    made = requested(ana)
    assert code(act(client_of("ben", Role.OPERATOR), made, "approve")) == (403, "role_in_team_needed")
    assert act(client_of("cleo"), made, "approve").status_code == 200


def test_another_hash_is_not_approved(governed: Pipeline, ana: APIClient) -> None:
    made = requested(ana)
    assert code(act(client_of("ben"), made, "approve", {"hash": "f00d"})) == (409, "hash_differs")


def test_under_a_freeze_nothing_is_applied_and_afterwards_it_is(governed: Pipeline, ana: APIClient) -> None:
    made = requested(ana)
    for name in ("ben", "cleo"):
        act(client_of(name), made, "approve")
    freeze()
    assert ana.get(f"{REQUESTS}/{made['id']}").json()["frozen"] != []
    assert code(act(ana, made, "apply")) == (409, "change_frozen")
    FreezeWindow.objects.all().delete()
    assert act(ana, made, "apply").status_code == 200


def test_approvals_and_requests_expire(governed: Pipeline, ana: APIClient, monkeypatch: pytest.MonkeyPatch) -> None:
    ApprovalPolicy.objects.update(expiry_seconds=3600)
    made = requested(ana)
    later = clock.now() + timedelta(hours=2)
    monkeypatch.setattr(clock, "now", lambda: later)
    assert ana.get(f"{REQUESTS}/{made['id']}").json()["state"] == "EXPIRED"
    assert code(act(client_of("ben"), made, "approve")) == (409, "request_over")
    assert ana.get("/api/v1/change-requests?state=open").json()["results"] == []
    assert len(ana.get("/api/v1/change-requests?state=EXPIRED").json()["results"]) == 1


def test_the_request_of_a_cancel_names_the_operation(governed: Pipeline, ana: APIClient) -> None:
    operation = OperationFactory.create(pipeline=governed, kind=OperationKind.PAUSE, created_by="ben")
    made = requested(ana, "cancel", {"operation": str(operation.id)})
    assert made["summary"] == "Cancels pause, which ben requested."
    other = OperationFactory.create(pipeline=PipelineFactory.create(name="others"))
    body = {"kind": "cancel", "arguments": {"operation": str(other.id)}, "reason": "maintenance"}
    assert code(post(ana, REQUESTS, body)) == (404, "operation_not_found")


@pytest.mark.parametrize(("action", "state"), [("deny", "DENIED"), ("cancel", "CANCELLED")])
def test_what_was_denied_or_cancelled_is_over(governed: Pipeline, ana: APIClient, action: str, state: str) -> None:
    made = requested(ana)
    for name in ("ben", "cleo"):
        act(client_of(name), made, "approve")
    answer = act(client_of("dan"), made, action, {"reason": "not today"})
    assert (answer.json()["state"], answer.json()["message"], answer.json()["ended_by"]) == (state, "not today", "dan")
    assert code(act(ana, made, "apply")) == (409, "request_over")


def test_a_denial_says_why(governed: Pipeline, ana: APIClient) -> None:
    assert act(client_of("ben"), requested(ana), "deny").status_code == 422


def test_what_fails_leaves_the_request_open(governed: Pipeline, ana: APIClient) -> None:
    made = requested(ana, "resume")
    for name in ("ben", "cleo"):
        act(client_of(name), made, "approve")
    Pipeline.objects.update(phase="BLOCKED")
    assert code(act(ana, made, "apply")) == (409, "action_not_allowed")
    assert ana.get(f"{REQUESTS}/{made['id']}").json()["state"] == "APPROVED"


def test_bad_arguments_are_refused_at_once_with_their_places(governed: Pipeline, ana: APIClient) -> None:
    body = {"kind": "stop", "arguments": {"drian": True, "on_timeout": "never"}, "reason": "x"}
    answer = post(ana, REQUESTS, body)
    assert answer.status_code == 422
    paths = {each["path"] for each in answer.json()["findings"]}
    assert paths == {"arguments.drian", "arguments.on_timeout"}
    data = {**definition_data("orders"), "sinks": {}}
    answer = post(ana, REQUESTS, {"kind": "publish", "arguments": {"definition": data}, "reason": "x"})
    assert code(answer) == (422, "definition_invalid")
    assert not ChangeRequest.objects.exists()


def test_a_request_to_publish_says_what_changes(ana: APIClient) -> None:
    stopped()
    two_approve()
    data = definition_data("orders")
    data["sinks"]["out"]["topic"] = "elsewhere"
    made = requested(ana, "publish", {"definition": data})
    assert made["summary"] == "Changes sinks.out.topic."
    for name in ("ben", "cleo"):
        act(client_of(name), made, "approve")
    assert act(ana, made, "apply").status_code == 200
    revision = Pipeline.objects.get().current_revision
    assert revision is not None
    assert (revision.number, revision.definition["sinks"]["out"]["topic"]) == (2, "elsewhere")


def test_a_request_to_start_says_what_runs(ana: APIClient) -> None:
    stopped()
    two_approve()
    assert requested(ana, "start")["summary"] == "Runs revision 1."


def test_what_needs_a_higher_role_needs_it_in_a_request_as_well(governed: Pipeline, ana: APIClient) -> None:
    answer = post(ana, REQUESTS, {"kind": "declare-lost", "arguments": {"confirm": "orders"}, "reason": "x"})
    assert answer.status_code == 403
    data = definition_data("orders")
    data["sources"]["shop"] = {"type": "exec", "command": ["id"]}
    answer = post(ana, REQUESTS, {"kind": "publish", "arguments": {"definition": data}, "reason": "x"})
    assert code(answer) == (403, "component_needs_role")


def test_open_requests_of_a_pipeline_are_bounded(
    governed: Pipeline, ana: APIClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pipelines.services.governance.requests.MOST_OPEN", 1)
    requested(ana)
    assert code(post(ana, REQUESTS, {"kind": "stop", "reason": "x"})) == (409, "too_many_requests_open")


def test_a_list_takes_as_many_queries_for_many_as_for_one(governed: Pipeline, ana: APIClient) -> None:
    counts: list[int] = []
    for _ in range(2):
        made = requested(ana)
        act(client_of(f"ben{len(counts)}"), made, "approve")
        with CaptureQueriesContext(connection) as queries:
            assert len(ana.get("/api/v1/change-requests").json()["results"]) == len(counts) + 1
        counts.append(len(queries))
    assert counts[0] == counts[1]


def test_only_an_administrator_breaks_glass_and_says_why(governed: Pipeline, ana: APIClient) -> None:
    body = {"kind": "stop", "reason": "the sink is flooded"}
    assert post(ana, f"{ORDERS}/break-glass", body).status_code == 403
    admin = client_of("root", Role.ADMIN)
    assert post(admin, f"{ORDERS}/break-glass", {"kind": "stop"}).status_code == 422
    assert post(admin, f"{ORDERS}/break-glass", {"kind": "stop", "reason": "  "}).status_code == 422
    assert post(admin, f"{ORDERS}/break-glass", {"kind": "stop", "reason": "x" * 1001}).status_code == 422
    governed.refresh_from_db()
    assert governed.desired_state == DesiredState.RUNNING
    assert not Alert.objects.exists()


def test_breaking_glass_needs_a_fresh_log_in(governed: Pipeline) -> None:
    UserFactory.create(username="root", role=Role.ADMIN)
    with time_machine.travel(START, tick=False):
        page = browser("root")
    body = {"kind": "stop", "reason": "the sink is flooded"}
    with time_machine.travel(START + timedelta(hours=1), tick=False):
        answer = page.post(f"{ORDERS}/break-glass", json.dumps(body), content_type="application/json")
    assert (answer.status_code, answer.json()["code"]) == (403, "reauthentication_required")
    governed.refresh_from_db()
    assert governed.desired_state == DesiredState.RUNNING


def test_broken_glass_stops_at_once_with_an_alert_and_an_audit_row(governed: Pipeline) -> None:
    freeze()
    admin = client_of("root", Role.ADMIN)
    body = {"kind": "stop", "arguments": {"drain": False}, "reason": "the sink is flooded"}
    answer = post(admin, f"{ORDERS}/break-glass", body)
    assert (answer.status_code, answer.json()["operation"]["kind"]) == (200, "stop"), answer.content
    governed.refresh_from_db()
    assert governed.desired_state == DesiredState.STOPPED
    reason = {"after__reason": "the sink is flooded", "after__approvers": 2, "after__arguments__drain": False}
    row = AuditRow.objects.get(action="pipeline.break_glass", after__kind="stop", **reason)
    assert (row.actor, row.pipeline_name) == ("root", "orders")
    (alert,) = Alert.objects.all()
    assert (alert.rule, alert.state, "the sink is flooded" in alert.message) == ("glass_broken", "OPEN", True)
    acknowledged = post(client_of("ben"), f"/api/v1/alerts/{alert.pk}/acknowledge")
    assert (acknowledged.status_code, acknowledged.json()["state"]) == (200, "RESOLVED")


def test_each_broken_glass_has_an_alert_of_its_own(governed: Pipeline) -> None:
    admin = client_of("root", Role.ADMIN)
    for kind in ("stop", "start"):
        assert post(admin, f"{ORDERS}/break-glass", {"kind": kind, "reason": "why"}).status_code == 200
    assert Alert.objects.filter(rule="glass_broken", state="OPEN").count() == 2


def test_glass_that_was_broken_for_nothing_leaves_no_trace(governed: Pipeline) -> None:
    admin = client_of("root", Role.ADMIN)
    answer = post(admin, f"{ORDERS}/break-glass", {"kind": "resume", "reason": "why"})
    assert answer.status_code in (200, 409)
    Pipeline.objects.update(phase="BLOCKED")
    assert code(post(admin, f"{ORDERS}/break-glass", {"kind": "resume", "reason": "why"})) == (
        409,
        "action_not_allowed",
    )
    assert AuditRow.objects.filter(action="pipeline.break_glass").count() == (answer.status_code == 200)


class Sent:
    """A client that keeps what a route sends, and sends questions on."""

    def __init__(self, client: APIClient) -> None:
        self.client = client
        self.body: Any = {}

    def post(self, path: str, body: Any, format: str) -> Any:  # noqa: A002 - as the client has it
        if path.endswith("/plan"):
            return self.client.post(path, body, format=format)
        self.body = body
        return None

    def delete(self, path: str) -> None:
        self.body = {}


@pytest.mark.parametrize("right", ["approved", "break_glass"])
@pytest.mark.parametrize(("kind", "route"), [pytest.param(kind, found[0], id=kind) for kind, found in ROUTES.items()])
def test_every_kind_of_change_is_made_with_the_body_of_its_own_address(
    kind: ChangeKind, route: Route, right: str
) -> None:
    route.given()
    two_approve()
    admin = client_of("root", Role.ADMIN)
    sent = Sent(admin)
    route.attempt(sent)  # type: ignore[arg-type]
    body = {"operation": str(Operation.objects.get().id)} if kind is ChangeKind.CANCEL else sent.body
    asked = {"kind": kind, "arguments": body, "reason": "why"}
    if right == "break_glass":
        answer = post(admin, f"{ORDERS}/break-glass", asked)
    else:
        made = post(admin, REQUESTS, asked)
        assert made.status_code == 201, made.content
        for name in ("ben", "cleo"):
            assert act(client_of(name), made.json(), "approve").status_code == 200
        answer = act(admin, made.json(), "apply")
    assert answer.status_code == 200, answer.content


def _removes_the_policy(admin: APIClient) -> Any:
    return admin.delete(f"/api/v1/approval-policies/{ApprovalPolicy.objects.get().pk}")


def _lowers_the_policy(admin: APIClient) -> Any:
    return post(admin, "/api/v1/approval-policies", {"label": "tier:1", "approvers": 1})


def _removes_the_freeze(admin: APIClient) -> Any:
    return admin.delete(f"/api/v1/freezes/{FreezeWindow.objects.get().pk}")


def _removes_the_label(admin: APIClient) -> Any:
    return admin.patch(ORDERS, {"labels": {}}, format="json", headers={"If-Match": "*"})


@pytest.mark.parametrize("loosen", [_removes_the_policy, _lowers_the_policy, _removes_the_freeze, _removes_the_label])
def test_an_administrator_who_loosens_the_rules_raises_the_same_alert(loosen: Any) -> None:
    pipeline = running()
    Pipeline.objects.filter(pk=pipeline.pk).update(labels={"tier": "1"})
    ApprovalPolicy.objects.create(label="tier:1", approvers=2, updated_by="root")
    freeze()
    assert loosen(client_of("root", Role.ADMIN)).status_code < 300
    (alert,) = Alert.objects.filter(rule="glass_broken")
    assert alert.message.startswith("root ")


def test_rules_that_bind_more_raise_no_alert() -> None:
    admin = client_of("root", Role.ADMIN)
    for approvers in (1, 2):
        assert post(admin, "/api/v1/approval-policies", {"approvers": approvers}).status_code == 201
    assert not Alert.objects.exists()


def test_two_who_apply_at_once_apply_it_once(governed: Pipeline, ana: APIClient) -> None:
    made = requested(ana)
    for name in ("ben", "cleo"):
        act(client_of(name), made, "approve")
    seen = get_request(governed, UUID(made["id"]))
    assert act(ana, made, "apply").status_code == 200
    with pytest.raises(Conflict) as refused:
        requests._end(seen, "apply", "", Actor("dan"), state=RequestState.APPLIED)
    assert refused.value.code == "busy"
    assert Operation.objects.count() == 1
