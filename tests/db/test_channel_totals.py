"""The running totals of channels are what the ledger adds up to, whatever was taken in, and only grow."""

from __future__ import annotations

from typing import Any

import pytest
from django.db.models import Sum

from pipelines.domain.ledger import journal
from pipelines.domain.ledger.ledger import COUNTERS, Counts
from pipelines.domain.ledger.totals import DURATIONS, cumulative
from pipelines.models import ChannelTotals, LedgerBatch, Run
from pipelines.services.base.totals import add
from pipelines.services.positions.positions import _abandon
from pipelines.services.runs.ownership import abandon_open_batches
from tests.db.test_journals import Q, done, planned, rng, take
from tests.factories import PipelineFactory, RunFactory

pytestmark = pytest.mark.django_db
SUMS = (*COUNTERS, "duplicates_max", "gaps", "overlaps")


@pytest.fixture
def run() -> Run:
    return RunFactory.create()


def totals(**filters: Any) -> dict[str, int]:
    return ChannelTotals.objects.filter(**filters).aggregate(**{f"{name}": Sum(name) for name in (*SUMS, "batches")})


def ledger() -> dict[str, int]:
    rows = LedgerBatch.objects.filter(state__in=["done", "abandoned"])
    batches = sum(row.last_batch - row.first_batch + 1 for row in rows.filter(state="done"))
    return rows.aggregate(**{name: Sum(name) for name in SUMS}) | {"batches": batches}


def test_they_are_what_the_ledger_adds_up_to(run: Run) -> None:
    counts = Counts(read=10, added=2, delivered=4, filtered=3, unrouted=1, dead_lettered=2, dropped_optional=2)
    take(run, planned(0, rng(0, 10)), done(0, rng(0, 10), counts=counts, duplicates_max=3))
    take(run, done(1, rng(15, 20)), done(2, rng(18, 30)), planned(3, rng(30, 40)))
    assert totals() == ledger()
    assert totals()["gaps"] == 5
    assert totals()["overlaps"] == 2
    assert totals()["batches"] == 3


def test_the_same_entries_count_once(run: Run) -> None:
    stale = Run.objects.get(pk=run.pk)
    assert take(run, done(0, rng(0, 10)))
    assert not take(stale, done(0, rng(0, 10)))
    assert totals()["read"] == 10


def test_channels_and_pipelines_have_totals_of_their_own(run: Run) -> None:
    other = RunFactory.create()
    take(run, done(0, rng(0, 10)), done(0, rng(0, 4)).model_copy(update={"channel": "audit"}))
    take(other, done(0, rng(0, 7)))
    found = ChannelTotals.objects.values_list("pipeline_id", "source", "channel", "read")
    assert sorted(found) == sorted(
        [
            (run.pipeline_id, "shop", "main", 10),
            (run.pipeline_id, "shop", "audit", 4),
            (other.pipeline_id, "shop", "main", 7),
        ]
    )


@pytest.mark.parametrize("abandon", [lambda run: abandon_open_batches(pipeline=run.pipeline, run=run), None])
def test_an_abandoned_batch_adds_its_possible_duplicates(run: Run, abandon: Any) -> None:
    take(run, done(0, rng(0, 10)), planned(1, rng(10, 25)))
    assert totals()["duplicates_max"] == 0
    abandon(run) if abandon else _abandon(run.pipeline)
    assert totals() == ledger()
    assert totals()["duplicates_max"] == 15


def test_each_batch_counts_in_the_histogram_although_the_ledger_merges_them(run: Run) -> None:
    spent = [0, 100, 101, 2_500, 9_999, 300_000, 300_001]
    entries = [done(n, rng(n, n + 1), ms=ms) for n, ms in enumerate(spent)]
    take(run, *entries[:3])
    take(run, *entries[3:])
    (row,) = ChannelTotals.objects.all()
    assert row.milliseconds == sum(spent)
    counts = {name: getattr(row, name) for name in DURATIONS}
    expected = [(bound, sum(ms / 1000 <= bound for ms in spent)) for bound in DURATIONS.values()]
    assert list(cumulative(counts)) == expected
    assert LedgerBatch.objects.count() == 2


def test_a_channel_without_finished_batches_has_no_row(run: Run) -> None:
    take(run, planned(0, rng(0, 10)), journal.Resolved(**Q, batch=0, delivered_before=4))
    assert not ChannelTotals.objects.exists()


def test_what_is_added_twice_is_added_up() -> None:
    channel = (PipelineFactory.create().id, "shop", "main")
    add({channel: {"read": 2**40}})
    add({channel: {"read": 5, "longer": 1}})
    add({})
    (row,) = ChannelTotals.objects.values()
    assert (row["read"], row["longer"], row["delivered"]) == (2**40 + 5, 1, 0)
