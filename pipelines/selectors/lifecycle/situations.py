"""The situations that decide what may be asked of pipelines."""

from __future__ import annotations

from uuid import UUID

from django.db.models import OuterRef, Q, QuerySet, Subquery, Value
from django.db.models.functions import Coalesce

from pipelines.domain.base.roles import Role
from pipelines.domain.base.states import (
    OPEN_OPERATION_STATES,
    SIDE_OPERATIONS,
    STEERING_STAGES,
    DesiredState,
    OperationKind,
    Phase,
)
from pipelines.domain.lifecycle.actions import Situation
from pipelines.models import Migration, Operation, Pipeline, Run
from pipelines.selectors.runs.runs import living_runs

OPEN_STATES = [state.value for state in OPEN_OPERATION_STATES]
STEERING = [stage.value for stage in STEERING_STAGES]
SIDE_KINDS = [kind.value for kind in SIDE_OPERATIONS]


def is_open(path: str = "") -> Q:
    """The condition of an operation under way that changes what its pipeline does; `path`: the lookups that lead to
    the operation."""
    return Q(**{f"{path}state__in": OPEN_STATES}) & ~Q(**{f"{path}kind__in": SIDE_KINDS})


def open_operations() -> QuerySet[Operation]:
    """Operations under way that change what their pipeline does; at most one of each pipeline."""
    return Operation.objects.filter(is_open())


def open_operation(pipeline: Pipeline) -> Operation | None:
    """The operation under way."""
    return open_operations().select_related("pipeline").filter(pipeline=pipeline).first()


def live_run(pipeline: Pipeline) -> Run | None:
    """The ACTIVE run that is not proven over; a standby is not the pipeline's."""
    return living_runs().filter(pipeline=pipeline).first()


def situation(
    pipeline: Pipeline,
    operation: Operation | None,
    has_live_run: bool,
    starter: Role = Role.OPERATOR,
    migrating: str = "",
) -> Situation:
    """The situation, from rows that were read already. `starter`: the role that its revision asks for; `migrating`: the
    stage of the migration that holds it."""
    return Situation(
        desired=DesiredState(pipeline.desired_state),
        phase=Phase(pipeline.phase),
        operation=OperationKind(operation.kind) if operation else None,
        has_live_run=has_live_run,
        starter=starter,
        migrating=migrating,
    )


def steering(pipeline_id: UUID) -> Migration | None:
    """The migration that holds the pipeline, so that nobody else may change what it does."""
    return holding().filter(pipeline_id=pipeline_id).first()


def holding() -> QuerySet[Migration]:
    """Migrations that hold their pipelines; at most one of each."""
    return Migration.objects.filter(stage__in=STEERING)


def migrating() -> Coalesce:
    """In a query of pipelines: the stage of the migration that holds each; empty without one."""
    return Coalesce(Subquery(holding().filter(pipeline=OuterRef("pk")).values("stage")[:1]), Value(""))


def situation_of(pipeline: Pipeline) -> Situation:
    """The situation, read from the database."""
    revision = pipeline.current_revision
    starter = Role(revision.required_role) if revision else Role.OPERATOR
    held = steering(pipeline.id)
    return situation(
        pipeline, open_operation(pipeline), live_run(pipeline) is not None, starter, held.stage if held else ""
    )
