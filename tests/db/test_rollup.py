"""Old rows are merged by age, and the books say the same before and after."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.domain.base.positions import PartitionRange
from pipelines.models import Event, LedgerBatch, Run, Sample
from pipelines.selectors.ledger.ledger import ledger_totals
from pipelines.selectors.lifecycle.supervision import totals
from pipelines.services.ledger.rollup import merged, roll_up
from tests.factories import EventFactory, LedgerBatchFactory, PipelineFactory, RunFactory, SampleFactory
from workers.tasks import housekeeping

pytestmark = pytest.mark.django_db
START = datetime(2026, 1, 1, tzinfo=UTC)


def write(run: Run, count: int, *, every: float = 1.0, start: datetime = START, **fields: Any) -> list[LedgerBatch]:
    """Adjoining batches of ten records, one after another in time."""
    return [
        LedgerBatchFactory.create(
            run=run,
            first_batch=number,
            ranges=[_range(number * 10, number * 10 + 10)],
            done_at=start + timedelta(seconds=number * every),
            **fields,
        )
        for number in range(count)
    ]


def _range(start: int, end: int) -> dict[str, Any]:
    return {"topic": "orders-in", "partition": 0, "start": start, "end": end}


def rows(run: Run) -> list[tuple[int, int, int, int, int]]:
    """First and last batch, start, end and records of each row."""
    found = LedgerBatch.objects.filter(run=run).order_by("first_batch")
    return [(r.first_batch, r.last_batch, r.ranges[0]["start"], r.ranges[-1]["end"], r.read) for r in found]


@pytest.fixture
def run() -> Run:
    return RunFactory.create()


FILTERED: dict[str, Any] = {"read": 10, "delivered": 7, "filtered": 3}
PARTS = {"sources.shop.interceptors[0]": {"filtered": 1}, "sources.shop.interceptors[1]": {"filtered": 2}}


def test_rows_that_are_merged_add_up_what_each_component_has_counted(run: Run) -> None:
    write(run, 60, components=PARTS, **FILTERED)
    roll_up(now=START + timedelta(hours=1))
    (row,) = LedgerBatch.objects.filter(run=run)
    assert row.counts.parts == {path: {"filtered": 60 * each["filtered"]} for path, each in PARTS.items()}
    assert row.counts.balanced


def test_a_row_that_nobody_counted_by_component_stays_apart_from_those_that_are(run: Run) -> None:
    counted, plain = FILTERED | {"components": PARTS}, {"read": 10, "delivered": 10}
    each: list[dict[str, Any]] = [FILTERED, FILTERED, plain, counted, counted]
    for number, fields in enumerate(each):
        LedgerBatchFactory.create(
            run=run, first_batch=number, ranges=[_range(number * 10, number * 10 + 10)], done_at=START, **fields
        )
    roll_up(now=START + timedelta(hours=1))
    assert [row[:2] for row in rows(run)] == [(0, 2), (3, 4)]
    known, unknown = (LedgerBatch.objects.get(run=run, first_batch=number).counts for number in (3, 0))
    assert (unknown.parts, unknown.filtered) == (None, 6)
    assert known.parts == {path: {"filtered": 2 * each["filtered"]} for path, each in PARTS.items()}


def test_a_row_whose_parts_differ_from_their_sum_stays_by_itself(run: Run) -> None:
    write(run, 3, components={"sources.shop.interceptors[0]": {"filtered": 1}}, unattributed=2, **FILTERED)
    assert roll_up(now=START + timedelta(hours=1))["batches"] == 0


def test_batches_of_a_minute_become_one_row_once_they_are_old_enough(run: Run) -> None:
    write(run, 120)
    assert roll_up(now=START + timedelta(minutes=15))["batches"] == 0
    assert roll_up(now=START + timedelta(minutes=16))["batches"] == 59
    assert rows(run)[:2] == [(0, 59, 0, 600, 600), (60, 60, 600, 610, 10)]
    assert roll_up(now=START + timedelta(minutes=17))["batches"] == 59
    assert rows(run) == [(0, 59, 0, 600, 600), (60, 119, 600, 1200, 600)]
    assert roll_up(now=START + timedelta(minutes=18))["batches"] == 0


def test_minutes_become_hours_and_hours_days(run: Run) -> None:
    write(run, 48, every=1800.0)
    roll_up(now=START + timedelta(days=3))
    assert [(first, last) for first, last, *_ in rows(run)] == [(n, n + 1) for n in range(0, 48, 2)]
    roll_up(now=START + timedelta(days=16))
    assert rows(run) == [(0, 47, 0, 480, 480)]
    assert roll_up(now=START + timedelta(days=400))["batches"] == 0


def test_the_books_are_the_same_before_and_after(run: Run) -> None:
    write(run, 30, duplicates_max=2, attempts=3)
    LedgerBatchFactory.create(run=run, first_batch=30, read=9, delivered=8, done_at=START + timedelta(seconds=31))
    LedgerBatchFactory.create(run=run, first_batch=31, gaps=4, done_at=START + timedelta(seconds=32))
    before = ledger_totals(run.pipeline), totals([run.pipeline_id])
    assert roll_up(now=START + timedelta(days=1))["batches"] == 29
    assert (ledger_totals(run.pipeline), totals([run.pipeline_id])) == before
    assert before[0].channels[0].batches == 32


@pytest.mark.parametrize(
    "change", [{"gaps": 1}, {"overlaps": 1}, {"delivered": 9}, {"sink": "other"}, {"first_batch": 2}, {"channel": "x"}]
)
def test_a_row_that_does_not_adjoin_or_is_not_plain_stays_by_itself(run: Run, change: dict[str, Any]) -> None:
    write(run, 1)
    LedgerBatchFactory.create(
        run=run, done_at=START + timedelta(seconds=1), ranges=[_range(10, 20)], **{"first_batch": 1, **change}
    )
    assert roll_up(now=START + timedelta(days=30))["batches"] == 0
    assert LedgerBatch.objects.count() == 2


def test_runs_of_the_same_number_are_merged_each_by_itself(run: Run) -> None:
    other = RunFactory.create(pipeline=PipelineFactory.create(), number=run.number)
    for number in range(3):
        for each in (run, other):
            LedgerBatchFactory.create(
                run=each,
                first_batch=number,
                ranges=[_range(number * 10, number * 10 + 10)],
                done_at=START + timedelta(seconds=number),
            )
    assert roll_up(now=START + timedelta(hours=1))["batches"] == 4
    assert rows(run) == rows(other) == [(0, 2, 0, 30, 30)]


def test_batches_of_two_runs_stay_apart_and_open_ones_stay_open(run: Run) -> None:
    later = RunFactory.create(pipeline=PipelineFactory.create())
    write(run, 2)
    write(later, 2)
    LedgerBatchFactory.create(run=run, first_batch=2, state="planned", done_at=None, read=0, delivered=0)
    assert roll_up(now=START + timedelta(days=1))["batches"] == 2
    assert [len(rows(each)) for each in (run, later)] == [2, 1]


def test_a_row_is_looked_at_once_for_each_level(run: Run, django_assert_num_queries: Any) -> None:
    write(run, 5)
    now = START + timedelta(hours=1)
    roll_up(now=now)
    with django_assert_num_queries(3 + 3 + 3):  # a look per level; a look at samples and at events, each in a savepoint
        assert roll_up(now=now)["batches"] == 0


@given(
    cuts=st.lists(st.integers(1, 5), min_size=1, max_size=12),
    odd=st.sets(st.integers(0, 11)),
)
def test_merging_keeps_every_range_and_sum(cuts: list[int], odd: set[int]) -> None:
    start, found = 0, []
    for number, size in enumerate(cuts):
        ranges = [_range(start, start + size)]
        gap = 1 if number in odd else 0
        found.append(
            LedgerBatch(
                id=number, first_batch=number, last_batch=number, ranges=ranges, read=size, delivered=size, gaps=gap
            )
        )
        start += size
    plain = "".join(" | " if number in odd else "." for number in range(len(cuts))).split()
    kept, gone = merged(found)
    assert len(kept) == len(plain), "neighbours without a gap are one row"
    assert {row.pk for row in kept} | set(gone) == set(range(len(cuts)))
    assert sum(row.read for row in kept) == start
    assert sum(row.gaps for row in kept) == len(odd & set(range(len(cuts))))
    ends = [PartitionRange.model_validate(row.ranges[0]) for row in kept]
    assert [each.start for each in ends[1:]] == [each.end for each in ends[:-1]]
    assert [row.first_batch for row in kept[1:]] == [row.last_batch + 1 for row in kept[:-1]]


def test_points_become_one_a_minute_after_an_hour() -> None:
    pipelines = PipelineFactory.create_batch(2)
    for second in range(0, 120, 2):
        for pipeline in pipelines:
            SampleFactory.create(
                pipeline=pipeline,
                at=START + timedelta(seconds=second),
                records_per_second=float(second),
                lag_records=None,
            )
    SampleFactory.create(pipeline=pipelines[0], at=START + timedelta(seconds=1), records_per_second=29.0, lag_records=8)
    assert roll_up(now=START + timedelta(hours=1, seconds=59))["samples"] == 0
    assert roll_up(now=START + timedelta(hours=1, minutes=2))["samples"] == 121
    points = Sample.objects.filter(pipeline=pipelines[0]).order_by("at")
    assert [(p.at, p.step, p.records_per_second, p.lag_records) for p in points] == [
        (START, 60, 29.0, 8),
        (START + timedelta(minutes=1), 60, 89.0, None),
    ]
    assert Sample.objects.count() == 4
    assert roll_up(now=START + timedelta(days=1))["samples"] == 0


def test_repeated_failures_become_one_event_an_hour_that_says_how_often() -> None:
    pipeline = PipelineFactory.create()
    for minute in range(90):
        EventFactory.create(
            pipeline=pipeline, kind="sink.failed", at=START + timedelta(minutes=minute), data={"n": minute}
        )
    EventFactory.create_batch(3, pipeline=pipeline, kind="phase.changed", at=START)
    assert roll_up(now=START + timedelta(days=1, hours=2))["events"] == 88
    kept = Event.objects.filter(kind="sink.failed").order_by("id")
    assert [event.data for event in kept] == [{"n": 59, "times": 60}, {"n": 89, "times": 30}]
    assert roll_up(now=START + timedelta(days=1, hours=2))["events"] == 0


def test_housekeeping_merges_what_is_old(run: Run) -> None:
    write(run, 10)
    housekeeping()
    assert len(rows(run)) == 1
