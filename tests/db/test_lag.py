"""Lag per partition, in records and in seconds, look by look, and as a series that is rolled up and pruned."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from rest_framework.test import APIClient

from pipelines.domain.base.positions import TopicPartition
from pipelines.domain.base.states import Phase, RunState
from pipelines.domain.monitoring.lag import PartitionLag, from_rows
from pipelines.foundation import clock
from pipelines.models import LagPoint, Pipeline, Run
from pipelines.selectors.monitoring.lag import positions_before
from pipelines.services.monitoring import lag
from pipelines.services.monitoring.lag import LagRetention
from tests.factories import PipelineFactory, PositionFactory, RunFactory
from tests.fakes.brokers import AtOnce, FakeBrokers
from workers.adapters.secrets import backends
from workers.supervisor.background.watch_lag import LagWatch
from workers.supervisor.launch.references import References

pytestmark = pytest.mark.django_db
KEY = TopicPartition("orders-in", 0)
NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)


class NoSecrets:
    """A store that is never asked."""

    def read(self, names: Any) -> dict[str, Any]:
        raise AssertionError(names)


def watch(brokers: FakeBrokers) -> LagWatch:
    return LagWatch("alpha", brokers, References(backends({}, None, NoSecrets())), AtOnce())


@pytest.fixture
def run() -> Run:
    return RunFactory.create(pipeline=PipelineFactory.create(name="orders", phase=Phase.RUNNING))


def reports(run: Run, wall: float, position: int, end: int | None, **more: Any) -> None:
    positions = {"topic": "orders-in", "partition": 0, "next_offset": position, "end_offset": end}
    run.observed = {"at": wall, "queries": [{"source": "shop", "channel": "main", "positions": [positions], **more}]}
    run.save()


def newest(pipeline: Pipeline) -> PartitionLag:
    (part,) = from_rows(LagPoint.objects.filter(pipeline=pipeline).latest("at").partitions)
    return part


def test_the_age_of_what_waits_comes_from_earlier_looks_without_a_request(run: Run) -> None:
    brokers = FakeBrokers()
    looking = watch(brokers)
    for seconds, position, end in ((0, 0, 0), (10, 0, 100), (20, 0, 200), (70, 150, 200)):
        reports(run, 1_000.0 + seconds, position, end)
        facts = looking.measure(1_000.0 + seconds)[run.pipeline_id]
    assert (facts.lag_records, facts.lag_seconds) == (50, 55.0)
    assert newest(run.pipeline) == PartitionLag("shop", "main", "orders-in", 0, 150, 200, 50, 55.0)
    assert brokers.calls == []


def test_the_wait_for_a_fuller_batch_is_shown_and_no_lag_that_an_alert_is_about(run: Run) -> None:
    looking = watch(FakeBrokers())
    for seconds, end in ((0, 0), (10, 100), (50, 100)):
        reports(run, 1_000.0 + seconds, 0, end, batch_interval=30.0)
        facts = looking.measure(1_000.0 + seconds)[run.pipeline_id]
    assert (facts.lag_records, facts.lag_seconds) == (100, 20.0)
    looking.measure(1_061.0)
    assert newest(run.pipeline).seconds == 50.0


def test_a_backlog_that_is_older_than_the_first_look_is_dated_by_asking_the_log(run: Run) -> None:
    wall = 1_000_000.0
    brokers = FakeBrokers(times={KEY: [wall - 7200 + number for number in range(100)]})
    looking = watch(brokers)
    reports(run, wall, 30, 100)
    assert looking.measure(wall)[run.pipeline_id].lag_seconds is None
    reports(run, wall + 10, 30, 100)
    seconds = looking.measure(wall + 10)[run.pipeline_id].lag_seconds
    assert seconds is not None
    assert abs(seconds - (7200 - 30 + 10)) <= 60 + 0.03 * 7200
    asked = len(brokers.calls)
    assert set(brokers.calls) == {"offsets_at"}
    assert asked <= 15
    looking.measure(wall + 20)
    assert len(brokers.calls) == asked


def test_a_cluster_that_is_away_is_left_alone_for_a_while_and_holds_nothing_up(run: Run) -> None:
    brokers = FakeBrokers(times={KEY: [1.0] * 100}, away=True)
    looking = watch(brokers)
    for seconds in (0, 10, 20, 30):
        reports(run, 1_000.0 + seconds, 30, 100)
        assert looking.measure(1_000.0 + seconds)[run.pipeline_id].lag_records == 70
    assert len(brokers.calls) == 1


def test_what_waits_for_a_pipeline_that_does_not_run_is_known_from_the_ledger_and_the_brokers(run: Run) -> None:
    run.state = RunState.ENDED
    run.save()
    PositionFactory.create(pipeline=run.pipeline, partition=0, next_offset=40)
    brokers = FakeBrokers(times={KEY: [1_000.0] * 100})
    looking = watch(brokers)
    looking.measure(1_000.0)
    assert looking.measure(1_060.0)[run.pipeline_id].lag_records == 60
    assert newest(run.pipeline).records == 60
    brokers.times[KEY] += [1_070.0] * 5
    looking.measure(1_120.0)
    assert looking.measure(1_180.0)[run.pipeline_id].lag_records == 65


def test_the_lag_behind_a_silent_agent_is_asked_of_the_brokers_and_shown(run: Run, viewer: APIClient) -> None:
    wall = clock.now().timestamp()
    brokers = FakeBrokers(times={KEY: [wall - 60] * 500})
    looking = watch(brokers)
    reports(run, wall, 90, 100)
    PositionFactory.create(
        pipeline=run.pipeline, source="shop", channel="main", topic="orders-in", partition=0, next_offset=100
    )
    looking.measure(wall)
    Pipeline.objects.filter(pk=run.pipeline_id).update(phase=Phase.UNKNOWN)
    for seconds in (3, 6):
        facts = looking.measure(wall + seconds)[run.pipeline_id]
    assert facts.lag_records == 400
    live = viewer.get("/api/v1/pipelines/orders").json()["live"]
    assert (live["lag_records"], live["stale"]) == (400, True)


def test_a_point_is_written_once_a_minute_and_rarely_while_nothing_moves(run: Run) -> None:
    looking = watch(FakeBrokers(times={KEY: [2_990.0] * 200}))
    for minute in range(20):
        for second in range(0, 60, 10):
            wall = 1_000.0 + 60 * minute + second
            reports(run, wall, 100, 100)
            looking.measure(wall)
    assert LagPoint.objects.count() == 2
    for minute in range(3):
        wall = 3_000.0 + 60 * minute
        reports(run, wall, 100, 101 + minute)
        looking.measure(wall)
    assert LagPoint.objects.count() == 5


def test_looking_at_many_pipelines_takes_as_many_queries_as_looking_at_one() -> None:
    counted = []
    for pipelines in (1, 20):
        for number in range(pipelines):
            made = RunFactory.create(pipeline=PipelineFactory.create(name=f"p-{pipelines}-{number}"))
            reports(made, 1_000.0, 100, 150)
        looking = watch(FakeBrokers(times={KEY: [900.0] * 150}))
        with CaptureQueriesContext(connection) as queries:
            looking.measure(1_000.0)
        counted.append(len(queries))
    assert counted[0] == counted[1]


def point(pipeline: Pipeline, at: datetime, position: int, records: int, step: int = 60) -> LagPoint:
    part = PartitionLag("shop", "main", "orders-in", 0, position, position + records, records, 1.0)
    return LagPoint.objects.create(pipeline=pipeline, at=at, step=step, **lag.measures([part]))


def test_minutes_become_five_minutes_and_hours_with_the_last_position_and_the_worst_lag() -> None:
    pipeline = PipelineFactory.create()
    for minute in range(125):
        point(pipeline, NOW + timedelta(minutes=minute), minute, 1000 - minute)
    for _ in range(2):
        lag.roll_up(NOW + timedelta(minutes=125), "alpha")
        lag.roll_up(NOW + timedelta(minutes=126), "alpha")
    fives = LagPoint.objects.filter(step=300).order_by("at")
    assert (fives.count(), fives[0].at, fives[0].records) == (25, NOW, 1000)
    assert from_rows(fives[0].partitions)[0].position == 4
    hours = LagPoint.objects.filter(step=3600).order_by("at")
    assert [(hour.at, hour.records) for hour in hours] == [(NOW, 1000), (NOW + timedelta(hours=1), 940)]
    assert from_rows(hours[0].partitions)[0].position == 59


def test_a_late_point_is_still_rolled_up_and_a_long_break_holds_nothing_up() -> None:
    pipeline = PipelineFactory.create()
    point(pipeline, NOW, 1, 10)
    lag.roll_up(NOW + timedelta(minutes=10), "alpha")
    point(pipeline, NOW + timedelta(minutes=1), 2, 99)
    point(pipeline, NOW + timedelta(days=3), 3, 7)
    lag.roll_up(NOW + timedelta(days=3, minutes=10), "alpha")
    found = LagPoint.objects.filter(step=300).order_by("at").values_list("records", flat=True)
    assert list(found) == [99, 7]


def test_points_are_deleted_step_by_step() -> None:
    pipeline = PipelineFactory.create()
    for step in (60, 300, 3600):
        for days in (0.5, 2, 30, 100):
            point(pipeline, NOW - timedelta(days=days), 0, 1, step)
    lag.prune(now=NOW, retention=LagRetention())
    kept = LagPoint.objects.order_by("step", "-at").values_list("step", "at")
    assert [(step, (NOW - at).total_seconds() / 86_400) for step, at in kept] == [
        (60, 0.5),
        (300, 0.5),
        (300, 2.0),
        (3600, 0.5),
        (3600, 2.0),
        (3600, 30.0),
    ]


def test_positions_before_an_instant_are_those_of_the_last_look_that_was_surely_before_it() -> None:
    pipeline = PipelineFactory.create()
    point(pipeline, NOW, 10, 0, step=300)
    point(pipeline, NOW + timedelta(minutes=6), 60, 0)
    point(pipeline, NOW + timedelta(minutes=7), 70, 0)
    key = ("shop", "main", "orders-in", 0)
    for minutes, position in ((5, 10), (6, 60), (6.9, 60), (8, 70)):
        assert positions_before(pipeline, NOW + timedelta(minutes=minutes)) == {key: position}
    assert positions_before(pipeline, NOW + timedelta(minutes=4)) is None


def test_the_api_shows_lag_now_and_over_time(viewer: APIClient) -> None:
    pipeline = PipelineFactory.create(name="orders")
    now = datetime.now(UTC)
    for minutes in (50, 40, 2):
        point(pipeline, now - timedelta(minutes=minutes), 100 - minutes, minutes)
    shown = viewer.get("/api/v1/pipelines/orders/lag").json()
    assert (shown["step"], shown["records"], shown["seconds"]) == (60, 2, 1.0)
    (part,) = shown["partitions"]
    assert (part["topic"], part["partition"], part["position"], part["end"], part["records"]) == (
        "orders-in",
        0,
        98,
        100,
        2,
    )
    assert [each["records"] for each in shown["points"]] == [50, 40, 2]
    narrower = viewer.get("/api/v1/pipelines/orders/lag?since=45m&step=1m").json()
    assert [each["partitions"][0]["position"] for each in narrower["points"]] == [60, 98]
    assert viewer.get("/api/v1/pipelines/orders/lag?since=30d").json()["step"] == 3600
    assert viewer.get("/api/v1/pipelines/orders/lag?since=-2h&step=300").json()["step"] == 300
    assert viewer.get("/api/v1/pipelines/orders/lag?since=x").status_code == 400
    assert viewer.get("/api/v1/pipelines/orders/lag?step=7m").status_code == 400
