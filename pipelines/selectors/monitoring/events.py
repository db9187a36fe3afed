"""Reading what happened."""

from __future__ import annotations

from collections.abc import Collection
from datetime import UTC, datetime, timedelta

from django.db.models import Max, Q, QuerySet

from pipelines.domain.access.audit.objects import object_of
from pipelines.domain.access.teams import Access
from pipelines.models import AuditRow, Event
from pipelines.selectors.base.visible import of_teams
from pipelines.selectors.monitoring.schemas import AuditSchema, EventSchema


def events(access: Access, *, pipeline: str | None = None, kinds: Collection[str] = ()) -> QuerySet[Event]:
    """Events, of one pipeline's name or all that a user may see, with what their views need. `kinds`: only those that
    match a kind, or the beginning of kinds with `.*`."""
    found = of_teams(Event.objects.select_related("pipeline", "run"), access)
    found = found.filter(_of_kinds(kinds)) if kinds else found
    return found.filter(pipeline__name=pipeline) if pipeline else found


def _of_kinds(patterns: Collection[str]) -> Q:
    families = [each for each in patterns if each.endswith(".*")]
    condition = Q(kind__in=[each for each in patterns if each not in families])
    for family in families:
        condition |= Q(kind__startswith=family[:-1])
    return condition


def newest_event() -> int:
    """The highest id of an event; 0 without any."""
    return Event.objects.aggregate(newest=Max("pk"))["newest"] or 0


def moment(event: Event, seconds: float) -> datetime:
    """So long before an event. What was found between two looks may have happened right after the first of them."""
    started = event.data.get("before_at")
    at = event.at if started is None else min(event.at, datetime.fromtimestamp(started, UTC))
    return at - timedelta(seconds=seconds)


def event_schema(event: Event) -> EventSchema:
    """One event as the API shows it."""
    return EventSchema(
        id=event.pk,
        at=event.at,
        kind=event.kind,
        pipeline=event.pipeline.name if event.pipeline else None,
        actor=event.actor,
        run=event.run.number if event.run else None,
        message=event.message,
        data=event.data,
    )


def audit_schema(row: AuditRow) -> AuditSchema:
    """One row of the audit as the API shows it."""
    return AuditSchema(
        id=row.pk,
        at=row.at,
        actor=row.actor,
        action=row.action,
        pipeline=row.pipeline_name,
        object=object_of(row.pipeline_name, row.before, row.after),
        team=row.team,
        token=row.token,
        request_id=row.request_id,
        address=row.address,
        before=row.before,
        after=row.after,
        outcome=row.outcome,
        sequence=row.sequence,
        digest=row.digest,
    )
