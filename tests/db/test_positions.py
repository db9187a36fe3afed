"""Positions: looked at by the host, planned to the record, decided once, and only where nothing has changed since."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from rest_framework.test import APIClient

from pipelines.domain.base.findings import Finding
from pipelines.domain.base.positions import Frozen, SourceIdentity
from pipelines.domain.base.states import DesiredState, InspectionState, LedgerState, Phase, RunState
from pipelines.domain.ledger import journal
from pipelines.domain.ledger.journal import Entry, EntryKind
from pipelines.domain.positions.plan import Goal, InspectionRequest, InspectionResult, Target
from pipelines.domain.runs.lineage import Lineage
from pipelines.domain.runs.protocol import SparkSettings
from pipelines.models import (
    Alert,
    AuditRow,
    ChannelTotals,
    Event,
    Host,
    LedgerBatch,
    LogIdentity,
    Pipeline,
    Position,
    PositionInspection,
    Run,
)
from pipelines.selectors.lifecycle.supervision import ledger_heads, open_batches
from pipelines.selectors.positions.positions import pending_inspections
from pipelines.services.base.audit import Actor
from pipelines.services.ledger.journals import ingest
from pipelines.services.positions import positions
from pipelines.services.runs.runs import NextRun, Overtaken, create_run
from tests.factories import LedgerBatchFactory, PipelineFactory, PositionFactory, RunFactory, now
from tests.fakes.surveys import FakeSurveys
from workers.adapters.secrets import backends
from workers.ports import InspectionFailed
from workers.supervisor.background.surveyor import InspectionContext
from workers.supervisor.launch.launch import Launcher
from workers.supervisor.launch.references import References

pytestmark = pytest.mark.django_db
ORDERS = "/api/v1/pipelines/orders/positions"


class NoSecrets:
    def read(self, names: Any) -> dict[str, Any]:
        return {}


def a_launcher() -> Launcher:
    return Launcher(
        "alpha", Path("/state"), References(backends({}, None, NoSecrets())), lambda: SparkSettings(classpath=[])
    )


@pytest.fixture
def surveys(monkeypatch: pytest.MonkeyPatch) -> FakeSurveys:
    """What the worker of the host sees; it answers as soon as it is woken."""
    found = FakeSurveys()
    context = InspectionContext("alpha", a_launcher(), found)

    def woken(host: str | None) -> None:
        for inspection in pending_inspections(host or ""):
            context.take(inspection)

    monkeypatch.setattr("pipelines.services.positions.positions.dispatch.wake", woken)
    monkeypatch.setattr("pipelines.api.lifecycle.lifecycle.INSPECTION_SECONDS", 0.0)
    return found


@pytest.fixture
def stopped(surveys: FakeSurveys) -> Pipeline:
    """A stopped pipeline that has read 100 records of partition 0, in lineage 1."""
    pipeline: Pipeline = PipelineFactory.create(name="orders")
    Host.objects.update(seen_at=now() + timedelta(hours=1))
    RunFactory.create(pipeline=pipeline, number=1, lineage=1, state=RunState.ENDED)
    PositionFactory.create(pipeline=pipeline, partition=0, next_offset=100)
    return pipeline


def plan(client: APIClient, to: Any, status: int = 200) -> Any:
    answer = client.post(f"{ORDERS}/plan", {"to": to}, format="json")
    assert answer.status_code == status, answer.content
    return answer.json()


def apply(client: APIClient, named: str) -> tuple[int, Any]:
    answer = client.post(f"{ORDERS}/apply", {"hash": named}, format="json")
    return answer.status_code, answer.json()


def next_offsets() -> dict[int, int]:
    return dict(Position.objects.order_by("partition").values_list("partition", "next_offset"))


def test_every_partition_is_shown_by_each_witness(viewer: APIClient, stopped: Pipeline, surveys: FakeSurveys) -> None:
    surveys.known[0] = {"checkpoint": 100, "group": 90, "codes": ["BELOW_LOG_START"]}
    surveys.log[0] = (130, 300)
    found = viewer.get(ORDERS).json()
    assert found["fresh"] is True
    assert found["partitions"] == [
        {
            "source": "shop",
            "channel": "main",
            "topic": "orders-in",
            "partition": 0,
            "ledger": 100,
            "checkpoint": 100,
            "group": 90,
            "log_start": 130,
            "log_end": 300,
            "verdict": "BELOW_LOG_START",
            "codes": ["BELOW_LOG_START"],
        }
    ]
    again = viewer.get(ORDERS).json()
    assert again["partitions"] == found["partitions"]
    assert len(surveys.questions) == 1, "what was found just now is not looked at again"


def test_without_an_answer_the_ledger_is_shown_and_the_reason_is_told(
    viewer: APIClient, stopped: Pipeline, surveys: FakeSurveys
) -> None:
    surveys.error = InspectionFailed("broker_unreachable", "The brokers cannot be reached.", "Check the address.")
    found = viewer.get(ORDERS).json()
    assert (found["fresh"], found["error"]["code"]) == (False, "broker_unreachable")
    assert [(row["ledger"], row["verdict"]) for row in found["partitions"]] == [(100, "UNKNOWN")]


def test_a_host_that_does_not_answer_is_not_waited_for_without_end(
    viewer: APIClient, operator: APIClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    PositionFactory.create(pipeline=PipelineFactory.create(name="orders"), partition=0, next_offset=100)
    Host.objects.update(seen_at=now() + timedelta(hours=1))
    monkeypatch.setattr("pipelines.api.positions.positions.MAX_WAIT", 0.2)
    found = viewer.get(f"{ORDERS}?wait=0.2").json()
    assert (found["fresh"], [row["ledger"] for row in found["partitions"]]) == (False, [100])
    made = plan(operator, "latest", 202)
    assert (made["state"], made["hash"]) == ("PENDING", None)
    assert operator.get(f"{ORDERS}/plans/{made['id']}").json()["state"] == "PENDING"
    Host.objects.update(seen_at=now() - timedelta(hours=1))
    assert viewer.get(ORDERS).json()["error"]["code"] == "host_silent"
    assert plan(operator, "latest", 409)["code"] == "host_silent"


@pytest.mark.parametrize(
    ("to", "new", "skip", "replay"),
    [
        ("earliest", 0, 0, 100),
        ("latest", 300, 200, 0),
        ("ledger", 100, 0, 0),
        ("group", 90, 0, 10),
        ("offsets=orders-in/0:150", 150, 50, 0),
        ("offsets=orders-in/0:earliest", 0, 0, 100),
        ("offsets=orders-in/0:latest", 300, 200, 0),
        ({"offsets": {"orders-in": {"0": 20}}}, 20, 0, 80),
    ],
)
def test_a_plan_is_applied_to_the_record_and_begins_a_new_lineage(
    operator: APIClient, stopped: Pipeline, surveys: FakeSurveys, to: Any, new: int, skip: int, replay: int
) -> None:
    surveys.known[0] = {"group": 90}
    made = plan(operator, to)
    assert (made["skip"], made["replay"], made["partitions"][0]["new"]) == (skip, replay, new)
    assert next_offsets() == {0: 100}, "a plan changes nothing"
    assert apply(operator, made["hash"])[0] == 200
    assert next_offsets() == {0: new}
    stopped.refresh_from_db()
    assert a_launcher().check(stopped) == Lineage(None)
    (head,) = ledger_heads(stopped.id, 2, [("shop", "main")])
    assert [at.offset for at in head.decided] == [100], "what is known of the old position is no news to the next run"
    row = AuditRow.objects.get(action="positions.apply")
    assert row.before is not None
    assert row.after is not None
    assert (row.actor, row.before["positions"], row.after["skip"]) == (
        "operator",
        [["shop", "main", "orders-in", 0, 100]],
        skip,
    )
    assert Event.objects.get(kind="position.changed").data["changes"][0]["old"] == 100
    assert LogIdentity.objects.get().topic_id == "one"


def test_positions_that_are_put_back_agree_with_a_group_that_tells_of_those_given_up(
    operator: APIClient, stopped: Pipeline, surveys: FakeSurveys
) -> None:
    written = [{"source": "shop", "channel": "main", "topic": "orders-in", "partition": 0, "offset": 100}]
    made = plan(operator, "latest")
    assert apply(operator, made["hash"])[0] == 200
    (abandoned,) = next_offsets().values()
    assert abandoned > 100
    positions.put_back(pipeline=stopped, rows=written)
    assert next_offsets() == {0: 100}
    (head,) = ledger_heads(stopped.id, 2, [("shop", "main")])
    assert [at.offset for at in head.decided] == [abandoned]


def test_a_plan_is_applied_once_and_only_to_what_it_was_made_against(
    operator: APIClient, stopped: Pipeline, surveys: FakeSurveys
) -> None:
    first, second = plan(operator, "earliest"), plan(operator, "latest")
    assert apply(operator, first["hash"])[0] == 200
    for named in (first["hash"], second["hash"], "0" * 64):
        status, problem = apply(operator, named)
        assert (status, problem["code"]) == (409, "plan_stale")
    assert next_offsets() == {0: 0}


def test_a_plan_that_is_being_reviewed_outlives_any_number_of_looks(
    operator: APIClient, stopped: Pipeline, surveys: FakeSurveys
) -> None:
    made = plan(operator, "latest")
    for _ in range(positions.KEPT + 2):
        positions.inspect(pipeline=stopped, actor=Actor("ana"), now=now(), max_age=0)
    assert PositionInspection.objects.filter(target__isnull=True).count() == positions.KEPT
    assert operator.get(f"{ORDERS}/plans/{made['id']}").status_code == 200
    assert apply(operator, made["hash"])[0] == 200


def test_a_plan_that_is_awaited_outlives_any_number_of_plans() -> None:
    pipeline = PipelineFactory.create(name="orders")
    awaited, *_ = [
        positions.plan(pipeline=pipeline, target=Target(goal=Goal.LATEST), actor=Actor("ana"))
        for _ in range(positions.KEPT + 1)
    ]
    assert PositionInspection.objects.filter(pk=awaited.pk).exists()
    PositionInspection.objects.update(deadline=now())
    positions.plan(pipeline=pipeline, target=Target(goal=Goal.LATEST), actor=Actor("ana"))
    assert not PositionInspection.objects.filter(pk=awaited.pk).exists()
    assert PositionInspection.objects.count() == positions.KEPT


@pytest.mark.parametrize("change", ["position", "run", "revision", "open batch", "time"])
def test_whatever_changes_makes_a_plan_stale(
    operator: APIClient, stopped: Pipeline, surveys: FakeSurveys, change: str
) -> None:
    made = plan(operator, "latest")
    if change == "position":
        Position.objects.update(next_offset=101)
    elif change == "run":
        RunFactory.create(pipeline=stopped, number=2, lineage=1, state=RunState.ENDED)
    elif change == "revision":
        Pipeline.objects.update(current_revision=None)
    elif change == "open batch":
        LedgerBatchFactory.create(run=Run.objects.get(), state=LedgerState.PLANNED)
    else:
        PositionInspection.objects.update(answered_at=now() - timedelta(hours=2))
    assert apply(operator, made["hash"])[1]["code"] == "plan_stale"


def test_positions_change_only_while_nothing_reads(
    operator: APIClient, stopped: Pipeline, surveys: FakeSurveys
) -> None:
    made = plan(operator, "latest")
    for phase in set(Phase) - {Phase.STOPPED, Phase.BLOCKED}:
        Pipeline.objects.update(phase=phase, desired_state=DesiredState.RUNNING)
        status, problem = apply(operator, made["hash"])
        assert (status, problem["code"]) == (409, "pipeline_not_stopped")
        assert "migration" in problem["hint"]
    assert next_offsets() == {0: 100}


def test_a_run_that_is_not_over_keeps_positions_where_they_are(
    operator: APIClient, stopped: Pipeline, surveys: FakeSurveys
) -> None:
    made = plan(operator, "latest")
    Run.objects.update(state=RunState.LIVE)
    assert apply(operator, made["hash"])[1]["code"] == "pipeline_not_stopped"


def test_a_start_that_has_chosen_its_lineage_before_positions_moved_is_overtaken(
    operator: APIClient, stopped: Pipeline, surveys: FakeSurveys
) -> None:
    seen = Pipeline.objects.select_related("current_revision").get(id=stopped.id)
    assert a_launcher().check(seen) == Lineage(1)
    assert apply(operator, plan(operator, "latest")["hash"])[0] == 200
    assert seen.host_id is not None
    wanted = NextRun(token="t", host=seen.host_id, state_dir=Path("/s"), lineage=1, floor=0, fresh=False)
    with pytest.raises(Overtaken):
        create_run(pipeline=seen, wanted=wanted, now=now())
    assert not Run.objects.exclude(state=RunState.ENDED).exists()


def test_open_batches_are_given_up_with_their_bound(
    operator: APIClient, stopped: Pipeline, surveys: FakeSurveys
) -> None:
    LedgerBatchFactory.create(run=Run.objects.get(), state=LedgerState.PLANNED, read=0, delivered=0)
    made = plan(operator, "ledger")
    assert made["possible_duplicates"] == 10
    assert apply(operator, made["hash"])[0] == 200
    batch = LedgerBatch.objects.get()
    assert (batch.state, batch.duplicates_max) == (LedgerState.ABANDONED, 10)
    assert open_batches(stopped.id) == ()


@pytest.mark.parametrize(("open_records", "more"), [(0, 80), (10, 70), (90, 0)])
def test_what_a_decision_rereads_is_announced_with_open_batches_counted_once(
    operator: APIClient, stopped: Pipeline, surveys: FakeSurveys, open_records: int, more: int
) -> None:
    run = Run.objects.get()
    if open_records:
        ranges = [{"topic": "orders-in", "partition": 0, "start": 100, "end": 100 + open_records}]
        LedgerBatchFactory.create(run=run, state=LedgerState.PLANNED, read=0, delivered=0, ranges=ranges)
    made = plan(operator, {"offsets": {"orders-in": {"0": 20}}})
    assert (made["replay"], made["possible_duplicates"]) == (80, open_records + more)
    assert apply(operator, made["hash"])[0] == 200
    rows = LedgerBatch.objects.filter(state=LedgerState.ABANDONED)
    assert sum(row.duplicates_max for row in rows) == open_records + more
    assert ChannelTotals.objects.get().duplicates_max == open_records + more
    if more:
        row = rows.order_by("-pk")[0]
        assert (row.duplicates_max, row.ranges) == (
            more,
            [{"topic": "orders-in", "partition": 0, "start": 20, "end": 100}],
        )
    audited = AuditRow.objects.get(action="positions.apply").after
    assert audited is not None
    assert audited["possible_duplicates"] == open_records + more


def test_partitions_that_are_gone_lose_their_positions_and_new_ones_get_one(
    operator: APIClient, stopped: Pipeline, surveys: FakeSurveys
) -> None:
    PositionFactory.create(pipeline=stopped, partition=7, next_offset=5)
    surveys.log = {0: (0, 300), 1: (0, 40)}
    surveys.known[1] = {"codes": ["PARTITION_ADDED"]}
    assert apply(operator, plan(operator, "ledger")["hash"])[0] == 200
    assert next_offsets() == {0: 100, 1: 0}


@pytest.mark.parametrize(("to", "status"), [("offsets=orders-in/0:301", 422), ("group", 422), ("yesterday", 422)])
def test_what_is_not_possible_says_why_and_has_no_hash(
    operator: APIClient, stopped: Pipeline, surveys: FakeSurveys, to: str, status: int
) -> None:
    assert plan(operator, to, status)["findings"][0]["message"]


def test_only_operators_plan_and_apply(viewer: APIClient, stopped: Pipeline, surveys: FakeSurveys) -> None:
    assert viewer.post(f"{ORDERS}/plan", {"to": "ledger"}, format="json").status_code == 403
    assert viewer.post(f"{ORDERS}/apply", {"hash": "0"}, format="json").status_code == 403


def test_a_look_of_a_living_run_says_so_and_carries_no_secret_into_the_database(
    viewer: APIClient, stopped: Pipeline, surveys: FakeSurveys
) -> None:
    Run.objects.update(state=RunState.LIVE)
    viewer.get(ORDERS)
    assert surveys.questions[0].live
    assert surveys.questions[0].launch["identities"] == []


def test_a_look_is_taken_again_where_a_run_has_moved_the_ledger_beneath_it(
    viewer: APIClient, stopped: Pipeline, surveys: FakeSurveys, monkeypatch: pytest.MonkeyPatch
) -> None:
    look = surveys.inspect

    def meanwhile(question: InspectionRequest) -> InspectionResult:
        answer = look(question)
        if len(surveys.questions) == 1:
            RunFactory.create(pipeline=stopped, number=2, lineage=1, state=RunState.LIVE)
            Position.objects.update(next_offset=130)
        return answer

    monkeypatch.setattr(surveys, "inspect", meanwhile)
    found = viewer.get(ORDERS).json()
    assert [question.live for question in surveys.questions] == [False, True]
    assert [row["ledger"] for row in found["partitions"]] == [130]


def test_a_look_of_a_pipeline_at_rest_is_taken_once(viewer: APIClient, stopped: Pipeline, surveys: FakeSurveys) -> None:
    viewer.get(ORDERS)
    assert [question.live for question in surveys.questions] == [False]


def test_a_blocked_pipeline_offers_the_ways_on_with_what_they_cost(
    viewer: APIClient, operator: APIClient, stopped: Pipeline, surveys: FakeSurveys
) -> None:
    surveys.log[0], surveys.known[0] = (130, 300), {"checkpoint": 100, "codes": ["BELOW_LOG_START"]}
    finding = {"path": "sources.shop", "code": "BELOW_LOG_START", "message": "30 records", "suggestion": "Decide."}
    Pipeline.objects.update(phase=Phase.BLOCKED, desired_state=DesiredState.RUNNING, findings=[finding])
    viewer.get(ORDERS)
    status = viewer.get("/api/v1/pipelines/orders/status").json()
    assert {choice["to"]: (choice["skip"], choice["replay"]) for choice in status["choices"]} == {
        "ledger": (30, 0),
        "checkpoint": (30, 0),
        "earliest": (30, 0),
        "latest": (200, 0),
    }
    assert apply(operator, plan(operator, "ledger")["hash"])[0] == 200
    assert viewer.get("/api/v1/pipelines/orders/status").json()["choices"] == []


def test_of_a_recreated_topic_the_choice_that_skips_nothing_is_first_and_says_why(
    viewer: APIClient, operator: APIClient, stopped: Pipeline, surveys: FakeSurveys
) -> None:
    surveys.log[0], surveys.known[0] = (0, 50_000), {"checkpoint": 100, "codes": ["TOPIC_RECREATED"]}
    finding = {"path": "sources.shop", "code": "TOPIC_RECREATED", "message": "m", "suggestion": "Decide."}
    Pipeline.objects.update(phase=Phase.BLOCKED, desired_state=DesiredState.RUNNING, findings=[finding])
    choices = viewer.get(ORDERS).json()["choices"]
    assert [(each["to"], each["skip"], each["recommended"]) for each in choices] == [
        ("earliest", 0, True),
        ("latest", 50_000, False),
    ]
    assert "offsets of the old one" in choices[0]["reason"]
    assert viewer.get("/api/v1/pipelines/orders/status").json()["choices"] == choices
    refused = plan(operator, "ledger", 422)
    assert "offset of the old log" in refused["findings"][0]["message"]
    assert refused["hint"].startswith("Recommended: --to earliest.")
    assert apply(operator, plan(operator, "earliest")["hash"])[0] == 200


def test_an_agent_that_ended_blocked_has_told_what_it_found(viewer: APIClient, stopped: Pipeline) -> None:
    survey = {
        "at": 5.0,
        "rows": [
            {
                "source": "shop",
                "channel": "main",
                "topic": "orders-in",
                "partition": 0,
                "ledger": 100,
                "log_start": 0,
                "log_end": 40,
                "codes": ["BEYOND_LOG_END"],
            }
        ],
    }
    Run.objects.update(observed={"survey": survey})
    Pipeline.objects.update(phase=Phase.BLOCKED, findings=[{"path": "", "code": "BEYOND_LOG_END", "message": "m"}])
    choices = viewer.get("/api/v1/pipelines/orders/status").json()["choices"]
    assert {each["to"]: each["partitions"][0]["new"] for each in choices} == {"ledger": 40, "earliest": 0, "latest": 40}


def take(run: Run, *payloads: Frozen) -> None:
    kinds = {payload: kind for kind, payload in journal.PAYLOADS.items()}
    entries = [
        Entry(n=run.journal_seq + n, epoch=run.number, at=1.0, kind=EntryKind(kinds[type(p)]), data=p.model_dump())
        for n, p in enumerate(payloads, 1)
    ]
    ingest(run=run, entries=entries, offset=run.journal_offset + 100)
    run.refresh_from_db()


def test_what_the_guard_journals_is_remembered_told_and_raised_as_an_alert_until_it_is_over() -> None:
    run: Run = RunFactory.create()
    identity = {"source": "shop", "cluster_id": "c", "topics": {"orders-in": "one"}}
    lost = journal.Noticed(source="shop", code="GROUP_LOST", message="gone")
    mended = journal.Repaired(query="shop.main", file="offsets/3", batch=3, action="removed")
    take(run, journal.Identified(**identity), lost, mended)
    take(run, journal.Identified(**{**identity, "topics": {"orders-in": "two"}}))
    assert a_launcher().to_inspect(run.pipeline)[0].identities == [
        SourceIdentity(source="shop", cluster_id="c", topics={"orders-in": "two"})
    ]
    assert set(Event.objects.values_list("kind", flat=True)) >= {"guard.group_lost", "checkpoint.repaired"}
    assert Alert.objects.get().state == "OPEN"
    take(run, lost.model_copy(update={"over": True}))
    assert Alert.objects.get().state == "RESOLVED"


def test_another_address_is_left_to_the_agent_where_the_cluster_is_known_by_its_id(stopped: Pipeline) -> None:
    assert stopped.current_revision is not None
    moved = {**stopped.current_revision.definition}
    moved["sources"] = {"shop": {**moved["sources"]["shop"], "bootstrap_servers": "elsewhere:9092"}}
    run = Run.objects.get()
    stopped.current_revision = stopped.revisions.create(number=2, digest="d", definition=moved, created_by="ana")
    stopped.save()
    refused = a_launcher().check(stopped)
    assert isinstance(refused, list)
    assert [found.code for found in refused if isinstance(found, Finding)] == ["CLUSTER_CHANGED"]
    take(run, journal.Identified(source="shop", cluster_id="c", topics={"orders-in": "one"}))
    assert a_launcher().check(stopped) == Lineage(None)


def test_looks_are_answered_once_and_only_the_newest_are_kept(
    viewer: APIClient, stopped: Pipeline, surveys: FakeSurveys, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pipelines.services.positions.positions.KEPT", 5)
    for _ in range(8):
        viewer.get(ORDERS)
        PositionInspection.objects.update(answered_at=now() - timedelta(minutes=1))
    assert PositionInspection.objects.count() == 5
    assert not PositionInspection.objects.filter(state=InspectionState.PENDING).exists()
