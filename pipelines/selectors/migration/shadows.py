"""Reading the shadows of migrations: what the old agent has delivered meanwhile, and what is known of it."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from django.db.models import Max, QuerySet, Sum

from pipelines.domain.base.positions import PartitionRange
from pipelines.domain.base.states import LedgerState, MigrationStage
from pipelines.domain.migration.shadow import Delivered, ShadowPlan, ShadowState
from pipelines.foundation import clock
from pipelines.models import LedgerBatch, Migration, ShadowTask
from pipelines.selectors.base.host_tasks import open_tasks

_BEFORE = timedelta(minutes=5)
"""Before the migration, of which a rate is compared."""
_ROWS = 500
"""Batches that are looked at for one part."""


def state_of(migration: Migration) -> ShadowState | None:
    """What is known of its shadow; None where it has not begun."""
    return ShadowState.model_validate(migration.shadow) if migration.shadow else None


def shadow_of(migration: Migration, *, shows_records: bool) -> dict[str, Any] | None:
    """What its shadow has shown, without what only the engine needs; None where there was none. `shows_records`: with
    what events hold."""
    state = state_of(migration)
    if state is None:
        return None
    samples = state.samples if shows_records else [each.without_events() for each in state.samples]
    left_out = {"after", "part", "asked_at", "refused"}
    shown = state.model_copy(update={"samples": samples}).model_dump(mode="json", exclude=left_out)
    return {**shown, "share": state.share}


def open_shadow_tasks(host: str) -> list[ShadowTask]:
    """What the worker of a host has to compare, oldest first; of migrations that wait for it."""
    rows = ShadowTask.objects.filter(
        pipeline__host_id=host, pipeline__archived_at=None, migration__stage=MigrationStage.SHADOWING
    )
    return open_tasks(rows.select_related("pipeline", "migration__old_revision", "migration__new_revision"))


def last_finished(migration: Migration, plan: ShadowPlan) -> dict[str, int]:
    """The last row of each source that is not open any more."""
    return {
        source: _rows(migration, source, channel)
        .exclude(state=LedgerState.PLANNED)
        .aggregate(last=Max("pk", default=0))["last"]
        for source, channel in plan.channels.items()
    }


def delivered(migration: Migration, plan: ShadowPlan, state: ShadowState) -> dict[str, list[Delivered]]:
    """What the old agent has finished of each source and was not compared yet, oldest first."""
    found: dict[str, list[Delivered]] = {}
    for source, channel in plan.channels.items():
        rows = _done(migration, source, channel).filter(pk__gt=state.after.get(source, 0)).order_by("pk")
        found[source] = [Delivered(row.pk, _ranges(row), row.counts) for row in rows[:_ROWS]]
    return found


def _ranges(row: LedgerBatch) -> list[PartitionRange]:
    return [PartitionRange.model_validate(each) for each in row.ranges]


def _rows(migration: Migration, source: str, channel: str) -> QuerySet[LedgerBatch]:
    return LedgerBatch.objects.filter(pipeline_id=migration.pipeline_id, source=source, channel=channel, operation=None)


def _done(migration: Migration, source: str, channel: str) -> QuerySet[LedgerBatch]:
    return _rows(migration, source, channel).filter(state=LedgerState.DONE)


def rate_before(migration: Migration, plan: ShadowPlan) -> float | None:
    """Records that the pipeline has read per second before its migration began."""
    started, run = migration.started_at or clock.now(), migration.old_run
    since = max(started - _BEFORE, run.first_record_at) if run and run.first_record_at else started - _BEFORE
    return _rate(migration, plan, since, started)


def rate_since(migration: Migration, plan: ShadowPlan, state: ShadowState) -> float | None:
    """The same since its shadow began."""
    return _rate(migration, plan, datetime.fromisoformat(state.since), clock.now())


def _rate(migration: Migration, plan: ShadowPlan, since: datetime, until: datetime) -> float | None:
    seconds = (until - since).total_seconds()
    if seconds <= 0:
        return None
    found = (_done(migration, *each).filter(done_at__gt=since, done_at__lte=until) for each in plan.channels.items())
    read = sum(int(rows.aggregate(read=Sum("read", default=0))["read"]) for rows in found)
    return round(read / seconds, 1)
