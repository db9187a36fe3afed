"""The one place that lets a user change what a pipeline runs, and the emergency that passes it by.

Every service that changes what runs calls `require` in its transaction, with the pipeline as it has just read it. Those
of migrations do not: their approvals and freezes are their own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, TypeVar

from django.db import transaction

from pipelines.domain.base.roles import Role
from pipelines.domain.governance import changes
from pipelines.domain.governance.changes import ChangeKind, Decision, Grant, Right
from pipelines.domain.monitoring.alert_rules import GLASS_BROKEN
from pipelines.foundation.errors import Conflict, Forbidden
from pipelines.models import AuditRow, Pipeline
from pipelines.selectors.governance.rules import lifted_by, rules_of
from pipelines.services.base import audit, events
from pipelines.services.base.audit import Actor
from pipelines.services.monitoring import alerts

Done = TypeVar("Done")


class Governed(Conflict):
    """The change needs the word of others, or has to wait."""

    title = "Not without the word of others"


def require(*, pipeline: Pipeline, kind: ChangeKind, actor: Actor) -> None:
    """Raises Governed where approvals or a freeze bind this change and the actor has no right to pass them by."""
    rule, freezes = rules_of(pipeline)
    decision = changes.decide(rule, freezes, actor.right, pipeline.id)
    if decision is Decision.ALLOWED:
        return
    raise Governed(
        f"This change ({kind}) of {pipeline.name} is governed: {changes.reason(decision, rule, freezes)}",
        code=decision.value,
        hint=_hint(pipeline, decision),
        pipeline=pipeline.name,
        kind=kind,
        approvers=rule.approvers,
        frozen=freezes,
    )


def require_labels(*, pipeline: Pipeline, labels: Mapping[str, str], actor: Actor) -> None:
    """Raises Forbidden where labels would free a pipeline from what administrators have decided by one that it has."""
    if actor.role < Role.ADMIN and (lifted := lifted_by(pipeline, labels)):
        raise Forbidden(
            f"These labels would free migrations of {pipeline.name} from what was set for them: {'; '.join(lifted)}.",
            code="labels_govern_migrations",
            hint="Keep the label, or ask an administrator to change it.",
        )


def _hint(pipeline: Pipeline, decision: Decision) -> str:
    where = f"POST /api/v1/pipelines/{pipeline.name}"
    after = "; it can be applied after the freeze" if decision is Decision.FROZEN else ""
    return (
        f"Request it: {where}/change-requests, or the same command with --request REASON{after}. In an emergency an "
        f"administrator breaks glass: {where}/break-glass, or --break-glass REASON."
    )


@transaction.atomic
def break_glass(
    *,
    pipeline: Pipeline,
    kind: ChangeKind,
    arguments: Mapping[str, Any],
    reason: str,
    actor: Actor,
    act: Callable[[Actor], Done],
) -> Done:
    """Make one change at once, whatever governs it, with an alert and a row in the audit. The caller has checked that
    an administrator asks."""
    rule, freezes = rules_of(pipeline)
    done = act(replace(actor, right=Right(Grant.BREAK_GLASS, pipeline.id)))
    told = {"kind": kind, "reason": reason, "approvers": rule.approvers, "frozen": freezes}
    message = f"{actor.name} broke glass of {pipeline.name} ({kind}): {reason}"
    row = audit.record(
        actor=actor,
        action="pipeline.break_glass",
        pipeline_name=pipeline.name,
        after={**told, "arguments": dict(arguments)},
    )
    events.record(kind="pipeline.glass_broken", message=message, pipeline=pipeline, actor=actor.name, data=told)
    _alert(row, message, pipeline, told)
    return done


def report_loosened(*, row: AuditRow, what: str, pipeline: Pipeline | None = None) -> None:
    """Tell that an administrator has taken away what bound changes, as of broken glass. `row`: of the audit. Call it in
    the transaction."""
    _alert(row, f"{row.actor} {what}.", pipeline, {"action": row.action})


def _alert(row: AuditRow, message: str, pipeline: Pipeline | None, data: Mapping[str, Any]) -> None:
    """One for each deed, so that each notifies."""
    alerts.raise_alert(rule=GLASS_BROKEN, key=f"audit {row.pk}", message=message, pipeline=pipeline, data=data)
