"""Who asked for what."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pipelines.domain.base.roles import Role
from pipelines.domain.governance.changes import Right
from pipelines.foundation import clock
from pipelines.models import AuditRow, Pipeline


@dataclass(frozen=True)
class Actor:
    """A person or program that asks: user name, address of the client and id of the request.

    `traceparent`: the trace that a client wants it to be part of. `request`, for that trace: method, route, user_id,
    request_id and at, when the request came. `right`: by what governed changes of a pipeline are made. `token`: prefix
    and name of the token that the request came with. `role`: by which they may send the request.
    """

    name: str
    address: str = ""
    request_id: str = ""
    traceparent: str = ""
    request: Mapping[str, Any] = field(default_factory=dict, compare=False)
    right: Right | None = None
    token: str = ""
    role: Role = Role.VIEWER

    @property
    def origin(self) -> dict[str, Any]:
        """What an operation and a migration store of it for their trace."""
        return {"traceparent": self.traceparent, "request": dict(self.request)}


def record(
    *,
    actor: Actor,
    action: str,
    pipeline_name: str = "",
    team: str = "",
    before: Any = None,
    after: Any = None,
    outcome: str = "accepted",
) -> AuditRow:
    """Add one row, in the transaction of what it records. `team`: whose it is; that of the pipeline unless given."""
    return AuditRow.objects.create(
        at=clock.now(),
        actor=actor.name,
        action=action,
        pipeline_name=pipeline_name,
        team=team or _team_of(pipeline_name),
        token=actor.token,
        request_id=actor.request_id,
        address=actor.address,
        before=before,
        after=after,
        outcome=outcome,
    )


def _team_of(pipeline_name: str) -> str:
    if not pipeline_name:
        return ""
    present = Pipeline.objects.filter(name=pipeline_name, archived_at=None)
    return present.values_list("team__name", flat=True).first() or ""
