"""What is recorded of operations and migrations, for their traces."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from pathlib import Path
from uuid import UUID

from django.db.models import Q

from pipelines.domain.base.states import MigrationStage, OperationState
from pipelines.domain.base.trace_context import handed_on
from pipelines.domain.monitoring.spans import RunFacts, Subject, migration_stages, operation_stages
from pipelines.models import Migration, Operation, Run
from pipelines.selectors.lifecycle.situations import open_operations, steering


def traceparent_of(pipeline_id: UUID) -> str:
    """The trace of what is under way for a pipeline, an operation before a migration; empty where nothing is."""
    operation = open_operations().filter(pipeline_id=pipeline_id).only("id", "traceparent").first()
    found = operation or steering(pipeline_id)
    return handed_on(found.id, found.traceparent) if found else ""


def subjects(ids: Iterable[UUID]) -> dict[UUID, tuple[Subject, UUID]]:
    """Operations and migrations that have ended, each with its pipeline's id; the others are left out."""
    wanted = set(ids)
    operations = Operation.objects.filter(id__in=wanted, ended_at__isnull=False).select_related("pipeline")
    migrations = Migration.objects.filter(id__in=wanted, ended_at__isnull=False).select_related("pipeline")
    found = {row.id: (_operation(row, row.ended_at), row.pipeline_id) for row in operations if row.ended_at}
    return found | {row.id: (_migration(row, row.ended_at), row.pipeline_id) for row in migrations if row.ended_at}


def _operation(row: Operation, ended: datetime) -> Subject:
    failed = row.state == OperationState.FAILED
    return Subject(
        id=row.id,
        context=row.trace,
        name=f"operation {row.kind}",
        attributes={
            "headgate.pipeline": row.pipeline.name,
            "headgate.operation.id": str(row.id),
            "headgate.operation.kind": row.kind,
            "headgate.operation.state": row.state,
            "headgate.generation": row.generation,
            "user.name": row.created_by,
        },
        request=row.request,
        created=row.created_at,
        begun=row.created_at,
        ended=ended,
        error=(row.message or "It failed.") if failed else "",
        stages=operation_stages(row.steps),
    )


def _migration(row: Migration, ended: datetime) -> Subject:
    reverted = row.stage == MigrationStage.ROLLED_BACK
    return Subject(
        id=row.id,
        context=row.trace,
        name=f"migration {row.kind}",
        attributes={
            "headgate.pipeline": row.pipeline.name,
            "headgate.migration.id": str(row.id),
            "headgate.migration.kind": row.kind,
            "headgate.migration.stage": row.stage,
            "user.name": row.created_by,
        },
        request=row.request,
        created=row.created_at,
        begun=row.started_at,
        ended=ended,
        error=(row.message or "It was rolled back.") if reverted else "",
        stages=migration_stages(row.steps),
    )


def runs_within(subject: Subject, pipeline_id: UUID, host: str) -> list[tuple[RunFacts, Path]]:
    """The runs of a pipeline on a host that lived while the subject was under way, with their directories."""
    lived = Q(ended_at=None) | Q(ended_at__gte=subject.since)
    rows = Run.objects.filter(lived, pipeline_id=pipeline_id, host_id=host, started_at__lte=subject.ended)
    return [
        (RunFacts(row.number, row.host_id, row.role, row.started_at), Path(row.run_dir))
        for row in rows.only("number", "host_id", "role", "started_at", "run_dir").order_by("number")
    ]
