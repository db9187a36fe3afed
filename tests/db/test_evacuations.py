"""Emptying a host: so many at once, what cannot move stays and is named, a failure stops the rest."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from rest_framework.test import APIClient

from pipelines.domain.base.roles import Role
from pipelines.domain.base.states import DesiredState, MigrationStage, Phase
from pipelines.domain.lifecycle.operations import OnTimeout
from pipelines.models import ApprovalPolicy, Evacuation, Host, Migration, Pipeline, Run
from pipelines.selectors.hosts.capacity import takers
from pipelines.selectors.migration.migrations import OPEN
from pipelines.services.base.audit import Actor
from pipelines.services.hosts import evacuations, hosts
from pipelines.services.lifecycle import placement
from pipelines.services.migration import migrations, steering
from pipelines.services.runs import ownership
from tests.factories import HostFactory, PipelineFactory, RevisionFactory, RunFactory, UserFactory, definition, now

pytestmark = pytest.mark.django_db
EVA = Actor("eva")


@pytest.fixture
def five() -> list[Pipeline]:
    """Five pipelines that run on alpha; beta has room for all of them."""
    HostFactory.create(responding=True)
    HostFactory.create(name="beta", responding=True)
    rows = []
    for number in range(5):
        row = PipelineFactory.create(name=f"p{number}", phase=Phase.RUNNING, desired_state=DesiredState.RUNNING)
        RunFactory.create(pipeline=row)
        rows.append(row)
    return rows


def start(**more: bool | int) -> Evacuation:
    given = {"at_once": 2, "go_on": False, **more}
    return evacuations.start(host="alpha", reason="kernel", actor=EVA, **given)  # type: ignore[arg-type]


def under_way() -> list[str]:
    return sorted(Migration.objects.filter(stage__in=OPEN).values_list("pipeline__name", flat=True))


def end(name: str, stage: MigrationStage, message: str = "") -> None:
    Migration.objects.filter(pipeline__name=name).update(stage=stage, message=message)


def test_so_many_move_at_once_and_the_next_when_one_has_come_through(five: list[Pipeline]) -> None:
    row = start()
    assert evacuations.turn(host="alpha") == 2
    assert evacuations.turn(host="alpha") == 0
    assert under_way() == ["p0", "p1"]
    end("p0", MigrationStage.COMMITTED)
    assert evacuations.turn(host="alpha") == 1
    assert under_way() == ["p1", "p2"]
    assert set(Migration.objects.values_list("stage", "new_host")) >= {("PREFLIGHT", "beta")}
    assert row.names == ["p0", "p1", "p2", "p3", "p4"]


def test_many_that_move_at_once_do_not_all_begin_in_one_tick(five: list[Pipeline]) -> None:
    for number in range(5, 8):
        row = PipelineFactory.create(name=f"p{number}", phase=Phase.RUNNING, desired_state=DesiredState.RUNNING)
        RunFactory.create(pipeline=row)
    start(at_once=50)
    assert [evacuations.turn(host="alpha") for _ in range(3)] == [5, 3, 0]
    assert under_way() == [f"p{number}" for number in range(8)]


def test_those_that_begin_together_take_no_more_room_than_each_host_has(five: list[Pipeline]) -> None:
    Host.objects.filter(name="beta").update(slots=3)
    HostFactory.create(name="gamma", slots=2, responding=True)
    start(at_once=5)
    assert evacuations.turn(host="alpha") == 5
    moves = list(Migration.objects.select_related("pipeline", "new_revision"))
    assert Counter(each.new_host_id for each in moves) == {"beta": 3, "gamma": 2}
    for each in moves:
        assert steering.prepare(migration=each), "its own place is not taken"


def test_one_that_fails_its_preflight_stays_and_the_others_move(five: list[Pipeline]) -> None:
    start(at_once=5)
    evacuations.turn(host="alpha")
    end("p2", MigrationStage.ABORTED, "The interceptor cannot initialise.")
    for name in ("p0", "p1", "p3", "p4"):
        end(name, MigrationStage.COMMITTED)
    evacuations.turn(host="alpha")
    evacuations.turn(host="alpha")
    row = Evacuation.objects.get()
    assert (row.outcome, row.left) == ("done", {"p2": "The interceptor cannot initialise."})


@pytest.mark.parametrize("go_on", [False, True])
def test_one_that_fails_after_a_change_stops_the_rest_unless_told_to_go_on(five: list[Pipeline], go_on: bool) -> None:
    start(at_once=1, go_on=go_on)
    evacuations.turn(host="alpha")
    end("p0", MigrationStage.ROLLED_BACK, "no")
    evacuations.turn(host="alpha")
    row = Evacuation.objects.get()
    assert row.outcome == ("" if go_on else "stopped")
    assert under_way() == (["p1"] if go_on else [])


def test_one_that_needs_a_person_keeps_nobody_else_from_moving_where_it_was_told_to_go_on(
    five: list[Pipeline],
) -> None:
    start(at_once=1, go_on=True)
    evacuations.turn(host="alpha")
    end("p0", MigrationStage.NEEDS_ATTENTION, "help")
    evacuations.turn(host="alpha")
    assert under_way() == ["p0", "p1"]
    assert Evacuation.objects.get().left == {"p0": "help"}
    end("p0", MigrationStage.COMMITTED)
    evacuations.turn(host="alpha")
    assert Evacuation.objects.get().left == {}


def test_what_needs_a_person_is_named_where_the_rest_was_stopped(five: list[Pipeline]) -> None:
    start(at_once=5)
    evacuations.turn(host="alpha")
    end("p4", MigrationStage.NEEDS_ATTENTION, "help")
    evacuations.turn(host="alpha")
    row = Evacuation.objects.get()
    assert (row.outcome, row.left) == ("stopped", {"p4": "help"})


def test_a_host_that_was_removed_is_emptied_no_further_when_it_comes_back() -> None:
    HostFactory.create(name="gone", seen_at=now() - timedelta(hours=1))
    row = evacuations.start(host="gone", at_once=1, go_on=False, reason="kernel", actor=EVA)
    Evacuation.objects.filter(pk=row.pk).update(names=["p9"])
    hosts.remove(name="gone", actor=EVA)
    row.refresh_from_db()
    assert (row.outcome, row.left, row.names) == ("cancelled", {"p9": "gone was removed."}, [])


def test_why_a_pipeline_stays_outlives_the_failure_of_another_one(five: list[Pipeline]) -> None:
    Pipeline.objects.filter(name="p0").update(phase=Phase.PAUSING)
    start(at_once=2)
    evacuations.turn(host="alpha")
    why = Evacuation.objects.get().left["p0"]
    assert "PAUSING" in why
    end("p1", MigrationStage.ABORTED, "no")
    evacuations.turn(host="alpha")
    left = Evacuation.objects.get().left
    assert left["p1"] == "no"
    assert why in left["p0"]


def test_a_list_of_evacuations_costs_no_query_for_each(five: list[Pipeline]) -> None:
    viewer = APIClient()
    viewer.force_authenticate(UserFactory.create(role=Role.VIEWER))
    counts = []
    for _ in range(2):
        evacuations.cancel(evacuation=start(), actor=EVA)
        with CaptureQueriesContext(connection) as seen:
            assert viewer.get("/api/v1/evacuations").status_code == 200
        counts.append(len(seen))
    assert counts[0] == counts[1]


def test_what_is_tied_to_its_host_stays_with_the_reason(five: list[Pipeline]) -> None:
    pinned = definition("p0", placement={"host": "alpha"})
    Pipeline.objects.filter(name="p0").update(phase=Phase.STOPPED, desired_state=DesiredState.STOPPED)
    revision = RevisionFactory.create(pipeline=five[0], number=2, definition=pinned.plain(), digest=pinned.digest())
    Pipeline.objects.filter(name="p0").update(current_revision=revision, desired_state=DesiredState.RUNNING)
    start(at_once=1)
    evacuations.turn(host="alpha")
    assert Evacuation.objects.get().left == {"p0": "placement.host is alpha"}
    assert under_way() == ["p1"]


def test_the_api_empties_a_host_for_admins_alone_and_once_at_a_time(five: list[Pipeline]) -> None:
    admin, operator = APIClient(), APIClient()
    admin.force_authenticate(UserFactory.create(role=Role.ADMIN))
    operator.force_authenticate(UserFactory.create(role=Role.OPERATOR))
    asked = {"host": "alpha", "at_once": 2, "reason": "kernel"}
    assert operator.post("/api/v1/evacuations", asked, format="json").status_code == 403
    made = admin.post("/api/v1/evacuations", asked, format="json")
    assert (made.status_code, made.json()["waiting"]) == (201, ["p0", "p1", "p2", "p3", "p4"])
    again = admin.post("/api/v1/evacuations", asked, format="json")
    assert (again.status_code, again.json()["code"]) == (409, "evacuation_open")
    cancelled = admin.delete(f"/api/v1/evacuations/{made.json()['id']}")
    assert (cancelled.json()["outcome"], len(cancelled.json()["left"])) == ("cancelled", 5)


def test_what_others_have_to_approve_is_begun_when_they_have(five: list[Pipeline]) -> None:
    ApprovalPolicy.objects.create(approvers=1, updated_by="root")
    start(at_once=2)
    assert evacuations.turn(host="alpha") == 2
    evacuations.turn(host="alpha")
    first, second = Migration.objects.order_by("pipeline__name")
    migrations.approve(migration=first, named=first.plan_hash, actor=Actor("ben"))
    evacuations.turn(host="alpha")
    stages = dict(Migration.objects.values_list("pipeline__name", "stage"))
    assert stages == {"p0": MigrationStage.PREFLIGHT, "p1": MigrationStage.PLANNED}
    migrations.approve(migration=second, named=second.plan_hash, actor=Actor("ben"))
    Pipeline.objects.filter(name="p1").update(closed_lineage=7)
    evacuations.turn(host="alpha")
    assert Migration.objects.get(pk=second.pk).stage == MigrationStage.APPROVED, "its plan is stale"


def test_a_cancelled_evacuation_gives_up_what_waits_for_approval_and_leaves_what_moves(five: list[Pipeline]) -> None:
    row = start(at_once=1)
    evacuations.turn(host="alpha")
    ApprovalPolicy.objects.create(approvers=1, updated_by="root")
    Evacuation.objects.update(at_once=2)
    evacuations.turn(host="alpha")
    assert under_way() == ["p0", "p1"]
    evacuations.cancel(evacuation=Evacuation.objects.get(pk=row.pk), actor=EVA)
    assert under_way() == ["p0"]
    assert "Canceled." in Migration.objects.get(pipeline__name="p1").message


def test_nothing_else_is_placed_on_a_host_that_is_being_emptied_and_a_drain_leaves_it_its_work(
    five: list[Pipeline],
) -> None:
    stray = PipelineFactory.create(name="stray", host=None, phase=Phase.STOPPED)
    Host.objects.filter(name="beta").update(slots=6)
    start(at_once=1)
    assert {each.name for each in takers()} == {"beta"}
    assert not placement.claim(pipeline=stray, host="alpha")
    assert placement.choose(stray) == "beta"
    stopped = PipelineFactory.create(name="stopped", phase=Phase.STOPPED)
    assert placement.choose(stopped) == "alpha", "it has its place there"
    run = Run.objects.get(pipeline__name="p4")
    assert not ownership.evacuate(run=run, living={"alpha", "beta"}, on_timeout=OnTimeout.ABORT)
    evacuations.cancel(evacuation=Evacuation.objects.get(), actor=EVA)
    assert ownership.evacuate(run=run, living={"alpha", "beta"}, on_timeout=OnTimeout.ABORT)
    assert placement.claim(pipeline=stray, host="alpha")


WRONG_RULES = {"band": 7, "widow": 1, "then": "wait", "otherwise": "commit"}


def test_each_of_its_pipelines_is_observed_by_the_rules_that_were_given(five: list[Pipeline]) -> None:
    client = APIClient()
    client.force_authenticate(UserFactory.create(role=Role.ADMIN))
    body = {"host": "alpha", "reason": "kernel", "rules": {"window": 5, "then": "ask"}}
    answer = client.post("/api/v1/evacuations", body, format="json")
    assert (answer.status_code, answer.json()["rules"]["window"], answer.json()["rules"]["band"]) == (201, 5, 0.5)
    evacuations.turn(host="alpha")
    moved = Migration.objects.get(pipeline__name="p0")
    assert (moved.spec["rules"]["window"], moved.spec["rules"]["then"]) == (5, "ask")
    wrong = client.post("/api/v1/evacuations", {**body, "rules": WRONG_RULES}, format="json")
    assert {each["path"] for each in wrong.json()["findings"]} == {f"rules.{name}" for name in WRONG_RULES}


def test_policies_and_freezes_are_set_listed_and_removed() -> None:
    admin = APIClient()
    admin.force_authenticate(UserFactory.create(role=Role.ADMIN))
    policy = admin.post("/api/v1/approval-policies", {"approvers": 2, "label": "tier:gold"}, format="json").json()
    again = admin.post("/api/v1/approval-policies", {"approvers": 1, "label": "tier:gold"}, format="json").json()
    assert (policy["id"], again["approvers"]) == (again["id"], 1)
    times = {"starts_at": "2026-12-24T00:00:00Z", "ends_at": "2026-12-27T00:00:00Z", "reason": "holidays"}
    freeze = admin.post("/api/v1/freezes", times, format="json").json()
    assert [row["reason"] for row in admin.get("/api/v1/freezes").json()["results"]] == ["holidays"]
    wrong = {**times, "ends_at": times["starts_at"], "label": "a", "pipeline": "b"}
    assert admin.post("/api/v1/freezes", wrong, format="json").status_code == 422
    assert admin.delete(f"/api/v1/freezes/{freeze['id']}").status_code == 204
    assert admin.delete(f"/api/v1/approval-policies/{policy['id']}").status_code == 204
    assert admin.delete(f"/api/v1/approval-policies/{policy['id']}").json()["code"] == "policy_not_found"
