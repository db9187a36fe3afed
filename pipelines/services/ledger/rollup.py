"""Old rows become fewer: adjoining batches of the ledger, points of series and repeated events are merged by age.

The books stay exact. A row of the ledger is merged with the one before it only where both adjoin in batch numbers and
in every partition and agree in everything that is not added up; one with a gap, an overlap or a difference stays by
itself, so that it can still be found. Each row is looked at once per level, however long the ledger is.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import groupby
from statistics import fmean
from typing import Any

from django.db import connection, transaction
from django.db.models import Count, Max, Min
from django.db.models.functions import TruncHour

from pipelines.domain.base.positions import PartitionRange, merge_ranges
from pipelines.domain.base.states import LedgerState
from pipelines.domain.ledger.ledger import COUNTERS
from pipelines.models import Event, LedgerBatch, Sample
from pipelines.services.base import bulk


@dataclass(frozen=True)
class Level:
    """Rows older than `age` are merged within each `span`."""

    age: timedelta
    span: timedelta


LEDGER = (
    Level(timedelta(minutes=15), timedelta(minutes=1)),
    Level(timedelta(days=1), timedelta(hours=1)),
    Level(timedelta(days=14), timedelta(days=1)),
)
SERIES = Level(timedelta(hours=1), timedelta(minutes=1))
EVENTS = Level(timedelta(days=1), timedelta(hours=1))
REPEATED = ("sink.failed", "source.failed", "run.spawn_failed", "supervisor.error")
"""Kinds of events of which one an hour, with the number of all, says enough a day later."""

RUNS_AT_ONCE = 50
HOURS_AT_ONCE = 2_000
_ADDED_UP = (*COUNTERS, "duplicates_max")
_CHANGED = ("last_batch", "ranges", "attempts", "done_at", "components", "delivered_bytes", "spent", *_ADDED_UP)
_MERGED = {"id", "first_batch", "planned_at", "rolled", *_CHANGED}
_SAME = [field.attname for field in LedgerBatch._meta.concrete_fields if field.name not in _MERGED]


def roll_up(*, now: datetime, seconds: float = 20.0) -> dict[str, int]:
    """Merge what is old enough, for at most so many seconds; returns how many rows of each kind are gone. What is left
    is done the next time."""
    deadline = time.monotonic() + seconds

    def late() -> bool:
        return time.monotonic() > deadline

    return {"batches": _ledger(now, late), "samples": _series(now, late), "events": _events(now)}


def _ledger(now: datetime, late: Callable[[], bool]) -> int:
    gone = 0
    for number, level in enumerate(LEDGER):
        while not late() and (window := _oldest(number, now, level)):
            gone += sum(_merge_runs(number, window, runs) for runs in _runs(number, window))
    return gone


Window = tuple[datetime, datetime]


def _oldest(number: int, now: datetime, level: Level) -> Window | None:
    """The oldest span in which rows of a level wait, if all of it is old enough."""
    first = LedgerBatch.objects.filter(rolled=number, state=LedgerState.DONE).aggregate(at=Min("done_at"))["at"]
    if first is None:
        return None
    seconds = level.span.total_seconds()
    start = datetime.fromtimestamp(first.timestamp() // seconds * seconds, UTC)
    return (start, start + level.span) if start + level.span <= now - level.age else None


def _waiting(number: int, window: Window) -> Any:
    start, end = window
    return LedgerBatch.objects.filter(rolled=number, state=LedgerState.DONE, done_at__gte=start, done_at__lt=end)


def _runs(number: int, window: Window) -> Iterator[list[int]]:
    """The runs that have rows there, in portions."""
    runs = list(_waiting(number, window).order_by("run_id").values_list("run_id", flat=True).distinct())
    return (runs[start : start + RUNS_AT_ONCE] for start in range(0, len(runs), RUNS_AT_ONCE))


@transaction.atomic
def _merge_runs(number: int, window: Window, runs: Sequence[int]) -> int:
    """Rows that another housekeeper merges at the moment are left to it."""
    rows = _waiting(number, window).filter(run__in=runs).order_by("run_id", "source", "channel", "first_batch")
    locked = rows.select_for_update(skip_locked=connection.features.has_select_for_update_skip_locked)
    kept, gone = merged(list(locked))
    LedgerBatch.objects.filter(pk__in=gone).delete()
    changed = [{"id": row.pk, "rolled": number + 1} | {name: getattr(row, name) for name in _CHANGED} for row in kept]
    bulk.update(LedgerBatch, changed)
    return len(gone)


def merged(rows: Sequence[LedgerBatch]) -> tuple[list[LedgerBatch], list[int]]:
    """Rows in the order of their batches, each with those that adjoin it, and the keys of those that others hold."""
    kept: list[LedgerBatch] = []
    gone: list[int] = []
    ranges: list[PartitionRange] = []
    for row in rows:
        own = [PartitionRange.model_validate(each) for each in row.ranges]
        joined = merge_ranges(ranges, own) if kept and _adjoin(kept[-1], row) else None
        if joined is None:
            kept.append(row)
            ranges = own
            continue
        _absorb(kept[-1], row)
        kept[-1].ranges = [each.model_dump(mode="json") for each in joined]
        ranges = joined
        gone.append(row.pk)
    return kept, gone


def _adjoin(tail: LedgerBatch, row: LedgerBatch) -> bool:
    same = all(getattr(tail, name) == getattr(row, name) for name in _SAME)
    adjoin = same and tail.last_batch + 1 == row.first_batch
    return adjoin and tail.balanced and row.balanced and _keep_known(tail, row)


def _keep_known(*both: LedgerBatch) -> bool:
    """Together they say as much about components, bytes and durations as each does alone."""
    counts, spent = [row.counts for row in both], [row.spent for row in both]
    parts, sizes = [each.parts for each in counts], [each.bytes_out for each in counts]
    return _both_or_none(parts) and _both_or_none(sizes) and _both_or_none(spent)


def _both_or_none(known: Sequence[Any]) -> bool:
    return all(each is not None for each in known) or not any(known)


def _absorb(tail: LedgerBatch, row: LedgerBatch) -> None:
    tail.add(row.counts)
    if row.spent is not None:
        tail.add_spent(row.spent)
    tail.duplicates_max += row.duplicates_max
    tail.last_batch = row.last_batch
    tail.attempts = max(tail.attempts, row.attempts)
    tail.done_at = row.done_at


def _series(now: datetime, late: Callable[[], bool]) -> int:
    """One point a minute instead of one every other second: means of rate and lag."""
    gone = 0
    while not late() and (merged := _merge_samples(now - SERIES.age)):
        gone += merged
    return gone


@transaction.atomic
def _merge_samples(before: datetime) -> int:
    """The oldest minute that is wholly over by then. Points that another housekeeper merges are left to it."""
    raw = Sample.objects.filter(step=0)
    first = raw.aggregate(at=Min("at"))["at"]
    if first is None or first.replace(second=0, microsecond=0) + SERIES.span > before:
        return 0
    minute = first.replace(second=0, microsecond=0)
    rows = raw.filter(at__lt=minute + SERIES.span).order_by("pipeline_id")
    points = list(rows.select_for_update(skip_locked=connection.features.has_select_for_update_skip_locked))
    Sample.objects.filter(pk__in=[point.pk for point in points]).delete()
    bulk.insert([_mean(minute, list(same)) for _, same in groupby(points, key=lambda point: point.pipeline_id)])
    return len(points)


def _mean(minute: datetime, points: Sequence[Sample]) -> Sample:
    lags = [point.lag_records for point in points if point.lag_records is not None]
    return Sample(
        pipeline_id=points[0].pipeline_id,
        at=minute,
        step=int(SERIES.span.total_seconds()),
        records_per_second=fmean(point.records_per_second for point in points),
        lag_records=round(fmean(lags)) if lags else None,
    )


@transaction.atomic
def _events(now: datetime) -> int:
    """The last of an hour's repetitions stays, with the number of all of them."""
    end = (now - EVENTS.age).replace(minute=0, second=0, microsecond=0)
    old = Event.objects.filter(kind__in=REPEATED, at__lt=end, at__gte=end - EVENTS.age)
    hours = old.annotate(hour=TruncHour("at")).values("pipeline_id", "kind", "hour").order_by("hour")
    groups = hours.annotate(times=Count("id"), last=Max("id")).filter(times__gt=1)[:HOURS_AT_ONCE]
    gone = 0
    for group in list(groups):
        hour = old.filter(pipeline_id=group["pipeline_id"], kind=group["kind"])
        same = hour.filter(at__gte=group["hour"], at__lt=group["hour"] + EVENTS.span)
        last = Event.objects.get(pk=group["last"])
        last.data |= {"times": group["times"]}
        last.save(update_fields=["data"])
        gone += same.exclude(pk=last.pk).delete()[0]
    return gone
