"""Every kind of governed change: the body that it is asked for with, and what makes it.

A body is that of the address which makes the change where nothing governs it, and the same function makes it there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from pydantic import ValidationError

from pipelines.api.definitions import revisions
from pipelines.api.http.base import PipelineView
from pipelines.api.http.requests import (
    ActionBody,
    DeclareLostBody,
    PauseBody,
    PositionsApplyBody,
    QuarantineBody,
    ReconcileBody,
    RestartBody,
    RevisionBody,
    Shape,
    StopBody,
)
from pipelines.api.http.sessions import require_proof
from pipelines.api.lifecycle.lifecycle import STARTING, perform, require_starter
from pipelines.api.reprocessing import quarantine
from pipelines.api.reprocessing.range_replays import RangeReplayBody
from pipelines.domain.base.roles import Role
from pipelines.domain.base.shapes import findings_of
from pipelines.domain.base.states import OperationKind
from pipelines.domain.definitions.document.diff import diff
from pipelines.domain.governance.changes import ChangeKind
from pipelines.foundation.errors import Conflict, Forbidden, Invalid, NotFound
from pipelines.models import Operation, PositionInspection
from pipelines.selectors.lifecycle.operations import get_operation
from pipelines.services.base.audit import Actor
from pipelines.services.definitions.definitions import require_tested
from pipelines.services.ledger import archive
from pipelines.services.lifecycle import lifecycle, reconciling
from pipelines.services.positions import positions
from pipelines.services.reprocessing import range_replays
from pipelines.services.runs import ownership


class CancelBody(Shape):
    """The operation to cancel."""

    operation: UUID


@dataclass(frozen=True)
class Change:
    """A kind of change. `summary`: what it does, in words, for those who approve it; raises what speaks against it.
    `role`: the lowest that may make it; `proven`: a session that makes it needs a log-in that is not old."""

    shape: type[Shape]
    make: Callable[[PipelineView, Any, Actor], Operation | None]
    summary: Callable[[PipelineView, Any], str] = lambda view, body: ""
    role: Role = Role.OPERATOR
    proven: bool = False

    def read(self, arguments: Mapping[str, Any]) -> Shape:
        """The arguments in their shape; raises Invalid with everything that is wrong with them."""
        try:
            return self.shape.model_validate(arguments)
        except ValidationError as error:
            findings = findings_of(error, self.shape, at=("arguments",))
            raise Invalid("The arguments are not valid.", code="body_invalid", findings=findings) from None

    def require_rights(self, view: PipelineView) -> None:
        """Raises Forbidden where the caller may not make such a change, approved or not."""
        if view.role < self.role:
            raise Forbidden(
                f"This needs the role {self.role.word}; yours is {view.role.word}.", hint="Ask a user with that role."
            )
        if self.proven:
            require_proof(view.request)


def _action(kind: OperationKind, shape: type[Shape]) -> Change:
    def summary(view: PipelineView, body: Shape) -> str:
        require_starter(view, kind)
        present = view.pipeline.current_revision
        return f"Runs revision {present.number}." if present and kind in STARTING else ""

    return Change(shape, lambda view, body, actor: perform(view, kind, body, actor), summary)


def _publish(view: PipelineView, body: RevisionBody, actor: Actor) -> None:
    revisions.publish(view, body, actor)


def _published(view: PipelineView, body: RevisionBody) -> str:
    new, present = revisions.publishable(view, body), view.pipeline.current_revision
    require_tested(new, view.pipeline)
    found = diff(present.definition if present else {}, new)
    return f"Changes {', '.join(each.path for each in found)}." if found else "Changes nothing."


def _apply_positions(view: PipelineView, body: PositionsApplyBody, actor: Actor) -> None:
    positions.apply(pipeline=view.pipeline, named=body.hash, actor=actor)


def _planned(view: PipelineView, body: PositionsApplyBody) -> str:
    found = PositionInspection.objects.filter(pipeline=view.pipeline, hash=body.hash).first()
    if found is None:
        raise Conflict("There is no such plan.", code="plan_stale", hint="Plan again and review it.")
    skip, replay = (sum(move[name] for move in found.moves) for name in ("skip", "replay"))
    return f"Positions ({(found.target or {}).get('goal')}): {skip} records are skipped, {replay} are reread."


def _replay(view: PipelineView, body: RangeReplayBody, actor: Actor) -> Operation:
    return range_replays.request(
        pipeline=view.pipeline, wanted=body.wanted(), named=body.hash, reason=body.reason, actor=actor
    )


def _operation(view: PipelineView, body: CancelBody) -> Operation:
    found = get_operation(body.operation, view.access)
    if found.pipeline_id != view.pipeline.id:
        raise NotFound("There is no such operation.", code="operation_not_found")
    return found


def _cancel(view: PipelineView, body: CancelBody, actor: Actor) -> Operation:
    return lifecycle.cancel(operation=_operation(view, body), actor=actor)


def _cancelled(view: PipelineView, body: CancelBody) -> str:
    found = _operation(view, body)
    return f"Cancels {found.kind}, which {found.created_by} requested."


def _delete(view: PipelineView, body: ActionBody, actor: Actor) -> None:
    archive.archive(pipeline=view.pipeline, version=None, actor=actor)


def _reconcile(view: PipelineView, body: ReconcileBody, actor: Actor) -> None:
    reconciling.decide(pipeline=view.pipeline, source_of_truth=body.source_of_truth, reason=body.reason, actor=actor)


def _declare_lost(view: PipelineView, body: DeclareLostBody, actor: Actor) -> None:
    ownership.declare_lost(pipeline=view.pipeline, confirm=body.confirm, actor=actor)


CHANGES: Mapping[ChangeKind, Change] = {
    ChangeKind.START: _action(OperationKind.START, ActionBody),
    ChangeKind.PAUSE: _action(OperationKind.PAUSE, PauseBody),
    ChangeKind.RESUME: _action(OperationKind.RESUME, ActionBody),
    ChangeKind.STOP: _action(OperationKind.STOP, StopBody),
    ChangeKind.FORCE_STOP: _action(OperationKind.FORCE_STOP, ActionBody),
    ChangeKind.RESTART: _action(OperationKind.RESTART, RestartBody),
    ChangeKind.CANCEL: Change(CancelBody, _cancel, _cancelled),
    ChangeKind.PUBLISH: Change(RevisionBody, _publish, _published),
    ChangeKind.POSITIONS: Change(PositionsApplyBody, _apply_positions, _planned),
    ChangeKind.QUARANTINE: Change(QuarantineBody, quarantine.put),
    ChangeKind.REPLAY: Change(RangeReplayBody, _replay),
    ChangeKind.DELETE: Change(ActionBody, _delete, role=Role.ADMIN, proven=True),
    ChangeKind.RECONCILE: Change(ReconcileBody, _reconcile, role=Role.ADMIN),
    ChangeKind.DECLARE_LOST: Change(DeclareLostBody, _declare_lost, role=Role.ADMIN, proven=True),
}
