"""Reading the books."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from django.db.models import Count, F, Q, QuerySet, Sum
from django.db.models.fields.json import KeyTransform

from pipelines.domain.base.states import LedgerState
from pipelines.domain.ledger.components import ComponentCounts, by_component, missing
from pipelines.domain.ledger.ledger import CAUSES, COUNTERS, Cause, Counter, Counts, Parts
from pipelines.foundation import clock
from pipelines.models import ComponentTotals, LedgerBatch, Pipeline, Position, Revision, Sample
from pipelines.selectors.ledger.schemas import (
    ChannelLedgerTotals,
    ComponentTotalsSchema,
    LedgerBatchSchema,
    LedgerTotalsSchema,
    PointSchema,
    PositionSchema,
    RangeSchema,
    SeriesSchema,
)

MAX_POINTS = 1_000
SUMS = (*COUNTERS, "duplicates_max", "gaps", "overlaps")
Query = tuple[str, str]
"""Source and channel."""
_NUMBER = F("last_batch") - F("first_batch") + 1
"""Batches of a row."""


def batches(
    *,
    pipeline: Pipeline,
    source: str | None = None,
    channel: str | None = None,
    run: int | None = None,
    outcome: Counter | None = None,
    component: str | None = None,
    minutes: int | None = None,
) -> QuerySet[LedgerBatch]:
    """Batches of a pipeline: of one source, channel or run, with an outcome, which a component has decided, and those
    that were finished in the last minutes, where given."""
    found = LedgerBatch.objects.filter(pipeline=pipeline).select_related("run").defer("run__observed", "run__identity")
    named = {"source": source, "channel": channel, "run__number": run}
    found = found.filter(**{name: value for name, value in named.items() if value is not None})
    if minutes is not None:
        found = found.filter(finished(*last(minutes)))
    return found if outcome is None else _with(found, outcome, component)


def last(minutes: int) -> tuple[datetime, datetime]:
    """From when until when the last minutes are."""
    until = clock.now()
    return until - timedelta(minutes=minutes), until


def finished(since: datetime, until: datetime) -> Q:
    """Batches that were finished in between."""
    return Q(state=LedgerState.DONE, done_at__gte=since, done_at__lt=until)


def _with(found: QuerySet[LedgerBatch], outcome: Counter, component: str | None) -> QuerySet[LedgerBatch]:
    if component is None:
        return found.filter(**{f"{outcome}__gt": 0})
    if outcome == "delivered":
        return found.filter(delivered__gt=0, sink=component.rpartition(".")[2])
    part = KeyTransform(outcome, KeyTransform(component, "components"))
    return found.alias(part=part).filter(part__gt=0)


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
        components=_plain(counts.parts),
        delivered_bytes=counts.bytes_out,
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
    components = _components(pipeline)
    channels = [_channel_totals(row, components.get((row["source"], row["channel"]), [])) for row in _sums(pipeline)]
    totals = {
        name: sum(getattr(channel, name) for channel in channels)
        for name in ("read", "delivered", "filtered", "delivered_without_bytes", "duplicates_max", "gaps", "overlaps")
    }
    known = [channel.delivered_bytes for channel in channels if channel.delivered_bytes is not None]
    balanced = all(channel.balanced for channel in channels)
    return LedgerTotalsSchema(
        channels=channels,
        **totals,
        delivered_bytes=_known(sum(known), totals),
        balanced=balanced,
        positions=positions(pipeline),
    )


def _known(size: int, sums: dict[str, int]) -> int | None:
    """None where nobody has counted the bytes of any record that was delivered."""
    return None if sums["delivered"] and sums["delivered"] == sums["delivered_without_bytes"] else size


def _sums(pipeline: Pipeline) -> list[dict[str, Any]]:
    planned = Q(state=LedgerState.PLANNED)
    counted_once = LedgerBatch.objects.filter(pipeline=pipeline).exclude(state=LedgerState.REPLAYED)
    rows = counted_once.values("source", "channel").order_by("source", "channel")
    sums = {f"sum_{name}": Sum(name, default=0) for name in (*SUMS, "unattributed")}
    finished = Sum(_NUMBER, filter=~planned, default=0)
    without = Sum("delivered", filter=Q(delivered_bytes=None), default=0)
    sizes = {"sum_delivered_bytes": Sum("delivered_bytes", default=0), "sum_delivered_without_bytes": without}
    counted = rows.annotate(**sums, **sizes, batches=finished, open_batches=Count("id", filter=planned))
    return [dict(row) for row in counted]


def _components(pipeline: Pipeline) -> dict[Query, list[ComponentCounts]]:
    """The totals of each component."""
    rows = ComponentTotals.objects.filter(pipeline=pipeline).order_by("revision__number")
    found: dict[Query, list[tuple[int, str, dict[Cause, int]]]] = defaultdict(list)
    for source, channel, number, path, *counts in rows.values_list(
        "source", "channel", "revision__number", "component", *CAUSES
    ):
        found[(source, channel)].append((number, path, dict(zip(CAUSES, counts, strict=True))))
    return components_of(pipeline, found)


def components_of(
    pipeline: Pipeline, parts: Mapping[Query, Sequence[tuple[int, str, Mapping[Cause, int]]]]
) -> dict[Query, list[ComponentCounts]]:
    """Parts, each with the number of its revision and its path, as what the components of these revisions counted."""
    numbers = {number for each in parts.values() for number, _, _ in each}
    own = Revision.objects.filter(pipeline=pipeline, number__in=numbers)
    definitions = dict(own.values_list("number", "definition")) if numbers else {}
    return {query: by_component(each, definitions) for query, each in parts.items()}


def _channel_totals(row: dict[str, Any], components: list[ComponentCounts]) -> ChannelLedgerTotals:
    sums = {name: row[f"sum_{name}"] for name in SUMS}
    difference = Counts(**{name: sums[name] for name in COUNTERS}).difference
    balanced = not (difference or row["sum_unattributed"] or sums["gaps"] or sums["overlaps"])
    names = {name: row[name] for name in ("source", "channel", "batches", "open_batches")}
    without = row["sum_delivered_without_bytes"]
    return ChannelLedgerTotals(
        **names,
        **sums,
        delivered_bytes=_known(row["sum_delivered_bytes"], sums | {"delivered_without_bytes": without}),
        delivered_without_bytes=without,
        components=[component_schema(each) for each in components],
        not_by_component=dict(missing(sums, [each.counts for each in components])),
        balanced=balanced,
    )


def component_schema(component: ComponentCounts) -> ComponentTotalsSchema:
    """What a component has counted, as the API shows it."""
    counts = {name: component.counts.get(name, 0) for name in CAUSES}
    return ComponentTotalsSchema(**component.model_dump(exclude={"counts"}), **counts)


def _plain(parts: Parts | None) -> dict[str, dict[str, int]] | None:
    if parts is None:
        return None
    return {path: {str(name): number for name, number in counts.items()} for path, counts in sorted(parts.items())}


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
    """Rate and lag of the last minutes."""
    since = clock.now() - timedelta(minutes=minutes)
    return SeriesSchema(points=points_of(Sample.objects.filter(pipeline=pipeline, at__gte=since)))


def points_of(rows: QuerySet[Sample]) -> list[PointSchema]:
    """Samples as the points of a chart, thinned out evenly where there are too many."""
    samples = list(rows.order_by("at").values_list("at", "records_per_second", "lag_records"))
    step = -(-len(samples) // MAX_POINTS) or 1
    return [PointSchema(at=at, records_per_second=rate, lag_records=lag) for at, rate, lag in samples[::-step][::-1]]
