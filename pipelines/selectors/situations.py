"""The situations that decide what may be asked of pipelines."""

from __future__ import annotations

from pipelines.domain.actions import Situation
from pipelines.domain.states import OPEN_OPERATION_STATES, DesiredState, OperationKind, Phase, RunState
from pipelines.models import Operation, Pipeline, Run

OPEN_STATES = [state.value for state in OPEN_OPERATION_STATES]


def open_operation(pipeline: Pipeline) -> Operation | None:
    """The operation under way."""
    return Operation.objects.select_related("pipeline").filter(pipeline=pipeline, state__in=OPEN_STATES).first()


def live_run(pipeline: Pipeline) -> Run | None:
    """The run that is not proven over."""
    return Run.objects.exclude(state=RunState.ENDED).filter(pipeline=pipeline).order_by("-number").first()


def situation(pipeline: Pipeline, operation: Operation | None, has_live_run: bool) -> Situation:
    """The situation, from rows that were read already."""
    return Situation(
        desired=DesiredState(pipeline.desired_state),
        phase=Phase(pipeline.phase),
        operation=OperationKind(operation.kind) if operation else None,
        has_live_run=has_live_run,
    )


def situation_of(pipeline: Pipeline) -> Situation:
    """The situation, read from the database."""
    return situation(pipeline, open_operation(pipeline), live_run(pipeline) is not None)
