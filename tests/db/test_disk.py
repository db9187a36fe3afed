"""A disk of runs that is low, full, and free again: what the API says of it, and which alerts stand."""

from __future__ import annotations

from typing import Any

import pytest
from rest_framework.test import APIClient

from pipelines.domain.base.states import OperationKind
from pipelines.domain.hosts.disk import DiskSpace
from pipelines.domain.runs.protocol import Exit
from pipelines.models import Alert, Event, Pipeline, Run
from pipelines.selectors.monitoring.lag import monitored
from pipelines.services.monitoring import alerts
from pipelines.services.monitoring.alerts import Patience
from tests.db.test_supervisor import Stage, phase, stage
from tests.factories import PipelineFactory
from workers.supervisor.tick.disk import EVERY

__all__ = ["stage"]

pytestmark = pytest.mark.django_db

MIB, GIB = 1 << 20, 1 << 30
ROOM, LOW, FULL = 50 * GIB, 500 * MIB, 0


def fill(stage: Stage, free: int, seconds: int = 1) -> None:
    stage.host.disk = DiskSpace("/state/runs", free, 100 * GIB)
    stage.pass_time(seconds)
    facts = {each.id: each.facts for each in monitored("alpha")}
    alerts.evaluate(facts=facts, patience=Patience(), now=stage.host.boottime)


def standing() -> set[tuple[str, str]]:
    return set(Alert.objects.exclude(state="RESOLVED").values_list("rule", "key"))


def running(stage: Stage) -> Pipeline:
    pipeline = PipelineFactory.create(name="orders")
    stage.ask(pipeline, OperationKind.START)
    fill(stage, ROOM, 8)
    assert phase(pipeline) == "RUNNING"
    return pipeline


def status(viewer: APIClient) -> dict[str, Any]:
    return dict(viewer.get("/api/v1/pipelines/orders/status").json())


def condition(viewer: APIClient) -> tuple[str, str]:
    (found,) = [each for each in status(viewer)["conditions"] if each["type"] == "DiskSpace"]
    return found["status"], found["reason"]


def test_a_full_disk_is_shown_everywhere_within_a_tick_and_forgotten_when_there_is_room(
    stage: Stage, viewer: APIClient
) -> None:
    running(stage)
    assert condition(viewer) == ("True", "sufficient")
    fill(stage, FULL, 2)
    shown = status(viewer)
    assert (shown["phase"], shown["phase_reason"]) == ("DEGRADED", "disk_full")
    assert "The disk of /state/runs is full" in shown["headline"]
    assert [each["code"] for each in shown["findings"]] == ["DISK_FULL"]
    assert condition(viewer) == ("False", "disk_full")
    assert standing() == {("disk_full", "orders"), ("disk_low", "alpha")}
    fill(stage, ROOM, 2)
    shown = status(viewer)
    assert (shown["phase"], shown["findings"]) == ("RUNNING", [])
    assert condition(viewer) == ("True", "sufficient")
    assert standing() == set()


def test_a_disk_that_is_low_is_a_warning_of_host_and_pipeline(stage: Stage, viewer: APIClient) -> None:
    pipeline = running(stage)
    fill(stage, LOW, 2)
    assert phase(pipeline) == "RUNNING"
    assert condition(viewer) == ("False", "disk_low")
    assert standing() == {("disk_low", "alpha")}
    (host,) = viewer.get("/api/v1/hosts").json()
    assert host["disk"] | {"at": ""} == {
        "state": "LOW",
        "path": "/state/runs",
        "free_bytes": LOW,
        "total_bytes": 100 * GIB,
        "margin_bytes": GIB,
        "at": "",
    }


def test_the_figures_of_a_disk_are_written_once_in_a_while(stage: Stage, viewer: APIClient) -> None:
    running(stage)
    fill(stage, ROOM - GIB, int(EVERY) + 1)
    (host,) = viewer.get("/api/v1/hosts").json()
    assert (host["disk"]["state"], host["disk"]["free_bytes"]) == ("OK", ROOM - GIB)
    assert not Event.objects.filter(kind__startswith="alert").exists()


def test_an_agent_that_has_found_the_disk_full_is_believed(stage: Stage, viewer: APIClient) -> None:
    running(stage)
    stage.host.releases.add(stage.host.path("orders", 1))
    fill(stage, ROOM, 2)
    assert status(viewer)["phase_reason"] == "disk_full"
    assert ("disk_full", "orders") in standing()


def test_a_run_that_ended_on_a_full_disk_is_followed_by_one_when_there_is_room(stage: Stage, viewer: APIClient) -> None:
    pipeline = running(stage)
    stage.host.disk = DiskSpace("/state/runs", FULL, 100 * GIB)
    (agent,) = stage.agents.living
    agent.fate = Exit.DISK_FULL
    fill(stage, FULL, 60)
    shown = status(viewer)
    assert (shown["phase"], shown["phase_reason"], shown["findings"][0]["code"]) == (
        "BACKOFF",
        "disk_full",
        "DISK_FULL",
    )
    assert "starts when there is room" in shown["headline"]
    assert standing() == {("disk_full", "orders"), ("disk_low", "alpha")}
    assert Run.objects.count() == 1
    fill(stage, ROOM, 8)
    assert phase(pipeline) == "RUNNING"
    assert Run.objects.count() == 2
    assert standing() == set()


def test_a_start_that_the_disk_has_no_room_for_is_made_when_it_has(stage: Stage, viewer: APIClient) -> None:
    pipeline = PipelineFactory.create(name="orders")
    stage.host.spawn_error = OSError(28, "No space left on device")
    operation = stage.ask(pipeline, OperationKind.START)
    fill(stage, FULL, 30)
    assert (status(viewer)["phase"], status(viewer)["phase_reason"]) == ("BACKOFF", "disk_full")
    assert Run.objects.count() == 1
    stage.host.spawn_error = None
    fill(stage, ROOM, 10)
    operation.refresh_from_db()
    assert (phase(pipeline), operation.state) == ("RUNNING", "SUCCEEDED")


def test_a_stopped_pipeline_says_nothing_of_the_disk(stage: Stage, viewer: APIClient) -> None:
    pipeline = running(stage)
    fill(stage, FULL, 2)
    stage.ask(pipeline, OperationKind.STOP)
    fill(stage, FULL, 6)
    assert phase(pipeline) == "STOPPED"
    assert condition(viewer) == ("Unknown", "not_checked")
    assert status(viewer)["findings"] == []
    assert standing() == {("disk_low", "alpha")}
