"""Events that could not be processed: listed, shown, sent back to their source, given up."""

from __future__ import annotations

import base64

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from pipelines.api.http.base import PipelineView, answer, idempotent
from pipelines.api.http.paging import Page, page
from pipelines.api.http.requests import DeadLettersPageQuery, DeadLettersQuery, DiscardBody, RepairBody, ReplayBody
from pipelines.domain.base.roles import Role
from pipelines.selectors.base.schemas import OperationSchema
from pipelines.selectors.lifecycle.operations import operation_schema
from pipelines.selectors.reprocessing import dead_letters as selecting
from pipelines.selectors.reprocessing.dead_letters import DeadLetterFilter
from pipelines.selectors.reprocessing.schemas import (
    DeadLetterDetailSchema,
    DeadLetterSchema,
    DeadLettersSummarySchema,
    DiscardedSchema,
)
from pipelines.services.reprocessing import dead_letters, retries
from pipelines.services.reprocessing.retries import Repair, RetryRequest


def _filter(query: DeadLettersQuery) -> DeadLetterFilter:
    return DeadLetterFilter(**{name: getattr(query, name) for name in DeadLettersQuery.model_fields})


class DeadLetterList(PipelineView):
    """The dead letters of a pipeline."""

    queries = {"GET": DeadLettersPageQuery}

    @extend_schema(
        operation_id="list_dead_letters",
        responses=Page[DeadLetterSchema],
    )
    def get(self, request: Request, name: str) -> Response:
        """List dead letters without their content, newest first."""
        query = self.query(DeadLettersPageQuery)
        return page(
            selecting.dead_letters(self.pipeline, _filter(query)), ["-id"], query, selecting.dead_letter_schemas
        )


class DeadLettersSummary(PipelineView):
    """Dead letters in numbers."""

    queries = {"GET": DeadLettersQuery}

    @extend_schema(
        operation_id="get_dead_letters_summary",
        responses=DeadLettersSummarySchema,
    )
    def get(self, request: Request, name: str) -> Response:
        """Count dead letters by state, and the new ones by component and cause."""
        return answer(selecting.summary_schema(self.pipeline, _filter(self.query(DeadLettersQuery))))


class DeadLetterDetail(PipelineView):
    """One dead letter. Its content is data, so this needs a role that may act."""

    roles = {"GET": Role.OPERATOR}

    @extend_schema(operation_id="get_dead_letter", responses=DeadLetterDetailSchema)
    def get(self, request: Request, name: str, dead_letter_id: str) -> Response:
        """Show a dead letter with its content."""
        return answer(selecting.detail_schema(selecting.get_dead_letter(self.pipeline, dead_letter_id)))


class RetryDeadLetters(PipelineView):
    """Sending dead letters back to their source."""

    @extend_schema(operation_id="retry_dead_letters", request=ReplayBody, responses={202: OperationSchema})
    @idempotent
    def post(self, request: Request, name: str) -> Response:
        """Send new dead letters back to their source, the oldest first. Each comes again as a new record, through all
        interceptors, to every channel that its source feeds."""
        body = self.body(ReplayBody)
        operation = retries.request(pipeline=self.pipeline, wanted=_wanted(body), actor=self.actor)
        return answer(operation_schema(operation), 202, Location=f"/api/v1/operations/{operation.id}")


class DiscardDeadLetters(PipelineView):
    """Giving dead letters up."""

    @extend_schema(operation_id="discard_dead_letters", request=DiscardBody, responses=DiscardedSchema)
    @idempotent
    def post(self, request: Request, name: str) -> Response:
        """Discard new dead letters; they stay in the list until they expire."""
        body = self.body(DiscardBody)
        number = dead_letters.discard(pipeline=self.pipeline, ids=body.ids, reason=body.reason, actor=self.actor)
        return answer(DiscardedSchema(discarded=number))


def _wanted(body: ReplayBody) -> RetryRequest:
    matching = DeadLetterFilter(**body.filter.model_dump()) if body.filter else DeadLetterFilter()
    ids = [body.repair.id] if body.repair else body.ids
    repair = _repair(body.repair) if body.repair else None
    return RetryRequest(ids=ids, matching=matching, rate=body.rate, repair=repair, reason=body.reason)


def _repair(repair: RepairBody) -> Repair:
    headers = None if repair.headers is None else [(name, _base64(value)) for name, value in repair.headers.items()]
    return Repair(body=repair.body_base64 if repair.body is None else _base64(repair.body), headers=headers)


def _base64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()
