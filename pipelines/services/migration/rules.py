"""What governs pipelines: who has to approve their changes, and when none is made. To loosen it raises an alert."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.db import transaction

from pipelines.foundation import clock
from pipelines.models import ApprovalPolicy, FreezeWindow
from pipelines.selectors.migration.rules import get_freeze, get_policy
from pipelines.services.base import audit
from pipelines.services.base.audit import Actor
from pipelines.services.governance import governing


@transaction.atomic
def set_policy(*, label: str, pipeline: str, approvers: int, expiry_seconds: int, actor: Actor) -> ApprovalPolicy:
    """Set how many users must approve, replacing the policy of the same scope."""
    values = {"approvers": approvers, "expiry_seconds": expiry_seconds, "updated_by": actor.name}
    scope: dict[str, Any] = {"label": label, "pipeline_name": pipeline}
    before = ApprovalPolicy.objects.filter(**scope).values_list("approvers", flat=True).first()
    row, _ = ApprovalPolicy.objects.update_or_create(**scope, defaults=values)
    told = audit.record(
        actor=actor, action="approval_policy.set", pipeline_name=pipeline, after={"label": label, **values}
    )
    if before is not None and approvers < before:
        what = f"lowered the approvers of {pipeline or label or 'all pipelines'} from {before} to {approvers}"
        governing.report_loosened(row=told, what=what)
    return row


@transaction.atomic
def remove_policy(*, policy_id: int, actor: Actor) -> None:
    """Remove a policy. Raises NotFound."""
    row = get_policy(policy_id)
    before = {"label": row.label, "approvers": row.approvers}
    told = audit.record(actor=actor, action="approval_policy.remove", pipeline_name=row.pipeline_name, before=before)
    row.delete()
    what = f"removed the approval policy of {row.pipeline_name or row.label or 'all pipelines'}"
    governing.report_loosened(row=told, what=what)


@transaction.atomic
def add_freeze(
    *, label: str, pipeline: str, starts_at: datetime, ends_at: datetime, reason: str, actor: Actor
) -> FreezeWindow:
    """Let nothing be changed in [starts_at, ends_at)."""
    row = FreezeWindow.objects.create(
        label=label,
        pipeline_name=pipeline,
        starts_at=starts_at,
        ends_at=ends_at,
        reason=reason,
        created_by=actor.name,
        created_at=clock.now(),
    )
    after = {"label": label, "starts_at": starts_at.isoformat(), "ends_at": ends_at.isoformat(), "reason": reason}
    audit.record(actor=actor, action="freeze.add", pipeline_name=pipeline, after=after)
    return row


@transaction.atomic
def remove_freeze(*, freeze_id: int, actor: Actor) -> None:
    """End a freeze. Raises NotFound."""
    row = get_freeze(freeze_id)
    before = {"reason": row.reason}
    told = audit.record(actor=actor, action="freeze.remove", pipeline_name=row.pipeline_name, before=before)
    row.delete()
    if row.ends_at > clock.now():
        what = f"removed the freeze of {row.pipeline_name or row.label or 'all pipelines'} ({row.reason})"
        governing.report_loosened(row=told, what=what)
