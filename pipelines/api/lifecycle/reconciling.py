"""Whom to believe where a host knows more of a pipeline than the database."""

from __future__ import annotations

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from pipelines.api.http.base import PipelineView, answer, idempotent
from pipelines.api.http.requests import ReconcileBody
from pipelines.domain.base.roles import Role
from pipelines.selectors.lifecycle.schemas import ReconciledSchema
from pipelines.services.lifecycle import reconciling


class Reconcile(PipelineView):
    """The answer to the finding DATABASE_BEHIND."""

    roles = {"POST": Role.ADMIN}

    @extend_schema(operation_id="reconcile_pipeline", request=ReconcileBody, responses={202: ReconciledSchema})
    @idempotent
    def post(self, request: Request, name: str) -> Response:
        """Set the source of truth: the host, whose journals are then ingested, or the database, which resumes from
        its own positions."""
        body = self.body(ReconcileBody)
        reconciling.decide(
            pipeline=self.pipeline, source_of_truth=body.source_of_truth, reason=body.reason, actor=self.actor
        )
        return answer(ReconciledSchema(source_of_truth=body.source_of_truth), 202)
