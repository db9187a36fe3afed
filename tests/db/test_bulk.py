"""Many rows in one statement mean the same as one statement for each row."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from django.db import DatabaseError, IntegrityError

from pipelines.models import Position, Run, Sample
from pipelines.services.base import bulk
from tests.factories import PipelineFactory, PositionFactory, RunFactory

pytestmark = pytest.mark.django_db
AT = datetime(2026, 1, 2, 3, 4, 5, 678901, tzinfo=UTC)
ODD = {
    "text": "quote \" apostrophe ' percent % backslash \\ line\n",
    "none": None,
    "number": 2**53 + 1,
    "list": [1.5, True],
}


def test_every_type_of_value_comes_back_as_it_was() -> None:
    runs = RunFactory.create_batch(2)
    rows: list[dict[str, Any]] = [
        {"id": runs[0].pk, "observed": ODD, "first_record_at": AT, "exit_code": -9, "exit_reason": ODD["text"]},
        {"id": runs[1].pk, "observed": None, "first_record_at": None, "exit_code": None, "exit_reason": ""},
    ]
    assert bulk.update(Run, rows) == {run.pk for run in runs}
    for row in rows:
        run = Run.objects.get(pk=row["id"])
        assert {name: getattr(run, name) for name in row} == row


def test_only_rows_that_are_as_they_were_seen_change() -> None:
    first, second = RunFactory.create_batch(2)
    rows = [
        {"id": first.pk, "journal_seq": 5, "seen_journal_seq": 0},
        {"id": second.pk, "journal_seq": 5, "seen_journal_seq": 4},
    ]
    assert bulk.update(Run, rows, seen=["journal_seq"]) == {first.pk}
    assert list(Run.objects.order_by("pk").values_list("journal_seq", flat=True)) == [5, 0]


def test_thousands_of_rows_are_one_statement(django_assert_num_queries: Any) -> None:
    pipeline = PipelineFactory.create()
    samples = [Sample(pipeline=pipeline, at=AT, records_per_second=n / 7, lag_records=n) for n in range(3000)]
    with django_assert_num_queries(1):
        bulk.insert(samples)
    found = Sample.objects.order_by("lag_records")
    assert [(s.at, s.records_per_second) for s in found] == [(AT, s.records_per_second) for s in samples]


def test_a_row_that_is_there_takes_over_what_is_to_be_updated() -> None:
    there = PositionFactory.create(partition=3, next_offset=1, lineage=1)
    place = {"pipeline": there.pipeline, "source": there.source, "channel": there.channel, "topic": there.topic}
    rows = [Position(**place, partition=p, next_offset=70, lineage=2) for p in (3, 2**62)]
    unique = ["pipeline", "source", "channel", "topic", "partition"]
    bulk.insert(rows, unique=unique, update=["next_offset", "updated_at"])
    found = Position.objects.order_by("partition").values_list("pk", "partition", "next_offset", "lineage")
    assert found[0] == (there.pk, 3, 70, 1)
    assert found[1][1:] == (2**62, 70, 2)


def test_what_no_database_can_hold_is_refused() -> None:
    pipeline = PipelineFactory.create()
    with pytest.raises(OverflowError):
        bulk.insert([Sample(pipeline=pipeline, at=AT, records_per_second=0.0, lag_records=2**63)])


def test_constraints_hold() -> None:
    pipeline = PipelineFactory.create()
    with pytest.raises((IntegrityError, DatabaseError)):
        bulk.insert([Sample(pipeline=pipeline, at=AT, records_per_second=0.0, lag_records=-1)])


def test_nothing_is_no_statement(django_assert_num_queries: Any) -> None:
    with django_assert_num_queries(0):
        bulk.insert([])
        assert bulk.update(Run, []) == set()


def test_a_large_deletion_begins_with_the_oldest_and_ends_at_its_bound() -> None:
    pipeline = PipelineFactory.create()
    bulk.insert([Sample(pipeline=pipeline, at=AT, records_per_second=0, lag_records=n) for n in range(1200)])
    old = Sample.objects.filter(pipeline=pipeline)
    assert bulk.delete(old, most=1100) == 1100
    assert set(old.values_list("lag_records", flat=True)) == set(range(1100, 1200))
    assert bulk.delete(old) == 100
    assert bulk.delete(old) == 0
