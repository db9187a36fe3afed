"""What the status says while a pause, a stop or a migration waits for in-flight batches."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest
from rest_framework.test import APIClient

from pipelines.domain.base.states import LedgerState, MigrationKind, MigrationStage, OperationKind, OperationState
from pipelines.models import LedgerBatch, Migration, Operation, Pipeline, Run
from tests.factories import LedgerBatchFactory, OperationFactory, PipelineFactory, RunFactory, now

pytestmark = pytest.mark.django_db


@pytest.fixture
def orders() -> Pipeline:
    pipeline: Pipeline = PipelineFactory.create(name="orders")
    query = {"source": "shop", "channel": "main", "in_flight": True, "records_per_second": 50.0}
    held = {"component": "sinks.out", "cause": "It is away.", "attempts": 2, "since": now().timestamp()}
    run = RunFactory.create(
        pipeline=pipeline, observed={"at": now().timestamp(), "queries": [{**query, "holding": held}]}
    )
    ranges = [{"topic": "t", "partition": each, "start": 0, "end": 500} for each in range(2)]
    LedgerBatchFactory.create(run=run, first_batch=7, last_batch=7, state=LedgerState.PLANNED, ranges=ranges)
    LedgerBatchFactory.create(run=run, first_batch=6, last_batch=6)
    return pipeline


def waits(pipeline: Pipeline, kind: OperationKind, name: str) -> Operation:
    """An operation whose step of this name is under way."""
    operation: Operation = OperationFactory.create(pipeline=pipeline, kind=kind, state=OperationState.RUNNING)
    for step in operation.steps:
        if step["name"] == name:
            step.update(state="running", started_at=now().isoformat())
    operation.save()
    return operation


def drain(client: APIClient) -> Any:
    return client.get("/api/v1/pipelines/orders/status").json()["drain"]


def observed(pipeline: Pipeline, **changes: Any) -> None:
    run = Run.objects.get(pipeline=pipeline)
    run.observed = {**(run.observed or {}), "queries": [{**(run.observed or {})["queries"][0], **changes}]}
    run.save()


@pytest.mark.parametrize(
    ("kind", "step"),
    [
        (OperationKind.STOP, "draining"),
        (OperationKind.RESTART, "draining"),
        (OperationKind.PAUSE, "in_flight_batch"),
    ],
)
def test_a_drain_has_what_remains_how_fast_and_until_when(
    orders: Pipeline, viewer: APIClient, kind: OperationKind, step: str
) -> None:
    operation = waits(orders, kind, step)
    found = drain(viewer)
    assert (found["kind"], found["batches"], found["records"]) == (kind.value, 1, 1000)
    assert (found["rate"], found["seconds_left"], found["stale"]) == (50.0, 20, False)
    assert (found["held_by"], found["possible_duplicates"]) == (["sinks.out"], 1000)
    started = next(each["started_at"] for each in operation.steps if each["name"] == step)
    waited = datetime.fromisoformat(found["deadline"]) - datetime.fromisoformat(started)
    assert waited > timedelta(0)


def test_nothing_is_said_before_and_after_the_wait(orders: Pipeline, viewer: APIClient) -> None:
    assert drain(viewer) is None
    operation = waits(orders, OperationKind.STOP, "requested")
    assert drain(viewer) is None
    Operation.objects.filter(pk=operation.pk).update(state=OperationState.SUCCEEDED)
    waits(orders, OperationKind.STOP, "process_exit")
    assert drain(viewer) is None


def test_a_migration_that_pauses_waits_too(orders: Pipeline, viewer: APIClient) -> None:
    Migration.objects.create(
        pipeline=orders,
        kind=MigrationKind.SOFTWARE,
        stage=MigrationStage.PAUSING,
        stage_since=now(),
        reason="why",
        created_by="ana",
        created_at=now(),
    )
    assert (drain(viewer)["kind"], drain(viewer)["records"]) == ("migration", 1000)


def test_without_a_rate_the_time_left_is_unknown(orders: Pipeline, viewer: APIClient) -> None:
    waits(orders, OperationKind.STOP, "draining")
    observed(orders, records_per_second=0.0)
    assert (drain(viewer)["rate"], drain(viewer)["seconds_left"]) == (0.0, None)


def test_what_a_batch_will_have_is_not_known_while_its_end_is_open(orders: Pipeline, viewer: APIClient) -> None:
    waits(orders, OperationKind.STOP, "draining")
    LedgerBatch.objects.filter(state=LedgerState.PLANNED).update(open_ended=True)
    assert (drain(viewer)["records"], drain(viewer)["seconds_left"]) == (None, None)


def test_figures_of_a_silent_agent_are_stale(orders: Pipeline, viewer: APIClient) -> None:
    waits(orders, OperationKind.STOP, "draining")
    run = Run.objects.get(pipeline=orders)
    live = {"records_per_second": 50.0, "stale": True, "as_of": now().isoformat()}
    run.observed = {**(run.observed or {}), "live": live}
    run.save()
    assert (drain(viewer)["stale"], drain(viewer)["seconds_left"]) == (True, None)


def test_a_forced_stop_duplicates_nothing_that_is_written_exactly_once(orders: Pipeline, viewer: APIClient) -> None:
    waits(orders, OperationKind.STOP, "draining")
    observed(orders, guarantee="exactly_once")
    assert (drain(viewer)["records"], drain(viewer)["possible_duplicates"]) == (1000, 0)
