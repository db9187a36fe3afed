"""Events that could not be processed: listed, shown, sent back to their source, given up."""

from __future__ import annotations

import base64

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from pipelines.api.http.base import PipelineView, answer, idempotent
from pipelines.api.http.paging import Page, page
from pipelines.api.http.requests import DiscardBody, LettersPageQuery, LettersQuery, RepairBody, ReplayBody
from pipelines.domain.base.roles import Role
from pipelines.selectors.base import views
from pipelines.selectors.lifecycle.operations import operation_view
from pipelines.selectors.reprocessing import dead_letters as letters
from pipelines.selectors.reprocessing.dead_letters import LetterFilter
from pipelines.services.reprocessing import dead_letters, replays
from pipelines.services.reprocessing.replays import Repair, Wanted


def _filter(query: LettersQuery) -> LetterFilter:
    return LetterFilter(**{name: getattr(query, name) for name in LettersQuery.model_fields})


class DeadLetterList(PipelineView):
    """The dead letters of a pipeline."""

    queries = {"GET": LettersPageQuery}

    @extend_schema(
        operation_id="list_dead_letters",
        responses=Page[views.DeadLetterView],
    )
    def get(self, request: Request, name: str) -> Response:
        """List dead letters without their content, newest first."""
        query = self.query(LettersPageQuery)
        return page(letters.dead_letters(self.pipeline, _filter(query)), ["-id"], query, letters.letter_views)


class DeadLettersSummary(PipelineView):
    """Dead letters in numbers."""

    queries = {"GET": LettersQuery}

    @extend_schema(
        operation_id="get_dead_letters_summary",
        responses=views.DeadLettersSummaryView,
    )
    def get(self, request: Request, name: str) -> Response:
        """Count dead letters by state, and the new ones by component and cause."""
        return answer(letters.summary_view(self.pipeline, _filter(self.query(LettersQuery))))


class DeadLetterDetail(PipelineView):
    """One dead letter. Its content is data, so this needs a role that may act."""

    roles = {"GET": Role.OPERATOR}

    @extend_schema(operation_id="get_dead_letter", responses=views.DeadLetterDetailView)
    def get(self, request: Request, name: str, letter_id: str) -> Response:
        """Show a dead letter with its content."""
        return answer(letters.detail_view(letters.get_letter(self.pipeline, letter_id)))


class ReplayDeadLetters(PipelineView):
    """Sending dead letters back to their source."""

    @extend_schema(operation_id="replay_dead_letters", request=ReplayBody, responses={202: views.OperationView})
    @idempotent
    def post(self, request: Request, name: str) -> Response:
        """Send new dead letters back to their source, the oldest first. Each comes again as a new record, through all
        interceptors, to every channel that its source feeds."""
        body = self.body(ReplayBody)
        operation = replays.request(pipeline=self.pipeline, wanted=_wanted(body), actor=self.actor)
        return answer(operation_view(operation), 202, Location=f"/api/v1/operations/{operation.id}")


class DiscardDeadLetters(PipelineView):
    """Giving dead letters up."""

    @extend_schema(operation_id="discard_dead_letters", request=DiscardBody, responses=views.DiscardedView)
    @idempotent
    def post(self, request: Request, name: str) -> Response:
        """Discard new dead letters; they stay in the list until they expire."""
        body = self.body(DiscardBody)
        number = dead_letters.discard(pipeline=self.pipeline, ids=body.ids, reason=body.reason, actor=self.actor)
        return answer(views.DiscardedView(discarded=number))


def _wanted(body: ReplayBody) -> Wanted:
    matching = LetterFilter(**body.filter.model_dump()) if body.filter else LetterFilter()
    ids = [body.repair.id] if body.repair else body.ids
    repair = _repair(body.repair) if body.repair else None
    return Wanted(ids=ids, matching=matching, rate=body.rate, repair=repair, reason=body.reason)


def _repair(repair: RepairBody) -> Repair:
    headers = None if repair.headers is None else [(name, _base64(value)) for name, value in repair.headers.items()]
    return Repair(body=repair.body_base64 if repair.body is None else _base64(repair.body), headers=headers)


def _base64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()
