"""Replays of ranges: planned with counts, applied by hash, taken into the ledger batch by batch; no position moves."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from rest_framework.test import APIClient

from pipelines.domain.base.positions import PartitionRange
from pipelines.domain.base.states import DesiredState, LedgerState, OperationState, RunState
from pipelines.domain.ledger.journal import Done, Exited, Planned, Resolved
from pipelines.domain.ledger.ledger import Counts
from pipelines.domain.reprocessing.range_replay import ORDER, Order, RangeReplayRequest, journal_name, place
from pipelines.foundation import clock
from pipelines.models import AuditRow, Host, LedgerBatch, Operation, Pipeline, Position, Run
from pipelines.selectors.ledger.ledger import ledger_totals
from pipelines.services.base.audit import Actor
from pipelines.services.lifecycle import lifecycle
from pipelines.services.reprocessing import range_replays
from tests.factories import HostFactory, LedgerBatchFactory, PipelineFactory, PositionFactory, RunFactory, definition
from workers.agent.delivery.range_replay import progress
from workers.agent.run_dir.journal_writer import Journal
from workers.supervisor.background.retry_loop import RetryLoop

pytestmark = pytest.mark.django_db
ANA = Actor("ana")
ADDRESS = "/api/v1/pipelines/orders/range-replays"
RANGE: dict[str, Any] = {"topic": "orders-in", "partition": 0, "start": 100, "end": 350}


@pytest.fixture
def run() -> Run:
    pipeline = PipelineFactory.create(name="orders", desired_state=DesiredState.RUNNING)
    revision = pipeline.current_revision
    assert revision is not None
    revision.definition = definition("orders", delivery={"max_events_per_batch": 100}).plain()
    revision.save()
    PositionFactory.create(pipeline=pipeline, partition=0, next_offset=1000)
    return RunFactory.create(pipeline=pipeline, number=3)


def ask(pipeline: Pipeline) -> Operation:
    wanted = RangeReplayRequest(**RANGE)
    named = range_replays.plan(pipeline=pipeline, wanted=wanted).hash
    return range_replays.request(pipeline=pipeline, wanted=wanted, named=named, reason="", actor=ANA)


class Agent:
    """What an agent writes for an order."""

    def __init__(self, directory: Path, run: int) -> None:
        order = Order.load(directory / ORDER)
        assert order is not None
        self.order = order
        self.journal = Journal(directory / journal_name(run), run)

    def plans(self, batch: int) -> None:
        self.journal.append(Planned(source=self.order.alias, channel="main", batch=batch, ranges=self.ranges(batch)))

    def does(self, batch: int, duplicates: int = 0) -> None:
        self.plans(batch)
        start, end = self.order.range_of(batch)
        counts = Counts(read=end - start, delivered=end - start)
        self.journal.append(
            Done(
                source=self.order.alias,
                channel="main",
                batch=batch,
                ranges=self.ranges(batch),
                counts=counts,
                duplicates_max=duplicates,
                sink="out",
            )
        )

    def ranges(self, batch: int) -> list[PartitionRange]:
        start, end = self.order.range_of(batch)
        return [PartitionRange(topic="orders-in", partition=0, start=start, end=end)]


def directory_of(state: Path, operation: Operation) -> Path:
    return place(state / "data" / "orders" / str(operation.pipeline_id), operation.id)


def test_a_replay_is_planned_with_counts_and_applied_by_its_hash(run: Run, operator: APIClient) -> None:
    plan = operator.post(f"{ADDRESS}/plan", RANGE, format="json").json()
    assert (plan["source"], plan["channel"], plan["offsets"], plan["batches"]) == ("shop", "main", 250, 3)
    assert (plan["read_up_to"], plan["sinks"][0]["sink"]) == (1000, "out")
    stale = operator.post(ADDRESS, {**RANGE, "hash": "0" * 64}, format="json")
    assert (stale.status_code, stale.json()["code"]) == (409, "plan_stale")
    made = operator.post(ADDRESS, {**RANGE, "hash": plan["hash"], "reason": "lost"}, format="json")
    assert (made.status_code, made.json()["kind"]) == (202, "replay_range")
    again = operator.post(ADDRESS, {**RANGE, "hash": plan["hash"]}, format="json")
    assert (again.status_code, again.json()["code"]) == (409, "replay_under_way")
    assert (AuditRow.objects.get(action="range.replay").after or {})["reason"] == "lost"


def test_replays_are_listed_with_their_range_however_far_they_are(run: Run, viewer: APIClient) -> None:
    operation = ask(run.pipeline)
    (listed,) = viewer.get(ADDRESS).json()["results"]
    assert {name: listed[name] for name in RANGE} == RANGE
    assert (listed["id"], listed["channel"], listed["progress"]["of"]) == (str(operation.id), "main", 250)
    lifecycle.cancel(operation=operation, actor=ANA)
    (listed,) = viewer.get(ADDRESS).json()["results"]
    assert (listed["state"], listed["end"]) == ("CANCELLED", 350)


@pytest.mark.parametrize(
    ("changes", "status", "code"),
    [
        ({"end": 1001}, 409, "not_read_yet"),
        ({"partition": 7}, 409, "not_read_yet"),
        ({"end": 100}, 422, "not_replayable"),
        ({"end": 1_000_101}, 422, "not_replayable"),
        ({"topic": "x"}, 422, "not_replayable"),
        ({"channel": "x"}, 422, "not_replayable"),
        ({"start": -1}, 422, "body_invalid"),
    ],
)
def test_a_range_that_cannot_be_replayed_is_refused_with_the_reason(
    run: Run, operator: APIClient, changes: dict[str, Any], status: int, code: str
) -> None:
    refused = operator.post(f"{ADDRESS}/plan", {**RANGE, **changes}, format="json")
    assert (refused.status_code, refused.json()["code"]) == (status, code)


def test_a_viewer_plans_and_replays_nothing(run: Run, viewer: APIClient) -> None:
    assert viewer.post(f"{ADDRESS}/plan", RANGE, format="json").status_code == 403
    assert viewer.post(ADDRESS, {**RANGE, "hash": "x"}, format="json").status_code == 403


def test_a_pipeline_that_is_not_to_run_replays_nothing(run: Run, operator: APIClient) -> None:
    Pipeline.objects.update(desired_state=DesiredState.STOPPED)
    plan = operator.post(f"{ADDRESS}/plan", RANGE, format="json").json()
    refused = operator.post(ADDRESS, {**RANGE, "hash": plan["hash"]}, format="json")
    assert (refused.status_code, refused.json()["code"]) == (409, "not_running")


def test_batches_are_marked_in_the_ledger_once_and_move_nothing(run: Run, tmp_path: Path) -> None:
    LedgerBatchFactory.create(run=run)
    before = ledger_totals(run.pipeline)
    operation, watch = ask(run.pipeline), RetryLoop("alpha", tmp_path)
    watch.turn()
    agent = Agent(directory_of(tmp_path, operation), 3)
    agent.does(0)
    watch.turn()
    agent.does(1, duplicates=5)
    agent.does(2)
    agent.journal.append(Exited(code=0, reason=""))
    for _ in range(3):
        watch.turn()
    rows = LedgerBatch.objects.filter(operation=operation).order_by("first_batch")
    assert [(row.state, row.run, row.ranges[0]["start"], row.read) for row in rows] == [
        (LedgerState.REPLAYED, run, 100, 100),
        (LedgerState.REPLAYED, run, 200, 100),
        (LedgerState.REPLAYED, run, 300, 50),
    ]
    operation.refresh_from_db()
    assert operation.state == OperationState.SUCCEEDED
    assert (operation.progress["done"], operation.progress["possible_duplicates"]) == (250, 5)
    assert ledger_totals(run.pipeline) == before
    assert Position.objects.get().next_offset == 1000


def test_a_later_run_goes_on_where_the_one_before_ended(run: Run, tmp_path: Path) -> None:
    operation, watch = ask(run.pipeline), RetryLoop("alpha", tmp_path)
    watch.turn()
    directory = directory_of(tmp_path, operation)
    first = Agent(directory, 3)
    first.does(0)
    first.plans(1)
    found = progress(directory)
    assert (found.done, found.planned.batch if found.planned else None, found.over) == (0, 1, False)
    Run.objects.update(state=RunState.ENDED)
    RunFactory.create(pipeline=run.pipeline, number=4)
    second = Agent(directory, 4)
    second.journal.append(Resolved(source=second.order.alias, channel="main", batch=1, delivered_before=7))
    second.does(1, duplicates=7)
    second.does(2)
    second.journal.append(Exited(code=0, reason=""))
    assert progress(directory).over
    watch.turn()
    rows = LedgerBatch.objects.filter(operation=operation).order_by("first_batch")
    assert [(row.run.number, row.duplicates_max) for row in rows] == [(3, 0), (4, 7), (4, 0)]
    operation.refresh_from_db()
    assert operation.state == OperationState.SUCCEEDED


def test_a_replay_that_cannot_go_on_fails_with_the_cause_and_what_was_done(run: Run, tmp_path: Path) -> None:
    operation, watch = ask(run.pipeline), RetryLoop("alpha", tmp_path)
    watch.turn()
    agent = Agent(directory_of(tmp_path, operation), 3)
    agent.does(0)
    agent.journal.append(Exited(code=1, reason="60 offsets have expired."))
    watch.turn()
    operation.refresh_from_db()
    assert (operation.state, (operation.error or {})["code"]) == (OperationState.FAILED, "replay_failed")
    assert "60 offsets have expired. 100 records were delivered" in (operation.error or {})["message"]


def test_a_cancelled_replay_is_withdrawn_and_its_last_batch_is_still_taken_in(run: Run, tmp_path: Path) -> None:
    operation, watch = ask(run.pipeline), RetryLoop("alpha", tmp_path)
    watch.turn()
    directory = directory_of(tmp_path, operation)
    agent = Agent(directory, 3)
    lifecycle.cancel(operation=operation, actor=ANA)
    watch.turn()
    assert not (directory / ORDER).exists()
    agent.does(0)
    watch.turn()
    assert LedgerBatch.objects.filter(operation=operation).count() == 1
    Run.objects.update(state=RunState.ENDED)
    watch.turn()
    assert not directory.exists()


def at(state: Path, name: str) -> RetryLoop:
    """The watch of a host, with a disk of its own."""
    return RetryLoop(name, state / name)


def moved(run: Run, to: str, number: int) -> Run:
    """The pipeline has changed host: another run lives there."""
    HostFactory.create(name=to)
    Run.objects.update(state=RunState.ENDED)
    Pipeline.objects.update(host_id=to)
    run.pipeline.refresh_from_db()
    return RunFactory.create(pipeline=run.pipeline, number=number)


def test_a_pipeline_that_changes_host_goes_on_behind_what_was_replayed_before(run: Run, tmp_path: Path) -> None:
    operation, alpha, beta = ask(run.pipeline), at(tmp_path, "alpha"), at(tmp_path, "beta")
    alpha.turn()
    first = Agent(directory_of(tmp_path / "alpha", operation), 3)
    first.does(0)
    alpha.turn()
    first.does(1)
    moved(run, "beta", 4)
    beta.turn()
    there = directory_of(tmp_path / "beta", operation)
    assert not there.exists(), "what alpha has done is not known yet"
    operation.refresh_from_db()
    assert "waits for the progress report of alpha" in operation.message
    alpha.turn()
    beta.turn()
    assert (progress(there).done, directory_of(tmp_path / "alpha", operation).exists()) == (1, False)
    second = Agent(there, 4)
    second.does(2)
    second.journal.append(Exited(code=0, reason=""))
    beta.turn()
    operation.refresh_from_db()
    rows = LedgerBatch.objects.filter(operation=operation).order_by("first_batch")
    assert [(row.first_batch, row.run.number, row.read) for row in rows] == [(0, 3, 100), (1, 3, 100), (2, 4, 50)]
    assert (operation.state, operation.progress["done"], operation.progress["possible_duplicates"]) == (
        OperationState.SUCCEEDED,
        250,
        0,
    )


def test_a_batch_in_hand_when_the_pipeline_changes_host_is_announced_as_possibly_there_twice(
    run: Run, tmp_path: Path
) -> None:
    operation, alpha, beta = ask(run.pipeline), at(tmp_path, "alpha"), at(tmp_path, "beta")
    alpha.turn()
    first = Agent(directory_of(tmp_path / "alpha", operation), 3)
    first.does(0)
    first.plans(1)
    moved(run, "beta", 4)
    alpha.turn()
    beta.turn()
    operation.refresh_from_db()
    assert progress(directory_of(tmp_path / "beta", operation)).done == 0
    assert operation.progress["possible_duplicates"] == 100
    assert "[200, 300) was in flight" in operation.message


def test_what_a_silent_host_may_have_replayed_is_announced_and_its_old_journals_count_no_more(
    run: Run, tmp_path: Path
) -> None:
    operation, alpha, beta = ask(run.pipeline), at(tmp_path, "alpha"), at(tmp_path, "beta")
    alpha.turn()
    first = Agent(directory_of(tmp_path / "alpha", operation), 3)
    first.does(0)
    alpha.turn()
    first.does(1)
    moved(run, "beta", 4)
    Host.objects.filter(name="alpha").update(seen_at=clock.now() - timedelta(minutes=5))
    beta.turn()
    operation.refresh_from_db()
    assert operation.progress["possible_duplicates"] == 150
    assert "alpha is silent" in operation.message
    second = Agent(directory_of(tmp_path / "beta", operation), 4)
    second.does(1)
    second.does(2)
    beta.turn()
    moved(run, "alpha", 5)
    Host.objects.update(seen_at=clock.now())
    for watch in (beta, alpha):
        watch.turn()
    found = progress(directory_of(tmp_path / "alpha", operation))
    assert (found.done, found.planned) == (2, None)
    operation.refresh_from_db()
    assert (operation.progress["done"], operation.progress["possible_duplicates"]) == (250, 150)
