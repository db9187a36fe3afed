"""Reading silences, and which alerts they are about."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from django.db.models import Count, Q, QuerySet

from pipelines.domain.access.teams import EVERYTHING, Access
from pipelines.domain.monitoring.matching import Matchers, Subject
from pipelines.domain.monitoring.webhooks import DeliveryState
from pipelines.foundation import clock
from pipelines.foundation.errors import NotFound
from pipelines.models import Alert, Silence
from pipelines.selectors.base.visible import visible
from pipelines.selectors.monitoring.schemas import MatchersSchema, SilenceSchema, SilenceState


def get_silence(silence_id: int, access: Access = EVERYTHING) -> Silence:
    """The silence; raises NotFound."""
    silence = silences(None, access).filter(pk=silence_id).first()
    if silence is None:
        hint = "GET /api/v1/silences lists them."
        raise NotFound(f"There is no silence {silence_id}.", code="silence_not_found", hint=hint)
    return silence


def silences(state: SilenceState | None, access: Access) -> QuerySet[Silence]:
    """Silences that exist for a user, of the teams and of the installation, with what their views need: of one of the
    installation, the messages are counted that are about teams that the user may see."""
    held = Q(deliveries__state=DeliveryState.SUPPRESSED)
    if (teams := access.visible) is not None:
        held &= Q(deliveries__alert__pipeline__team__in=teams) | Q(deliveries__alert__team__in=teams)
    rows = visible(Silence.objects.select_related("team"), access, shared=True)
    found = rows.annotate(suppressed=Count("deliveries", filter=held))
    now = clock.now()
    if state is SilenceState.ACTIVE:
        return found.filter(ends_at__gt=now)
    if state is SilenceState.ENDED:
        return found.filter(ends_at__lte=now).exclude(ended_by="")
    return found.filter(ends_at__lte=now, ended_by="") if state is SilenceState.EXPIRED else found


def silence_schema(row: Silence) -> SilenceSchema:
    """One silence as the API shows it."""
    state = SilenceState.ACTIVE if row.ends_at > clock.now() else SilenceState.ENDED
    return SilenceSchema(
        id=row.pk,
        state=state if row.ended_by or state is SilenceState.ACTIVE else SilenceState.EXPIRED,
        team=row.team.name if row.team else None,
        matchers=MatchersSchema(**Matchers.of(row.matchers).stored()),
        comment=row.comment,
        created_at=row.created_at,
        created_by=row.created_by,
        ends_at=row.ends_at,
        ended_by=row.ended_by,
        suppressed=getattr(row, "suppressed", 0),
    )


Active = Sequence[tuple[Silence, Matchers]]


def active_silences(now: datetime) -> Active:
    """Those that hold something back now, the one that ends last first."""
    found = Silence.objects.filter(ends_at__gt=now).order_by("-ends_at", "pk")
    return [(row, Matchers.of(row.matchers)) for row in found]


def silence_of(subject: Subject, active: Active) -> Silence | None:
    """The silence about an alert that ends last; None where there is none."""
    return next((row for row, matchers in active if is_about(row, matchers, subject)), None)


def is_about(silence: Silence, matchers: Matchers, subject: Subject) -> bool:
    """Whether a silence is about an alert: one of a team is about what that team owns."""
    return silence.team_id in (None, subject.team) and matchers.match(subject)


def subject_of(alert: Alert) -> Subject:
    """What an alert is about, as matchers see it; its pipeline is read already."""
    if alert.pipeline is None:
        return Subject(rule=alert.rule, team=alert.team_id)
    return Subject(alert.pipeline.name, alert.pipeline.labels, alert.rule, alert.pipeline.team_id)


def subject_of_event(row: Mapping[str, Any]) -> Subject:
    """What an event is about: a row with its pipeline's name, labels and team, its kind, its own team and its data."""
    rule = row["data"].get("rule", "") if row["kind"].startswith("alert.") else ""
    team = row["pipeline__team"] or row["team"]
    return Subject(row["pipeline__name"] or "", row["pipeline__labels"] or {}, str(rule), team)
