"""What a pause or a stop waits for: the batches that were begun and are not finished."""

from __future__ import annotations

from datetime import datetime, timedelta
from math import ceil
from typing import Any, NamedTuple

from pipelines.domain.base.states import OPEN_OPERATION_STATES, LedgerState, MigrationStage, OperationKind
from pipelines.domain.definitions.document.guarantees import Guarantee
from pipelines.domain.definitions.document.spec import Lifecycle
from pipelines.domain.lifecycle.operations import StepState
from pipelines.models import LedgerBatch, Migration, Operation, Pipeline, Revision, Run
from pipelines.selectors.lifecycle.schemas import DrainSchema
from pipelines.selectors.runs.live import live_schema, query_statuses

WAITING_STEPS = frozenset({"draining", "in_flight_batch"})
_KINDS = (OperationKind.PAUSE, OperationKind.STOP, OperationKind.RESTART)


class _Wait(NamedTuple):
    kind: str
    since: datetime


def drain_schema(pipeline: Pipeline, run: Run | None) -> DrainSchema | None:
    """What is waited for; None where nothing waits."""
    wait = _wait_of(pipeline) if run is not None else None
    if run is None or wait is None:
        return None
    batches = list(LedgerBatch.objects.filter(pipeline=pipeline, state=LedgerState.PLANNED))
    queries, live = query_statuses(run), live_schema(run)
    once = {(each.source, each.channel) for each in queries if each.guarantee == Guarantee.EXACTLY_ONCE}
    records = None if any(each.open_ended for each in batches) else sum(map(_records, batches))
    rate = live.records_per_second
    return DrainSchema(
        kind=wait.kind,
        since=wait.since,
        deadline=wait.since + timedelta(seconds=_drain_timeout(run)),
        batches=len(batches),
        records=records,
        rate=rate,
        seconds_left=ceil(records / rate) if records is not None and rate and not live.stale else None,
        as_of=live.as_of,
        stale=live.stale,
        held_by=sorted({each.holding.component for each in queries if each.holding}),
        possible_duplicates=sum(each.most_twice for each in batches if (each.source, each.channel) not in once),
    )


def _wait_of(pipeline: Pipeline) -> _Wait | None:
    """The step of an operation, or the stage of a migration, that waits."""
    operation = Operation.objects.filter(pipeline=pipeline, state__in=OPEN_OPERATION_STATES, kind__in=_KINDS).first()
    if operation is not None:
        for step in operation.steps:
            if step["name"] in WAITING_STEPS and step["state"] == StepState.RUNNING:
                return _Wait(operation.kind, datetime.fromisoformat(step["started_at"]))
    paused = Migration.objects.filter(pipeline=pipeline, stage=MigrationStage.PAUSING)
    since = paused.values_list("stage_since", flat=True).first()
    return _Wait("migration", since) if since else None


def _records(batch: LedgerBatch) -> int:
    return sum(each["end"] - each["start"] for each in batch.ranges)


def _drain_timeout(run: Run) -> float:
    definition: dict[str, Any] = Revision.objects.values_list("definition", flat=True).get(pk=run.revision_id)
    return Lifecycle.model_validate(definition.get("lifecycle", {})).drain_timeout
