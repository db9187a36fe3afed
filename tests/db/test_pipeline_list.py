"""The list of pipelines, byte for byte, over a database with something of everything."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
import time_machine
from rest_framework.test import APIClient

from pipelines.domain.base.roles import Role
from pipelines.domain.base.states import DesiredState, OperationKind, OperationState, Phase, RunState, StopReason
from pipelines.domain.runs.protocol import QueryStatus
from pipelines.models import Pipeline
from tests.factories import HostFactory, OperationFactory, PipelineFactory, RevisionFactory, RunFactory

pytestmark = pytest.mark.django_db
ANSWERS = Path(__file__).parent.parent / "vectors" / "pipeline_list.json"
NOW = datetime(2026, 3, 1, 12, 0, 0, 250_000, tzinfo=UTC)
LIVE = {
    "records_per_second": 4000.5,
    "lag_records": 12,
    "last_batch_at": "2026-03-01T11:59:59.500000Z",
    "in_flight": 1,
    "as_of": "2026-03-01T12:00:00Z",
}
QUERY = QueryStatus(
    source="shop", channel="main", batch=1, records_per_second=1.5, in_flight=True, last_batch_at=NOW.timestamp()
).model_dump(mode="json")


def pipeline(number: int, phase: Phase, desired: DesiredState = DesiredState.RUNNING, **fields: Any) -> Pipeline:
    since = NOW - timedelta(minutes=number)
    return PipelineFactory.create(
        name=f"pipeline-{number:02}", phase=phase, desired_state=desired, phase_since=since, **fields
    )


def fill() -> None:
    """Pipelines in every phase, with runs that report figures, that report none, that are silent and that are over,
    with requests under way and replays beside them, on hosts that are heard, silent and none."""
    silent = HostFactory.create(name="beta", seen_at=NOW - timedelta(hours=1))
    responding = HostFactory.create()
    for number, phase in enumerate(Phase):
        found = pipeline(number, phase, phase_message="Why »this«.", host=silent if number % 3 == 0 else responding)
        if phase is not Phase.STOPPED:
            RunFactory.create(pipeline=found, number=7, observed={"at": NOW.timestamp(), "live": LIVE})
    names = {found.name: found for found in Pipeline.objects.all()}
    for number, kind in ((1, OperationKind.START), (6, OperationKind.PAUSE), (7, OperationKind.RETRY)):
        OperationFactory.create(id=UUID(int=number), pipeline=names[f"pipeline-{number:02}"], kind=kind)
    OperationFactory.create(id=UUID(int=99), pipeline=names["pipeline-02"], state=OperationState.SUCCEEDED)
    RunFactory.create(pipeline=names["pipeline-00"], number=3, state=RunState.ENDED, observed={"live": LIVE})
    asks_more = pipeline(30, Phase.STOPPED, DesiredState.STOPPED, host=None, labels={"team": "é"}, description='"x"')
    Pipeline.objects.filter(id=asks_more.id).update(
        current_revision=RevisionFactory.create(pipeline=asks_more, number=2, required_role=Role.ADMIN),
        stop_reason=StopReason.USER,
        restart_count=4,
        restart_at=NOW,
        version=8,
        generation=5,
        observed_generation=4,
    )
    RunFactory.create(pipeline=pipeline(31, Phase.RUNNING), observed=None)
    RunFactory.create(pipeline=pipeline(32, Phase.RUNNING), observed={"at": NOW.timestamp(), "queries": [QUERY]})
    Pipeline.objects.filter(id=pipeline(33, Phase.PREFLIGHT).id).update(current_revision=None)
    pipeline(34, Phase.STOPPED, archived_at=NOW)


@pytest.mark.parametrize("role", ["viewer", "operator"])
def test_the_list_says_of_everything_what_it_always_said(role: str, request: pytest.FixtureRequest) -> None:
    client: APIClient = request.getfixturevalue(role)
    with time_machine.travel(NOW, tick=False):
        fill()
        answer = client.get("/api/v1/pipelines", {"limit": 1000})

    expected = {"results": json.loads(ANSWERS.read_text())[role], "next": None}
    assert answer.json() == expected
    assert answer.content == json.dumps(expected, ensure_ascii=False, separators=(",", ":")).encode()


def test_a_page_and_a_pipeline_say_the_same(viewer: APIClient) -> None:
    with time_machine.travel(NOW, tick=False):
        fill()
        listed = viewer.get("/api/v1/pipelines", {"limit": 1000}).json()["results"]
        assert len(listed) == len(json.loads(ANSWERS.read_text())["viewer"]) > 10
        for each in listed:
            place = f"/api/v1/pipelines/{each['name']}"
            detail, status = viewer.get(place).json(), viewer.get(f"{place}/status").json()
            assert each.items() <= detail.items()
            assert each.items() <= status.items()
