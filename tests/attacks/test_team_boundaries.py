"""What a team sets reaches what it owns and nothing else; what the installation owns is set by a role in every team."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

import pytest

from pipelines.domain.base.roles import Role
from pipelines.domain.monitoring.matching import Matchers
from pipelines.domain.monitoring.webhooks import DeliveryState
from pipelines.foundation import clock
from pipelines.models import Alert, AuditRow, Delivery, Pipeline, Receiver, RoleBinding, Silence, Team
from pipelines.services.base.audit import Actor
from pipelines.services.ledger import archive
from pipelines.services.monitoring import alerts, deliveries, silences
from pipelines.services.monitoring.silences import SilenceSettings
from tests.attacks.two_teams import client_of, user
from tests.factories import PipelineFactory, TeamFactory, UserFactory, definition_data
from tests.fakes.receivers import receiver

pytestmark = pytest.mark.django_db
ANA = Actor("ana")
LATER = "2999-01-01T00:00:00Z"
BODIES: dict[str, dict[str, Any]] = {
    "silences": {"matchers": {"severities": ["critical"]}, "comment": "Works."},
    "consumer-groups": {"group": "billing", "bootstrap_servers": "broker:9092"},
}


@pytest.fixture
def amber() -> Team:
    """A team with a pipeline."""
    team: Team = TeamFactory.create(name="amber")
    PipelineFactory.create(name="amber-orders", team=team, labels={"tier": "gold"})
    return team


@pytest.fixture
def cobalt() -> Team:
    """Another one."""
    team: Team = TeamFactory.create(name="cobalt")
    PipelineFactory.create(name="cobalt-orders", team=team, labels={"tier": "gold"})
    return team


def fire(team: Team) -> Alert:
    pipeline: Pipeline = team.pipelines.get()
    found = alerts.raise_alert(rule="blocked", key=pipeline.name, message="Decide.", pipeline=pipeline)
    assert found is not None
    return found


def plan() -> None:
    deliveries.plan(settled=10**9)


def test_a_silence_of_a_team_holds_back_what_that_team_owns(amber: Team, cobalt: Team) -> None:
    receiver("alert.*")
    ends_at = clock.now() + timedelta(hours=1)
    wanted = SilenceSettings(Matchers(severities=("critical",)), ends_at, "Works.", amber)
    silences.create(wanted=wanted, longest=timedelta(days=1), actor=ANA)
    own, other = fire(amber), fire(cobalt)
    plan()
    assert Delivery.objects.get(alert=own).state == DeliveryState.SUPPRESSED
    assert Delivery.objects.get(alert=other).state == DeliveryState.WAITING


def test_a_silence_of_a_team_leaves_alone_what_waits_of_another(amber: Team, cobalt: Team) -> None:
    receiver("alert.*")
    own, other = fire(amber), fire(cobalt)
    plan()
    ends_at = clock.now() + timedelta(hours=1)
    wanted = SilenceSettings(Matchers(severities=("critical",)), ends_at, "Works.", amber)
    silences.create(wanted=wanted, longest=timedelta(days=1), actor=ANA)
    assert Delivery.objects.get(alert=own).state == DeliveryState.SUPPRESSED
    assert Delivery.objects.get(alert=other).state == DeliveryState.WAITING


def test_a_receiver_of_a_team_gets_what_that_team_may_see(amber: Team, cobalt: Team) -> None:
    of_all, of_amber = receiver("*"), receiver("*")
    Receiver.objects.filter(pk=of_amber.pk).update(team=amber)
    fire(amber)
    fire(cobalt)
    alerts.raise_alert(rule="host_silent", key="alpha", message="It is silent.")
    alerts.raise_alert(rule="group_lost", key="group:1", message="It lost its commit.", team=amber.pk)
    plan()
    got = Delivery.objects.filter(receiver=of_amber).order_by("event")
    assert [row.event.data["key"] for row in got] == ["amber-orders", "group:1"]
    assert Delivery.objects.filter(receiver=of_all).count() == 4


@pytest.mark.parametrize("path", BODIES)
def test_what_a_user_of_one_team_makes_is_that_teams(amber: Team, cobalt: Team, path: str) -> None:
    body = BODIES[path] | ({"ends_at": _soon()} if path == "silences" else {})
    made = user(amber).post(f"/api/v1/{path}", body, format="json")
    assert (made.status_code, made.json()["team"]) == (201, "amber"), made.content
    assert user(cobalt).get(made["Location"]).status_code == 404
    named = user(amber, cobalt).post(f"/api/v1/{path}", body | {"team": "cobalt"}, format="json")
    assert (named.status_code, named.json()["team"]) == (201, "cobalt"), named.content
    unnamed = user(amber, cobalt).post(f"/api/v1/{path}", body, format="json")
    assert (unnamed.status_code, unnamed.json()["code"]) == (422, "team_missing")
    foreign = user(amber).post(f"/api/v1/{path}", body | {"team": "cobalt"}, format="json")
    absent = user(amber).post(f"/api/v1/{path}", body | {"team": "nowhere"}, format="json")
    assert foreign.status_code == absent.status_code == 404


def _soon() -> str:
    return (clock.now() + timedelta(hours=1)).isoformat()


def test_a_viewer_of_one_team_and_operator_of_another_writes_in_that_one(amber: Team, cobalt: Team) -> None:
    who = UserFactory.create(in_teams={amber: Role.VIEWER, cobalt: Role.OPERATOR})
    client = client_of(who)
    assert client.post("/api/v1/pipelines/amber-orders/stop", {}, format="json").status_code == 403
    assert client.post("/api/v1/pipelines/cobalt-orders/stop", {}, format="json").status_code != 403
    rows = {row["name"]: row for row in client.get("/api/v1/pipelines").json()["results"]}
    allowed = {name: {each["name"] for each in row["allowed_actions"] if each["allowed"]} for name, row in rows.items()}
    assert "start" in allowed["cobalt-orders"]
    assert "start" not in allowed["amber-orders"]


def test_rules_of_a_label_are_set_by_a_role_in_every_team(amber: Team, cobalt: Team) -> None:
    admin, root = user(amber), client_of(UserFactory.create(role=Role.ADMIN))
    label = {"label": "tier:gold", "approvers": 2}
    assert admin.post("/api/v1/approval-policies", label, format="json").status_code == 403
    assert root.post("/api/v1/approval-policies", label, format="json").status_code == 201
    own = {"pipeline": "amber-orders", "approvers": 2}
    assert admin.post("/api/v1/approval-policies", own, format="json").status_code == 201
    foreign = {"pipeline": "cobalt-orders", "approvers": 2}
    assert admin.post("/api/v1/approval-policies", foreign, format="json").status_code == 404
    assert root.post("/api/v1/approval-policies", foreign, format="json").status_code == 201
    shown = admin.get("/api/v1/approval-policies").json()["results"]
    assert {(row["label"], row["pipeline"]) for row in shown} == {("tier:gold", ""), ("", "amber-orders")}


def test_metrics_of_all_teams_need_a_role_in_all(amber: Team) -> None:
    assert user(amber).get("/metrics").status_code == 403
    assert client_of(UserFactory.create(role=Role.VIEWER)).get("/metrics").status_code == 200


def test_the_audit_of_a_team_has_its_rows_alone(amber: Team, cobalt: Team) -> None:
    for pipeline in Pipeline.objects.all():
        archive.archive(pipeline=pipeline, version=None, actor=ANA)
    PipelineFactory.create(name="amber-orders", team=cobalt)  # another team takes the name over
    shown = user(amber, role=Role.OPERATOR).get("/api/v1/audit").json()["results"]
    assert {(row["pipeline"], row["action"]) for row in shown} == {("amber-orders", "pipeline.delete")}
    purged = Pipeline.objects.exclude(archived_at=None).get(name="amber-orders")
    archive.purge(pipeline=purged, confirm="amber-orders", actor=ANA)
    assert set(AuditRow.objects.filter(action="pipeline.purge").values_list("team", flat=True)) == {"amber"}
    for row in AuditRow.objects.all():
        answer = user(amber, role=Role.OPERATOR).get(f"/api/v1/audit/{row.pk}")
        assert answer.status_code == (200 if row.team == "amber" else 404), row
    exported = b"".join(user(amber).get("/api/v1/audit/export")).decode()
    assert "cobalt" not in exported
    assert exported.count("amber-orders") == 2


def test_that_a_name_is_taken_is_all_that_is_said(amber: Team, cobalt: Team) -> None:
    answer = user(amber).post("/api/v1/pipelines", {"definition": definition_data("cobalt-orders")}, format="json")
    assert (answer.status_code, answer.json()["code"]) == (409, "name_taken"), answer.content
    assert "cobalt" not in json.dumps(answer.json()).replace("cobalt-orders", "")
    assert user(amber).get("/api/v1/pipelines/cobalt-orders").status_code == 404


def test_a_kept_answer_is_for_the_roles_that_it_was_made_with(amber: Team) -> None:
    who = UserFactory.create(in_teams={amber: Role.OPERATOR})
    body: dict[str, Any] = {"definition": definition_data("amber-new")}

    def send() -> Any:
        return client_of(who).post("/api/v1/pipelines", body, format="json", headers={"Idempotency-Key": "k"})

    first, again = send(), send()
    assert (first.status_code, again.status_code, again["Idempotency-Replayed"]) == (201, 201, "true")
    RoleBinding.objects.filter(user=who).delete()
    RoleBinding.objects.create(
        user=who, team=TeamFactory.create(), role=Role.OPERATOR, created_at=clock.now(), created_by="ana"
    )
    assert (send().status_code, send().json()["code"]) == (422, "idempotency_key_reused")


def test_a_team_ends_its_own_silences(amber: Team, cobalt: Team) -> None:
    stamps = {"created_at": clock.now(), "created_by": "ana", "ends_at": clock.now() + timedelta(hours=1)}
    own, of_all = (Silence.objects.create(team=team, comment="Works.", **stamps) for team in (amber, None))
    operator = user(amber, role=Role.OPERATOR)
    assert operator.get(f"/api/v1/silences/{of_all.pk}").json()["team"] is None
    assert operator.post(f"/api/v1/silences/{of_all.pk}/end", {}, format="json").status_code == 403
    assert operator.post(f"/api/v1/silences/{own.pk}/end", {}, format="json").status_code == 200
