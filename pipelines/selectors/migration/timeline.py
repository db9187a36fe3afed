"""The timeline of a migration, from its log, the runs of both sides, and the series of its pipeline."""

from __future__ import annotations

from collections.abc import Iterator

from django.db.models import Q

from pipelines.domain.base.states import DesiredState
from pipelines.domain.migration.timeline.building import AgentRun, Facts, timeline
from pipelines.domain.migration.timeline.parts import Side, Timeline, Way
from pipelines.foundation import clock
from pipelines.models import Migration, Run, Sample
from pipelines.selectors.ledger.ledger import points_of
from pipelines.selectors.ledger.schemas import PointSchema
from pipelines.selectors.migration import evidence
from pipelines.selectors.migration import migrations as selecting
from pipelines.selectors.migration.schemas import MigrationTimelineSchema

MOST_RUNS = 100
"""Runs that are shown; more there are of one that crashes again and again."""


def timeline_schema(migration: Migration) -> MigrationTimelineSchema:
    """The timeline as the API shows it; without content before the migration has started."""
    found = timeline_of(migration)
    return MigrationTimelineSchema(timeline=found, points=[] if found is None else _points(migration, found))


def _points(migration: Migration, shown: Timeline) -> list[PointSchema]:
    return points_of(Sample.objects.filter(pipeline=migration.pipeline_id, at__gte=shown.since, at__lte=shown.until))


def timeline_of(migration: Migration) -> Timeline | None:
    """Its timeline; None before it has started."""
    if migration.started_at is None:
        return None
    follower = evidence.following(migration)
    heir = evidence.heir_of(migration, follower)
    spans = {
        Way.MIGRATION: evidence.pause_between(migration, follower),
        Way.ROLLBACK: evidence.pause_back(migration, heir),
    }
    return timeline(
        Facts(
            started_at=migration.started_at,
            ended_at=migration.ended_at,
            now=clock.now(),
            log=migration.steps,
            passed=migration.passed,
            runs=[*_runs(migration, [run for run in (follower, heir) if run is not None])],
            deliveries={way: span for way, span in spans.items() if span is not None},
            last_delivered_at=evidence.last_delivered_at(migration),
            has_delivered=follower is not None and follower.pk == migration.new_run_id,
            was_paused=migration.old_desired == DesiredState.PAUSED,
            waits_for=selecting.waits(migration),
        )
    )


def _runs(migration: Migration, later: list[Run]) -> Iterator[AgentRun]:
    """Runs that had the pipeline while the migration was under way, those that delivered first after its cuts, and the
    new agent's."""
    active = Q(epoch__isnull=False) & (Q(ended_at__isnull=True) | Q(ended_at__gte=migration.started_at))
    if migration.ended_at is not None:
        active &= Q(started_at__lte=migration.ended_at)
    named = Q(pk__in=[run.pk for run in later]) | Q(pk=migration.new_run_id)
    rows = Run.objects.filter(active | named, pipeline=migration.pipeline_id).select_related("revision")
    last = evidence.last_of_new(migration)
    for run in rows.defer("observed", "identity", "dumps", "in_flight").order_by("number")[:MOST_RUNS]:
        yield AgentRun(
            side=_side(migration, run, last),
            number=run.number,
            revision=run.revision.number,
            host=run.host_id,
            started_at=run.started_at,
            active_since=run.promoted_at or (run.started_at if run.epoch is not None else None),
            first_record_at=run.first_record_at,
            ended_at=run.ended_at,
        )


def _side(migration: Migration, run: Run, last: Run | None) -> Side:
    """New: the new agent's run, and those that followed it until it was ended for the rollback."""
    new = migration.new_run
    if new is None or run.pk == new.pk:
        return Side.OLD if new is None else Side.NEW
    if not selecting.is_promoted(migration) or (run.epoch or 0) < (new.epoch or 0):
        return Side.OLD
    return Side.OLD if last is not None and (run.epoch or 0) > (last.epoch or 0) else Side.NEW
