"""What happened: the ledger, runs."""

from __future__ import annotations

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from pipelines.api.http.base import PipelineView, RunView, answer
from pipelines.api.http.paging import Page, PageQuery, each, page
from pipelines.api.http.requests import FlowQuery, LedgerQuery
from pipelines.selectors.ledger import ledger
from pipelines.selectors.ledger.flow import flow, pipeline_topology
from pipelines.selectors.ledger.schemas import FlowSchema, LedgerBatchSchema, LedgerTotalsSchema, TopologySchema
from pipelines.selectors.runs.runs import run_schema, runs
from pipelines.selectors.runs.schemas import RunSchema


class Ledger(PipelineView):
    """The books, batch by batch."""

    queries = {"GET": LedgerQuery}

    @extend_schema(operation_id="list_ledger", responses=Page[LedgerBatchSchema])
    def get(self, request: Request, name: str) -> Response:
        """List batches, newest first."""
        query = self.query(LedgerQuery)
        rows = ledger.batches(pipeline=self.pipeline, **query.model_dump(exclude=set(PageQuery.model_fields)))
        return page(rows, ["-id"], query, each(ledger.batch_schema))


class LedgerSummary(PipelineView):
    """The books in sum."""

    @extend_schema(operation_id="get_ledger_summary", responses=LedgerTotalsSchema)
    def get(self, request: Request, name: str) -> Response:
        """Show the ledger totals of every channel over all runs, and the positions."""
        return answer(ledger.ledger_totals(self.pipeline))


class LedgerFlow(PipelineView):
    """The books of a while."""

    queries = {"GET": FlowQuery}

    @extend_schema(operation_id="get_ledger_flow", responses=FlowSchema)
    def get(self, request: Request, name: str) -> Response:
        """Show what was read in the last minutes and what became of it, by channel, component and sink."""
        return answer(flow(self.pipeline, self.query(FlowQuery).minutes))


class Topology(PipelineView):
    """The pipeline as a graph."""

    queries = {"GET": FlowQuery}

    @extend_schema(operation_id="get_topology", responses=TopologySchema)
    def get(self, request: Request, name: str) -> Response:
        """Show the components of the published revision as a graph, with what went through it in the last minutes."""
        return answer(pipeline_topology(self.pipeline, self.query(FlowQuery).minutes))


class PipelineRuns(PipelineView):
    """The runs of a pipeline."""

    queries = {"GET": PageQuery}

    @extend_schema(operation_id="list_runs", responses=Page[RunSchema])
    def get(self, request: Request, name: str) -> Response:
        """List runs, newest first."""
        return page(runs(pipeline=self.pipeline), ["-number"], self.query(PageQuery), each(run_schema))


class RunDetail(RunView):
    """One run."""

    @extend_schema(operation_id="get_run", responses=RunSchema)
    def get(self, request: Request, run_id: int) -> Response:
        """Show a run."""
        return answer(run_schema(self.run))
