"""Reading lag: what is seen of a host's pipelines now, and the series."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.db.models import Case, F, Q, QuerySet, When
from django.db.models.functions import Coalesce

from pipelines.domain.base.states import Phase
from pipelines.domain.monitoring.alert_rules import Facts
from pipelines.domain.monitoring.lag import MOST_CELLS, MOST_POINTS, STEPS, from_rows, positions_of, step_for
from pipelines.foundation import clock
from pipelines.models import LagPoint, Pipeline, Position, Revision, Run
from pipelines.selectors.monitoring.schemas import LagPartitionSchema, LagPointSchema, LagSchema
from pipelines.selectors.runs.runs import living_runs

DEFAULT_SPAN = timedelta(hours=1)


@dataclass(frozen=True)
class MonitoredPipeline:
    """A pipeline of a host as a watcher sees it. `observed`: the last status of its living run, where there is one."""

    id: UUID
    facts: Facts
    revision: int | None
    observed: Mapping[str, Any] | None


def monitored(host: str) -> list[MonitoredPipeline]:
    """Every pipeline of a host, in two queries whatever their number."""
    living = living_runs().filter(pipeline__host_id=host)
    runs = {pipeline: (revision, seen, since) for pipeline, revision, seen, since in _observed(living)}
    rows = Pipeline.objects.filter(host_id=host, archived_at__isnull=True).only(
        "id", "name", "team_id", "labels", "phase", "phase_message", "conditions", "current_revision_id"
    )
    return [_monitored(row, *runs.get(row.id, (row.current_revision_id, None, None))) for row in rows]


def _observed(runs: QuerySet[Run]) -> Iterator[tuple[UUID, int, Mapping[str, Any] | None, datetime]]:
    yield from runs.values_list("pipeline_id", "revision_id", "observed", Coalesce("promoted_at", "started_at"))


def _monitored(
    row: Pipeline, revision: int | None, observed: Mapping[str, Any] | None, since: datetime | None
) -> MonitoredPipeline:
    facts = Facts(
        pipeline=row.name,
        phase=Phase(row.phase),
        phase_message=row.phase_message,
        labels=row.labels,
        conditions=row.conditions,
        since=since,
        team=row.team_id,
    )
    return MonitoredPipeline(row.id, facts, revision, observed)


def definitions(revisions: list[int]) -> dict[int, dict[str, Any]]:
    """The definitions of revisions, in one query."""
    return dict(Revision.objects.filter(pk__in=revisions).values_list("pk", "definition"))


def ledger_positions(pipelines: list[UUID]) -> Iterator[tuple[UUID, str, str, str, int, int]]:
    """(pipeline, source, channel, topic, partition, next offset) of everything that the ledger knows of them."""
    rows = Position.objects.filter(pipeline_id__in=pipelines).order_by("source", "channel", "topic", "partition")
    yield from rows.values_list("pipeline_id", "source", "channel", "topic", "partition", "next_offset")


def measured_lags(names: Collection[str]) -> dict[str, int | None]:
    """The newest point of the series of each, where it is of the last two minutes: records that wait."""
    if not names:
        return {}
    since = clock.now() - timedelta(minutes=2)
    rows = LagPoint.objects.filter(pipeline__name__in=names, pipeline__archived_at=None, step=STEPS[0], at__gte=since)
    return dict(rows.order_by("at").values_list("pipeline__name", "records"))


def lag_schema(pipeline: Pipeline, since: datetime | None, step: int | None) -> LagSchema:
    """The lag of a pipeline now, and since a time (an hour ago, unless given)."""
    rows = LagPoint.objects.filter(pipeline=pipeline)
    newest = rows.filter(step=STEPS[0]).order_by("-at").first()
    chosen, points = window(rows, since, step)
    return LagSchema(
        as_of=newest.at if newest else None,
        records=newest.records if newest else None,
        seconds=newest.seconds if newest else None,
        partitions=partition_schemas(newest.partitions if newest else []),
        step=chosen,
        points=[LagPointSchema(**point_fields(point)) for point in points],
    )


def window(rows: QuerySet[Any], since: datetime | None, step: int | None) -> tuple[int, list[Any]]:
    """Points since a time, oldest first, with their step: at most MOST_POINTS, and MOST_CELLS partitions in all of
    them; where there are too many, points are left out evenly."""
    now = clock.now()
    since = since or now - DEFAULT_SPAN
    chosen = step or step_for(now - since)
    found = list(rows.filter(step=chosen, at__gte=since).order_by("-at")[:MOST_POINTS])
    most = max(1, MOST_CELLS // max([1, *(len(point.partitions) for point in found)]))
    return chosen, found[:: -(-len(found) // most) or 1][::-1]


def point_fields(point: Any) -> dict[str, Any]:
    """What every point of a series shows."""
    return {
        "at": point.at,
        "records": point.records,
        "seconds": point.seconds,
        "partitions": partition_schemas(point.partitions),
    }


def partition_schemas(rows: list[list[Any]]) -> list[LagPartitionSchema]:
    """Stored partitions as the API shows them."""
    return [LagPartitionSchema(**each._asdict()) for each in from_rows(rows)]


def positions_before(pipeline: Pipeline, at: datetime) -> Mapping[tuple[str, str, str, int], int] | None:
    """Positions by (source, channel, topic, partition) as they were seen last at or before a time; None where nothing
    is known that is so old. A look is at most a minute old, a rolled-up window ends before."""
    point = last_before(LagPoint.objects.filter(pipeline=pipeline), at)
    return None if point is None else positions_of(from_rows(point.partitions))


def last_before(rows: QuerySet[Any], at: datetime) -> Any:
    """The newest point whose positions were surely those of a time at or before `at`."""
    finest, *coarser = STEPS
    over = Q(step=finest, at__lte=at)
    for step in coarser:
        over |= Q(step=step, at__lte=at - timedelta(seconds=step))
    ended = Case(*(When(step=step, then=F("at") + timedelta(seconds=step)) for step in coarser), default=F("at"))
    return rows.filter(over).annotate(ended=ended).order_by("-ended", "step").first()
