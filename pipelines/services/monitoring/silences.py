"""Silences: alerts stand as ever, and nobody is told of them until the silence ends.

What a silence holds back is sent when it ends, if it still says something: that an alert fires which stands, that one
is over of which the receiver was told.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction
from django.db.models import F, Q

from pipelines.domain.base.findings import Finding, quote
from pipelines.domain.monitoring import matching
from pipelines.domain.monitoring.alert_rules import STANDING, AlertState
from pipelines.domain.monitoring.matching import Matchers
from pipelines.domain.monitoring.webhooks import DeliveryState
from pipelines.foundation import clock
from pipelines.foundation.errors import Conflict, Invalid
from pipelines.models import Delivery, Pipeline, Silence, Team
from pipelines.selectors.monitoring.silences import active_silences, get_silence, is_about, silence_of, subject_of
from pipelines.services.base import audit, bulk, events
from pipelines.services.base.audit import Actor

MOST_SILENCES = 1_000
"""That are active at once."""
SHORTEST = timedelta(minutes=1)
_STANDING = {state.value for state in STANDING}


@dataclass(frozen=True)
class SilenceSettings:
    """A silence as somebody wants it; one of a team is about what that team owns."""

    matchers: Matchers
    ends_at: datetime | None
    comment: str
    team: Team | None = None


@transaction.atomic
def create(*, wanted: SilenceSettings, longest: timedelta, actor: Actor) -> Silence:
    """Hold deliveries back from now on, also those that wait already. Raises Invalid with every finding."""
    now, ends_at = clock.now(), wanted.ends_at
    if (found := _findings(wanted, now, longest)) or ends_at is None:
        raise Invalid("The silence is not valid.", code="silence_invalid", findings=found)
    if Silence.objects.filter(ends_at__gt=now, team=wanted.team).count() >= MOST_SILENCES:
        words = f"{MOST_SILENCES} silences are active already."
        raise Conflict(words, code="too_many_silences", hint="End some, or use labels instead of names.")
    fields = {"matchers": wanted.matchers.stored(), "ends_at": ends_at, "comment": wanted.comment.strip()}
    silence = Silence.objects.create(team=wanted.team, **fields, created_at=now, created_by=actor.name)
    _hold_what_waits(silence)
    _emit(actor, silence, "silence.created", f"{actor.name} silenced alerts until {ends_at:%Y-%m-%d %H:%M} UTC.")
    return silence


@transaction.atomic
def end(*, silence_id: int, actor: Actor) -> Silence:
    """End a silence now. Doing so again changes nothing. Raises NotFound, and Conflict where it has expired."""
    silence, now = get_silence(silence_id), clock.now()
    if Silence.objects.filter(pk=silence_id, ends_at__gt=now).update(ends_at=now, ended_by=actor.name):
        silence.refresh_from_db()
        _emit(actor, silence, "silence.ended", f"{actor.name} ended a silence.")
    elif not silence.ended_by:
        raise Conflict(f"Silence {silence_id} has expired.", code="silence_expired", hint="No action is required.")
    return silence


def release(*, now: datetime) -> int:
    """Send what no silence holds back any more and still says something; returns how much. What is held back knows the
    silence that ends last, so there is nothing to do before that."""
    held = Delivery.objects.filter(state=DeliveryState.SUPPRESSED, ended_at=None)
    rows = list(
        held.filter(Q(silence=None) | Q(silence__ends_at__lte=now))
        .select_related("alert__pipeline", "event")
        .order_by("pk")
    )
    if not rows:
        return 0
    silences, never = active_silences(now), _never_told(rows)
    due: list[int] = []
    gone: list[int] = []
    still: list[dict[str, Any]] = []
    for row in rows:
        silence = silence_of(subject_of(row.alert), silences) if row.alert else None
        if silence is not None:
            still.append({"id": row.pk, "silence": silence.pk, "seen_state": row.state})
        else:
            (due if _still_says(row, never) else gone).append(row.pk)
    bulk.update(Delivery, still, seen=("state",))
    held.filter(pk__in=gone).update(ended_at=now)
    return held.filter(pk__in=due).update(
        state=DeliveryState.WAITING, next_attempt_at=now, attempts_before=F("attempts"), silence=None
    )


def _never_told(held: Iterable[Delivery]) -> set[tuple[int, int]]:
    """Pairs of receiver and alert of which the first message was held back."""
    alerts = {row.alert_id for row in held if row.alert_id is not None}
    first = Delivery.objects.filter(alert__in=alerts, event__kind="alert.opened", state=DeliveryState.SUPPRESSED)
    return set(first.values_list("receiver_id", "alert_id"))


def _still_says(row: Delivery, never: Collection[tuple[int | None, int | None]]) -> bool:
    """Whether a message that was held back is still worth sending."""
    if row.alert is None:
        return False
    if row.event.kind == "alert.opened":
        return row.alert.state in _STANDING
    if row.event.kind == "alert.acknowledged":
        return row.alert.state == AlertState.ACKNOWLEDGED
    return (row.receiver_id, row.alert_id) not in never


def _hold_what_waits(silence: Silence) -> None:
    """Messages that wait for an attempt; one that is being sent is not called back."""
    waiting = Delivery.objects.filter(state=DeliveryState.WAITING, alert__isnull=False)
    rows: Sequence[Delivery] = list(waiting.select_related("alert__pipeline"))
    matchers = Matchers.of(silence.matchers)
    held = [row.pk for row in rows if row.alert and is_about(silence, matchers, subject_of(row.alert))]
    Delivery.objects.filter(pk__in=held, state=DeliveryState.WAITING).update(
        state=DeliveryState.SUPPRESSED, silence=silence, next_attempt_at=None
    )


def prune(*, before: datetime) -> int:
    """Delete silences that ended before `before`; returns their number."""
    return bulk.delete(Silence.objects.filter(ends_at__lt=before))


def _findings(wanted: SilenceSettings, now: datetime, longest: timedelta) -> list[Finding]:
    found = matching.findings(wanted.matchers)
    if wanted.matchers.empty:
        found.append(
            Finding(
                path="matchers",
                code="matchers_missing",
                message="It would silence every alert.",
                suggestion="Name pipelines, labels, rules or severities; for all alerts, name all severities.",
            )
        )
    return [*found, *_of_end(wanted.ends_at, now, longest), *_of_comment(wanted.comment), *_of_names(wanted)]


def _of_end(ends_at: datetime | None, now: datetime, longest: timedelta) -> list[Finding]:
    if ends_at is None:
        message, suggestion = "It has no end.", f"Name an instant within {longest / timedelta(days=1):g} days."
        return [Finding(path="ends_at", code="end_missing", message=message, suggestion=suggestion)]
    if ends_at < now + SHORTEST:
        message, suggestion = "It ends too early.", "Name an instant that is at least a minute away."
    elif ends_at > now + longest:
        message = f"It lasts longer than {longest / timedelta(days=1):g} days."
        suggestion = "End it earlier, or raise HEADGATE_SILENCE_DAYS on web servers."
    else:
        return []
    return [Finding(path="ends_at", code="out_of_range", message=message, suggestion=suggestion)]


def _of_comment(comment: str) -> list[Finding]:
    if comment.strip():
        return []
    message, suggestion = "It has no comment.", "Give the reason for the silence."
    return [Finding(path="comment", code="comment_missing", message=message, suggestion=suggestion)]


def _of_names(wanted: SilenceSettings) -> list[Finding]:
    matchers = wanted.matchers
    rows = Pipeline.objects.filter(name__in=matchers.pipelines, **({"team": wanted.team} if wanted.team else {}))
    known = set(rows.values_list("name", flat=True))
    return [
        Finding(
            path=f"matchers.pipelines[{index}]",
            code="pipeline_not_found",
            message=f"There is no pipeline {quote(name)}.",
            suggestion="`headgate list` shows the pipelines.",
        )
        for index, name in enumerate(matchers.pipelines)
        if name not in known
    ]


def _emit(actor: Actor, silence: Silence, kind: str, message: str) -> None:
    data: dict[str, Any] = {
        "silence": silence.pk,
        "matchers": silence.matchers,
        "ends_at": silence.ends_at.isoformat(),
        "comment": silence.comment,
    }
    audit.record(actor=actor, action=kind, team=silence.team.name if silence.team else "", after=data)
    events.record(kind=kind, message=message, team=silence.team_id, actor=actor.name, data=data)
