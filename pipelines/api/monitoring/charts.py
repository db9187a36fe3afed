"""Pipelines over a range of time."""

from __future__ import annotations

from datetime import datetime

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from pipelines.api.http.base import PipelineView, answer
from pipelines.api.http.watch_requests import RangeQuery
from pipelines.domain.monitoring.charts import range_findings
from pipelines.foundation import clock
from pipelines.foundation.errors import BadRequest
from pipelines.selectors.monitoring.chart_schemas import ChartsSchema, PartitionChartsSchema
from pipelines.selectors.monitoring.charts import charts_schema, partition_charts_schema


class _RangeView(PipelineView):
    """An address with a range of time."""

    queries = {"GET": RangeQuery}

    def range(self) -> tuple[datetime, datetime]:
        """From when until when. Raises BadRequest with everything that is wrong with it."""
        query, now = self.query(RangeQuery), clock.now()
        until = query.until or now
        since = query.since or until - RangeQuery.DEFAULT
        if findings := range_findings(since, until, now):
            raise BadRequest("The range is not valid.", code="query_invalid", findings=findings)
        return since, until


class PipelineCharts(_RangeView):
    """Rate, lag, time of batches and restarts over time."""

    @extend_schema(operation_id="get_charts", responses=ChartsSchema)
    def get(self, request: Request, name: str) -> Response:
        """Show what was read and delivered per second, lag, time of batches by step, and restarts over time."""
        return answer(charts_schema(self.pipeline, *self.range()))


class PipelinePartitionCharts(_RangeView):
    """Lag by partition over time."""

    @extend_schema(operation_id="get_partition_charts", responses=PartitionChartsSchema)
    def get(self, request: Request, name: str) -> Response:
        """Show the lag of every partition over time."""
        return answer(partition_charts_schema(self.pipeline, *self.range()))
