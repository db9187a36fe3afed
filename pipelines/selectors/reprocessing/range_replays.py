"""Reading replays of ranges."""

from __future__ import annotations

from datetime import timedelta
from uuid import UUID

from django.db.models import Max, QuerySet

from pipelines.domain.base.states import OperationKind
from pipelines.foundation import clock
from pipelines.models import LedgerBatch, Operation, Pipeline
from pipelines.selectors.lifecycle.operations import operation_schema
from pipelines.selectors.lifecycle.situations import OPEN_STATES
from pipelines.selectors.reprocessing.schemas import RangeReplaySchema
from pipelines.selectors.runs.runs import living_runs

LATELY = timedelta(minutes=10)
RANGE = ("source", "channel", "topic", "partition", "start", "end")


def replays_of(pipeline: Pipeline) -> QuerySet[Operation]:
    """Every replay of a range that was asked for."""
    return Operation.objects.select_related("pipeline").filter(pipeline=pipeline, kind=OperationKind.REPLAY_RANGE)


def replay_schema(operation: Operation) -> RangeReplaySchema:
    """One replay as the API shows it."""
    asked = {name: operation.parameters[name] for name in RANGE}
    return RangeReplaySchema(**operation_schema(operation).model_dump(), **asked)


def open_retries(host: str) -> list[Operation]:
    """Replays of ranges that are under way for pipelines of a host."""
    found = Operation.objects.filter(
        kind=OperationKind.REPLAY_RANGE, state__in=OPEN_STATES, pipeline__host_id=host, pipeline__archived_at=None
    )
    return list(found.select_related("pipeline__current_revision").order_by("created_at"))


def left_behind(host: str) -> list[Operation]:
    """Replays under way that a host holds, and whose pipelines have another one since."""
    found = Operation.objects.filter(
        kind=OperationKind.REPLAY_RANGE, state__in=OPEN_STATES, parameters__host=host, pipeline__archived_at=None
    )
    return list(found.exclude(pipeline__host_id=host).select_related("pipeline__current_revision"))


def last_replayed(operation: Operation) -> int:
    """The last batch of a replay that is in the ledger; -1 without one."""
    last = LedgerBatch.objects.filter(operation=operation).aggregate(last=Max("first_batch"))["last"]
    return -1 if last is None else int(last)


def lately_ended(host: str) -> list[Operation]:
    """Those that have ended within the last minutes, however they did."""
    found = Operation.objects.filter(
        kind=OperationKind.REPLAY_RANGE, ended_at__gte=clock.now() - LATELY, pipeline__host_id=host
    )
    return list(found.select_related("pipeline__current_revision"))


def under_way(name: str) -> tuple[Operation | None, bool]:
    """The operation that a directory is named after, and whether its pipeline has a living run."""
    try:
        operation = Operation.objects.filter(id=UUID(name)).first()
    except ValueError:
        return None, False
    if operation is None:
        return None, False
    return operation, living_runs().filter(pipeline_id=operation.pipeline_id).exists()
