"""Positions: every partition by each witness, the plan of a decision, and the decision.

The worker of the pipeline's host looks, within seconds; an answer that takes longer is not waited for by a thread.
"""

from __future__ import annotations

from typing import Any
from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from pipelines.api.http.base import PipelineView, answer, idempotent
from pipelines.api.http.requests import PositionsApplyBody, PositionsPlanBody, PositionsQuery
from pipelines.api.lifecycle.lifecycle import repeated
from pipelines.domain.base.findings import Finding
from pipelines.domain.base.states import InspectionState
from pipelines.domain.positions.choices import advice
from pipelines.domain.positions.plan import Goal, Survey
from pipelines.foundation import clock
from pipelines.foundation.errors import Invalid, NotFound, Unavailable
from pipelines.models import PositionInspection
from pipelines.selectors.hosts.hosts import supervised
from pipelines.selectors.positions.positions import get_inspection, plan_schema, positions_schema
from pipelines.selectors.positions.resets import decided
from pipelines.selectors.positions.schemas import PlanSchema, PositionsSchema
from pipelines.services.positions import positions

MAX_WAIT = 30.0
"""Seconds that an answer may wait for the worker of the host."""


class Positions(PipelineView):
    """The positions of a pipeline."""

    queries = {"GET": PositionsQuery}

    @extend_schema(operation_id="get_positions", responses=PositionsSchema)
    def get(self, request: Request, name: str) -> Response:
        """Show ledger, checkpoint, group and log range of each partition, with a verdict. The host is asked; `wait`
        says for how many seconds its answer is waited for before the last known one is given."""
        wait = self.query(PositionsQuery).wait
        inspection = self._inspect(request) if self.pipeline.host_id else None
        response = answer(positions_schema(self.pipeline, inspection))
        response.wait_for_more = wait if inspection and self._awaited(inspection) else 0.0  # type: ignore[attr-defined]
        return response

    def _awaited(self, inspection: PositionInspection) -> bool:
        return inspection.state == InspectionState.PENDING and supervised(self.pipeline.host)

    def _inspect(self, request: Request) -> PositionInspection:
        """The one look of this request, however often the view is asked."""
        if (asked := _asked(request)) is not None:
            return get_inspection(asked)
        inspection = positions.inspect(pipeline=self.pipeline, actor=self.actor, now=clock.now())
        return _remember(request, inspection)

    @classmethod
    def as_view(cls, **initkwargs: Any) -> Any:
        """The view, asked again and again without holding a thread or a connection in between."""
        return repeated(super().as_view(**initkwargs))


class PlanPositions(PipelineView):
    """What a decision would do."""

    while_read_only = frozenset({"POST"})

    @extend_schema(operation_id="plan_positions", request=PositionsPlanBody, responses=PlanSchema)
    def post(self, request: Request, name: str) -> Response:
        """Plan, per partition, which records another position would skip and reread. Nothing is changed; `hash` applies
        it.

        200 with the plan; 202 where the host has not answered within 30 s: the address of the plan is in Location.
        """
        request._request.body  # noqa: B018 - kept, since the view is asked again
        if (asked := _asked(request)) is None:
            inspection = _remember(request, self._ask(self.body(PositionsPlanBody)))
        else:
            inspection = get_inspection(asked)
        if inspection.state == InspectionState.PENDING:
            response = _planned(inspection, 202)
            response.wait_for_more = MAX_WAIT if supervised(self.pipeline.host) else 0.0  # type: ignore[attr-defined]
            return response
        _check(inspection)
        return _planned(inspection, 200)

    def _ask(self, body: PositionsPlanBody) -> PositionInspection:
        found = decided(self.pipeline, body.to, now=clock.now(), source=body.source)
        if isinstance(found, list):
            raise Invalid(found[0].message, code="body_invalid", findings=found)
        return positions.plan(pipeline=self.pipeline, target=found, actor=self.actor)

    @classmethod
    def as_view(cls, **initkwargs: Any) -> Any:
        """The view, asked again and again without holding a thread or a connection in between."""
        return repeated(super().as_view(**initkwargs))


class PositionsPlan(PipelineView):
    """A plan that was asked for."""

    @extend_schema(operation_id="get_positions_plan", responses=PlanSchema)
    def get(self, request: Request, name: str, inspection_id: UUID) -> Response:
        """Show a plan; `state` is PENDING until the host has answered."""
        inspection = (
            PositionInspection.objects.select_related("pipeline")
            .filter(pk=inspection_id, pipeline=self.pipeline)
            .first()
        )
        if inspection is None or inspection.target is None or inspection.target["goal"] not in set(Goal):
            raise NotFound(
                "There is no such plan.",
                code="plan_not_found",
                hint="The plan does not exist or has expired; plan again.",
            )
        if inspection.state == InspectionState.FAILED:
            _check(inspection)
        return answer(plan_schema(inspection))


class ApplyPositions(PipelineView):
    """The decision."""

    @extend_schema(operation_id="apply_positions", request=PositionsApplyBody, responses=PlanSchema)
    @idempotent
    def post(self, request: Request, name: str) -> Response:
        """Do what a reviewed plan said, while STOPPED or BLOCKED: the next start begins a new lineage from there. 409
        `plan_stale` where anything has changed since."""
        named = self.body(PositionsApplyBody).hash
        inspection = positions.apply(pipeline=self.pipeline, named=named, actor=self.actor)
        return answer(plan_schema(inspection))


def _asked(request: Request) -> UUID | None:
    return getattr(request._request, "position_inspection", None)


def _remember(request: Request, inspection: PositionInspection) -> PositionInspection:
    request._request.position_inspection = inspection.pk  # type: ignore[attr-defined]
    return inspection


def _planned(inspection: PositionInspection, status: int) -> Response:
    where = f"/api/v1/pipelines/{inspection.pipeline.name}/positions/plans/{inspection.pk}"
    return answer(plan_schema(inspection), status, Location=where)


def _check(inspection: PositionInspection) -> None:
    """Raises Unavailable where nobody could look, Invalid where a partition cannot go on there."""
    if inspection.state == InspectionState.FAILED:
        error = inspection.error or {}
        raise Unavailable(error.get("message", ""), code=error.get("code"), hint=error.get("hint", ""))
    if inspection.impossible:
        findings = [
            Finding(
                path=f"sources.{each['source']}",
                code="position_impossible",
                message=f"{each['channel']} {each['topic']}/{each['partition']}: {each['reason']}",
            )
            for each in inspection.impossible
        ]
        raise Invalid(
            "Some partitions cannot continue there.",
            code="position_impossible",
            hint=advice(Survey.model_validate(inspection.survey)),
            findings=findings,
        )
