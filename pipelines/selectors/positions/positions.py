"""Reading positions: what is remembered, what was found last, and what choices there are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from pipelines.domain.base.positions import FINDING_CODES, SourceIdentity
from pipelines.domain.base.states import InspectionState, LedgerState
from pipelines.domain.positions.choices import choices, why
from pipelines.domain.positions.plan import Plan, PlannedMove, Survey, reread
from pipelines.foundation import clock
from pipelines.models import LedgerBatch, LogIdentity, Pipeline, Position, PositionInspection
from pipelines.selectors.hosts.hosts import supervised
from pipelines.selectors.positions.schemas import (
    ChoiceSchema,
    ImpossibleSchema,
    InspectionErrorSchema,
    MoveSchema,
    PartitionStateSchema,
    PlanSchema,
    PositionFindingSchema,
    PositionsSchema,
)
from pipelines.selectors.runs.runs import last_active


def identities(pipeline_id: UUID) -> list[SourceIdentity]:
    """Which logs the positions of a pipeline are offsets of."""
    found: dict[tuple[str, str], dict[str, str]] = {}
    for row in LogIdentity.objects.filter(pipeline_id=pipeline_id).order_by("source", "pk"):
        found.setdefault((row.source, row.cluster_id), {})[row.topic] = row.topic_id
    return [SourceIdentity(source=key[0], cluster_id=key[1], topics=topics) for key, topics in found.items()]


def basis(pipeline: Pipeline) -> dict[str, Any]:
    """What of the database a plan is made against: while this is the same, so is its outcome."""
    rows = Position.objects.filter(pipeline=pipeline).order_by("source", "channel", "topic", "partition")
    open_batches = LedgerBatch.objects.filter(pipeline=pipeline, state=LedgerState.PLANNED).order_by("pk")
    last = last_active(pipeline.id)
    return {
        "pipeline": str(pipeline.id),
        "revision": pipeline.current_revision_id,
        "run": last.number if last else 0,
        "closed_lineage": pipeline.closed_lineage,
        "positions": [[row.source, row.channel, row.topic, row.partition, row.next_offset] for row in rows],
        "open_batches": [[row.source, row.channel, row.first_batch] for row in open_batches],
    }


def pending_inspections(host: str) -> list[PositionInspection]:
    """What the worker of a host is asked, oldest first."""
    found = PositionInspection.objects.filter(
        state=InspectionState.PENDING, pipeline__host_id=host, deadline__gt=clock.now()
    )
    return list(found.select_related("pipeline", "pipeline__current_revision").order_by("asked_at")[:20])


def get_inspection(inspection_id: UUID) -> PositionInspection:
    """One look as it is now."""
    return PositionInspection.objects.select_related("pipeline").get(pk=inspection_id)


def latest_survey(pipeline: Pipeline) -> Survey | None:
    """What was found last, by a look or by an agent that ended because of it."""
    inspection = (
        PositionInspection.objects.filter(pipeline=pipeline, survey__isnull=False).order_by("-answered_at").first()
    )
    run = last_active(pipeline.id)
    reported = [inspection.survey if inspection else None, (run.observed or {}).get("survey") if run else None]
    found = [Survey.model_validate(each) for each in reported if each]
    return max(found, key=lambda survey: survey.at, default=None)


def choice_schemas(pipeline: Pipeline) -> list[ChoiceSchema]:
    """Where it could go on, while a finding asks for a decision; what each choice would skip or replay; best first."""
    if not any(finding.get("code") in FINDING_CODES for finding in pipeline.findings):
        return []
    survey = latest_survey(pipeline)
    if survey is None:
        return []
    offered = choices(survey)
    reason = why(survey, offered)
    return [
        ChoiceSchema(
            to=goal.value,
            skip=made.skip,
            replay=made.replay,
            recommended=not number,
            reason="" if number else reason,
            partitions=move_schemas(made.moves),
        )
        for number, (goal, made) in enumerate(offered.items())
    ]


def move_schemas(moves: Sequence[PlannedMove]) -> list[MoveSchema]:
    """What becomes of each partition."""
    return [MoveSchema(**move.model_dump()) for move in moves]


def positions_schema(pipeline: Pipeline, inspection: PositionInspection | None) -> PositionsSchema:
    """Every partition by each witness; without an answer of the host, what the ledger knows."""
    survey = latest_survey(pipeline)
    rows = _surveyed(pipeline, survey) if survey else _of_ledger(pipeline)
    failed = _failure(pipeline, inspection)
    return PositionsSchema(
        pipeline=pipeline.name,
        taken_at=datetime.fromtimestamp(survey.at, UTC) if survey else None,
        fresh=bool(inspection and inspection.state != InspectionState.PENDING and not failed),
        error=failed,
        findings=[_finding_schema(each) for each in inspection.findings] if inspection else [],
        partitions=rows,
        choices=choice_schemas(pipeline),
    )


def _failure(pipeline: Pipeline, inspection: PositionInspection | None) -> InspectionErrorSchema | None:
    """Why nobody has looked."""
    if inspection is not None and inspection.state == InspectionState.FAILED:
        return InspectionErrorSchema(**(inspection.error or {}))
    if pipeline.host_id is None:
        return InspectionErrorSchema(
            code="no_host", message="The pipeline has no host that can inspect its positions.", hint="Start it once."
        )
    if inspection is not None and inspection.state == InspectionState.PENDING and not supervised(pipeline.host):
        words = f"The supervisor on {pipeline.host_id} is silent."
        return InspectionErrorSchema(code="host_silent", message=words, hint="Start the worker of this host.")
    return None


def _finding_schema(found: dict[str, Any]) -> PositionFindingSchema:
    return PositionFindingSchema(**{name: found.get(name, "") for name in PositionFindingSchema.model_fields})


def _surveyed(pipeline: Pipeline, survey: Survey) -> list[PartitionStateSchema]:
    """The ledger is taken as it is now; the other witnesses as they were found."""
    ledger = {(r.source, r.channel, r.topic, r.partition): r for r in _of_ledger(pipeline)}
    rows = []
    for row in survey.rows:
        now = ledger.pop((row.source, row.channel, row.topic, row.partition), None)
        rows.append(
            PartitionStateSchema(
                **row.model_dump(exclude={"codes", "ledger", "group_ours"}),
                ledger=now.ledger if now else row.ledger,
                verdict=", ".join(row.codes) or "AGREES",
                codes=row.codes,
            )
        )
    return [*rows, *ledger.values()]


def _of_ledger(pipeline: Pipeline) -> list[PartitionStateSchema]:
    rows = Position.objects.filter(pipeline=pipeline).order_by("source", "channel", "topic", "partition")
    return [
        PartitionStateSchema(
            source=row.source,
            channel=row.channel,
            topic=row.topic,
            partition=row.partition,
            ledger=row.next_offset,
            checkpoint=None,
            group=None,
            log_start=None,
            log_end=None,
            verdict="UNKNOWN",
            codes=[],
        )
        for row in rows
    ]


def plan_schema(inspection: PositionInspection) -> PlanSchema:
    """A plan as a person reviews it."""
    made = Plan.model_validate({"moves": inspection.moves, "impossible": inspection.impossible})
    return PlanSchema(
        id=inspection.pk,
        pipeline=inspection.pipeline.name,
        state=InspectionState(inspection.state),
        to=inspection.target or {},
        hash=inspection.hash or None,
        skip=made.skip,
        replay=made.replay,
        gone=made.gone,
        possible_duplicates=possible_duplicates(inspection.pipeline_id, made.moves),
        partitions=move_schemas(made.moves),
        impossible=[ImpossibleSchema(**each.model_dump()) for each in made.impossible],
        asked_by=inspection.asked_by,
        asked_at=inspection.asked_at,
        expires_at=inspection.answered_at + timedelta(hours=1) if inspection.answered_at else None,
    )


def possible_duplicates(pipeline_id: UUID, moves: Sequence[PlannedMove] = ()) -> int:
    """The most records that sinks hold already and get once more: of open batches, and what these moves reread."""
    known = most_twice(LedgerBatch.objects.filter(pipeline_id=pipeline_id, state=LedgerState.PLANNED))
    return sum(known.values()) + sum(reread(moves, known).values())


def most_twice(batches: Iterable[LedgerBatch]) -> Counter[tuple[str, str]]:
    """The most records of open batches that sinks may hold, by (source, channel)."""
    found: Counter[tuple[str, str]] = Counter()
    for batch in batches:
        found[batch.source, batch.channel] += batch.most_twice
    return found
