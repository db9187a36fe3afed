"""The timeline of a migration over the API: both sides, the pause of the report, the series; for its own team alone."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from rest_framework.test import APIClient

from pipelines.domain.base.roles import Role
from pipelines.domain.base.states import DesiredState, MigrationStage, Phase, RunState
from pipelines.models import Migration, Pipeline, Run
from tests.factories import (
    HostFactory,
    LedgerBatchFactory,
    PipelineFactory,
    RunFactory,
    SampleFactory,
    TeamFactory,
    UserFactory,
    definition_data,
    now,
)

pytestmark = pytest.mark.django_db
MIGRATIONS = "/api/v1/migrations"
FORWARD = ("pause", "prove_pause", "take_snapshot", "end_old_run", "check_standby", "promote")
BACK = ("pause_new", "end_new_run", "restore", "start_old")


def client_of(name: str, **more: Any) -> APIClient:
    client = APIClient()
    client.force_authenticate(UserFactory.create(username=name, **more))
    return client


@pytest.fixture
def ana() -> APIClient:
    return client_of("ana", role=Role.OPERATOR)


@pytest.fixture
def orders() -> Pipeline:
    HostFactory.create(name="beta", version="0.2.0")
    pipeline = PipelineFactory.create(name="orders", phase=Phase.RUNNING, desired_state=DesiredState.RUNNING)
    RunFactory.create(pipeline=pipeline, number=1, first_record_at=now() - timedelta(hours=1))
    return pipeline


def planned(ana: APIClient) -> dict[str, Any]:
    data = definition_data("orders")
    data["sinks"]["out"]["topic"] = "elsewhere"
    body = {"pipeline": "orders", "kind": "revision", "spec": {"definition": data}, "reason": "why"}
    found: dict[str, Any] = ana.post(MIGRATIONS, body, format="json").json()
    return found


def started(ana: APIClient) -> Migration:
    made = planned(ana)
    for action in ("approve", "advance"):
        ana.post(f"{MIGRATIONS}/{made['id']}/{action}", {"hash": made["plan_hash"]}, format="json")
    return Migration.objects.get()


def timeline(client: APIClient, row: Migration) -> Any:
    answer = client.get(f"{MIGRATIONS}/{row.pk}/timeline")
    assert answer.status_code == 200, answer.content
    return answer.json()["timeline"]


def delivering(found: Any) -> list[tuple[str, int, int]]:
    return [(bar["side"], bar["run"], len(bar["delivering"])) for bar in found["bars"]]


def promoted(row: Migration, asked: datetime) -> Run:
    """Run 2 of the new revision follows run 1: the old side delivered until a second before `asked`, the new one two
    seconds after it."""
    Run.objects.filter(number=1).update(state=RunState.ENDED, ended_at=asked + timedelta(seconds=1))
    first = asked + timedelta(seconds=2)
    new = RunFactory.create(pipeline=row.pipeline, number=2, first_record_at=first, promoted_at=asked)
    LedgerBatchFactory.create(run=new, done_at=first)
    for step in row.steps:
        if step["name"] in FORWARD:
            step |= {"state": "done", "intent_at": asked.isoformat(), "done_at": asked.isoformat()}
    row.snapshot = {"digest": "d", "run": 1, "stopped": {"last_delivered_at": asked.timestamp() - 1}}
    row.new_run, row.stage = new, MigrationStage.VERIFYING
    row.save()
    Run.objects.filter(number=2).update(started_at=asked - timedelta(seconds=15))
    return new


def test_before_it_has_started_there_is_none(ana: APIClient, orders: Pipeline) -> None:
    made = planned(ana)
    assert ana.get(f"{MIGRATIONS}/{made['id']}/timeline").json() == {"timeline": None, "points": []}


def test_both_agents_are_bars_and_the_gap_is_the_pause_of_the_report(ana: APIClient, orders: Pipeline) -> None:
    row = started(ana)
    promoted(row, now())
    SampleFactory.create(pipeline=orders, at=now(), lag_records=7)
    found = timeline(ana, row)
    assert delivering(found) == [("old", 1, 1), ("new", 2, 1)]
    (pause,) = found["pauses"]
    assert (pause["seconds"], pause["measured"]) == (3.0, True)
    report = ana.get(f"{MIGRATIONS}/{row.pk}/evidence").json()["content"]["pause"]
    assert report["seen"] == pause["seconds"]
    same = [datetime.fromisoformat(report[f"{name}_delivered_at"]) for name in ("last", "first")]
    assert [datetime.fromisoformat(pause[name]) for name in ("since", "until")] == same
    old, new = found["bars"]
    assert (old["delivering"][0]["until"], new["delivering"][0]["since"]) == (pause["since"], pause["until"])
    points = ana.get(f"{MIGRATIONS}/{row.pk}/timeline").json()["points"]
    assert [point["lag_records"] for point in points] == [7]


def test_after_a_rollback_the_old_configuration_delivers_again(ana: APIClient, orders: Pipeline) -> None:
    row = started(ana)
    new = promoted(row, now())
    asked, first = now() + timedelta(seconds=60), now() + timedelta(seconds=80)
    new.state, new.ended_at = RunState.ENDED, asked
    new.save()
    heir = RunFactory.create(
        pipeline=orders, number=3, first_record_at=first, revision=orders.runs.get(number=1).revision
    )
    Run.objects.filter(pk=heir.pk).update(started_at=asked)
    LedgerBatchFactory.create(run=heir, done_at=first)
    ended = {"run": 2, "outcome": "CLEAN"}
    steps = [
        {**row.steps[0], "name": name, "stage": "ROLLING_BACK", "state": "done", "intent_at": asked.isoformat()}
        | {"done_at": first.isoformat(), "evidence": ended if name == "end_new_run" else None}
        for name in BACK
    ]
    row.steps, row.stage, row.ended_at = [*row.steps, *steps], MigrationStage.ROLLED_BACK, first
    row.save()
    RunFactory.create(pipeline=orders, number=4, state=RunState.ENDED, ended_at=first + timedelta(days=1))
    Run.objects.filter(number=4).update(started_at=first + timedelta(hours=1))
    found = timeline(ana, row)
    assert delivering(found) == [("old", 1, 1), ("new", 2, 1), ("old", 3, 1)]
    report = ana.get(f"{MIGRATIONS}/{row.pk}/evidence").json()["content"]
    assert [each["seconds"] for each in found["pauses"]] == [report["pause"]["seen"], report["rollback"]["seen"]]


def test_a_run_that_follows_a_crash_of_the_new_agent_is_on_its_side(ana: APIClient, orders: Pipeline) -> None:
    row = started(ana)
    new = promoted(row, now())
    new.state, new.ended_at = RunState.ENDED, now() + timedelta(seconds=5)
    new.save()
    RunFactory.create(pipeline=orders, number=3, first_record_at=now() + timedelta(seconds=30))
    assert delivering(timeline(ana, row)) == [("old", 1, 1), ("new", 2, 1), ("new", 3, 1)]


def test_a_timeline_costs_no_query_for_each_run(ana: APIClient, orders: Pipeline) -> None:
    row = started(ana)
    promoted(row, now())
    with CaptureQueriesContext(
        connection,
    ) as few:
        timeline(ana, row)
    orders.runs.filter(number=2).update(state=RunState.ENDED)
    for number in range(3, 13):
        RunFactory.create(pipeline=orders, number=number, state=RunState.ENDED, ended_at=now())
    with CaptureQueriesContext(connection) as many:
        timeline(ana, row)
    assert len(many) <= len(few)


def test_another_team_sees_no_timeline(ana: APIClient, orders: Pipeline) -> None:
    row = started(ana)
    other = client_of("eve", role=None, in_teams={TeamFactory.create(): Role.ADMIN})
    assert other.get(f"{MIGRATIONS}/{row.pk}/timeline").status_code == 404
