"""Reading what is needed to check the output of a host's pipelines: a few queries, whatever their number.

All of it comes from the ledger, of which old rows are merged by minutes and hours. A pipeline that reads nothing has no
rows in a window, and costs nothing.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.db.models import Min, Q, QuerySet, Sum

from pipelines.domain.base.states import LedgerState
from pipelines.domain.ledger.ledger import Parts, added_up
from pipelines.domain.lifecycle.conditions import ConditionStatus
from pipelines.domain.monitoring.lag import window_of
from pipelines.domain.monitoring.output import SAME_HOUR, Band, Bucket, Reason, Series, Verdict, Window
from pipelines.foundation import clock
from pipelines.models import LedgerBatch, OutputVerdict

CHECKED_WITHIN = timedelta(minutes=3)
DAYS = 14
"""How far back the same hour of the day is read."""
RECENT = timedelta(hours=3)
"""How far back the last hours are read, in buckets of `RECENT_STEP` seconds."""
RECENT_STEP = 300
UNMERGED = timedelta(minutes=15)
"""What is younger is no past yet."""
_HOUR = 3_600
_COLUMNS = ("pipeline_id", "source", "channel", "done_at", "read", "delivered", "delivered_bytes")
_LEVELS = (0, 1, 2)
"""Of the rows of the last two weeks, however often they were merged; it is the head of the index."""

Past = Mapping[UUID, Mapping[str, list[Bucket]]]
"""Buckets by pipeline and source."""


def is_checked(at: datetime | None) -> bool:
    """Whether the worker of a host, which has checked the output of its pipelines at that time, still does so."""
    return at is not None and clock.now() - at <= CHECKED_WITHIN


def stored(host: str) -> dict[UUID, tuple[Verdict, datetime]]:
    """The verdicts that stand, with since when."""
    rows = OutputVerdict.objects.filter(pipeline__host_id=host)
    return {row.pipeline_id: (_verdict(row), row.since) for row in rows}


def _verdict(row: OutputVerdict) -> Verdict:
    series = {Series.of_key(key): Band(*band) if band else None for key, band in row.sources.items()}
    return Verdict(ConditionStatus(row.status), Reason(row.reason), row.message, series)


def windows(host: str, start: datetime, end: datetime) -> dict[UUID, dict[str, Window]]:
    """What the sources of each pipeline have read and delivered, and into which channels."""
    rows = _finished(host, start, end).values_list("pipeline_id", "source", "channel")
    sized = Sum("delivered", filter=Q(delivered_bytes__isnull=False), default=0)
    sums = rows.annotate(Sum("read"), Sum("delivered"), Min("done_at"), Sum("delivered_bytes", default=0), sized=sized)
    found: dict[UUID, dict[str, Window]] = defaultdict(dict)
    for pipeline, source, channel, read, delivered, since, size, sized_records in sums:
        before = found[pipeline].get(source, Window(0, 0, since))
        found[pipeline][source] = Window(
            max(before.read, read),
            before.delivered + delivered,
            min(before.since, since),
            before.size + size,
            before.sized + sized_records,
            {**before.channels, channel: delivered},
        )
    return dict(found)


def parts(host: str, pipelines: Collection[UUID], start: datetime, end: datetime) -> dict[UUID, dict[Series, Parts]]:
    """What components have counted of each channel, and of each source in that channel that has read the most."""
    rows = _finished(host, start, end).filter(pipeline_id__in=pipelines, components__isnull=False)
    sums: dict[tuple[UUID, str, str], tuple[int, Parts]] = {}
    columns = ("pipeline_id", "source", "channel", "read", "components")
    for pipeline, source, channel, read, components in rows.values_list(*columns):
        before, counted = sums.get((pipeline, source, channel), (0, {}))
        sums[(pipeline, source, channel)] = before + read, added_up(counted, components or {})
    found: dict[UUID, dict[Series, Parts]] = defaultdict(dict)
    for (pipeline, source, channel), (_, counted) in sorted(sums.items(), key=lambda each: each[1][0]):
        found[pipeline] |= {Series(source): counted, Series(source, channel): counted}
    return dict(found)


def same_hour(host: str, now: datetime) -> Past:
    """The hours around the present one on earlier days."""
    days = [now - timedelta(days=day) for day in range(1, DAYS + 1)]
    first, *others = (_finished(host, day - SAME_HOUR, day + SAME_HOUR).values_list(*_COLUMNS) for day in days)
    return _buckets(first.union(*others, all=True).iterator(), _HOUR)


def recent(host: str, pipelines: Collection[UUID], now: datetime) -> Past:
    """The last hours of some pipelines."""
    rows = _finished(host, now - RECENT, now - UNMERGED).filter(pipeline_id__in=pipelines)
    return _buckets(rows.values_list(*_COLUMNS).iterator(), RECENT_STEP)


def _buckets(rows: Iterable[Any], step: int) -> Past:
    sums: dict[tuple[UUID, str, datetime], dict[str, Counter[str]]] = defaultdict(lambda: defaultdict(Counter))
    for pipeline, source, channel, at, read, delivered, size in rows:
        counted = sums[(pipeline, source, window_of(at, step))][channel]
        counted.update(read=read, delivered=delivered, size=size or 0, sized=0 if size is None else delivered)
    found: dict[UUID, dict[str, list[Bucket]]] = defaultdict(lambda: defaultdict(list))
    for (pipeline, source, start), channels in sums.items():
        found[pipeline][source].append(_bucket(start, channels))
    return dict(found)


def _bucket(start: datetime, channels: Mapping[str, Counter[str]]) -> Bucket:
    total = sum(channels.values(), Counter[str]())
    return Bucket(
        start,
        max(each["read"] for each in channels.values()),
        total["delivered"],
        total["size"],
        total["sized"],
        {name: each["delivered"] for name, each in channels.items()},
    )


def _finished(host: str, start: datetime, end: datetime) -> QuerySet[LedgerBatch]:
    """Batches that queries have finished meanwhile; what a replay has finished beside them is not of the stream."""
    rows = LedgerBatch.objects.filter(state=LedgerState.DONE, pipeline__host_id=host)
    return rows.filter(rolled__in=_LEVELS, done_at__gte=start, done_at__lt=end)
