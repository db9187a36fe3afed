"""Pipelines over a range of time: from the ledger and the series of lag, with holes where nobody measured."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest
from pytest_django import DjangoAssertNumQueries
from rest_framework.test import APIClient

from pipelines.domain.base.roles import Role
from pipelines.domain.base.states import RunState
from pipelines.domain.ledger.ledger import BatchStep
from pipelines.domain.monitoring.lag import PartitionLag, as_rows
from pipelines.foundation import clock
from pipelines.models import Event, Host, LagPoint, LedgerBatch, Pipeline, Run, Sample
from pipelines.selectors.monitoring.charts import charts_schema, partition_charts_schema
from pipelines.services.ledger.rollup import roll_up
from tests.db.conftest import CommandLine
from tests.db.test_journals import done, planned, rng, take
from tests.factories import LedgerBatchFactory, PipelineFactory, RunFactory

pytestmark = pytest.mark.django_db
CHARTS = "/api/v1/pipelines/orders/charts"
HOUR = timedelta(hours=1)


@pytest.fixture
def now(monkeypatch: pytest.MonkeyPatch) -> datetime:
    """The present, at the beginning of a window of every length."""
    at = datetime.fromisoformat("2026-03-01T00:00:02Z")
    monkeypatch.setattr(clock, "now", lambda: at)
    return at


@pytest.fixture
def pipeline(now: datetime) -> Pipeline:
    """One that was made long ago, on a host that was seen just now."""
    found = PipelineFactory.create(name="orders")
    Pipeline.objects.filter(pk=found.pk).update(created_at=now - timedelta(days=60))
    Host.objects.update(seen_at=now)
    found.refresh_from_db()
    return found


def living(pipeline: Pipeline, begun: datetime, ended: datetime | None = None, **fields: Any) -> Run:
    """A run with its journal whole."""
    state = RunState.LIVE if ended is None else RunState.ENDED
    run = RunFactory.create(pipeline=pipeline, state=state, ended_at=ended, journal_whole=ended is not None, **fields)
    Run.objects.filter(pk=run.pk).update(started_at=begun)
    return run


def batch(run: Run, begun: datetime, ended: datetime, **fields: Any) -> LedgerBatch:
    return LedgerBatchFactory.create(run=run, planned_at=begun, done_at=ended, **fields)


def lag(pipeline: Pipeline, at: datetime, records: int | None, step: int = 60, seconds: float | None = None) -> None:
    LagPoint.objects.create(pipeline=pipeline, at=at, step=step, records=records, seconds=seconds)


def test_rates_are_those_of_the_ledger_and_unknown_while_no_agent_ran(pipeline: Pipeline, now: datetime) -> None:
    start = now - HOUR - timedelta(seconds=2)
    run = living(pipeline, start + timedelta(minutes=10), start + timedelta(minutes=20))
    batch(run, start + timedelta(minutes=12), start + timedelta(minutes=12, seconds=10), read=500, delivered=400)
    found = charts_schema(pipeline, start, now)
    assert (found.step, len(found.at), found.ran) == (10, 360, True)
    assert found.at[0] == start
    assert found.read_per_second[59:62] == [None, 0.0, 0.0]
    assert found.read_per_second[71:74] == [0.0, 50.0, 0.0]
    assert found.delivered_per_second[72] == 40.0
    assert found.batches[72] == 1
    assert set(found.read_per_second[120:]) == {None}
    assert set(found.lag_records) == {None}


def test_a_source_of_several_channels_is_read_once(pipeline: Pipeline, now: datetime) -> None:
    run = living(pipeline, now - HOUR)
    times = (now - timedelta(minutes=30, seconds=2), now - timedelta(minutes=29, seconds=52))
    for channel, source in (("main", "shop"), ("archive", "shop"), ("main", "web")):
        batch(run, *times, read=100, delivered=100, channel=channel, source=source)
    found = charts_schema(pipeline, now - HOUR, now)
    assert max(value or 0 for value in found.read_per_second) == 20.0
    assert max(value or 0 for value in found.delivered_per_second) == 30.0


def test_rows_that_were_merged_are_spread_over_the_time_of_their_batches(pipeline: Pipeline, now: datetime) -> None:
    run = living(pipeline, now - timedelta(days=30))
    begun = now - timedelta(days=20)
    for number in range(24):
        at = begun + timedelta(hours=number)
        ranges = [{"topic": "orders", "partition": 0, "start": 36 * number, "end": 36 * (number + 1)}]
        own = {"ranges": ranges, "read": 36, "delivered": 36, "first_batch": number, "spent": {"other": 500}}
        batch(run, at, at + HOUR, **own)
    before = charts_schema(pipeline, now - timedelta(days=30), now)
    for _ in range(3):
        roll_up(now=now)
    assert LedgerBatch.objects.count() <= 2
    found = charts_schema(pipeline, now - timedelta(days=30), now)
    assert found.step == 7_200
    assert sum(value or 0 for value in found.read_per_second) * 7_200 == pytest.approx(24 * 36, rel=0.02)
    assert found.read_per_second == pytest.approx(before.read_per_second, abs=0.002)
    assert {value for value in found.batch_seconds[BatchStep.OTHER] if value is not None} == {0.5}


def test_a_host_that_is_silent_leaves_a_hole_and_no_zero(pipeline: Pipeline, now: datetime) -> None:
    living(pipeline, now - HOUR)
    Host.objects.update(seen_at=now - timedelta(minutes=30))
    found = charts_schema(pipeline, now - HOUR, now)
    assert found.read_per_second[170] == 0.0
    assert set(found.read_per_second[182:]) == {None}


def test_a_run_whose_journal_was_lost_is_known_up_to_its_last_batch(pipeline: Pipeline, now: datetime) -> None:
    run = living(pipeline, now - HOUR, now - timedelta(minutes=5))
    Run.objects.filter(pk=run.pk).update(journal_whole=False)
    batch(run, now - timedelta(minutes=30), now - timedelta(minutes=30))
    found = charts_schema(pipeline, now - HOUR, now)
    assert found.read_per_second[170] == 0.0
    assert set(found.read_per_second[182:]) == {None}


def test_batches_have_their_time_by_step(pipeline: Pipeline, now: datetime) -> None:
    run = living(pipeline, now - HOUR)
    spent = {"plan": 20, "wait": 5, "deliver": 400, "dead_letters": 0}
    take(run, planned(0, rng(0, 10)), done(0, rng(0, 10), ms=500, steps=spent))
    take(run, planned(1, rng(10, 20)), done(1, rng(10, 20), ms=100))
    LedgerBatch.objects.update(planned_at=now - timedelta(minutes=30), done_at=now - timedelta(minutes=30))
    found = charts_schema(pipeline, now - HOUR, now)
    times = {step: [value for value in values if value is not None] for step, values in found.batch_seconds.items()}
    assert times == {"plan": [0.01], "wait": [0.0025], "deliver": [0.2], "dead_letters": [0.0], "other": [0.0875]}


def test_rows_without_times_are_not_merged_with_those_that_have_them(pipeline: Pipeline, now: datetime) -> None:
    run = living(pipeline, now - timedelta(days=1))
    at = now - timedelta(hours=2)
    for number, spent in enumerate((None, None, {"plan": 1}, {"plan": 2, "other": 3})):
        ranges = [{"topic": "orders", "partition": 0, "start": 10 * number, "end": 10 * (number + 1)}]
        batch(run, at, at, first_batch=number, ranges=ranges, spent=spent)
    roll_up(now=now)
    assert [row.spent for row in LedgerBatch.objects.order_by("first_batch")] == [None, {"plan": 3, "other": 3}]


def test_lag_is_the_most_of_each_window_and_a_hole_where_nobody_looked(pipeline: Pipeline, now: datetime) -> None:
    start = now - timedelta(days=1) - timedelta(seconds=2)
    for minutes, records in ((0, 5), (1, 9), (2, None), (60, 0), (75, 0), (200, 3)):
        lag(pipeline, start + timedelta(minutes=minutes), records, 300, seconds=records)
    found = charts_schema(pipeline, start, now)
    assert found.step == 300
    assert found.lag_records[:3] == [9, None, None]
    assert found.lag_seconds[:2] == [9.0, None]
    assert found.lag_records[12:18] == [0, 0, 0, 0, 0, 0]
    assert found.lag_records[20] is None
    assert found.lag_records[39:43] == [None, 3, None, None]


def test_lag_is_finer_where_it_is_not_rolled_up_yet_and_coarser_where_it_is_deleted(
    pipeline: Pipeline, now: datetime
) -> None:
    for days in (25, 3):
        lag(pipeline, now - timedelta(days=days), 100 * days, 3_600)
    lag(pipeline, now - timedelta(minutes=9), 7, 300)
    lag(pipeline, now - timedelta(minutes=1), 8, 60)
    month = charts_schema(pipeline, now - timedelta(days=30), now)
    assert [value for value in month.lag_records if value is not None] == [2_500, 300, 8]
    at = now - timedelta(days=3)
    hour = charts_schema(pipeline, at, at + HOUR)
    assert hour.step == 10
    assert set(hour.lag_records[1:]) == {300}


def test_a_coarser_point_of_finer_ones_fills_no_hole_between_them(pipeline: Pipeline, now: datetime) -> None:
    start = now - HOUR - timedelta(seconds=2)
    lag(pipeline, start + timedelta(minutes=8), 7)
    lag(pipeline, start + timedelta(minutes=5), 7, step=300)
    lag(pipeline, start + timedelta(minutes=20), 3, step=300)
    shown = charts_schema(pipeline, start, now).lag_records
    known = [number * 10 // 60 for number, value in enumerate(shown) if value is not None]
    assert sorted(set(known)) == [8, 9, 20, 21, 22, 23, 24]


def test_the_agents_own_lag_is_finer_than_that_of_the_series(pipeline: Pipeline, now: datetime) -> None:
    start = now - timedelta(minutes=15, seconds=2)
    lag(pipeline, start, 50, seconds=3.0)
    for seconds, records in ((30, 40), (32, 60), (40, 20)):
        Sample.objects.create(
            pipeline=pipeline, at=start + timedelta(seconds=seconds), records_per_second=1, lag_records=records
        )
    found = charts_schema(pipeline, start, now)
    assert found.step == 5
    assert found.lag_records[:9] == [50, 50, 50, 50, 50, 50, 60, 60, 20]
    assert found.lag_seconds[:9] == [3.0] * 9
    assert found.lag_records[-1] is None


def test_restarts_and_marks_come_from_events(pipeline: Pipeline, now: datetime) -> None:
    at = now - timedelta(minutes=30)
    rows = [
        ("run.ended", {"restarts": True}),
        ("run.ended", {"restarts": True}),
        ("run.ended", {"restarts": False}),
        ("phase.changed", {"new": "BACKOFF"}),
        ("phase.changed", {"new": "PREFLIGHT"}),
        ("sink.switched", {}),
        ("revision.created", {}),
    ]
    for kind, data in rows:
        Event.objects.create(pipeline=pipeline, at=at, kind=kind, message=kind, data=data)
    found = charts_schema(pipeline, now - HOUR, now)
    assert [count for count in found.restarts if count] == [2]
    assert None not in found.restarts
    assert [(mark.kind, mark.state) for mark in found.marks] == [("phase.changed", "BACKOFF"), ("sink.switched", "")]
    assert not found.marks_left_out
    Pipeline.objects.filter(pk=pipeline.pk).update(created_at=at)
    pipeline.refresh_from_db()
    young = charts_schema(pipeline, now - HOUR, now)
    assert young.restarts[0] is None
    assert young.restarts[-1] == 0


def test_partitions_have_columns_of_one_length_with_holes(pipeline: Pipeline, now: datetime) -> None:
    start = now - timedelta(days=1, seconds=2)
    for minutes, parts in ((0, {0: 5, 1: 7}), (5, {0: 6}), (10, {0: None, 1: 1000})):
        rows = [PartitionLag("shop", "main", "orders", number, 1, 2, records, 1.5) for number, records in parts.items()]
        LagPoint.objects.create(
            pipeline=pipeline, at=start + timedelta(minutes=minutes), step=300, partitions=as_rows(rows)
        )
    found = partition_charts_schema(pipeline, start, now)
    first, second = found.partitions
    assert (first.partition, second.partition, found.left_out) == (0, 1, 0)
    assert len(found.at) == len(first.records) == len(second.seconds)
    assert first.records[:2] == [6, None]
    assert second.records[:2] == [1000, None]


def test_the_more_partitions_the_fewer_windows_and_the_worst_are_shown(pipeline: Pipeline, now: datetime) -> None:
    rows = [PartitionLag("shop", "main", "orders", number, 1, 2, number, None) for number in range(600)]
    LagPoint.objects.create(pipeline=pipeline, at=now - timedelta(minutes=1), step=60, partitions=as_rows(rows))
    found = partition_charts_schema(pipeline, now - timedelta(days=1), now)
    assert len(found.partitions) == 512
    assert found.left_out == 88
    assert found.partitions[0].partition == 88
    assert len(found.at) * 512 <= 26_000


def test_it_takes_a_few_queries_whatever_there_is(
    pipeline: Pipeline, now: datetime, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    run = living(pipeline, now - HOUR)
    for minutes in range(30):
        at = now - timedelta(minutes=minutes)
        batch(run, at, at)
        lag(pipeline, at, minutes)
        Event.objects.create(pipeline=pipeline, at=at, kind="phase.changed", message="", data={"new": "RUNNING"})
    with django_assert_num_queries(6):
        charts_schema(pipeline, now - HOUR, now)
    with django_assert_num_queries(2):
        partition_charts_schema(pipeline, now - HOUR, now)


def test_the_api_refuses_bad_ranges_with_every_finding(pipeline: Pipeline, viewer: APIClient) -> None:
    assert viewer.get(CHARTS, {"since": "6h"}).json()["step"] == 60
    assert viewer.get(f"{CHARTS}/partitions", {"since": "30d", "until": "1d"}).status_code == 200
    for query, codes in (
        ({"since": "x", "until": "y"}, 2),
        ({"since": "1h", "until": "2h"}, 1),
        ({"since": "300d"}, 1),
        ({"since": "2998-01-01T00:00:00Z", "until": "2999-01-01T00:00:00Z"}, 3),
        ({"since": "10s"}, 1),
    ):
        refused = viewer.get(CHARTS, query)
        assert refused.status_code == 400, query
        findings = refused.json()["findings"]
        assert len(findings) == codes, findings
        assert {each["path"] for each in findings} <= {"since", "until"}
        assert all(each["code"] and each["message"] for each in findings)


def test_the_command_line_shows_the_newest_points(pipeline: Pipeline, now: datetime, command_line: CommandLine) -> None:
    run = living(pipeline, now - HOUR)
    batch(run, now - timedelta(minutes=1), now - timedelta(minutes=1), read=50, spent={"other": 250})
    viewer = command_line("ana", Role.VIEWER)
    shown = viewer("history", "orders", "--since", "15m")
    assert shown.exit_code == 0, shown.output
    assert "10.0" in shown.output
    assert "250" in shown.output
    refused = viewer("history", "orders", "--since", "1h", "--until", "2h")
    assert refused.exit_code != 0
    assert "after its end" in refused.output + refused.stderr
