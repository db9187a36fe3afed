"""Reading a range of a source once more into a channel, without moving its position."""

from __future__ import annotations

from drf_spectacular.utils import extend_schema
from pydantic import Field
from rest_framework.request import Request
from rest_framework.response import Response

from pipelines.api.http.base import PipelineView, answer, idempotent
from pipelines.api.http.paging import Page, PageQuery, each, page
from pipelines.api.http.requests import Shape, Text
from pipelines.domain.reprocessing.range_replay import RangeReplayRequest
from pipelines.selectors.base.schemas import OperationSchema
from pipelines.selectors.lifecycle.operations import operation_schema
from pipelines.selectors.monitoring.schemas import SinkEffectSchema
from pipelines.selectors.reprocessing.range_replays import replay_schema, replays_of
from pipelines.selectors.reprocessing.schemas import RangePlanSchema, RangeReplaySchema
from pipelines.services.reprocessing import range_replays
from pipelines.services.reprocessing.range_replays import Plan


class RangeBody(Shape):
    """The range [start, end) of one partition. `source` and `channel`: where the pipeline has several."""

    topic: Text = Field(min_length=1, max_length=249)
    partition: int = Field(ge=0, lt=2**31)
    start: int = Field(ge=0, lt=2**63)
    end: int = Field(ge=0, lt=2**63)
    source: Text | None = Field(default=None, max_length=63)
    channel: Text | None = Field(default=None, max_length=63)

    def wanted(self) -> RangeReplayRequest:
        """What is asked for."""
        return RangeReplayRequest(**self.model_dump(include=set(RangeBody.model_fields)))


class RangeReplayBody(RangeBody):
    """The same, with the hash of the plan that was reviewed, and why."""

    hash: Text = Field(min_length=1, max_length=64)
    reason: Text = Field(default="", max_length=1000)


class RangeReplayPlan(PipelineView):
    """What a replay would do."""

    while_read_only = frozenset({"POST"})

    @extend_schema(operation_id="plan_range_replay", request=RangeBody, responses=RangePlanSchema)
    def post(self, request: Request, name: str) -> Response:
        """Say how much comes again, and what that does to the sinks. Nothing is changed; `hash` applies it."""
        body = self.body(RangeBody)
        return answer(_view(name, range_replays.plan(pipeline=self.pipeline, wanted=body.wanted())))


class RangeReplays(PipelineView):
    """Replays of ranges."""

    queries = {"GET": PageQuery}

    @extend_schema(operation_id="list_range_replays", responses=Page[RangeReplaySchema])
    def get(self, request: Request, name: str) -> Response:
        """List the replays of ranges, newest first. One that is under way is cancelled as an operation."""
        query = self.query(PageQuery)
        return page(replays_of(self.pipeline), ["-created_at", "-id"], query, each(replay_schema))

    @extend_schema(operation_id="replay_range", request=RangeReplayBody, responses={202: OperationSchema})
    @idempotent
    def post(self, request: Request, name: str) -> Response:
        """Read the range again, through all interceptors, into the channel and its sinks. The running agent does it
        beside its queries; no position moves, and the ledger marks the batches as `replayed`."""
        body = self.body(RangeReplayBody)
        operation = range_replays.request(
            pipeline=self.pipeline, wanted=body.wanted(), named=body.hash, reason=body.reason, actor=self.actor
        )
        return answer(operation_schema(operation), 202, Location=f"/api/v1/operations/{operation.id}")


def _view(name: str, plan: Plan) -> RangePlanSchema:
    sinks = [
        SinkEffectSchema(pipeline=name, source=plan.source, channel=plan.channel, duplicates_max=plan.offsets, **sink)
        for sink in plan.sinks
    ]
    return RangePlanSchema(
        source=plan.source,
        channel=plan.channel,
        topic=plan.wanted.topic,
        partition=plan.wanted.partition,
        start=plan.wanted.start,
        end=plan.wanted.end,
        read_up_to=plan.read_up_to,
        offsets=plan.offsets,
        batches=plan.batches,
        sinks=sinks,
        hash=plan.hash,
    )
