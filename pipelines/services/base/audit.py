"""Who asked for what."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pipelines.foundation import clock
from pipelines.models import AuditRow


@dataclass(frozen=True)
class Actor:
    """A person or program that asks: user name, address of the client and id of the request."""

    name: str
    address: str = ""
    request_id: str = ""


def record(
    *,
    actor: Actor,
    action: str,
    pipeline_name: str = "",
    before: Any = None,
    after: Any = None,
    outcome: str = "accepted",
) -> AuditRow:
    """Add one row, in the transaction of what it records."""
    return AuditRow.objects.create(
        at=clock.now(),
        actor=actor.name,
        action=action,
        pipeline_name=pipeline_name,
        request_id=actor.request_id,
        address=actor.address,
        before=before,
        after=after,
        outcome=outcome,
    )
