"""The guided demo: cards that break the pipeline of the demo stack. Everywhere else these routes are not found."""

from __future__ import annotations

from functools import cached_property

from django.conf import settings
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from pipelines.api.http.base import PipelineView, answer, idempotent
from pipelines.api.http.requests import Shape
from pipelines.domain.guide.faults import Card
from pipelines.foundation.errors import NotFound
from pipelines.models import Pipeline
from pipelines.selectors.guide.faults import DemoFaultSchema, GuideSchema, demo_fault_schema, guide
from pipelines.services.guide import faults


class BreakBody(Shape):
    """Which `card` to use."""

    card: Card


class Guide(PipelineView):
    """The cards of the demo's own pipeline."""

    @cached_property
    def pipeline(self) -> Pipeline:
        """The pipeline of the demo; raises NotFound for every other one."""
        if self.kwargs["name"] != settings.HEADGATE.demo_pipeline:
            raise NotFound("This is not the pipeline of a guided demo.", hint="Start one: make demo")
        return super().pipeline

    @extend_schema(operation_id="get_guide", responses=GuideSchema)
    def get(self, request: Request, name: str) -> Response:
        """Show the cards of the guided demo, each with its last use: when the pipeline was broken, when and how
        Headgate noticed, how it explained it, when it recovered, and what was counted."""
        return answer(guide(self.pipeline))

    @extend_schema(operation_id="break_demo", request=BreakBody, responses={202: DemoFaultSchema})
    @idempotent
    def post(self, request: Request, name: str) -> Response:
        """Break the demo pipeline for real. The demo stack does it, observes what Headgate does, and undoes it within
        minutes. One card at a time."""
        fault = faults.request(pipeline=self.pipeline, card=self.body(BreakBody).card, actor=self.actor)
        return answer(demo_fault_schema(fault), 202, Location=f"/api/v1/pipelines/{name}/guide")
