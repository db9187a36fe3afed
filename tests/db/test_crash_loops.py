"""A pipeline that crashes at the same position again and again: recognised, named, and led past it by a decision."""

from __future__ import annotations

from typing import Any

import pytest
from rest_framework.test import APIClient

from pipelines.domain.base.positions import PartitionPosition
from pipelines.domain.base.states import OperationKind, Phase, RunOutcome
from pipelines.domain.runs.protocol import Exit, Launch
from pipelines.models import AuditRow, LedgerBatch, Pipeline, Quarantine, Run
from tests.db.test_supervisor import Stage, phase
from tests.factories import LedgerBatchFactory, PipelineFactory, PositionFactory, RunFactory

pytestmark = pytest.mark.django_db


@pytest.fixture
def stage() -> Stage:
    return Stage()


def started(stage: Stage) -> Pipeline:
    pipeline = PipelineFactory.create()
    stage.ask(pipeline, OperationKind.START)
    stage.pass_time(8)
    assert phase(pipeline) == Phase.RUNNING
    return pipeline


def crash(stage: Stage, pipeline: Pipeline, *, traced: int | None = None) -> None:
    """The present agent crashes with a batch in hand."""
    for _ in range(60):
        agents = [agent for agent in stage.agents.living if agent.in_flight]
        if agents:
            break
        stage.pass_time(1)
    (agent,) = agents
    agent.fate = Exit.QUERY_FAILED
    if traced is not None:
        record = PartitionPosition(topic=agent.topic, partition=0, offset=agent.position + traced)
        stage.host.directories[agent.run_dir].traced = [record]
    run = Run.objects.get(pipeline=pipeline, state="LIVE")
    for _ in range(60):
        stage.pass_time(1)
        run.refresh_from_db()
        if run.state == "ENDED":
            return
    raise AssertionError("the run did not end")


def position_of(stage: Stage) -> int:
    return next(agent for agent in reversed(stage.agents.all.values())).position


def crash_three_times(stage: Stage, **traced: Any) -> Pipeline:
    pipeline = started(stage)
    for _ in range(3):
        crash(stage, pipeline, **traced)
    pipeline.refresh_from_db()
    return pipeline


def test_three_crashes_in_a_row_with_one_batch_in_hand_block_and_name_it(stage: Stage) -> None:
    pipeline = crash_three_times(stage)
    at = position_of(stage)
    assert (pipeline.phase, pipeline.phase_reason) == (Phase.BLOCKED, "crash_loop")
    assert f"{pipeline.name}-in/0 offsets {at} to {at + 9} (10 records)" in pipeline.findings[0]["message"]
    assert Run.objects.filter(pipeline=pipeline).count() == 3
    stage.pass_time(700, step=10)
    assert Run.objects.filter(pipeline=pipeline).count() == 3


def test_a_crash_at_another_position_is_only_backed_off_from(stage: Stage) -> None:
    pipeline = started(stage)
    for _ in range(4):
        crash(stage, pipeline)
        living: list[Any] = []
        for _ in range(60):
            stage.pass_time(1)
            living = [agent for agent in stage.agents.living if agent.delivered]
            if living:
                break
        assert living
    assert phase(pipeline) != Phase.BLOCKED


def test_a_run_after_a_crash_is_traced_and_the_record_that_it_was_at_is_named(stage: Stage) -> None:
    pipeline = crash_three_times(stage, traced=4)
    at = position_of(stage) + 4
    assert f"{pipeline.name}-in/0 offset {at}." in pipeline.findings[0]["message"]
    launches = [stage.host.launch(agent.run_dir) for agent in stage.agents.all.values()]
    assert [launch.trace for launch in launches if launch] == [False, True, True]


def test_what_is_put_in_quarantine_is_told_to_the_next_run_until_it_has_passed(
    stage: Stage, operator: APIClient
) -> None:
    pipeline = crash_three_times(stage, traced=4)
    address = f"/api/v1/pipelines/{pipeline.name}/quarantine"
    (offered,) = operator.get(address).data["offered"]
    assert offered["records"] == 1
    body = {"ranges": [{k: v for k, v in offered.items() if k != "records"}], "reason": "poison", "start": True}
    answer = operator.post(address, body, format="json")
    assert answer.status_code == 201, answer.data
    assert answer.data["operation"]["kind"] == "start"
    assert [each["passed"] for each in answer.data["ranges"]] == [False]
    assert "poison" in str(AuditRow.objects.get(action="quarantine.put").after)
    stage.pass_time(8)
    launch = _last_launch(stage)
    assert [(each.start, each.end, each.cause) for each in launch.quarantined] == [
        (offered["start"], offered["end"], "poison")
    ]
    assert operator.get(address).data["ranges"][0]["passed"]
    crash(stage, pipeline)
    stage.pass_time(30)
    assert _last_launch(stage).quarantined == []


def _last_launch(stage: Stage) -> Launch:
    launch = stage.host.launch(list(stage.agents.all.values())[-1].run_dir)
    assert launch is not None
    return launch


def blocked() -> Pipeline:
    pipeline = PipelineFactory.create(phase=Phase.BLOCKED)
    run = RunFactory.create(pipeline=pipeline, state="ENDED", outcome=RunOutcome.CRASHED)
    topic = f"{pipeline.name}-in"
    ranges = [{"topic": topic, "partition": 0, "start": 10, "end": 20}]
    LedgerBatchFactory.create(run=run, state="planned", ranges=ranges)
    Run.objects.filter(pk=run.pk).update(in_flight=[{"source": "shop", "channel": "main", "ranges": ranges}])
    PositionFactory.create(pipeline=pipeline, topic=topic, partition=0, next_offset=10)
    return pipeline


def wanted(pipeline: Pipeline, **changes: Any) -> dict[str, Any]:
    place = {"source": "shop", "channel": "main", "topic": f"{pipeline.name}-in", "partition": 0}
    return {"ranges": [{**place, "start": 12, "end": 13, **changes}]}


def test_one_crash_offers_what_was_in_hand(viewer: APIClient) -> None:
    pipeline = blocked()
    offered = viewer.get(f"/api/v1/pipelines/{pipeline.name}/quarantine").data["offered"]
    assert [(each["start"], each["end"]) for each in offered] == [(10, 20)]
    LedgerBatch.objects.filter(pipeline=pipeline).delete()
    assert viewer.get(f"/api/v1/pipelines/{pipeline.name}/quarantine").data["offered"] == []


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"channel": "other"}, "UNKNOWN_QUERY"),
        ({"partition": 7}, "UNKNOWN_PARTITION"),
        ({"start": 13, "end": 13}, "EMPTY_RANGE"),
        ({"start": 9}, "BEHIND_POSITION"),
        ({"end": 5_000_000}, "TOO_MANY_RECORDS"),
    ],
)
def test_a_range_that_makes_no_sense_is_refused_with_a_finding(
    operator: APIClient, changes: dict[str, Any], code: str
) -> None:
    pipeline = blocked()
    body = wanted(pipeline, **changes)
    answer = operator.post(f"/api/v1/pipelines/{pipeline.name}/quarantine", body, format="json")
    assert answer.status_code == 422
    assert [finding["code"] for finding in answer.data["findings"]] == [code]
    assert not Quarantine.objects.exists()


def test_the_same_range_twice_is_there_once(operator: APIClient) -> None:
    pipeline = blocked()
    for _ in range(2):
        body = wanted(pipeline)
        assert operator.post(f"/api/v1/pipelines/{pipeline.name}/quarantine", body, format="json").status_code == 201
    assert Quarantine.objects.count() == 1


def test_a_running_pipeline_takes_no_quarantine_and_a_viewer_gives_none(operator: APIClient, viewer: APIClient) -> None:
    pipeline = blocked()
    address = f"/api/v1/pipelines/{pipeline.name}/quarantine"
    assert viewer.post(address, wanted(pipeline), format="json").status_code == 403
    RunFactory.create(pipeline=pipeline)
    answer = operator.post(address, wanted(pipeline), format="json")
    assert (answer.status_code, answer.data["code"]) == (409, "pipeline_not_stopped")
