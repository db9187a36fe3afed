"""Start, pause, resume, stop, force-stop, restart, and the operations that they make."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from functools import cached_property
from time import monotonic
from typing import Any
from uuid import UUID

from django.http import HttpRequest, HttpResponseBase
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from pipelines.api.access.rights import require_rights
from pipelines.api.http.base import PipelineView, TeamView, View, answer, idempotent, in_place_of
from pipelines.api.http.paging import Page, each, page
from pipelines.api.http.requests import ActionBody, PauseBody, PipelineQuery, RestartBody, Shape, StopBody, WaitQuery
from pipelines.domain.base.roles import Role
from pipelines.domain.base.states import OPEN_OPERATION_STATES, OperationKind
from pipelines.domain.lifecycle.actions import CONSEQUENCES, ENDING, Action, allowed_actions
from pipelines.foundation.database import in_database
from pipelines.foundation.errors import Conflict
from pipelines.models import Operation
from pipelines.selectors.base.schemas import OperationSchema, allowed_action_schema
from pipelines.selectors.governance.read_only import why_read_only
from pipelines.selectors.lifecycle.operations import get_operation, operation_schema, operations
from pipelines.selectors.lifecycle.situations import situation_of
from pipelines.services.base.audit import Actor
from pipelines.services.lifecycle import lifecycle

INSPECTION_SECONDS = 0.25
MAX_WAITING = 200
STARTING = frozenset({OperationKind.START, OperationKind.RESTART, OperationKind.RESUME})
"""Actions that make the definition's components run."""


class ActionView(PipelineView):
    """One action on a pipeline; answered at once with the operation that carries it out."""

    action: OperationKind

    def __init_subclass__(cls) -> None:
        cls.while_read_only = frozenset({"POST"}) if Action(cls.action) in ENDING else frozenset()

    def perform(self, body: Shape) -> Response:
        """Ask for the action; a refusal says what is possible instead."""
        operation = perform(self, self.action, body, self.actor)
        return answer(operation_schema(operation), 202, Location=f"/api/v1/operations/{operation.id}")


def perform(view: PipelineView, action: OperationKind, body: Shape, actor: Actor) -> Operation:
    """Ask for an action in the manner that the body names; a refusal says what is possible instead."""
    require_starter(view, action)
    try:
        return lifecycle.request(pipeline=view.pipeline, action=action, actor=actor, **body.model_dump())
    except Conflict as conflict:
        found = allowed_actions(situation_of(view.pipeline), view.role, why_read_only())
        conflict.data["allowed_actions"] = [allowed_action_schema(each).model_dump() for each in found]
        raise


def require_starter(view: PipelineView, action: OperationKind) -> None:
    """Raises Forbidden where the action starts components that the caller may not start."""
    revision = view.pipeline.current_revision
    if revision is not None and action in STARTING:
        require_rights(view.role, revision.definition)


def _action(kind: OperationKind, sentence: str) -> type[ActionView]:
    """The view of an action that needs no more than its name."""

    class _View(ActionView):
        action = kind

        @extend_schema(
            operation_id=f"{kind.replace('-', '_')}_pipeline",
            description=sentence,
            request=ActionBody,
            responses={202: OperationSchema},
        )
        @idempotent
        def post(self, request: Request, name: str) -> Response:
            return self.perform(self.body(ActionBody))

    _View.__name__ = f"{kind.title().replace('-', '')}Pipeline"
    _View.__doc__ = sentence
    return _View


StartPipeline = _action(OperationKind.START, "Start the agent: every component is initialized before the first record.")
ResumePipeline = _action(OperationKind.RESUME, "Resume a paused pipeline.")
ForceStopPipeline = _action(
    OperationKind.FORCE_STOP, f"Force stop, after a dump of the stacks. {CONSEQUENCES[Action.FORCE_STOP]}"
)


class PausePipeline(ActionView):
    """Reading nothing, with a warm process."""

    action = OperationKind.PAUSE

    @extend_schema(
        operation_id="pause_pipeline",
        description="Pause: consumption stops, the process stays warm. Done when verified.",
        request=PauseBody,
        responses={202: OperationSchema},
    )
    @idempotent
    def post(self, request: Request, name: str) -> Response:
        """Pause; `on_timeout` says what follows where the batch in hand does not end in time."""
        return self.perform(self.body(PauseBody))


class StopPipeline(ActionView):
    """Ending the process."""

    action = OperationKind.STOP

    @extend_schema(operation_id="stop_pipeline", request=StopBody, responses={202: OperationSchema})
    @idempotent
    def post(self, request: Request, name: str) -> Response:
        """Stop: the process ends. With `drain` the batch in hand and what was read is written first."""
        return self.perform(self.body(StopBody))


class RestartPipeline(ActionView):
    """A new process in place of the old one."""

    action = OperationKind.RESTART

    @extend_schema(
        operation_id="restart_pipeline",
        description="Drain, end the process and start a new one.",
        request=RestartBody,
        responses={202: OperationSchema},
    )
    @idempotent
    def post(self, request: Request, name: str) -> Response:
        """Restart; `on_timeout` says what follows where the batch in hand does not end in time."""
        return self.perform(self.body(RestartBody))


class OperationList(View):
    """Operations."""

    queries = {"GET": PipelineQuery}

    @extend_schema(operation_id="list_operations", responses=Page[OperationSchema])
    def get(self, request: Request) -> Response:
        """List operations, newest first."""
        query = self.query(PipelineQuery)
        rows = operations(self.access, pipeline=query.pipeline)
        return page(rows, ["-created_at", "-id"], query, each(operation_schema))


class OperationDetail(TeamView):
    """One operation."""

    roles = {"DELETE": Role.OPERATOR}
    queries = {"GET": WaitQuery}
    while_read_only = frozenset({"DELETE"})

    @property
    def owner(self) -> int | None:
        """The team of its pipeline."""
        return self.operation.pipeline.team_id

    @cached_property
    def operation(self) -> Operation:
        """The operation that the address names; raises NotFound."""
        return get_operation(self.kwargs["operation_id"], self.access)

    @extend_schema(operation_id="get_operation", responses=OperationSchema)
    def get(self, request: Request, operation_id: UUID) -> Response:
        """Show an operation; with `wait` the answer comes when it has ended, or after so many seconds."""
        response = answer(operation_schema(self.operation))
        response.wait_for_more = (  # type: ignore[attr-defined]
            self.query(WaitQuery).wait if response.data["state"] in OPEN_OPERATION_STATES else 0.0
        )
        return response

    @extend_schema(operation_id="cancel_operation", responses=OperationSchema)
    def delete(self, request: Request, operation_id: UUID) -> Response:
        """Cancel a start, a pause or a replay that has not ended yet."""
        return answer(operation_schema(lifecycle.cancel(operation=self.operation, actor=self.actor)))

    @classmethod
    def as_view(cls, **initkwargs: Any) -> Any:
        """The view, asked again and again without holding a thread or a connection in between."""
        return repeated(super().as_view(**initkwargs))


def repeated(view: Callable[..., HttpResponseBase]) -> Callable[..., Awaitable[HttpResponseBase]]:
    """Call a view until its answer has no `wait_for_more` (seconds) left; too many callers are answered at once."""
    places = asyncio.Semaphore(MAX_WAITING)

    async def wait(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        response = await in_database(lambda: view(request, *args, **kwargs))
        end = monotonic() + getattr(response, "wait_for_more", 0.0)
        while getattr(response, "wait_for_more", 0.0) and monotonic() < end and not places.locked():
            async with places:
                await asyncio.sleep(INSPECTION_SECONDS)
            response = await in_database(lambda: view(request, *args, **kwargs))
        return response

    return in_place_of(view, wait)
