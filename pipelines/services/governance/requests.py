"""Change requests: made, approved, denied, cancelled, applied once.

Each is one transaction, by compare-and-swap on the request's version, with one audit row and one event. A request is of
one state of its pipeline: once the revision or what is wanted of it has changed, nobody can apply it any more.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, TypeVar

from django.db import transaction

from pipelines.domain.governance import changes
from pipelines.domain.governance.changes import ChangeKind, Grant, Right
from pipelines.domain.governance.requests import OPEN, RequestState, state_at
from pipelines.domain.migration import policy
from pipelines.foundation import clock
from pipelines.foundation.errors import Conflict, Forbidden
from pipelines.models import ChangeApproval, ChangeRequest, Pipeline
from pipelines.selectors.governance import requests as selecting
from pipelines.selectors.governance.rules import approval_rule
from pipelines.services.base import audit, events
from pipelines.services.base.audit import Actor
from pipelines.services.governance import governing

MOST_OPEN = 50
"""Open requests of one pipeline."""
Done = TypeVar("Done")


@transaction.atomic
def create(
    *, pipeline: Pipeline, kind: ChangeKind, arguments: Mapping[str, Any], summary: str, reason: str, actor: Actor
) -> ChangeRequest:
    """Ask others to approve one change of the pipeline as it is now. Raises Conflict where too many requests of it are
    open. `arguments` were checked by the caller."""
    current = Pipeline.objects.select_for_update(no_key=True).get(pk=pipeline.pk)
    if selecting.requests(pipeline=current, states=OPEN).count() >= MOST_OPEN:
        words = f"{current.name} has {MOST_OPEN} open change requests."
        raise Conflict(words, code="too_many_requests_open", hint="Cancel some of them.")
    basis, now = selecting.basis(current), clock.now()
    row = ChangeRequest.objects.create(
        pipeline=current,
        kind=kind,
        arguments=dict(arguments),
        summary=summary,
        basis=basis,
        hash=changes.digest(pipeline=current.id, kind=kind, arguments=arguments, basis=basis),
        reason=reason,
        created_by=actor.name,
        created_at=now,
        expires_at=now + approval_rule(current).expiry,
    )
    _record(row, "create", f"{actor.name} requested a change ({kind}): {reason}", actor)
    return selecting.get_request(current, row.pk)


@transaction.atomic
def approve(*, request: ChangeRequest, named: str, actor: Actor) -> ChangeRequest:
    """Approve the change with this hash. Raises Conflict where it is over, stale or another one, Forbidden for its
    author where others have to approve."""
    row = _open(request)
    _require_current(row, named)
    rule, now = approval_rule(row.pipeline), clock.now()
    if words := policy.refusal(rule, author=row.created_by, approver=actor.name, what="change"):
        raise Forbidden(words, code="approval_by_author", hint="Ask another user who may approve it.")
    ChangeApproval.objects.update_or_create(request=row, by=actor.name, defaults={"at": now})
    row = selecting.get_request(row.pipeline, row.pk)
    approved = selecting.is_approved(row, rule, now)
    state = RequestState.APPROVED if approved else RequestState.AWAITING_APPROVAL
    return _change(row, "approve", f"{actor.name} approved a change ({row.kind}).", actor, state=state)


@transaction.atomic
def deny(*, request: ChangeRequest, reason: str, actor: Actor) -> ChangeRequest:
    """Refuse it for good. Raises Conflict where it is over."""
    words = f"{actor.name} denied a change ({request.kind}): {reason}"
    return _end(_open(request), "deny", words, actor, state=RequestState.DENIED, message=reason)


@transaction.atomic
def cancel(*, request: ChangeRequest, reason: str, actor: Actor) -> ChangeRequest:
    """It is not wanted any more. Raises Conflict where it is over."""
    words = f"{actor.name} cancelled a change request ({request.kind})."
    return _end(_open(request), "cancel", words, actor, state=RequestState.CANCELLED, message=reason)


@transaction.atomic
def apply(*, request: ChangeRequest, actor: Actor, act: Callable[[Actor], Done]) -> tuple[ChangeRequest, Done]:
    """Make the change that was approved, once; `act` calls the services that make it. Where it fails, nothing of it is
    done and the request stays open. Raises Conflict where it is over, stale, or not approved now; Governed under a
    freeze."""
    row = _open(request)
    _require_current(row, row.hash)
    if not selecting.is_approved(row, approval_rule(row.pipeline), clock.now()):
        raise Conflict(
            "The change is not approved.",
            code="not_approved",
            hint="`approvals` says who has approved it, and until when.",
        )
    kind, right = ChangeKind(row.kind), Right(Grant.APPROVED, row.pipeline_id)
    granted = replace(actor, right=right)
    governing.require(pipeline=row.pipeline, kind=kind, actor=granted)
    ended = _end(row, "apply", f"{actor.name} applied a change ({kind}).", actor, state=RequestState.APPLIED)
    return ended, act(granted)


def _open(request: ChangeRequest) -> ChangeRequest:
    """As it is now, locked until the end of the transaction, like its pipeline. Raises Conflict where it is over."""
    Pipeline.objects.select_for_update(no_key=True).get(pk=request.pipeline_id)
    ChangeRequest.objects.select_for_update().get(pk=request.pk)
    row = selecting.get_request(request.pipeline, request.pk)
    state = state_at(row.state, row.expires_at, clock.now())
    if state not in OPEN:
        raise Conflict(f"The change request has ended: {state}.", code="request_over", hint="Request the change anew.")
    return row


def _require_current(row: ChangeRequest, named: str) -> None:
    if named != row.hash:
        raise Conflict("This is not the change that you reviewed.", code="hash_differs", hint="Read it again.")
    if row.basis != selecting.basis(row.pipeline) or row.pipeline.archived_at is not None:
        raise Conflict(
            f"{row.pipeline.name} has changed since the change was requested.",
            code="request_stale",
            hint="Cancel the request, and request the change anew.",
        )


def _end(row: ChangeRequest, action: str, words: str, actor: Actor, **fields: Any) -> ChangeRequest:
    return _change(row, action, words, actor, ended_by=actor.name, ended_at=clock.now(), **fields)


def _change(row: ChangeRequest, action: str, words: str, actor: Actor, **fields: Any) -> ChangeRequest:
    same = ChangeRequest.objects.filter(pk=row.pk, version=row.version)
    if not same.update(version=row.version + 1, **fields):
        raise Conflict("Another user has just changed the request.", code="busy", hint="Read it again.")
    changed = selecting.get_request(row.pipeline, row.pk)
    _record(changed, action, words, actor)
    return changed


def _record(row: ChangeRequest, action: str, words: str, actor: Actor) -> None:
    told = {"request": str(row.pk), "kind": row.kind, "hash": row.hash, "state": row.state}
    audit.record(
        actor=actor,
        action=f"change_request.{action}",
        pipeline_name=row.pipeline.name,
        after={**told, "reason": row.message or row.reason},
    )
    events.record(kind="change_request.updated", message=words, pipeline=row.pipeline, actor=actor.name, data=told)
