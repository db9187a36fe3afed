"""The list of events tells every transition of a pipeline once, and the header says why an agent was restarted. It is
filtered by kind and category."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from rest_framework.test import APIClient

from pipelines.domain.access.teams import Access
from pipelines.domain.base.roles import Role
from pipelines.domain.base.states import OperationKind, Phase
from pipelines.domain.monitoring.event_kinds import EventCategory
from pipelines.models import Event, Pipeline
from pipelines.selectors.lifecycle.pipelines import detail_schema, get_pipeline
from tests.db.test_supervisor import Stage, phase, stage
from tests.factories import EventFactory, PipelineFactory

__all__ = ["stage"]

pytestmark = pytest.mark.django_db

CRASH = "The driver was ended by SIGKILL (signal 9)."


def told(pipeline: Pipeline) -> list[tuple[str, str]]:
    """Kind and message of each event, oldest first."""
    return list(Event.objects.filter(pipeline=pipeline).order_by("id").values_list("kind", "message"))


def headline(pipeline: Pipeline) -> str:
    """Without what is said of the host, whose clock is the simulation's."""
    found = detail_schema(get_pipeline(pipeline.name), Access(Role.VIEWER)).headline
    return found.partition(" The supervisor on ")[0]


def pass_time_until(stage: Stage, pipeline: Pipeline, wanted: Phase) -> None:
    for _ in range(200):
        if phase(pipeline) == wanted:
            return
        stage.pass_time(1)
    raise AssertionError(f"never {wanted}: {told(pipeline)}")


def test_start_crash_restart_and_stop_are_told_once_each(stage: Stage) -> None:
    pipeline = PipelineFactory.create()
    stage.ask(pipeline, OperationKind.START)
    pass_time_until(stage, pipeline, Phase.RUNNING)
    stage.pass_time(3)
    (agent,) = stage.agents.living
    assert agent.driver is not None
    agent.driver.alive = False
    pass_time_until(stage, pipeline, Phase.BACKOFF)
    assert headline(pipeline) == (
        f"Backing off. The last run ended without a request. The next one starts by itself. {CRASH} "
        "The next start follows at once."
    )
    pass_time_until(stage, pipeline, Phase.RUNNING)
    assert headline(pipeline) == f"Running. Restarted by Headgate: Run 1 ended (crashed): {CRASH}"
    stage.pass_time(3)
    stage.ask(pipeline, OperationKind.STOP)
    pass_time_until(stage, pipeline, Phase.STOPPED)
    stage.pass_time(3)
    assert told(pipeline) == [
        ("desired.changed", "ana requested: start."),
        ("run.started", "Run 1 starts on alpha."),
        ("phase.changed", "Preflight of run 1."),
        ("phase.changed", "Every component is ready; waiting for the first batch."),
        ("phase.changed", "Records are moving, or the source is idle and reachable."),
        ("operation.updated", "Start succeeded. Running."),
        ("run.ended", f"Run 1 ended (crashed): {CRASH}"),
        ("phase.changed", "The next start follows at once."),
        ("alert.opened", f"Run 1 crashed: {CRASH} The next start follows at once."),
        ("run.started", "Run 2 starts on alpha."),
        ("phase.changed", "Preflight of run 2."),
        ("phase.changed", "Every component is ready; waiting for the first batch."),
        ("phase.changed", "Records are moving, or the source is idle and reachable."),
        ("desired.changed", "ana requested: stop."),
        ("phase.changed", "Waiting for the process to end."),
        ("run.ended", "Run 2 ended (clean): exit 0"),
        ("phase.changed", "Stopped on request."),
        ("alert.resolved", f"Over: Run 1 crashed: {CRASH} The next start follows at once."),
        ("operation.updated", "Stop succeeded. Stopped; verified by the exit of its process."),
    ]


def test_a_pause_and_a_resume_are_told_once_each(stage: Stage) -> None:
    pipeline = PipelineFactory.create()
    stage.ask(pipeline, OperationKind.START)
    pass_time_until(stage, pipeline, Phase.RUNNING)
    stage.pass_time(3)
    before = len(told(pipeline))
    stage.ask(pipeline, OperationKind.PAUSE)
    pass_time_until(stage, pipeline, Phase.PAUSED)
    stage.pass_time(3)
    stage.ask(pipeline, OperationKind.RESUME)
    pass_time_until(stage, pipeline, Phase.RUNNING)
    stage.pass_time(3)
    new = told(pipeline)[before:]
    assert len(new) == len(set(new)), new
    assert [kind for kind, _ in new].count("operation.updated") == 2
    assert [kind for kind, _ in new].count("desired.changed") == 2


def test_a_request_for_what_is_wanted_already_is_told_once(stage: Stage) -> None:
    pipeline = PipelineFactory.create()
    stage.ask(pipeline, OperationKind.START)
    stage.ask(pipeline, OperationKind.START)
    assert told(pipeline) == [("desired.changed", "ana requested: start.")]


EVENTS = "/api/v1/events"


@pytest.fixture
def kinds(viewer: APIClient) -> Callable[..., list[str]]:
    """The kinds of the events that a filter leaves, of one event of each of six kinds."""
    stored = ("phase.changed", "guard.group_moved", "migration.paused", "migration.updated", "alert.opened", "demo.new")
    for kind in stored:
        EventFactory.create(kind=kind)

    def left(**query: Any) -> list[str]:
        found = viewer.get(EVENTS, query).json()["results"]
        return [event["kind"] for event in reversed(found)]

    return left


def test_a_list_has_the_kinds_and_categories_asked_for(kinds: Callable[..., list[str]]) -> None:
    assert kinds(kind="phase.changed") == ["phase.changed"]
    assert kinds(kind="phase.changed,alert.opened") == ["phase.changed", "alert.opened"]
    assert kinds(kind=["phase.changed", "alert.opened"]) == ["phase.changed", "alert.opened"]
    assert kinds(kind="migration.*") == ["migration.paused", "migration.updated"]
    assert kinds(kind="guard.group_moved") == ["guard.group_moved"]
    assert kinds(category="faults") == ["guard.group_moved", "alert.opened"]
    assert kinds(category="faults,states") == ["phase.changed", "guard.group_moved", "alert.opened"]
    assert kinds(category="configuration", kind="migration.updated") == ["migration.updated"]
    assert kinds(category="configuration") == []
    assert len(kinds(kind="")) == 6


def test_unknown_kinds_and_categories_are_refused_all_at_once(viewer: APIClient) -> None:
    response = viewer.get(EVENTS, {"kind": "phase.chnged,alert.opened,zzz", "category": "states,state"})
    assert (response.status_code, response.json()["code"]) == (400, "query_invalid")
    found = {each["path"]: each for each in response.json()["findings"]}
    assert {path: each["code"] for path, each in found.items()} == {
        "kind[0]": "unknown_event_kind",
        "kind[2]": "unknown_event_kind",
        "category[1]": "enum",
    }
    assert found["kind[0]"]["suggestion"].startswith('Did you mean "phase.changed"? Known kinds: alert.acknowledged, ')
    assert "migration.*" in found["kind[2]"]["suggestion"]
    assert all(category in found["category[1]"]["suggestion"] for category in EventCategory)


def test_a_filter_stays_over_pages(viewer: APIClient) -> None:
    for number in range(5):
        EventFactory.create(kind="alert.opened" if number % 2 else "phase.changed")
    wanted: dict[str, Any] = {"kind": "phase.changed", "limit": 2}
    first = viewer.get(EVENTS, wanted).json()
    rest = viewer.get(EVENTS, {**wanted, "cursor": first["next"]}).json()
    assert [each["kind"] for each in (*first["results"], *rest["results"])] == ["phase.changed"] * 3
    assert rest["next"] is None
