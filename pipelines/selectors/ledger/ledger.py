"""Reading the books."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django.db.models import Count, F, Q, QuerySet, Sum

from pipelines.domain.base.states import LedgerState
from pipelines.domain.ledger.ledger import COUNTERS, Counts
from pipelines.foundation import clock
from pipelines.models import LedgerBatch, Pipeline, Position, Sample
from pipelines.selectors.ledger.schemas import (
    ChannelLedgerTotals,
    LedgerBatchSchema,
    LedgerTotalsSchema,
    PointSchema,
    PositionSchema,
    RangeSchema,
    SeriesSchema,
)

MAX_POINTS = 1_000
SUMS = (*COUNTERS, "duplicates_max", "gaps", "overlaps")
_NUMBER = F("last_batch") - F("first_batch") + 1
"""Batches of a row."""


def batches(*, pipeline: Pipeline, channel: str | None, run: int | None) -> QuerySet[LedgerBatch]:
    """Batches of a pipeline, of one channel or run where given."""
    found = LedgerBatch.objects.filter(pipeline=pipeline).select_related("run").defer("run__observed", "run__identity")
    if channel is not None:
        found = found.filter(channel=channel)
    return found if run is None else found.filter(run__number=run)


def batch_schema(batch: LedgerBatch) -> LedgerBatchSchema:
    """One row of the ledger as the API shows it. A planned batch has no counts yet, so it is not judged."""
    counts = batch.counts
    return LedgerBatchSchema(
        id=batch.pk,
        run=batch.run.number,
        source=batch.source,
        channel=batch.channel,
        first_batch=batch.first_batch,
        last_batch=batch.last_batch,
        state=LedgerState(batch.state),
        **{name: getattr(counts, name) for name in COUNTERS},
        duplicates_max=batch.duplicates_max,
        gaps=batch.gaps,
        overlaps=batch.overlaps,
        ranges=[RangeSchema(**each) for each in batch.ranges],
        sink=batch.sink,
        attempts=batch.attempts,
        planned_at=batch.planned_at,
        done_at=batch.done_at,
        balanced=batch.balanced,
    )


def ledger_totals(pipeline: Pipeline) -> LedgerTotalsSchema:
    """The books over all runs, and the positions that follow from them."""
    channels = [_channel_totals(row) for row in _sums(pipeline)]
    totals = {
        name: sum(getattr(channel, name) for channel in channels)
        for name in ("read", "delivered", "filtered", "duplicates_max", "gaps", "overlaps")
    }
    balanced = all(channel.balanced for channel in channels)
    return LedgerTotalsSchema(channels=channels, **totals, balanced=balanced, positions=positions(pipeline))


def _sums(pipeline: Pipeline) -> list[dict[str, Any]]:
    planned = Q(state=LedgerState.PLANNED)
    counted_once = LedgerBatch.objects.filter(pipeline=pipeline).exclude(state=LedgerState.REPLAYED)
    rows = counted_once.values("source", "channel").order_by("source", "channel")
    sums = {f"sum_{name}": Sum(name, default=0) for name in SUMS}
    finished = Sum(_NUMBER, filter=~planned, default=0)
    counted = rows.annotate(**sums, batches=finished, open_batches=Count("id", filter=planned))
    return [dict(row) for row in counted]


def _channel_totals(row: dict[str, Any]) -> ChannelLedgerTotals:
    sums = {name: row[f"sum_{name}"] for name in SUMS}
    counts = Counts(**{name: sums[name] for name in COUNTERS})
    balanced = counts.balanced and not sums["gaps"] and not sums["overlaps"]
    names = {name: row[name] for name in ("source", "channel", "batches", "open_batches")}
    return ChannelLedgerTotals(**names, **sums, balanced=balanced)


def positions(pipeline: Pipeline) -> list[PositionSchema]:
    """The next offset of every partition."""
    found = Position.objects.filter(pipeline=pipeline).order_by("source", "channel", "topic", "partition")
    return [
        PositionSchema(
            source=each.source,
            channel=each.channel,
            topic=each.topic,
            partition=each.partition,
            next_offset=each.next_offset,
            updated_at=each.updated_at,
        )
        for each in found
    ]


def series_schema(pipeline: Pipeline, minutes: int) -> SeriesSchema:
    """Rate and lag of the last minutes, thinned out evenly where there are too many points."""
    since = clock.now() - timedelta(minutes=minutes)
    samples = list(
        Sample.objects.filter(pipeline=pipeline, at__gte=since)
        .order_by("at")
        .values_list("at", "records_per_second", "lag_records")
    )
    step = -(-len(samples) // MAX_POINTS) or 1
    return SeriesSchema(
        points=[
            PointSchema(at=at, records_per_second=rate, lag_records=lag) for at, rate, lag in samples[::-step][::-1]
        ]
    )
