"""Reading change requests."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db.models import Q, QuerySet

from pipelines.domain.access.teams import EVERYTHING, Access
from pipelines.domain.governance.changes import ChangeKind
from pipelines.domain.governance.requests import OPEN, RequestState, state_at
from pipelines.domain.migration import policy
from pipelines.domain.migration.specs import shown
from pipelines.foundation import clock
from pipelines.foundation.errors import NotFound
from pipelines.models import ChangeRequest, Pipeline
from pipelines.selectors.base.schemas import Schema
from pipelines.selectors.base.visible import visible
from pipelines.selectors.governance.rules import Rules, load


class ChangeApprovalSchema(Schema):
    """An approval; `counts`: it is of a user who may approve the request, and has not expired."""

    by: str
    at: datetime
    expires_at: datetime
    counts: bool


class ChangeRequestSchema(Schema):
    """A change of what a pipeline runs that others approve. `arguments`: the body of the address that it stands for;
    `summary`: what it does; `stale`: the pipeline has changed since, so that it cannot be applied; `frozen`: why it
    cannot be applied now; `approvals_counted`: how many approvals count, of `approvers_needed`."""

    id: UUID
    pipeline: str
    kind: ChangeKind
    arguments: dict[str, Any]
    summary: str
    reason: str
    state: RequestState
    open: bool
    stale: bool
    frozen: list[str]
    hash: str
    approvers_needed: int
    approvals_counted: int
    approvals: list[ChangeApprovalSchema]
    created_by: str
    created_at: datetime
    expires_at: datetime
    ended_by: str
    ended_at: datetime | None
    message: str


def requests(
    access: Access = EVERYTHING,
    *,
    request_id: UUID | None = None,
    pipeline: Pipeline | None = None,
    name: str | None = None,
    states: Collection[RequestState] | None = None,
) -> QuerySet[ChangeRequest]:
    """Change requests of one id, of a pipeline, of the pipelines with a name, or all that a user may see; `states`: as
    they are now."""
    wanted = {"pk": request_id, "pipeline": pipeline, "pipeline__name": name}
    given = {key: value for key, value in wanted.items() if value is not None}
    found = visible(ChangeRequest.objects.filter(**given), access, "pipeline__team")
    found = found.select_related("pipeline").prefetch_related("approvals")
    return found if states is None else found.filter(_in(states))


def _in(states: Collection[RequestState]) -> Q:
    now = clock.now()
    lasting = Q(state__in=[each for each in states if each in OPEN], expires_at__gt=now)
    ended = Q(state__in=[each for each in states if each not in OPEN])
    expired = Q(state__in=[each.value for each in OPEN], expires_at__lte=now)
    return lasting | ended | (expired if RequestState.EXPIRED in states else Q(pk__in=[]))


def get_request(pipeline: Pipeline, request_id: UUID) -> ChangeRequest:
    """One of a pipeline; raises NotFound."""
    found = requests(pipeline=pipeline, request_id=request_id).first()
    if found is None:
        raise NotFound(
            f"{pipeline.name} has no such change request.",
            code="request_not_found",
            hint="GET /api/v1/change-requests lists them.",
        )
    return found


def basis(pipeline: Pipeline) -> dict[str, Any]:
    """What a change request is a change of: while this is the same, it can be applied."""
    return {"revision": pipeline.current_revision_id, "generation": pipeline.generation}


def counted(row: ChangeRequest, rule: policy.ApprovalRule, now: datetime) -> Collection[str]:
    """Whose approvals count."""
    given = [policy.Approval(each.by, row.hash, each.at) for each in row.approvals.all()]
    return policy.valid(rule, given, author=row.created_by, named=row.hash, now=now)


def is_approved(row: ChangeRequest, rule: policy.ApprovalRule, now: datetime) -> bool:
    """Whether it may be applied, as far as approvals go."""
    return len(counted(row, rule, now)) >= max(1, rule.approvers)


def request_schemas(rows: Sequence[ChangeRequest]) -> list[ChangeRequestSchema]:
    """Change requests, in two queries more than it takes to find them."""
    rules = load()
    return [_schema(row, rules) for row in rows]


def request_schema(row: ChangeRequest) -> ChangeRequestSchema:
    """One change request."""
    return _schema(row, load())


def _schema(row: ChangeRequest, rules: Rules) -> ChangeRequestSchema:
    rule, state = rules.of(row.pipeline), state_at(row.state, row.expires_at, rules.at)
    counting = counted(row, rule, row.ended_at or rules.at)
    names = ("summary", "reason", "hash", "created_by", "created_at", "expires_at", "ended_by", "ended_at", "message")
    return ChangeRequestSchema(
        **{name: getattr(row, name) for name in names},
        id=row.pk,
        pipeline=row.pipeline.name,
        kind=ChangeKind(row.kind),
        arguments=shown(row.arguments),
        state=state,
        open=state in OPEN,
        stale=state in OPEN and row.basis != basis(row.pipeline),
        frozen=rules.frozen(row.pipeline) if state in OPEN else [],
        approvers_needed=max(1, rule.approvers),
        approvals_counted=len(counting),
        approvals=[
            ChangeApprovalSchema(by=each.by, at=each.at, expires_at=each.at + rule.expiry, counts=each.by in counting)
            for each in row.approvals.all()
        ],
    )
