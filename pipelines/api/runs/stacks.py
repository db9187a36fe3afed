"""Stacks of a run: the dumps that there are, and one taken now."""

from __future__ import annotations

from typing import Annotated, Any

from django.conf import settings
from drf_spectacular.utils import extend_schema
from pydantic import BaseModel, Field, StringConstraints
from rest_framework.request import Request
from rest_framework.response import Response

from pipelines.api.http.base import RunView, answer, idempotent
from pipelines.api.http.requests import ActionBody
from pipelines.api.lifecycle.lifecycle import repeated
from pipelines.selectors.runs.schemas import AskedDumpSchema, StacksSchema
from pipelines.selectors.runs.stacks import stacks
from pipelines.services.runs.stacks import ask


class StacksQuery(BaseModel):
    """`asked`: only the dump that was asked for with this id; with `wait` the answer comes when it is there, or after
    so many seconds. `text`: whether the texts are wanted."""

    asked: Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{1,64}$")] | None = None
    wait: float = Field(default=0.0, ge=0.0, le=60.0)
    text: bool = True


class RunStacks(RunView):
    """Dumps of a run's stacks."""

    queries = {"GET": StacksQuery}
    while_read_only = frozenset({"POST"})

    @extend_schema(operation_id="get_run_stacks", responses=StacksSchema)
    def get(self, request: Request, run_id: int) -> Response:
        """Show the dumps of a run, newest first: those that its stop took, and those that were asked for."""
        query = self.query(StacksQuery)
        found = stacks(
            self.run,
            host=settings.HEADGATE.host,
            state_dir=settings.HEADGATE.state,
            asked=query.asked,
            texts=query.text,
        )
        response = answer(found)
        waiting = query.asked is not None and not found.dumps
        response.wait_for_more = query.wait if waiting else 0.0  # type: ignore[attr-defined]
        return response

    @extend_schema(operation_id="dump_run_stacks", request=ActionBody, responses={202: AskedDumpSchema})
    @idempotent
    def post(self, request: Request, run_id: int) -> Response:
        """Dump the stacks of a running agent now; the agent continues."""
        self.body(ActionBody)
        asked = ask(run=self.run, actor=self.actor, host=settings.HEADGATE.host, state_dir=settings.HEADGATE.state)
        return answer(AskedDumpSchema(asked=asked), 202, Location=f"/api/v1/runs/{run_id}/stacks?asked={asked}")

    @classmethod
    def as_view(cls, **initkwargs: Any) -> Any:
        """The view, asked again and again without holding a thread or a connection in between."""
        return repeated(super().as_view(**initkwargs))
