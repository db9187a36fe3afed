"""Records that make a pipeline crash: which ones they may be, and setting them aside."""

from __future__ import annotations

from django.db import transaction
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from pipelines.api.access.rights import require_rights
from pipelines.api.http.base import PipelineView, answer, idempotent
from pipelines.api.http.requests import QuarantineBody
from pipelines.domain.base.states import OperationKind
from pipelines.domain.runs.crashes import Suspect
from pipelines.models import Operation
from pipelines.selectors.lifecycle.operations import operation_schema
from pipelines.selectors.runs import crashes
from pipelines.selectors.runs.schemas import QuarantineSchema
from pipelines.services.base.audit import Actor
from pipelines.services.lifecycle import lifecycle
from pipelines.services.reprocessing import quarantines


class Quarantines(PipelineView):
    """The quarantine of a pipeline."""

    @extend_schema(operation_id="get_quarantine", responses=QuarantineSchema)
    def get(self, request: Request, name: str) -> Response:
        """Show what is in quarantine, and which records the last runs crashed at."""
        return answer(crashes.quarantine_schema(self.pipeline))

    @extend_schema(operation_id="put_in_quarantine", request=QuarantineBody, responses={201: QuarantineSchema})
    @idempotent
    def post(self, request: Request, name: str) -> Response:
        """Quarantine records: the next run makes dead letters of them and resumes after them."""
        started = put(self, self.body(QuarantineBody), self.actor)
        found = crashes.quarantine_schema(self.pipeline)
        return answer(found.model_copy(update={"operation": operation_schema(started)}) if started else found, 201)


@transaction.atomic
def put(view: PipelineView, body: QuarantineBody, actor: Actor) -> Operation | None:
    """Put ranges in quarantine; the operation of the start that the body asks for."""
    if body.start and view.pipeline.current_revision is not None:
        require_rights(view.role, view.pipeline.current_revision.definition)
    ranges = [Suspect.model_validate(each.model_dump()) for each in body.ranges]
    quarantines.put(pipeline=view.pipeline, ranges=ranges, reason=body.reason, actor=actor)
    if not body.start:
        return None
    return lifecycle.request(pipeline=view.pipeline, action=OperationKind.START, actor=actor)
