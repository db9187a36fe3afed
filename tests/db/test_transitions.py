"""The door through which phases change."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest
from django.db import connection
from pytest_django import DjangoCaptureOnCommitCallbacks

from pipelines.domain.base.states import Phase, StopReason
from pipelines.models import Event, Pipeline
from pipelines.services.lifecycle.transitions import ForbiddenTransition, set_phase
from tests.factories import PipelineFactory


def change(pipeline: Pipeline, expected: Phase, new: Phase, stop_reason: StopReason | None = None) -> bool:
    return set_phase(
        pipeline_id=pipeline.id,
        expected=expected,
        new=new,
        reason="tested",
        message="A test asked for it.",
        stop_reason=stop_reason,
    )


@pytest.mark.django_db
def test_a_change_writes_phase_time_reason_and_one_event() -> None:
    pipeline = PipelineFactory.create()
    before = pipeline.phase_since

    assert change(pipeline, Phase.STOPPED, Phase.PREFLIGHT)

    pipeline.refresh_from_db()
    assert (pipeline.phase, pipeline.phase_reason) == (Phase.PREFLIGHT, "tested")
    assert pipeline.phase_since > before
    event = Event.objects.get()
    assert (event.kind, event.pipeline_id) == ("phase.changed", pipeline.id)
    assert event.data == {"old": "STOPPED", "new": "PREFLIGHT", "reason": "tested", "stop_reason": None}


@pytest.mark.django_db
def test_a_change_from_another_phase_than_expected_writes_nothing() -> None:
    pipeline = PipelineFactory.create(phase=Phase.RUNNING)

    assert not change(pipeline, Phase.STARTING, Phase.RUNNING)

    pipeline.refresh_from_db()
    assert pipeline.phase == Phase.RUNNING
    assert not Event.objects.exists()


@pytest.mark.django_db
def test_a_change_that_the_table_does_not_have_is_refused() -> None:
    pipeline = PipelineFactory.create()

    with pytest.raises(ForbiddenTransition, match="STOPPED -> RUNNING"):
        change(pipeline, Phase.STOPPED, Phase.RUNNING)


@pytest.mark.django_db
def test_the_reason_of_a_stop_is_kept_until_the_next_start() -> None:
    pipeline = PipelineFactory.create(phase=Phase.STOPPING)

    change(pipeline, Phase.STOPPING, Phase.STOPPED, stop_reason=StopReason.USER)
    pipeline.refresh_from_db()
    assert pipeline.stop_reason == StopReason.USER

    change(pipeline, Phase.STOPPED, Phase.PREFLIGHT)
    pipeline.refresh_from_db()
    assert pipeline.stop_reason is None


@pytest.mark.django_db
def test_the_event_is_published_after_the_commit_and_not_before(
    monkeypatch: pytest.MonkeyPatch, django_capture_on_commit_callbacks: DjangoCaptureOnCommitCallbacks
) -> None:
    sent: list[dict[str, object]] = []
    monkeypatch.setattr("pipelines.foundation.dispatch.publish", lambda _kind, payload: sent.append(payload))
    pipeline = PipelineFactory.create()

    with django_capture_on_commit_callbacks(execute=True):
        change(pipeline, Phase.STOPPED, Phase.PREFLIGHT)
        assert sent == []

    assert [(each["kind"], each["pipeline"]) for each in sent] == [("phase.changed", pipeline.name)]


@pytest.mark.django_db(transaction=True)
def test_of_many_that_change_the_same_phase_at_once_one_wins() -> None:
    pipeline = PipelineFactory.create(phase=Phase.RUNNING)
    together = Barrier(6)
    wanted = [Phase.PAUSING, Phase.STOPPING, Phase.DEGRADED, Phase.STALLED, Phase.UNKNOWN, Phase.BACKOFF]

    def race(new: Phase) -> bool:
        together.wait(timeout=30)
        try:
            return change(pipeline, Phase.RUNNING, new)
        finally:
            connection.close()

    with ThreadPoolExecutor(len(wanted)) as pool:
        results = list(pool.map(race, wanted))

    assert results.count(True) == 1
    pipeline.refresh_from_db()
    assert pipeline.phase == wanted[results.index(True)]
    assert Event.objects.count() == 1
