"""The bytes that a batch delivers are kept from its journal to metrics, and what nobody has counted is unknown."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from rest_framework.test import APIClient

from pipelines.domain.ledger.ledger import Counts
from pipelines.domain.migration.outcome import ChannelOutcome
from pipelines.models import ChannelTotals, LedgerBatch, Run
from pipelines.selectors.migration.migrations import outcome
from pipelines.services.ledger.rollup import roll_up
from tests.db.test_journals import done, rng, take
from tests.db.test_metrics import CHANNEL, Scraped
from tests.factories import LedgerBatchFactory, PipelineFactory, RunFactory

pytestmark = pytest.mark.django_db
START = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.fixture
def run() -> Run:
    return RunFactory.create(pipeline=PipelineFactory.create(name="orders"))


def counts(size: int | None, delivered: int = 10) -> Counts:
    """Ten records, of which some are delivered."""
    parts: Any = {"sources.shop.interceptors[0]": {"filtered": 10 - delivered}} if delivered < 10 else None
    sums = {"read": 10, "delivered": delivered, "filtered": 10 - delivered}
    return Counts(**sums, components=parts, delivered_bytes=size)


def shown(viewer: APIClient, name: str = "summary") -> Any:
    return viewer.get(f"/api/v1/pipelines/orders/ledger/{name}").json()


def batches(viewer: APIClient) -> list[int | None]:
    found = viewer.get("/api/v1/pipelines/orders/ledger").json()["results"]
    return [each["delivered_bytes"] for each in found]


def test_batches_of_one_row_add_up_their_bytes(viewer: APIClient, run: Run) -> None:
    take(run, done(0, rng(0, 10), counts=counts(700)), done(1, rng(10, 20), counts=counts(0, delivered=0)))
    take(run, done(2, rng(20, 30), counts=counts(90, delivered=9)))
    assert batches(viewer) == [90, 700]
    totals = shown(viewer)
    for found in (totals, totals["channels"][0]):
        assert (found["delivered_bytes"], found["delivered_without_bytes"]) == (790, 0)
    assert Scraped(viewer)("channel_bytes_delivered_total", **CHANNEL) == 790


def test_what_an_agent_of_an_earlier_version_has_delivered_is_unknown_and_not_nothing(
    viewer: APIClient, run: Run
) -> None:
    take(run, done(0, rng(0, 10)))
    assert batches(viewer) == [None]
    totals = shown(viewer)
    for found in (totals, totals["channels"][0]):
        assert (found["delivered_bytes"], found["delivered_without_bytes"]) == (None, 10)
    assert Scraped(viewer)("channel_bytes_delivered_total", **CHANNEL) is None
    take(run, done(1, rng(10, 20), counts=counts(250)))
    totals = shown(viewer)
    for found in (totals, totals["channels"][0]):
        assert (found["delivered_bytes"], found["delivered_without_bytes"]) == (250, 10)
    assert Scraped(viewer)("channel_bytes_delivered_total", **CHANNEL) == 250


def test_bodies_that_are_empty_are_counted(viewer: APIClient, run: Run) -> None:
    take(run, done(0, rng(0, 10), counts=counts(0)))
    assert batches(viewer) == [0]
    assert shown(viewer)["delivered_bytes"] == 0
    assert Scraped(viewer)("channel_bytes_delivered_total", **CHANNEL) == 0


def test_a_channel_that_delivers_nothing_delivers_no_bytes(viewer: APIClient, run: Run) -> None:
    take(run, done(0, rng(0, 10), counts=counts(None, delivered=0)))
    assert batches(viewer) == [0]
    assert (shown(viewer)["delivered_bytes"], shown(viewer)["delivered_without_bytes"]) == (0, 0)
    assert Scraped(viewer)("channel_bytes_delivered_total", **CHANNEL) == 0


def test_the_running_totals_know_of_how_many_records_the_bytes_are(run: Run) -> None:
    take(run, done(0, rng(0, 10)), done(1, rng(10, 20), counts=counts(250, delivered=5)))
    row = ChannelTotals.objects.get()
    assert (row.delivered, row.sized, row.delivered_bytes) == (15, 5, 250)


def test_rows_are_merged_where_that_loses_no_bytes(run: Run) -> None:
    sizes = [70, 30, None, None, 5, 0]
    for number, size in enumerate(sizes):
        LedgerBatchFactory.create(
            run=run,
            first_batch=number,
            ranges=[{"topic": "orders-in", "partition": 0, "start": number * 10, "end": number * 10 + 10}],
            done_at=START + timedelta(seconds=number),
            delivered_bytes=size,
        )
    roll_up(now=START + timedelta(hours=1))
    rows = LedgerBatch.objects.order_by("first_batch").values_list("first_batch", "last_batch", "delivered_bytes")
    assert list(rows) == [(0, 1, 100), (2, 3, None), (4, 5, 5)]


def test_the_outcome_of_a_migration_has_the_bytes_that_are_known(run: Run) -> None:
    take(run, done(0, rng(0, 10)), done(1, rng(10, 20), counts=counts(250, delivered=5), sink="other"))
    (channel,) = outcome(LedgerBatch.objects.all()).sources["shop"].values()
    filtered = {"sources.shop.interceptors[0]": 5}
    assert channel == ChannelOutcome(read=20, events=20, delivered=15, filtered=filtered, size=250, sized=5)
