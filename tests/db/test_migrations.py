"""Migrations as people ask for them: planned against the present, approved by others, in order, one at a time."""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from typing import Any
from uuid import uuid4

import pytest
from django.db import DatabaseError, IntegrityError, connection, transaction
from django.test.utils import CaptureQueriesContext
from rest_framework.test import APIClient

from pipelines.domain.base.positions import SourceIdentity
from pipelines.domain.base.roles import Role
from pipelines.domain.base.states import (
    FORWARD_STAGES,
    DesiredState,
    LedgerState,
    MigrationKind,
    MigrationStage,
    OperationKind,
    Phase,
    RunState,
)
from pipelines.domain.definitions.document import text
from pipelines.domain.lifecycle.operations import OnTimeout
from pipelines.domain.migration import evidence
from pipelines.domain.migration.choices import STALE
from pipelines.domain.migration.progress import Instant
from pipelines.domain.migration.steps import ChangeBeforeProof
from pipelines.foundation.errors import Conflict
from pipelines.models import (
    ApprovalPolicy,
    AuditRow,
    Event,
    FreezeWindow,
    Host,
    LedgerBatch,
    Migration,
    Pipeline,
    Position,
    Revision,
    Run,
)
from pipelines.selectors.hosts.capacity import rooms
from pipelines.selectors.lifecycle.situations import steering
from pipelines.selectors.migration.migrations import batch_interval, concerning
from pipelines.services.base import host_tasks
from pipelines.services.base.audit import Actor
from pipelines.services.lifecycle import lifecycle
from pipelines.services.migration import plans
from pipelines.services.migration import steering as migration_steering
from pipelines.services.migration import steps as migration_steps
from pipelines.services.migration.steps import ForbiddenStage, Overtaken
from pipelines.services.positions import positions
from tests.factories import (
    HostFactory,
    LedgerBatchFactory,
    OperationFactory,
    PipelineFactory,
    RevisionFactory,
    RunFactory,
    UserFactory,
    definition,
    definition_data,
    now,
)

pytestmark = pytest.mark.django_db
MIGRATIONS = "/api/v1/migrations"
ANA = Actor("ana")


def client_of(name: str, role: Role = Role.OPERATOR) -> APIClient:
    client = APIClient()
    client.force_authenticate(UserFactory.create(username=name, role=role))
    return client


@pytest.fixture(autouse=True)
def no_previews(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is predicted here: the host takes no previews."""
    monkeypatch.setattr(host_tasks, "QUEUED", 0)


@pytest.fixture
def ana() -> APIClient:
    return client_of("ana")


@pytest.fixture
def orders() -> Pipeline:
    """It runs on alpha; there is a host beta."""
    HostFactory.create(responding=True)
    HostFactory.create(name="beta", responding=True)
    pipeline = PipelineFactory.create(name="orders", phase=Phase.RUNNING, desired_state=DesiredState.RUNNING)
    RunFactory.create(pipeline=pipeline)
    return pipeline


def changed(**changes: Any) -> dict[str, Any]:
    data = definition_data("orders")
    data["sinks"]["out"]["topic"] = "elsewhere"
    return {**data, **changes}


def body(**more: Any) -> dict[str, Any]:
    return {
        "pipeline": "orders",
        "kind": "revision",
        "spec": {"definition": changed()},
        "reason": "a new topic",
        **more,
    }


def post(client: APIClient, path: str, data: Any) -> Any:
    return client.post(path, data, format="json")


def planned(client: APIClient, **more: Any) -> dict[str, Any]:
    answer = post(client, MIGRATIONS, body(**more))
    assert answer.status_code == 201, answer.json()
    found: dict[str, Any] = answer.json()
    return found


def act(client: APIClient, made: dict[str, Any], action: str, data: Any = None) -> Any:
    hashed = {"hash": made["plan_hash"]} if action in ("approve", "advance") else {}
    return post(client, f"{MIGRATIONS}/{made['id']}/{action}", hashed if data is None else data)


def started(client: APIClient, **more: Any) -> dict[str, Any]:
    made = planned(client, **more)
    assert act(client, made, "approve").json()["stage"] == "APPROVED"
    answer = act(client, made, "advance")
    assert answer.status_code == 202, answer.json()
    found: dict[str, Any] = answer.json()
    return found


# planning


def test_a_plan_says_what_changes_in_which_steps_and_touches_nothing(ana: APIClient, orders: Pipeline) -> None:
    made = planned(ana)
    assert (made["stage"], made["plan"]["consequence"]) == ("PLANNED", "restart")
    assert [each["change"]["path"] for each in made["plan"]["changes"]] == ["sinks.out.topic"]
    assert [step["name"] for step in made["plan"]["steps"]] == [
        "prepare_standby",
        "pause",
        "prove_pause",
        "take_snapshot",
        "end_old_run",
        "check_standby",
        "promote",
        "observe",
    ]
    assert made["plan"]["pause"]["expected"] > 0
    assert len(made["plan_hash"]) == 64
    assert Revision.objects.filter(pipeline=orders).count() == 1
    assert {c["choice"]: c["allowed"] for c in made["choices"]} == {"approve": True, "advance": False, "abort": True}


def test_everything_that_blocks_is_told_at_once(ana: APIClient, orders: Pipeline) -> None:
    OperationFactory.create(pipeline=orders, kind=OperationKind.PAUSE)
    FreezeWindow.objects.create(
        starts_at=now() - timedelta(hours=1),
        ends_at=now() + timedelta(hours=1),
        reason="sale",
        created_by="eva",
        created_at=now(),
    )
    Pipeline.objects.update(phase=Phase.PAUSING)
    made = planned(ana, kind="host", spec={"host": "nowhere"})
    assert made["stage"] == "DRAFT"
    assert [each["code"] for each in made["plan"]["blockers"]] == [
        "PIPELINE_NOT_STEADY",
        "OPERATION_OPEN",
        "FROZEN",
        "HOST_UNKNOWN",
    ]
    Pipeline.objects.update(phase=Phase.RUNNING)


def test_a_wrong_definition_is_a_draft_with_every_finding(ana: APIClient, orders: Pipeline) -> None:
    wrong = changed()
    wrong["sinks"]["out"]["channel"] = "nowhere"
    wrong["sources"]["shop"]["typ"] = "x"
    made = planned(ana, spec={"definition": wrong})
    assert made["stage"] == "DRAFT"
    assert {"sinks.out.channel", "sources.shop.typ"} <= {each["path"] for each in made["plan"]["blockers"]}


def test_a_host_that_is_drained_takes_no_second_agent_of_its_own_pipelines(ana: APIClient, orders: Pipeline) -> None:
    Host.objects.filter(name="alpha").update(drained_at=now())
    made = planned(ana)
    assert [each["code"] for each in made["plan"]["blockers"]] == ["HOST_DRAINED"]


def test_the_new_agent_needs_the_room_that_its_own_definition_asks_for(ana: APIClient, orders: Pipeline) -> None:
    Host.objects.filter(name="alpha").update(memory_limit=4 << 30, memory_bytes=64 << 30)
    assert planned(ana)["plan"]["blockers"] == []
    Migration.objects.all().delete()
    made = planned(ana, spec={"definition": changed(placement={"launcher": {"type": "local", "driver_memory": "6g"}})})
    assert [each["code"] for each in made["plan"]["blockers"]] == ["NO_CAPACITY"]


def test_the_room_of_the_new_agent_is_taken_from_the_beginning(ana: APIClient, orders: Pipeline) -> None:
    large = {"definition": changed(placement={"launcher": {"type": "local", "driver_memory": "6g"}})}

    def taken() -> tuple[int, int]:
        (room,) = rooms([Host.objects.get(name="alpha")])
        return room.agents, room.taken >> 20

    made = planned(ana, spec=large)
    act(ana, made, "approve")
    assert taken() == (1, 768)
    act(ana, made, "advance")
    assert taken() == (2, 768 + 6400)
    migration_steering.prepare(migration=Migration.objects.select_related("pipeline", "new_revision").get())
    assert taken() == (2, 768 + 6400)


def test_what_was_given_up_before_its_new_agent_came_takes_no_room(ana: APIClient, orders: Pipeline) -> None:
    act(ana, started(ana, kind="host", spec={"host": "beta"}), "abort", {"reason": "no"})
    assert Migration.objects.get().stage == MigrationStage.ROLLING_BACK
    (room,) = rooms([Host.objects.get(name="beta")])
    assert room.agents == 0


def test_a_draft_is_planned_again_when_what_blocked_it_is_gone(ana: APIClient, orders: Pipeline) -> None:
    Pipeline.objects.update(phase=Phase.UNKNOWN)
    made = planned(ana)
    assert made["stage"] == "DRAFT"
    Pipeline.objects.update(phase=Phase.RUNNING)
    again = act(ana, made, "plan", {}).json()
    assert (again["stage"], again["plan"]["blockers"]) == ("PLANNED", [])


def test_a_host_move_takes_the_definition_along(ana: APIClient, orders: Pipeline) -> None:
    pinned = definition("orders", placement={"host": "alpha"})
    Revision.objects.filter(pipeline=orders).update(definition=pinned.plain(), digest=pinned.digest())
    made = planned(ana, kind="host", spec={"host": "beta"})
    assert made["stage"] == "PLANNED", made["plan"]["blockers"]
    assert made["plan"]["consequence"] == "new_lineage"
    assert [each["change"]["new"] for each in made["plan"]["changes"]] == ["beta"]


@pytest.mark.parametrize("form", [dict, text.dump, lambda data: text.dump(data) + "\n  torn: ["])
def test_secrets_are_shown_in_no_answer(ana: APIClient, orders: Pipeline, form: Any) -> None:
    secret = changed()
    secret["sources"]["shop"]["options"] = {"ssl.key.password": "swordfish"}
    answer = post(ana, MIGRATIONS, body(spec={"definition": form(secret)}))
    assert "swordfish" not in json.dumps(answer.json()), answer.json()
    evidence_of = ana.get(f"{MIGRATIONS}/{answer.json()['id']}/evidence")
    assert "swordfish" not in evidence_of.content.decode()


@pytest.mark.parametrize(
    ("more", "status", "code"),
    [
        ({"kind": "cluster", "spec": {}}, 422, "spec_invalid"),
        ({"kind": "moon", "spec": {}}, 422, "body_invalid"),
        ({"spec": {}}, 422, "spec_invalid"),
        ({"spec": {"definition": {}, "gates": ["PREFLIGHT"]}}, 422, "spec_invalid"),
        ({"reason": "  "}, 422, "body_invalid"),
        ({"pipeline": "nobody"}, 404, "pipeline_not_found"),
    ],
)
def test_what_makes_no_sense_is_refused_with_the_reason(
    ana: APIClient, orders: Pipeline, more: dict[str, Any], status: int, code: str
) -> None:
    answer = post(ana, MIGRATIONS, body(**more))
    assert (answer.status_code, answer.json()["code"]) == (status, code)
    assert answer.json()["detail"]


def test_everything_that_is_wrong_with_a_request_is_told_at_once(ana: APIClient, orders: Pipeline) -> None:
    wrong = changed()
    wrong["sinks"]["out"]["chanel"] = "main"
    spec = {"definition": wrong, "gate": ["PAUSING"], "rules": {"windw": 3}}
    answer = post(ana, MIGRATIONS, {"pipeline": "nobody", "kind": "revision", "spec": spec, "raeson": "x"})
    assert (answer.status_code, answer.json()["code"]) == (422, "body_invalid")
    found = {each["path"]: each for each in answer.json()["findings"]}
    assert {
        "reason",
        "raeson",
        "pipeline",
        "spec.gate",
        "spec.rules.windw",
        "spec.definition.sinks.out.chanel",
    } <= found.keys(), found
    assert all(each["code"] and each["message"] and each["suggestion"] for each in found.values())
    assert found["spec.rules.windw"]["suggestion"] == 'Did you mean "window"?'
    assert not Migration.objects.exists()


def test_a_spec_that_is_none_tells_of_the_definition_in_it_as_well(ana: APIClient, orders: Pipeline) -> None:
    spec = {"definition": "sinks: [", "window": 3}
    answer = post(ana, MIGRATIONS, body(spec=spec))
    assert (answer.status_code, answer.json()["code"]) == (422, "spec_invalid")
    assert {each["path"] for each in answer.json()["findings"]} == {"spec.window", "spec.definition"}


def test_a_viewer_looks_and_asks_for_nothing(orders: Pipeline, ana: APIClient) -> None:
    made = planned(ana)
    viewer = client_of("vic", Role.VIEWER)
    assert viewer.get(f"{MIGRATIONS}/{made['id']}").status_code == 200
    assert post(viewer, MIGRATIONS, body()).status_code == 403
    assert act(viewer, made, "approve").status_code == 403


def test_a_component_that_needs_an_admin_is_begun_by_nobody_else(orders: Pipeline, ana: APIClient) -> None:
    dangerous = changed(sources={"shop": {"type": "exec", "command": ["true"]}})
    answer = post(ana, MIGRATIONS, body(spec={"definition": dangerous}))
    assert (answer.status_code, answer.json()["code"]) == (403, "component_needs_role")


# one at a time


def test_a_second_open_migration_is_refused_and_names_the_first(ana: APIClient, orders: Pipeline) -> None:
    first = planned(ana)
    answer = post(client_of("ben"), MIGRATIONS, body())
    assert (answer.status_code, answer.json()["code"]) == (409, "migration_open")
    assert first["id"] in answer.json()["detail"]
    assert AuditRow.objects.get(actor="ben").outcome == "refused"
    act(ana, first, "abort")
    assert post(client_of("tom"), MIGRATIONS, body()).status_code == 201


def test_the_database_itself_allows_one_open_migration(ana: APIClient, orders: Pipeline) -> None:
    planned(ana)
    fields = {"stage_since": now(), "created_at": now(), "created_by": "x", "reason": "x"}
    with pytest.raises(IntegrityError), transaction.atomic():
        Migration.objects.create(pipeline=orders, kind=MigrationKind.HOST, **fields)


# approval


def test_an_author_cannot_approve_where_others_have_to(ana: APIClient, orders: Pipeline) -> None:
    ApprovalPolicy.objects.create(approvers=2, updated_by="root")
    made = planned(ana)
    own = act(ana, made, "approve")
    assert (own.status_code, own.json()["code"]) == (403, "approval_by_author")
    assert AuditRow.objects.filter(action="migration.approve", outcome="refused", actor="ana").exists()
    assert act(client_of("ben", Role.APPROVER), made, "approve").json()["stage"] == "PLANNED"
    assert act(client_of("eva", Role.ADMIN), made, "approve").json()["stage"] == "APPROVED"


def test_an_operator_cannot_approve_the_migration_of_another_user(ana: APIClient, orders: Pipeline) -> None:
    ApprovalPolicy.objects.create(approvers=1, updated_by="root")
    made = planned(ana)
    refused = act(client_of("ben"), made, "approve")
    assert (refused.status_code, refused.json()["code"]) == (403, "role_in_team_needed")
    assert act(client_of("eva", Role.APPROVER), made, "approve").json()["stage"] == "APPROVED"


def test_an_approval_is_of_one_plan(ana: APIClient, orders: Pipeline) -> None:
    made = planned(ana)
    answer = act(ana, made, "approve", {"hash": "0" * 64})
    assert (answer.status_code, answer.json()["code"]) == (409, "plan_stale")


def test_a_plan_made_stale_by_another_change_is_refused(ana: APIClient, orders: Pipeline) -> None:
    made = planned(ana)
    act(ana, made, "approve")
    Pipeline.objects.update(closed_lineage=7)
    shown = ana.get(f"{MIGRATIONS}/{made['id']}").json()
    assert shown["stale"]
    (start,) = [each for each in shown["choices"] if each["choice"] == "advance"]
    assert (start["allowed"], start["reason"]) == (False, STALE)
    answer = act(ana, made, "advance")
    assert (answer.status_code, answer.json()["code"]) == (409, "plan_stale")
    again = act(ana, made, "plan", {}).json()
    assert again["stage"] == "PLANNED"
    assert again["plan_hash"] != made["plan_hash"]


def test_approvals_that_have_expired_begin_nothing(ana: APIClient, orders: Pipeline) -> None:
    ApprovalPolicy.objects.create(approvers=1, expiry_seconds=60, updated_by="root")
    made = planned(ana)
    act(client_of("ben", Role.APPROVER), made, "approve")
    row = Migration.objects.get()
    row.approvals.update(at=now() - timedelta(minutes=2))
    answer = act(ana, made, "advance")
    assert (answer.status_code, answer.json()["code"]) == (409, "not_approved")
    (shown,) = ana.get(f"{MIGRATIONS}/{made['id']}").json()["approvals"]
    assert (shown["by"], shown["counts"]) == ("ben", False)
    assert datetime.fromisoformat(shown["expires_at"]) - datetime.fromisoformat(shown["at"]) == timedelta(minutes=1)


def test_approvals_that_have_expired_are_given_once_more(ana: APIClient, orders: Pipeline) -> None:
    ApprovalPolicy.objects.create(approvers=1, expiry_seconds=60, updated_by="root")
    made, ben = planned(ana), client_of("ben", Role.APPROVER)
    act(ben, made, "approve")
    Migration.objects.get().approvals.update(at=now() - timedelta(minutes=2))
    shown = {c["choice"]: c["allowed"] for c in ana.get(f"{MIGRATIONS}/{made['id']}").json()["choices"]}
    assert shown == {"approve": True, "advance": False, "abort": True}
    assert act(ben, made, "approve").json()["stage"] == "APPROVED"
    assert act(ana, made, "advance").status_code == 202


def test_a_plan_whose_approvals_have_expired_is_only_planned(ana: APIClient, orders: Pipeline) -> None:
    ApprovalPolicy.objects.create(approvers=1, expiry_seconds=60, updated_by="root")
    made = planned(ana)
    act(client_of("ben", Role.APPROVER), made, "approve")
    Migration.objects.get().approvals.update(at=now() - timedelta(minutes=2))
    assert act(ana, made, "plan", {}).json()["stage"] == "PLANNED"


def test_nothing_begins_in_a_freeze(ana: APIClient, orders: Pipeline) -> None:
    made = planned(ana)
    act(ana, made, "approve")
    FreezeWindow.objects.create(
        starts_at=now() - timedelta(hours=1),
        ends_at=now() + timedelta(hours=1),
        reason="sale",
        created_by="eva",
        created_at=now(),
    )
    answer = act(ana, made, "advance")
    assert answer.status_code == 409
    assert "sale" in answer.json()["detail"]


# order


@pytest.mark.parametrize("action", ["approve", "advance", "rollback", "revert"])
def test_steps_out_of_order_are_refused_and_audited(ana: APIClient, orders: Pipeline, action: str) -> None:
    made = planned(ana)
    act(ana, made, "abort")
    answer = act(ana, made, action)
    assert (answer.status_code, answer.json()["code"]) == (409, "out_of_order")
    assert AuditRow.objects.filter(action=f"migration.{action}", outcome="refused").exists()


def test_what_is_not_approved_does_not_begin(ana: APIClient, orders: Pipeline) -> None:
    made = planned(ana)
    assert act(ana, made, "advance").json()["code"] == "out_of_order"
    assert Migration.objects.get().stage == MigrationStage.PLANNED


def test_beginning_writes_down_both_sides_and_every_step(ana: APIClient, orders: Pipeline) -> None:
    made = started(ana)
    assert (made["stage"], made["old_revision"], made["new_revision"]) == ("PREFLIGHT", 1, 2)
    assert (made["old_host"], made["new_host"]) == ("alpha", "alpha")
    assert {step["state"] for step in made["steps"]} == {"pending"}
    orders.refresh_from_db()
    assert orders.current_revision is not None
    assert orders.current_revision.number == 1


def test_a_gate_that_nothing_waits_at_is_not_passed(ana: APIClient, orders: Pipeline) -> None:
    made = started(ana)
    assert act(ana, made, "advance").json()["code"] == "out_of_order"


def test_giving_up_before_anything_has_changed_lets_the_old_agent_go_on(ana: APIClient, orders: Pipeline) -> None:
    made = started(ana)
    abandoned = act(ana, made, "abort", {"reason": "not today"}).json()
    assert abandoned["stage"] == "ROLLING_BACK"
    assert [step["state"] for step in abandoned["steps"]] == ["skipped"] * 8
    migration = Migration.objects.get()
    migration_steps.conclude(migration=migration)
    assert migration.stage == MigrationStage.ABORTED
    assert "ana canceled the migration: not today" in migration.message


def test_the_way_back_of_a_committed_one_is_a_migration_of_its_own(ana: APIClient, orders: Pipeline) -> None:
    made = started(ana, spec={"definition": changed(), "rules": {"window": 7}})
    Pipeline.objects.update(phase=Phase.STOPPED, desired_state=DesiredState.STOPPED)
    Pipeline.objects.update(current_revision=Migration.objects.get().new_revision)
    Pipeline.objects.update(phase=Phase.RUNNING, desired_state=DesiredState.RUNNING)
    Migration.objects.update(stage=MigrationStage.COMMITTED)
    answer = act(ana, made, "revert", {"reason": "too slow"})
    assert answer.status_code == 201, answer.json()
    back = answer.json()
    assert answer.headers["Location"] == f"{MIGRATIONS}/{back['id']}"
    assert (back["reverts"], back["stage"], back["kind"], back["reason"]) == (
        made["id"],
        "PLANNED",
        "revision",
        "too slow",
    )
    assert (back["spec"]["revision"], back["spec"]["rules"]["window"]) == (1, 7)
    assert [each["change"]["path"] for each in back["plan"]["changes"]] == ["sinks.out.topic"]
    again = act(ana, made, "revert", {})
    assert (again.status_code, again.json()["code"]) == (409, "migration_open")
    viewer = client_of("vi", Role.VIEWER)
    assert act(viewer, made, "revert", {}).status_code == 403


def test_positions_are_decided_to_before_something_happened(ana: APIClient, orders: Pipeline) -> None:
    event = Event.objects.create(pipeline=orders, at=now(), kind="x", message="It began.")
    made = planned(ana, kind="position", spec={"to": f"before={event.pk}-30m", "source": "shop"})
    target = made["spec"]["target"]
    at = round((event.at - timedelta(minutes=30)).timestamp() * 1000)
    assert (target["goal"], target["at"], target["source"]) == ("timestamp", at, "shop")


def test_a_position_that_cannot_be_read_names_every_form_that_can(ana: APIClient, orders: Pipeline) -> None:
    refused = post(ana, MIGRATIONS, body(kind="position", spec={"to": "yesterday"}))
    (found,) = refused.json()["findings"]
    assert (refused.status_code, found["path"], found["code"]) == (422, "spec.to", "bad_target")
    assert "before=EVENT-30m" in found["message"]
    gone = post(ana, MIGRATIONS, body(kind="position", spec={"to": "before=99999"}))
    assert (gone.status_code, gone.json()["code"]) == (404, "event_not_found")


def test_a_source_that_is_not_there_is_named_with_those_that_are(ana: APIClient, orders: Pipeline) -> None:
    refused = post(ana, MIGRATIONS, body(kind="position", spec={"to": "yesterday", "source": "shpo"}))
    assert refused.status_code == 422
    found = {each["path"]: each for each in refused.json()["findings"]}
    assert found["spec.source"]["code"] == "source_unknown"
    assert "shop" in found["spec.source"]["suggestion"]
    assert found["spec.to"]["code"] == "bad_target"
    plan = post(ana, "/api/v1/pipelines/orders/positions/plan", {"to": "latest", "source": "shpo"})
    assert (plan.status_code, plan.json()["findings"][0]["path"]) == (422, "source")


@pytest.mark.parametrize("stage", [MigrationStage.PLANNED, MigrationStage.NEEDS_ATTENTION])
def test_a_pipeline_that_is_deleted_takes_its_open_migration_with_it(
    ana: APIClient, orders: Pipeline, stage: MigrationStage
) -> None:
    made = started(ana) if stage is MigrationStage.NEEDS_ATTENTION else planned(ana)
    Migration.objects.update(stage=stage)
    orders.runs.update(state="ENDED")
    Pipeline.objects.update(phase=Phase.STOPPED, desired_state=DesiredState.STOPPED)
    assert client_of("root", Role.ADMIN).delete("/api/v1/pipelines/orders").status_code == 204
    found = ana.get(f"{MIGRATIONS}/{made['id']}").json()
    assert not found["open"]
    assert "orders was deleted" in found["message"]
    assert ana.get(MIGRATIONS, {"pipeline": "orders", "state": "open"}).json()["results"] == []


@pytest.mark.parametrize(
    ("sent", "path"),
    [
        ({"kind": "revision", "spec": {"definition": {"name": "\ud800"}}}, "spec.definition.name"),
        ({"kind": "revision", "spec": {"definition": {"name": "a\0b"}}}, "spec.definition.name"),
        ({"kind": "revision", "spec": {"definition": {"\ud800": 1}}}, "spec.definition"),
        ({"kind": "revision", "spec": {"definition": "name: a\0b"}}, "spec.definition"),
        ({"kind": "revision", "spec": {"definition": {"name": 10**400}}}, "spec.definition.name"),
        ({"kind": "position", "spec": {"to": "latest", "source": "a\0b"}}, "spec.source"),
        ({"kind": "position", "spec": {"to": "offsets=" + '{"a":' * 4000}}, "spec.to"),
        ({"kind": "software", "spec": {"rules": {"window": "nan"}}}, "spec.rules.window"),
        ({"kind": "software", "spec": {"rules": {"band": "inf"}}}, "spec.rules.band"),
        ({"kind": "cluster", "spec": {"sink": "out", "to": {"topic": "\ud800"}}}, "spec.to.topic"),
        ({"pipeline": "\ud800"}, "pipeline"),
        ({"pipeline": "a\0"}, "pipeline"),
    ],
)
def test_what_can_be_neither_stored_nor_shown_is_refused(
    ana: APIClient, orders: Pipeline, sent: dict[str, Any], path: str
) -> None:
    refused = ana.post(MIGRATIONS, json.dumps(body(**sent)), content_type="application/json")
    assert refused.status_code == 422, refused.content
    assert path in {each["path"] for each in refused.json()["findings"]}
    assert not Migration.objects.exists()


def test_a_definition_without_a_bottom_is_refused(ana: APIClient, orders: Pipeline) -> None:
    deep: dict[str, Any] = {}
    for _ in range(300):
        deep = {"a": deep}
    refused = post(ana, MIGRATIONS, body(spec={"definition": deep}))
    assert (refused.status_code, Migration.objects.exists()) == (422, False)
    assert "too_deep" in {each["code"] for each in refused.json()["findings"]}


def test_nobody_takes_a_label_away_that_others_have_decided_by(ana: APIClient, orders: Pipeline) -> None:
    ApprovalPolicy.objects.create(label="team:demo", approvers=2)
    FreezeWindow.objects.create(
        label="team",
        starts_at=now() + timedelta(hours=1),
        ends_at=now() + timedelta(hours=2),
        reason="audit",
        created_at=now(),
    )
    Pipeline.objects.update(labels={"team": "demo", "other": "x"})
    address = "/api/v1/pipelines/orders"

    def relabel(client: APIClient, labels: dict[str, str]) -> Any:
        return client.patch(address, {"labels": labels}, format="json", headers={"If-Match": "*"})

    refused = relabel(ana, {"other": "x"})
    assert (refused.status_code, refused.json()["code"]) == (403, "labels_govern_migrations")
    assert "2 other users have to approve them; the freeze until" in refused.json()["detail"]
    assert relabel(ana, {"team": "else"}).status_code == 403
    assert relabel(ana, {"team": "demo", "new": "y"}).status_code == 200
    assert post(ana, MIGRATIONS, body()).status_code == 201
    Migration.objects.all().delete()
    Revision.objects.update(definition={**changed(), "labels": {"team": "demo"}})
    migrated = post(ana, MIGRATIONS, body(spec={"definition": changed(labels={"other": "x"})}))
    assert (migrated.status_code, migrated.json()["code"]) == (403, "labels_govern_migrations")
    Pipeline.objects.update(phase=Phase.STOPPED, desired_state=DesiredState.STOPPED)
    orders.runs.update(state="ENDED")
    published = post(ana, f"{address}/revisions", {"definition": changed(labels={"other": "x"})})
    assert (published.status_code, published.json()["code"]) == (403, "labels_govern_migrations")
    assert relabel(client_of("root", Role.ADMIN), {}).status_code == 200


def test_positions_of_another_log_lead_nowhere_back(ana: APIClient, orders: Pipeline) -> None:
    made = started(ana)
    row = {"source": "shop", "channel": "main", "topic": "orders-in", "partition": 0, "offset": 5}
    log = SourceIdentity(source="shop", cluster_id="c", topics={"orders-in": "one"})
    Migration.objects.update(
        stage=MigrationStage.COMMITTED,
        kind="position",
        spec={"to": "latest"},
        snapshot={"positions": [row], "identities": [log.model_dump()]},
    )

    def revert() -> dict[str, Any]:
        shown = ana.get(f"{MIGRATIONS}/{made['id']}").json()["choices"]
        (found,) = [each for each in shown if each["choice"] == "revert"]
        return dict(found)

    positions.identify(orders.pk, [log])
    assert revert()["allowed"]
    positions.identify(orders.pk, [log.model_copy(update={"topics": {"orders-in": "two"}})])
    assert "another log" in revert()["reason"]
    assert act(ana, made, "revert", {}).status_code == 409


@pytest.mark.parametrize(
    ("old_host", "new_topic", "left"),
    [
        ("alpha", "", LedgerState.PLANNED),
        ("beta", "", LedgerState.ABANDONED),
        ("alpha", "elsewhere", LedgerState.ABANDONED),
    ],
)
def test_a_batch_that_the_new_side_left_open_is_the_old_sides_where_it_has_its_checkpoint_and_sinks(
    ana: APIClient, orders: Pipeline, old_host: str, new_topic: str, left: LedgerState
) -> None:
    """It asks the sink what it has of it; on another host nobody can, and the bound is counted."""
    definition = changed() if new_topic else definition_data("orders", description="a release")
    made = started(ana, spec={"definition": definition})
    migration = Migration.objects.select_related("new_revision").get(pk=made["id"])
    Run.objects.update(state=RunState.ENDED, ended_at=now())
    at_rest = {"phase": Phase.STOPPED, "desired_state": DesiredState.STOPPED}
    Pipeline.objects.filter(pk=orders.pk).update(**at_rest)
    Pipeline.objects.filter(pk=orders.pk).update(current_revision=migration.new_revision)
    new = RunFactory.create(pipeline=orders, number=9_999, epoch=9_999, lineage=1, revision=migration.new_revision)
    Run.objects.filter(pk=new.pk).update(state=RunState.ENDED, ended_at=now())
    ranges = [{"topic": "orders-in", "partition": 0, "start": 100, "end": 350}]
    LedgerBatchFactory.create(run=new, state=LedgerState.PLANNED, ranges=ranges, read=0, delivered=0, done_at=None)
    Migration.objects.filter(pk=migration.pk).update(new_run=new, old_host_id=old_host)
    assert migration_steering.restore(migration=Migration.objects.get(pk=migration.pk))
    (batch,) = LedgerBatch.objects.filter(run=new)
    assert (batch.state, batch.duplicates_max) == (left, 250 if left == LedgerState.ABANDONED else 0)
    orders.refresh_from_db()
    assert (orders.current_revision, orders.host_id) == (migration.old_revision, old_host)


@pytest.mark.parametrize(
    ("changes", "seconds"),
    [
        ({"delivery": {"trigger_interval_ms": 5000}}, 5.0),
        ({"delivery": {"mode": "real_time", "batch_duration": "10s"}}, 10.0),
        ({"delivery": {"mode": "real_time"}}, 30.0),
        ({}, 0.1),
        ({"sinks": {"out": {"type": "file", "channel": "main", "path": "/out", "roll": {"interval": "5m"}}}}, 300.0),
    ],
)
def test_positions_stand_still_between_two_batches(changes: dict[str, Any], seconds: float) -> None:
    revision = Revision(definition=definition_data("orders", **changes))
    assert batch_interval(Migration(new_revision=revision)) == seconds


def test_every_stage_has_one_event_of_its_kind(ana: APIClient, orders: Pipeline) -> None:
    started(ana)
    kinds = list(Event.objects.filter(kind__startswith="migration.").order_by("id").values_list("kind", flat=True))
    assert kinds == [
        "migration.updated",
        "migration.planned",
        "migration.approved",
        "migration.preflight",
    ]


# compare and swap


@pytest.mark.parametrize("silent", [(), ("gone",)])
def test_a_look_of_the_engine_leaves_the_samples_of_a_shadow_out(
    ana: APIClient, orders: Pipeline, silent: tuple[str, ...]
) -> None:
    started(ana)
    (found,) = concerning("alpha", silent)
    assert found.get_deferred_fields() == {"shadow"}


def test_of_two_writers_one_is_overtaken(ana: APIClient, orders: Pipeline) -> None:
    started(ana)
    one, other = Migration.objects.get(), Migration.objects.get()
    migration_steps.change(one, message="first")
    with pytest.raises(Overtaken):
        migration_steps.change(other, message="second")
    assert Migration.objects.get().message == "first"


def test_a_stage_that_the_table_does_not_have_is_refused(ana: APIClient, orders: Pipeline) -> None:
    started(ana)
    with pytest.raises(ForbiddenStage):
        migration_steps.change(Migration.objects.get(), stage=MigrationStage.COMMITTED)


def test_no_change_is_begun_before_the_pause_is_proven_whatever_the_log_says(ana: APIClient, orders: Pipeline) -> None:
    started(ana)
    migration = Migration.objects.get()
    for index, row in enumerate(migration.steps):
        if row["changes"]:
            with pytest.raises(ChangeBeforeProof):
                migration_steps.start(migration=migration, index=index, now=Instant(now(), 1.0, "boot"))
    assert Migration.objects.get().stage == MigrationStage.PREFLIGHT


def test_what_an_earlier_pause_would_have_given_up_binds_no_migration(ana: APIClient, orders: Pipeline) -> None:
    Pipeline.objects.update(on_timeout=OnTimeout.ABORT)
    started(ana)
    migration = Migration.objects.get()
    migration_steps.take(migration=migration, host="alpha")
    assert migration_steering.want(migration=migration, desired=DesiredState.STOPPED, why="a trial")
    orders.refresh_from_db()
    assert (orders.desired_state, orders.on_timeout, orders.drain_on_stop) == ("STOPPED", OnTimeout.STOP, True)


@pytest.mark.parametrize("kind", ["stop", "restart", "pause"])
def test_a_request_that_was_judged_before_a_migration_began_is_refused(
    ana: APIClient, orders: Pipeline, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = planned(ana)
    act(ana, made, "approve")
    inspection = steering

    def just_before(pipeline_id: Any) -> Any:
        found = inspection(pipeline_id)
        if Migration.objects.get().stage == MigrationStage.APPROVED:
            assert act(ana, made, "advance").status_code == 202
        return found

    monkeypatch.setattr(lifecycle, "steering", just_before)
    with pytest.raises(Conflict) as refused:
        lifecycle.request(pipeline=orders, action=kind, actor=Actor("ben"))
    assert refused.value.code == "migration_open"
    orders.refresh_from_db()
    assert (orders.desired_state, orders.restart_run, orders.operations.count()) == ("RUNNING", None, 0)


def test_a_migration_that_was_judged_before_somebody_else_asked_does_not_begin(
    ana: APIClient, orders: Pipeline, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = planned(ana)
    act(ana, made, "approve")
    evaluated = plans.make

    def just_after(**asked: Any) -> Any:
        found = evaluated(**asked)
        lifecycle.request(pipeline=orders, action="stop", actor=Actor("ben"))
        return found

    monkeypatch.setattr(plans, "make", just_after)
    answer = act(ana, made, "advance")
    assert (answer.status_code, answer.json()["code"]) == (409, "busy")
    assert Migration.objects.get().stage == MigrationStage.APPROVED


# nobody else


@pytest.mark.parametrize("kind", list(lifecycle.TARGETS))
def test_while_a_migration_holds_it_nobody_else_changes_what_it_does(
    ana: APIClient, orders: Pipeline, kind: OperationKind
) -> None:
    made = started(ana)
    answer = post(ana, f"/api/v1/pipelines/orders/{kind}", {})
    assert (answer.status_code, answer.json()["code"]) == (409, "migration_open")
    assert made["id"] in answer.json()["detail"]
    assert not any(each["allowed"] for each in answer.json()["allowed_actions"])


@pytest.mark.parametrize("stage", FORWARD_STAGES)
def test_in_no_stage_a_revision_or_a_position_slips_through(
    ana: APIClient, orders: Pipeline, stage: MigrationStage
) -> None:
    started(ana)
    Migration.objects.update(stage=stage)
    Pipeline.objects.update(phase=Phase.STOPPED, desired_state=DesiredState.STOPPED)
    revision = post(ana, "/api/v1/pipelines/orders/revisions", {"definition": changed()})
    assert (revision.status_code, revision.json()["code"]) == (409, "migration_open")
    applied = post(ana, "/api/v1/pipelines/orders/positions/apply", {"hash": "x"})
    assert (applied.status_code, applied.json()["code"]) == (409, "migration_open")
    assert ana.delete("/api/v1/pipelines/orders").status_code in (403, 409, 428)


def test_a_revision_of_a_running_pipeline_is_refused_and_names_the_way(ana: APIClient, orders: Pipeline) -> None:
    answer = post(ana, "/api/v1/pipelines/orders/revisions", {"definition": changed()})
    assert (answer.status_code, answer.json()["code"]) == (409, "pipeline_not_stopped")
    assert "/api/v1/migrations" in answer.json()["hint"]


@pytest.mark.parametrize(
    ("phase", "desired"),
    [
        (Phase.RUNNING, DesiredState.RUNNING),
        (Phase.STOPPED, DesiredState.RUNNING),
        (Phase.PAUSED, DesiredState.STOPPED),
    ],
)
def test_the_database_refuses_another_revision_unless_it_is_at_rest(
    orders: Pipeline, phase: Phase, desired: DesiredState
) -> None:
    other = RevisionFactory.create(pipeline=orders, number=2)
    Pipeline.objects.update(phase=phase, desired_state=desired)
    with pytest.raises(DatabaseError, match="only while it is STOPPED"), transaction.atomic():
        Pipeline.objects.filter(pk=orders.pk).update(current_revision=other)
    Pipeline.objects.update(phase=Phase.STOPPED, desired_state=DesiredState.STOPPED)
    Pipeline.objects.filter(pk=orders.pk).update(current_revision=other, desired_state=DesiredState.RUNNING)


# evidence


def test_the_evidence_verifies_and_has_a_page(ana: APIClient, orders: Pipeline) -> None:
    made = started(ana)
    document = ana.get(f"{MIGRATIONS}/{made['id']}/evidence")
    assert evidence.verify(document.content.decode()).holds
    assert document.json()["content"]["created_by"] == "ana"
    page = ana.get(f"{MIGRATIONS}/{made['id']}/evidence?format=html", HTTP_ACCEPT="text/html,*/*")
    assert page.headers["Content-Type"].startswith("text/html")
    assert document.json()["content"]["plan_hash"] in page.content.decode()


def test_the_price_of_the_way_back_counts_runs_that_followed_the_new_one(ana: APIClient, orders: Pipeline) -> None:
    made = started(ana)
    number = orders.runs.get().number
    new = RunFactory.create(pipeline=orders, number=number + 1, state="ENDED")
    orders.runs.exclude(pk=new.pk).update(state="ENDED")
    later = RunFactory.create(pipeline=orders, number=number + 2)
    LedgerBatchFactory.create(run=later, read=40, delivered=40)
    Migration.objects.update(stage=MigrationStage.VERIFYING, new_run=new)
    choices = ana.get(f"{MIGRATIONS}/{made['id']}").json()["choices"]
    impact = next(each["impact"] for each in choices if each["choice"] == "rollback")
    assert not impact["exact"]
    assert "40 records" in impact["words"]


def renamed_channel() -> dict[str, Any]:
    data = changed(channels={"other": {"type": "direct"}})
    data["sinks"]["out"]["channel"] = "other"
    return data


def test_a_channel_that_gets_another_name_is_told_to_begin_anew(ana: APIClient, orders: Pipeline) -> None:
    made = planned(ana, spec={"definition": renamed_channel()})
    assert made["stage"] == "PLANNED", made["plan"]["blockers"]
    found = [(each["path"], each["code"]) for each in made["plan"]["warnings"]]
    assert found == [("channels.other", "CHANNEL_BEGINS_ANEW"), ("channels.main", "CHANNEL_REMOVED")]
    act(ana, made, "abort")
    assert planned(ana)["plan"]["warnings"] == []


def test_the_price_of_the_way_back_counts_what_an_old_channel_reads_again(ana: APIClient, orders: Pipeline) -> None:
    made = started(ana, spec={"definition": renamed_channel()})
    number = orders.runs.get().number
    orders.runs.update(state="ENDED")
    new = RunFactory.create(pipeline=orders, number=number + 1)
    LedgerBatchFactory.create(run=new, channel="other", read=40, delivered=40)
    at = {"source": "shop", "topic": "orders-in", "partition": 0}
    for channel, offset in (("main", 100), ("other", 140)):
        Position.objects.create(pipeline=orders, **at, channel=channel, next_offset=offset, lineage=1)
    taken = {"digest": "d", "run": number, "positions": [{**at, "channel": "main", "offset": 100}]}
    Migration.objects.update(stage=MigrationStage.VERIFYING, new_run=new, snapshot=taken)
    choices = ana.get(f"{MIGRATIONS}/{made['id']}").json()["choices"]
    impact = next(each["impact"] for each in choices if each["choice"] == "rollback")
    assert (impact["replay"], impact["exact"]) == (40, False)
    assert "40 of them are read again" in impact["words"]


def test_the_report_of_one_whose_old_run_went_on_counts_nothing_that_came_later(
    ana: APIClient, orders: Pipeline
) -> None:
    made = started(ana)
    row = Migration.objects.get()
    at = {"source": "shop", "channel": "main", "topic": "orders-in", "partition": 0, "offset": 100}
    old = orders.runs.get().number
    stopped = {"positions": [at], "last_delivered_at": 1.0}
    taken = {"digest": "d", "run": old, "positions": [at], "stopped": stopped}
    row.steps[0]["intent_at"] = now().isoformat()
    Migration.objects.update(stage=MigrationStage.ABORTED, snapshot=taken, steps=row.steps)
    later = RunFactory.create(pipeline=orders, number=old + 1, state="ENDED", first_record_at=now())
    LedgerBatchFactory.create(run=later, ranges=[{"topic": "orders-in", "partition": 0, "start": 9000, "end": 9010}])
    found = ana.get(f"{MIGRATIONS}/{made['id']}/evidence").json()["content"]
    assert (found["gap"], found["overlap"], found["pause"]["seen"]) == (0, 0, None)
    assert found["positions"][0]["started_at"] is None


@pytest.mark.parametrize(
    ("stopped", "first", "desired", "seen"),
    [
        (-1.0, 2.0, "RUNNING", 3.0),  # data moves all the time
        (-7200.0, 2.0, "RUNNING", 2.0),  # nothing came before the pause was asked for
        (-1.0, 7200.0, "RUNNING", 2.5),  # nothing came after the new side worked
        (-1.0, 2.0, "PAUSED", None),  # it was paused before
    ],
)
def test_the_pause_is_the_time_that_the_migration_has_cost(
    ana: APIClient, orders: Pipeline, stopped: float, first: float, desired: str, seen: float | None
) -> None:
    made, asked = started(ana), now()
    old = orders.runs.get().number
    orders.runs.update(state="ENDED")
    new = RunFactory.create(pipeline=orders, number=old + 1, first_record_at=asked + timedelta(seconds=first))
    LedgerBatchFactory.create(run=new)
    steps = Migration.objects.get().steps
    for row in steps:
        row |= {"intent_at": asked.isoformat(), "done_at": (asked + timedelta(seconds=1.5)).isoformat()}
    taken = {"digest": "d", "run": old, "stopped": {"last_delivered_at": asked.timestamp() + stopped}}
    Migration.objects.update(steps=steps, snapshot=taken, new_run=new, old_desired=desired)
    assert ana.get(f"{MIGRATIONS}/{made['id']}").json()["pause_seconds"] == seen


def test_lists_are_of_a_pipeline_and_of_a_state(ana: APIClient, orders: Pipeline) -> None:
    made = planned(ana)
    for query, found in (
        ("", 1),
        ("?pipeline=orders", 1),
        ("?pipeline=other", 0),
        ("?state=open", 1),
        ("?state=final", 0),
        ("?state=PLANNED", 1),
    ):
        rows = ana.get(f"{MIGRATIONS}{query}").json()["results"]
        assert len(rows) == found, query
    assert rows[0]["id"] == made["id"]
    assert ana.get(f"{MIGRATIONS}/{uuid4()}").json()["code"] == "migration_not_found"


def test_a_list_costs_no_query_for_each_of_its_migrations(ana: APIClient, orders: Pipeline) -> None:
    counts = []
    for _ in range(3):
        act(ana, started(ana), "abort")
        migration_steps.conclude(migration=Migration.objects.latest("created_at"))
        with CaptureQueriesContext(connection) as seen:
            assert ana.get(MIGRATIONS).status_code == 200
        counts.append(len(seen))
    assert counts[0] == counts[2], seen.captured_queries


def test_a_pause_says_what_it_waits_for(ana: APIClient, orders: Pipeline) -> None:
    made = started(ana)
    run = orders.runs.get()
    ranges = [{"topic": "orders-in", "partition": 0, "start": 100, "end": 350}]
    LedgerBatchFactory.create(run=run, state=LedgerState.PLANNED, ranges=ranges, read=0, delivered=0, done_at=None)
    queries = [{"in_flight": True, "holding": {"component": "sinks.out"}, "positions": []}]
    type(run).objects.filter(pk=run.pk).update(observed={"queries": queries})
    assert ana.get(f"{MIGRATIONS}/{made['id']}").json()["draining"] is None
    Migration.objects.filter(pk=made["id"]).update(stage=MigrationStage.PAUSING)
    seen = ana.get(f"{MIGRATIONS}/{made['id']}").json()["draining"]
    assert (seen["batches"], seen["records"], seen["held_by"]) == (1, 250, ["sinks.out"])
