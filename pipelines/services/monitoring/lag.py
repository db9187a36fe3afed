"""The series of lag: points written, rolled up and deleted. Works for pipelines and for watched groups alike.

Rolling up is by windows that are over, and writes a window again where it is there already, so it may be repeated or
left out for a while.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db.models import QuerySet

from pipelines.domain.monitoring.lag import STEPS, PartitionLag, as_rows, from_rows, most, rolled_up, total, window_of
from pipelines.models import GroupSnapshot, LagPoint
from pipelines.services.base import bulk

_MOST_WINDOWS = 24
"""Rolled up at once; the next minute goes on."""
_CHUNK = 500
_MEASURES = ["partitions", "records", "seconds"]
_SEEN = ["state", "coordinator", "members"]


def measures(partitions: Sequence[PartitionLag]) -> dict[str, Any]:
    """The columns of a point: all partitions, the records that wait in all of them, and the age of the oldest."""
    return {
        "partitions": as_rows(partitions),
        "records": total(each.records for each in partitions),
        "seconds": most(each.seconds for each in partitions),
    }


def record(points: Sequence[LagPoint]) -> None:
    """Add points of pipelines."""
    LagPoint.objects.bulk_create(points, batch_size=_CHUNK, ignore_conflicts=True)


def roll_up(now: datetime, host: str) -> None:
    """Make five minutes out of minutes and hours out of five minutes, for what a host watches, as far as the windows
    are over."""
    lags, snapshots = LagPoint.objects.filter(pipeline__host_id=host), GroupSnapshot.objects.filter(group__host_id=host)
    for finer, coarser in itertools.pairwise(STEPS):
        _roll_up(lags, "pipeline_id", [], finer, coarser, now)
        _roll_up(snapshots, "group_id", _SEEN, finer, coarser, now)


def _roll_up(rows: QuerySet[Any], owner: str, seen: list[str], finer: int, coarser: int, now: datetime) -> None:
    """Window by window, from the last one that was written, which is looked at once more."""
    last = rows.filter(step=coarser).order_by("-at").values_list("at", flat=True).first()
    fine = rows.filter(step=finer)
    rest = fine if last is None else fine.filter(at__gte=last)
    for _ in range(_MOST_WINDOWS):
        first = rest.order_by("at").values_list("at", flat=True).first()
        if first is None:
            return
        start = window_of(first, coarser)
        end = start + timedelta(seconds=coarser)
        if end > now - timedelta(seconds=finer):  # points of its last moments may still be on their way
            return
        _roll_up_window(fine.filter(at__gte=start, at__lt=end), owner, seen, coarser, start)
        rest = fine.filter(at__gte=end)


def _roll_up_window(rows: QuerySet[Any], owner: str, seen: list[str], step: int, at: datetime) -> None:
    by_owner: dict[Any, list[Any]] = defaultdict(list)
    for row in rows.order_by("at").iterator(chunk_size=_CHUNK):
        by_owner[getattr(row, owner)].append(row)
    made = [
        rows.model(
            **{owner: key, "step": step, "at": at},
            **{name: getattr(points[-1], name) for name in seen},
            partitions=as_rows(rolled_up([from_rows(point.partitions) for point in points])),
            records=most(point.records for point in points),
            seconds=most(point.seconds for point in points),
        )
        for key, points in by_owner.items()
    ]
    rows.model._default_manager.bulk_create(
        made,
        batch_size=_CHUNK,
        update_conflicts=True,
        update_fields=[*_MEASURES, *seen],
        unique_fields=[owner.removesuffix("_id"), "step", "at"],
    )


@dataclass(frozen=True)
class LagRetention:
    """How long points of each step are kept; the order is that of STEPS."""

    minutes: timedelta = timedelta(days=1)
    five_minutes: timedelta = timedelta(days=7)
    hours: timedelta = timedelta(days=90)


def prune(*, now: datetime, retention: LagRetention) -> int:
    """Delete points that are older than their step is kept; returns their number."""
    kept = dict(zip(STEPS, (retention.minutes, retention.five_minutes, retention.hours), strict=True))
    deleted = 0
    for model in (LagPoint, GroupSnapshot):
        for step, keep in kept.items():
            rows = model._default_manager.filter(step=step, at__lt=now - keep)
            deleted += bulk.delete(rows)
    return deleted
