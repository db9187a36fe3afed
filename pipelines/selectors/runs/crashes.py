"""What runs had in hand when they ended by themselves, and what is in quarantine."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from pipelines.domain.base.positions import PartitionPosition
from pipelines.domain.base.states import LedgerState, RunOutcome, RunState
from pipelines.domain.runs.crashes import (
    SAME_CRASHES,
    Crash,
    InFlightBatch,
    Quarantined,
    Suspect,
    in_flight,
    recognised,
)
from pipelines.models import LedgerBatch, Pipeline, Position, Quarantine, Run
from pipelines.selectors.runs.runs import active_runs
from pipelines.selectors.runs.schemas import QuarantinedSchema, QuarantineSchema, SuspectSchema

Place = tuple[str, str, str, int]

CRASHES = frozenset({RunOutcome.CRASHED, RunOutcome.FAILED})
"""Ends that a record may have caused; a host that was started anew, a stop and a refusal are none."""


def left_in_flight(run: Run, suspects: list[PartitionPosition]) -> Crash:
    """The batches that a run has planned and not finished. `suspects`: what its interceptors were looking at."""
    rows = LedgerBatch.objects.filter(run=run, state=LedgerState.PLANNED).order_by("source", "channel", "first_batch")
    left = [{"source": row.source, "channel": row.channel, "ranges": row.ranges, "suspects": suspects} for row in rows]
    return tuple(InFlightBatch.model_validate(each) for each in left)


def crashes_before(run: Run) -> list[Crash]:
    """What the runs directly before one had in hand when they crashed, newest first; empty for one that did not."""
    ended = active_runs().filter(pipeline_id=run.pipeline_id, epoch__lt=run.epoch).order_by("-epoch")
    return [_crash(each) for each in ended[: SAME_CRASHES - 1]]


def _crash(run: Run) -> Crash:
    return _in_flight(run) if run.outcome in CRASHES else ()


def _in_flight(run: Run) -> Crash:
    return tuple(InFlightBatch.model_validate(each) for each in run.in_flight)


def crashed_in_flight(pipeline_id: UUID) -> bool:
    """Whether the last run that is over left a batch behind when it ended by itself."""
    last = active_runs().filter(pipeline_id=pipeline_id, state=RunState.ENDED).order_by("-epoch").first()
    return last is not None and bool(last.in_flight) and last.outcome in CRASHES | {RunOutcome.BLOCKED}


def offered(pipeline: Pipeline) -> list[Suspect]:
    """The records that a person may want to put in quarantine: those of a crash loop, or what the last run left."""
    ended = active_runs().filter(pipeline=pipeline, state=RunState.ENDED).order_by("-epoch")
    runs = list(ended[:SAME_CRASHES])
    if not runs or LedgerBatch.objects.filter(pipeline=pipeline, state=LedgerState.PLANNED).first() is None:
        return []
    return recognised([_crash(run) for run in runs]) or in_flight(_in_flight(runs[0]))


def quarantine_schema(pipeline: Pipeline) -> QuarantineSchema:
    """What is in quarantine, and what a person may want to put there."""
    rows = list(Quarantine.objects.filter(pipeline=pipeline).order_by("-id"))
    reached = _reached(pipeline.id, rows)
    return QuarantineSchema(
        offered=[SuspectSchema(**each.model_dump(), records=each.records) for each in offered(pipeline)],
        ranges=[
            QuarantinedSchema(
                **_range(row),
                records=row.end - row.start,
                passed=row.end <= reached.get(_place(row), 0),
                created_at=row.created_at,
                created_by=row.created_by,
            )
            for row in rows
        ],
    )


def quarantined(pipeline_id: UUID) -> list[Quarantined]:
    """Ranges in quarantine that the ledger's positions have not passed yet."""
    rows = list(Quarantine.objects.filter(pipeline_id=pipeline_id).order_by("id"))
    reached = _reached(pipeline_id, rows)
    return [Quarantined(**_range(row)) for row in rows if row.end > reached.get(_place(row), 0)]


def _reached(pipeline_id: UUID, rows: Sequence[Quarantine]) -> dict[Place, int]:
    """The ledger's positions in the partitions of these rows."""
    if not rows:
        return {}
    found = Position.objects.filter(pipeline_id=pipeline_id, topic__in={row.topic for row in rows})
    return {_place(position): position.next_offset for position in found}


def _place(row: Quarantine | Position) -> Place:
    return row.source, row.channel, row.topic, row.partition


def _range(row: Quarantine) -> dict[str, Any]:
    return {name: getattr(row, name) for name in Quarantined.model_fields}
