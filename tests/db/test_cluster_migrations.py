"""A source or a sink that moves to another cluster, as people ask for it: planned with counts, blocked with choices."""

from __future__ import annotations

import json
from collections.abc import Collection
from pathlib import Path
from typing import Any

import pytest
from rest_framework.test import APIClient

from pipelines.domain.access.secret_bindings import SecretBinding
from pipelines.domain.base.positions import SourceIdentity
from pipelines.domain.base.states import DesiredState, InspectionState, Phase
from pipelines.domain.migration import evidence
from pipelines.domain.positions.cluster_move import By, ClusterMove, PartitionTranslation, SinkEnd, Translation
from pipelines.domain.positions.plan import InspectionRequest, InspectionResult
from pipelines.domain.runs.protocol import SparkSettings
from pipelines.models import LogIdentity, Migration, Pipeline, Position, PositionInspection
from pipelines.selectors.migration.migrations import get_migration
from pipelines.selectors.positions import positions as selectors
from pipelines.services.base.audit import Actor
from pipelines.services.positions import positions
from tests.db.test_migrations import MIGRATIONS, act, ana, client_of, orders, planned, post
from tests.factories import now
from tests.fakes.surveys import FakeSurveys, Unhurried
from workers.adapters.secrets import backends
from workers.ports import SecretValue, Unreadable
from workers.supervisor.background.surveyor import InspectionContext, Surveyor
from workers.supervisor.launch.launch import Launcher
from workers.supervisor.launch.references import References

__all__ = ["ana", "orders"]
pytestmark = pytest.mark.django_db
MAPPING = {"by": "mapping", "topic": "mm2-offset-syncs.new.internal"}
NEW = {"bootstrap_servers": "new:9092"}


@pytest.fixture
def read(orders: Pipeline) -> Pipeline:
    """It stands at 140 and 90 in two partitions of a known log."""
    for partition, offset in enumerate((140, 90)):
        Position.objects.create(
            pipeline=orders,
            source="shop",
            channel="main",
            topic="orders-in",
            partition=partition,
            next_offset=offset,
            lineage=1,
        )
    positions.identify(orders.pk, [SourceIdentity(source="shop", cluster_id="old", topics={"orders-in": "a"})])
    return orders


def source_spec(**more: Any) -> dict[str, Any]:
    return {"source": "shop", "to": NEW, "positions": MAPPING, **more}


def row(partition: int = 0, **more: Any) -> PartitionTranslation:
    stood = (140, 90)[partition]
    fields = {
        "source": "shop",
        "channel": "main",
        "old_topic": "orders-in",
        "topic": "orders-in",
        "partition": partition,
        "stopped_at": stood,
        "new": stood + 1000,
        "by": By.MAPPING,
        "exact": True,
        "cluster_id": "new",
        "topic_id": "b",
        "evidence": {"same_as": stood},
        **more,
    }
    return PartitionTranslation(**fields)


def answered(pipeline: Pipeline, *rows: PartitionTranslation, ends: tuple[SinkEnd, ...] = ()) -> PositionInspection:
    """The host has answered the question that is open."""
    inspection = PositionInspection.objects.get(state=InspectionState.PENDING)
    assert positions.answer_move(
        inspection=inspection, found=Translation(rows=list(rows), ends=list(ends)), seen=selectors.basis(pipeline)
    )
    inspection.refresh_from_db()
    return inspection


def again(client: APIClient, made: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = act(client, made, "plan", {}).json()
    return found


def test_a_plan_tells_per_partition_where_it_goes_on_and_what_that_costs(ana: APIClient, read: Pipeline) -> None:
    made = planned(ana, kind="cluster", spec=source_spec())
    assert (made["stage"], [each["code"] for each in made["findings"]]) == ("DRAFT", ["COUNTING"])
    asked = ClusterMove.model_validate(PositionInspection.objects.get().target)
    assert (asked.source, asked.to["bootstrap_servers"], asked.positions) == (
        "shop",
        "new:9092",
        ClusterMove.model_validate({"to": {}, "positions": MAPPING}).positions,
    )
    answered(read, row(0), row(1, exact=False, replay=7, by=By.TIMESTAMP, evidence={"timestamp": 5}))
    made = again(ana, made)
    assert made["stage"] == "PLANNED", made["findings"]
    plan = made["plan"]
    assert (plan["consequence"], plan["skip"], plan["replay"]) == ("position_decision", 0, 7)
    assert [(each["stopped_at"], each["new"]) for each in plan["translation"]] == [(140, 1140), (90, 1090)]
    assert [step["name"] for step in plan["steps"]] == [
        "prepare_standby",
        "pause",
        "prove_pause",
        "take_snapshot",
        "translate_positions",
        "end_old_run",
        "set_positions",
        "check_standby",
        "promote",
        "observe",
    ]
    assert [each["change"]["path"] for each in plan["changes"]] == ["sources.shop.bootstrap_servers"]
    assert Position.objects.get(partition=0).next_offset == 140


def test_a_partition_that_cannot_be_translated_blocks_with_what_can_be_done(ana: APIClient, read: Pipeline) -> None:
    made = planned(ana, kind="cluster", spec=source_spec())
    wrong = {"code": "NO_SYNC", "reason": "There is no pair.", "suggestion": "Translate by timestamp.", "new": None}
    answered(read, row(0), row(1, **wrong))
    made = again(ana, made)
    assert made["stage"] == "DRAFT"
    (found,) = made["findings"]
    assert (found["code"], found["path"]) == ("NO_SYNC", "sources.shop.main orders-in/1")
    assert found["suggestion"] == "Translate by timestamp."
    assert act(ana, made, "approve").json()["code"] == "out_of_order"


def test_a_mirror_that_is_behind_is_told_and_blocks_nothing(ana: APIClient, read: Pipeline) -> None:
    made = planned(ana, kind="cluster", spec=source_spec())
    answered(read, row(0), row(1, new=None, behind=12, exact=False))
    made = again(ana, made)
    assert made["stage"] == "PLANNED"
    assert [each["code"] for each in made["plan"]["warnings"]] == ["MIRROR_BEHIND"]


def test_a_host_that_could_not_look_is_the_reason(ana: APIClient, read: Pipeline) -> None:
    made = planned(ana, kind="cluster", spec=source_spec())
    error = {"code": "broker_unreachable", "message": "new:9092 is away.", "hint": "Check the address."}
    positions.fail(inspection=PositionInspection.objects.get(), error=error)
    made = again(ana, made)
    assert [each["code"] for each in made["findings"]] == ["BROKER_UNREACHABLE"]


@pytest.mark.parametrize(
    ("spec", "code"),
    [
        (source_spec(source="nowhere"), "NOT_KAFKA"),
        (source_spec(topics={"other": "x"}), "TOPIC_UNKNOWN"),
        (source_spec(to={"bootstrap_servers": "127.0.0.1:9092"}), "NO_CHANGE"),
    ],
)
def test_what_cannot_move_is_found_without_asking_a_cluster(
    ana: APIClient, read: Pipeline, spec: dict[str, Any], code: str
) -> None:
    made = planned(ana, kind="cluster", spec=spec)
    assert code in [each["code"] for each in made["findings"]]


def test_a_spec_that_is_refused_says_at_which_key_and_what_to_do(ana: APIClient, read: Pipeline) -> None:
    wrong = source_spec(topics={"orders-in": "a b"}, positions={"by": "mapping"})
    body = {"pipeline": "orders", "kind": "cluster", "spec": wrong, "reason": "x"}
    answer = post(ana, MIGRATIONS, body)
    assert answer.status_code == 422
    topic, mapping = answer.json()["findings"]
    assert topic["path"] == "spec.topics.orders-in"
    assert "at most 249 characters" in topic["suggestion"]
    assert (mapping["path"], mapping["message"][:8]) == ("spec.positions", "topic is")


def test_a_forbidden_client_option_is_found_like_in_any_definition(ana: APIClient, read: Pipeline) -> None:
    made = planned(ana, kind="cluster", spec=source_spec(to={**NEW, "options": {"sasl.jaas.config": "evil"}}))
    assert "forbidden_option" in [each["code"] for each in made["findings"]]
    assert not PositionInspection.objects.exists()


def test_a_sink_keeps_its_positions_and_notes_where_the_new_topics_end(ana: APIClient, read: Pipeline) -> None:
    made = planned(ana, kind="cluster", spec={"sink": "out", "to": {**NEW, "topic": "orders-there"}})
    answered(read, ends=(SinkEnd(sink="out", topic="orders-there", partition=0, start=3, end=20, cluster_id="new"),))
    made = again(ana, made)
    assert made["stage"] == "PLANNED", made["findings"]
    names = [step["name"] for step in made["plan"]["steps"]]
    assert "note_sink_ends" in names
    assert "set_positions" not in names
    assert made["plan"]["consequence"] == "restart"
    assert [(each["topic"], each["end"]) for each in made["plan"]["sink_ends"]] == [("orders-there", 20)]


def test_secrets_of_the_new_cluster_are_shown_nowhere(ana: APIClient, read: Pipeline) -> None:
    to = {**NEW, "options": {"sasl.password": "swordfish", "sasl.username": "me"}}
    answer = post(ana, MIGRATIONS, {"pipeline": "orders", "kind": "cluster", "spec": source_spec(to=to), "reason": "x"})
    assert "swordfish" not in json.dumps(answer.json())
    document = ana.get(f"{MIGRATIONS}/{answer.json()['id']}/evidence").content.decode()
    assert "swordfish" not in document
    assert evidence.verify(document).holds


class Store:
    """A secret store in memory."""

    def read(self, names: Collection[str]) -> dict[str, SecretValue | Unreadable]:
        return dict.fromkeys(names, SecretValue("swordfish"))


class Asked(Unhurried):
    """Surveys that only remember the question."""

    def __init__(self) -> None:
        self.questions: list[InspectionRequest] = []

    def inspect(self, question: InspectionRequest) -> InspectionResult:
        self.questions.append(question)
        return InspectionResult(survey=None, translation=Translation(rows=[row(0), row(1)]))


def test_the_host_resolves_the_references_of_both_sides(ana: APIClient, read: Pipeline) -> None:
    options = {"security.protocol": "SASL_SSL", "sasl.password": "${secret:there}", "sasl.username": "me"}
    to = {**NEW, "options": options}
    there = SecretBinding(pipelines=("orders",), destinations=(NEW["bootstrap_servers"],))
    made = planned(ana, kind="cluster", spec=source_spec(to=to))
    surveys = Asked()
    references = References(backends({}, None, Store()), bindings=lambda names: dict.fromkeys(names, there))
    launcher = Launcher("alpha", Path("/state"), references, lambda: SparkSettings(classpath=[]))
    InspectionContext("alpha", launcher, surveys).take(PositionInspection.objects.get())
    (question,) = surveys.questions
    assert question.values["${secret:there}"] == "swordfish"
    assert "swordfish" in question.masked
    assert question.move is not None
    assert question.move.to["options"]["sasl.password"] == "${secret:there}"
    assert "swordfish" not in json.dumps(PositionInspection.objects.get().target)
    assert again(ana, made)["stage"] == "PLANNED"


def test_a_look_at_two_clusters_is_no_plan_for_anybody_else(ana: APIClient, read: Pipeline) -> None:
    planned(ana, kind="cluster", spec=source_spec())
    inspection = answered(read, row(0), row(1))
    answer = ana.get(f"/api/v1/pipelines/orders/positions/plan/{inspection.pk}")
    assert answer.status_code == 404
    Pipeline.objects.update(phase=Phase.STOPPED, desired_state=DesiredState.STOPPED)
    Migration.objects.update(stage="ABORTED")
    answer = post(ana, "/api/v1/pipelines/orders/positions/apply", {"hash": ""})
    assert answer.status_code in (409, 422)
    assert Position.objects.get(partition=0).next_offset == 140


def test_the_positions_and_the_log_of_one_source_are_set_together(ana: APIClient, read: Pipeline) -> None:
    Position.objects.create(
        pipeline=read, source="other", channel="main", topic="x", partition=0, next_offset=5, lineage=1
    )
    positions.identify(read.pk, [SourceIdentity(source="other", cluster_id="c", topics={"x": "y"})])
    planned(ana, kind="cluster", spec=source_spec(topics={"orders-in": "old.orders-in"}))
    inspection = answered(read, row(0, topic="old.orders-in"), row(1, topic="old.orders-in", replay=3))
    positions.carry_over(pipeline=read, found=inspection, actor=Actor("ana"))
    found = Position.objects.filter(source="shop").order_by("partition")
    assert [(each.topic, each.next_offset) for each in found] == [("old.orders-in", 1140), ("old.orders-in", 1090)]
    known = {(each.source, each.topic, each.cluster_id) for each in LogIdentity.objects.all()}
    assert known == {("shop", "old.orders-in", "new"), ("other", "x", "c")}
    assert Position.objects.get(source="other").next_offset == 5
    assert {each.reported_at_decision for each in found} == {0}


def test_a_viewer_moves_nothing(read: Pipeline) -> None:
    viewer = client_of("vic")
    viewer.force_authenticate(None)
    body = {"pipeline": "orders", "kind": "cluster", "spec": source_spec(), "reason": "x"}
    assert post(viewer, MIGRATIONS, body).status_code in (401, 403)


def test_a_plan_is_begun_with_both_definitions_stored(ana: APIClient, read: Pipeline) -> None:
    made = planned(ana, kind="cluster", spec=source_spec())
    answered(read, row(0), row(1))
    made = again(ana, made)
    act(ana, made, "approve")
    started = act(ana, made, "advance")
    assert started.status_code == 202, started.json()
    found = get_migration(made["id"])
    assert found.new_revision is not None
    assert found.new_revision.definition["sources"]["shop"]["bootstrap_servers"] == "new:9092"
    assert found.started_at is not None
    assert found.started_at <= now()


def test_the_host_is_ready_for_the_translation_that_data_waits_for(ana: APIClient, read: Pipeline) -> None:
    surveys = FakeSurveys()
    launcher = Launcher(
        "alpha", Path("/state"), References(backends({}, None, Store())), lambda: SparkSettings(classpath=[])
    )
    surveyor = Surveyor(InspectionContext("alpha", launcher, surveys))

    def ready() -> bool:
        surveyor.turn()
        return surveys.ready

    made = planned(ana, kind="cluster", spec=source_spec())
    answered(read, row(0), row(1))
    made = again(ana, made)
    assert not ready(), "nobody has begun it"
    act(ana, made, "approve")
    act(ana, made, "advance")
    assert ready()
    steps = get_migration(made["id"]).steps
    for state, expected in (("running", True), ("done", False)):
        for step in steps:
            step["state"] = state
        Migration.objects.update(steps=steps)
        assert ready() is expected, state
