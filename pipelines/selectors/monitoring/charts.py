"""Reading a pipeline over a range of time, in a fixed number of queries however long it is.

What was read and delivered, and how long batches took, comes from the ledger: exact, and where its rows are merged, a
mean over the time of their batches. Lag comes from its own series, of which older points are rolled up.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, TypeVar

from django.conf import settings
from django.db.models import Q, QuerySet
from django.db.models.functions import Coalesce

from pipelines.domain.base.states import LedgerState
from pipelines.domain.ledger.ledger import BatchStep
from pipelines.domain.monitoring.charts import Column, Grid, Held, Span, first_known, most
from pipelines.domain.monitoring.lag import QUIET_SECONDS, STEPS
from pipelines.foundation import clock
from pipelines.models import Event, LagPoint, LedgerBatch, Pipeline, Run, Sample
from pipelines.selectors.monitoring.chart_schemas import (
    ChartsSchema,
    MarkSchema,
    PartitionChartsSchema,
    PartitionColumnsSchema,
)

MOST_ROWS = 50_000
"""Rows of the ledger, and of runs, that one answer reads: the newest."""
MOST_MARKS = 500
MOST_CELLS = 25_000
MOST_PARTITIONS = 512
SAMPLE_HOLDS = 20.0
"""Seconds: agents report every ten at least."""
MARKED_PHASES = ("RUNNING", "PAUSED", "STOPPED", "DEGRADED", "STALLED", "FAILED", "BLOCKED", "BACKOFF")
MARKED = (
    "sink.switched",
    "sink.recovered",
    "migration.pausing",
    "migration.resuming",
    "migration.committed",
    "migration.rolling_back",
    "migration.rolled_back",
    "migration.needs_attention",
)


def charts_schema(pipeline: Pipeline, since: datetime, until: datetime) -> ChartsSchema:
    """Everything that has one value at a time."""
    now = clock.now()
    grid = Grid.of(since, until, now)
    ledger = _ledger(pipeline, grid)
    lag = _lag(pipeline, grid, now)
    found, left_out = _marks(pipeline, since, until)
    return ChartsSchema(
        since=since,
        until=until,
        step=grid.step,
        at=grid.times(),
        read_per_second=ledger.per_second(ledger.read()),
        delivered_per_second=ledger.per_second(ledger.delivered),
        lag_records=[None if value is None else round(value) for value in lag["records"]],
        lag_seconds=lag["seconds"],
        batches=[round(number) if known else None for number, known in zip(ledger.batches, ledger.known, strict=True)],
        batch_seconds=ledger.batch_seconds(),
        restarts=_restarts(pipeline, grid, now),
        marks=found,
        marks_left_out=left_out,
        created_at=pipeline.created_at,
        ran=any(ledger.ran),
        lag_kept_since=now - timedelta(days=settings.HEADGATE.lag_hour_days),
        events_kept_since=_events_kept_since(now),
    )


def _events_kept_since(now: datetime) -> datetime:
    return now - timedelta(days=settings.HEADGATE.event_days)


@dataclass
class _Ledger:
    """The sums of each window. `ran`: an agent was there; `known`: and rows that are old enough were read."""

    grid: Grid
    ran: list[bool] = field(default_factory=list)
    known: list[bool] = field(default_factory=list)
    delivered: list[float] = field(init=False)
    batches: list[float] = field(init=False)
    timed: list[float] = field(init=False)
    by_channel: dict[tuple[str, str], list[float]] = field(init=False)
    milliseconds: dict[str, list[float]] = field(init=False)

    def __post_init__(self) -> None:
        size = self.grid.size
        self.delivered, self.batches, self.timed = [0.0] * size, [0.0] * size, [0.0] * size
        self.by_channel = defaultdict(lambda: [0.0] * size)
        self.milliseconds = defaultdict(lambda: [0.0] * size)

    def add(self, row: dict[str, Any]) -> None:
        """Count a row, over the time from its first plan to its last end."""
        number = row["last_batch"] - row["first_batch"] + 1
        amounts = [
            (self.by_channel[(row["source"], row["channel"])], row["read"]),
            (self.delivered, row["delivered"]),
            (self.batches, number),
        ]
        if row["spent"] is not None:
            amounts.append((self.timed, number))
            amounts += [(self.milliseconds[step], ms) for step, ms in row["spent"].items()]
        for window, share in self.grid.shares(Span(row["begun"].timestamp(), row["done_at"].timestamp())):
            for sums, amount in amounts:
                sums[window] += amount * share

    def read(self) -> list[float]:
        """What was read: all channels of a source read the same records."""
        by_source: dict[str, list[list[float]]] = defaultdict(list)
        for (source, _), sums in self.by_channel.items():
            by_source[source].append(sums)
        each = [[max(values) for values in zip(*channels, strict=True)] for channels in by_source.values()]
        return [sum(values) for values in zip(*each, strict=True)] if each else [0.0] * self.grid.size

    def per_second(self, sums: Sequence[float]) -> list[float | None]:
        """Sums as rates."""
        return [
            round(amount / self.grid.seconds(number), 3) if self.known[number] else None
            for number, amount in enumerate(sums)
        ]

    def batch_seconds(self) -> dict[BatchStep, list[float | None]]:
        """The mean of a batch, where there are batches whose time was measured."""
        return {
            step: [
                round(spent / number / 1000, 4) if number > 0 else None
                for spent, number in zip(self.milliseconds[step.value], self.timed, strict=True)
            ]
            for step in BatchStep
        }


def _ledger(pipeline: Pipeline, grid: Grid) -> _Ledger:
    found = _Ledger(grid)
    last_done: dict[int, float] = {}
    rows = list(_batches(pipeline, grid)[: MOST_ROWS + 1])
    for row in rows[:MOST_ROWS]:
        found.add(row)
        done_at = row["done_at"].timestamp()
        last_done[row["run_id"]] = max(done_at, last_done.get(row["run_id"], done_at))
    read_from = rows[MOST_ROWS]["done_at"].timestamp() if len(rows) > MOST_ROWS else grid.span.start
    found.ran = grid.touched(_lives(pipeline, grid, last_done))
    found.known = [
        (ran and grid.start + number * grid.step >= read_from - grid.step) or found.batches[number] > 0
        for number, ran in enumerate(found.ran)
    ]
    return found


def _batches(pipeline: Pipeline, grid: Grid) -> QuerySet[Any, dict[str, Any]]:
    """Rows that touch the range, the newest first; of a pipeline there are few, since old ones are merged."""
    start, end = _bounds(grid)
    begun = Coalesce("planned_at", "done_at")
    rows = LedgerBatch.objects.filter(pipeline=pipeline, state=LedgerState.DONE).annotate(begun=begun)
    columns = ("source", "channel", "first_batch", "last_batch", "read", "delivered", "spent", "begun", "run_id")
    touching = rows.filter(done_at__gte=start, begun__lt=end).order_by("-done_at")
    found: QuerySet[Any, dict[str, Any]] = touching.values(*columns, "done_at")
    return found


def _bounds(grid: Grid) -> tuple[datetime, datetime]:
    """When the first window begins and the last one ends."""
    start = datetime.fromtimestamp(grid.span.start, clock.now().tzinfo)
    return start, start + timedelta(seconds=grid.size * grid.step)


def _lives(pipeline: Pipeline, grid: Grid, last_done: dict[int, float]) -> Iterator[Span]:
    """When agents that consume were there, as far as the ledger has heard of them: of one that lives, up to the last
    sign of its host; of one whose journal was lost, up to its last batch."""
    start, end = _bounds(grid)
    begun = Coalesce("promoted_at", "started_at")
    runs = Run.objects.filter(pipeline=pipeline, epoch__isnull=False).annotate(begun=begun)
    touching = runs.filter(Q(ended_at=None) | Q(ended_at__gte=start), begun__lt=end).order_by("-number")
    for pk, first, ended, whole, seen in touching.values_list(
        "pk", "begun", "ended_at", "journal_whole", "host__seen_at"
    )[:MOST_ROWS]:
        begin = first.timestamp()
        last = seen if ended is None else ended if whole else None
        yield Span(begin, max(begin, last_done.get(pk, begin) if last is None else min(last.timestamp(), grid.now)))


def _lag(pipeline: Pipeline, grid: Grid, now: datetime) -> dict[str, list[float | None]]:
    rows = _finest(grid, _points(pipeline, grid, now).values_list("step", "at", "records", "seconds"))
    found = {
        "records": _overlaid(grid, ((step, at, records, records) for step, at, records, _ in rows)),
        "seconds": _overlaid(grid, rows),
    }
    if grid.step < STEPS[0]:
        found["records"] = first_known([_sampled(pipeline, grid), found["records"]])
    return found


def _points(pipeline: Pipeline, grid: Grid, now: datetime) -> QuerySet[LagPoint]:
    """Points of the step that suits the windows; finer ones where that is not rolled up yet, coarser ones where it is
    deleted."""
    start, end = _bounds(grid)
    main = max((step for step in STEPS if step <= grid.step), default=STEPS[0])
    before = timedelta(seconds=QUIET_SECONDS + main)
    young = Q(step__lt=main, at__gte=now - before - timedelta(seconds=main))
    rows = LagPoint.objects.filter(pipeline=pipeline, at__gte=start - before, at__lt=end)
    return rows.filter(Q(step__gte=main) | young).order_by("at")


Point = TypeVar("Point", bound="tuple[int, datetime, *tuple[Any, ...]]")


def _finest(grid: Grid, points: Iterable[Point]) -> list[Point]:
    """Without points that are wider than a window and made of others that are here: they would fill the holes between
    those."""
    rows = list(points)
    covered = {
        (wider, row[1].timestamp() // wider) for row in rows for wider in STEPS if wider > max(row[0], grid.step)
    }
    return [row for row in rows if (row[0], row[1].timestamp() // row[0]) not in covered]


def _overlaid(grid: Grid, rows: Iterable[tuple[int, datetime, int | None, float | None]]) -> list[float | None]:
    """Points of several steps (step, time, records, value) as one series: the most of those that fit into a window,
    else the finest of the others."""
    by_step: dict[int, list[Held]] = defaultdict(list)
    for step, at, records, value in rows:
        by_step[step].append(Held(at.timestamp(), _holds(step, records), value))
    return _laid_over(grid, {step: grid.held(held) for step, held in by_step.items()})


def _laid_over(grid: Grid, series: Mapping[int, list[float | None]]) -> list[float | None]:
    fitting = grid.nothing()
    for values in (values for step, values in series.items() if step <= grid.step):
        fitting = [most(one, other) for one, other in zip(fitting, values, strict=True)]
    coarser = [series[step] for step in sorted(series) if step > grid.step]
    return first_known([fitting, *coarser])


def _holds(step: int, records: int | None) -> float:
    """How long a point holds: where nothing waits the next one may be late."""
    return step + QUIET_SECONDS if records == 0 else 2 * step if step == STEPS[0] else step


def _sampled(pipeline: Pipeline, grid: Grid) -> list[float | None]:
    """The lag as the agent reports it, which is finer than that of the series."""
    start, end = _bounds(grid)
    rows = Sample.objects.filter(pipeline=pipeline, at__gte=start - timedelta(minutes=1), at__lt=end).order_by("at")
    return grid.held(
        [
            Held(at.timestamp(), step or SAMPLE_HOLDS, lag)
            for at, step, lag in rows.values_list("at", "step", "lag_records")
        ]
    )


def _restarts(pipeline: Pipeline, grid: Grid, now: datetime) -> list[int | None]:
    """Restarts after failures; None before the pipeline was there, and where events are deleted."""
    start, end = _bounds(grid)
    ended = Event.objects.filter(pipeline=pipeline, kind="run.ended", data__restarts=True, at__gte=start, at__lt=end)
    counts = [0] * grid.size
    for at in ended.order_by("-id").values_list("at", flat=True)[:MOST_ROWS]:
        for number in grid.windows(Span(at.timestamp(), at.timestamp())):
            counts[number] += 1
    first = max(pipeline.created_at, _events_kept_since(now)).timestamp()
    known = grid.touched([Span(first, grid.now)])
    return [count if there or count else None for count, there in zip(counts, known, strict=True)]


def _marks(pipeline: Pipeline, since: datetime, until: datetime) -> tuple[list[MarkSchema], bool]:
    """The newest events of a range that are worth a mark, oldest first, and whether there are others."""
    phases = Q(kind="phase.changed", data__new__in=MARKED_PHASES)
    rows = Event.objects.filter(phases | Q(kind__in=MARKED), pipeline=pipeline, at__gte=since, at__lte=until)
    found = list(rows.order_by("-id").only("id", "at", "kind", "data", "message")[: MOST_MARKS + 1])
    marks = [
        MarkSchema(
            id=each.pk,
            at=each.at,
            kind=each.kind,
            state=each.data["new"] if each.kind == "phase.changed" else "",
            message=each.message,
        )
        for each in found[:MOST_MARKS]
    ]
    return marks[::-1], len(found) > MOST_MARKS


def partition_charts_schema(pipeline: Pipeline, since: datetime, until: datetime) -> PartitionChartsSchema:
    """The lag of every partition. The more partitions there are, the coarser it is."""
    now = clock.now()
    newest = LagPoint.objects.filter(pipeline=pipeline, at__lte=until).order_by("-at").first()
    partitions = min(MOST_PARTITIONS, len(newest.partitions) if newest else 1) or 1
    grid = Grid.of(since, until, now, max(1, min(200, MOST_CELLS // partitions)))
    columns = _by_partition(grid, _finest(grid, _points(pipeline, grid, now).values_list("step", "at", "partitions")))
    shown = sorted(columns, key=lambda each: -max((n or 0 for n in each.records), default=0))[:MOST_PARTITIONS]
    return PartitionChartsSchema(
        since=since,
        until=until,
        step=grid.step,
        at=grid.times(),
        partitions=sorted(shown, key=lambda each: (each.source, each.channel, each.topic, each.partition)),
        left_out=len(columns) - len(shown),
    )


Key = tuple[str, str, str, int]
Columns = dict[Key, tuple[Column, Column]]
"""Records and seconds of each partition."""


def _by_partition(grid: Grid, points: Iterable[tuple[int, datetime, list[Any]]]) -> list[PartitionColumnsSchema]:
    by_step: dict[int, list[tuple[float, list[Any]]]] = defaultdict(list)
    for step, at, stored in points:
        by_step[step].append((at.timestamp(), stored))
    layers = {step: _columns(grid, step, rows) for step, rows in by_step.items()}
    keys = {key for columns in layers.values() for key in columns}
    return [_partition(grid, key, {step: found[key] for step, found in layers.items() if key in found}) for key in keys]


def _columns(grid: Grid, step: int, rows: Sequence[tuple[float, list[Any]]]) -> Columns:
    """Points of one step. Which windows a point reaches is the same for all of its partitions."""
    found: Columns = defaultdict(lambda: (Column.of(grid.size), Column.of(grid.size)))
    for (at, stored), following in zip(rows, [*(at for at, _ in rows[1:]), grid.now], strict=False):
        waiting, quiet = (grid.reach(at, _holds(step, records), following) for records in (None, 0))
        for source, channel, topic, partition, _, _, records, seconds in stored:
            windows = quiet if records == 0 else waiting
            in_records, in_seconds = found[(source, channel, topic, partition)]
            in_records.put(*windows, records)
            in_seconds.put(*windows, seconds)
    return found


def _partition(grid: Grid, key: Key, by_step: Mapping[int, tuple[Column, Column]]) -> PartitionColumnsSchema:
    source, channel, topic, partition = key
    records, seconds = (_laid_over(grid, {step: each[of].values() for step, each in by_step.items()}) for of in (0, 1))
    return PartitionColumnsSchema(
        source=source,
        channel=channel,
        topic=topic,
        partition=partition,
        records=[None if value is None else round(value) for value in records],
        seconds=seconds,
    )
