"""Deliveries of events to webhooks, for however many endpoints and events at once: planned, claimed, recorded.

An event that an endpoint wants gets exactly one delivery, and that is sent at least once: a sender claims it by
compare-and-swap before the request, and writes the answer down afterwards, if nobody has claimed it since.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db import IntegrityError, transaction
from django.db.models import F, Window
from django.db.models.functions import RowNumber

from pipelines.domain.monitoring.webhooks import OPEN, PING, DeliveryState, WebhookResponse, next_delay, payload, wants
from pipelines.foundation import clock
from pipelines.models import Delivery, Event, Webhook
from pipelines.selectors.monitoring.events import event_schema
from pipelines.services.base import bulk
from pipelines.services.monitoring.webhooks import new_message_id, switch_off

MOST_EVENTS = 10_000
"""Events that are looked at in one pass."""
CLAIMED_FOR = timedelta(seconds=60)
"""Longer than any attempt: a sender that has not answered by then is dead."""
LONGEST_ERROR = 500
_OPEN = [state.value for state in OPEN]


def plan(*, settled: int) -> int:
    """Give every event that an endpoint wants its delivery; returns the newest event that was looked at, 0 without any.

    `settled`: up to this id no event can turn up any more. A transaction takes the id of its event when it begins to
    write and shows it when it commits, so the events behind that are looked at again; a delivery that is there stays.
    """
    hooks = list(Webhook.objects.filter(enabled=True).only("events", "position"))
    if not hooks:
        return 0
    start = min(hook.position for hook in hooks)
    seen = list(Event.objects.filter(pk__gt=start).order_by("pk").values_list("pk", "kind")[:MOST_EVENTS])
    if not seen:
        return start
    newest: int = seen[-1][0]
    missing, position = _missing(hooks, seen), min(settled, newest)
    behind = [hook.pk for hook in hooks if hook.position < position]
    if missing or behind:
        with suppress(IntegrityError), transaction.atomic():  # an event was removed meanwhile: the next pass does it
            _insert(missing)
            Webhook.objects.filter(pk__in=behind, position__lt=position).update(position=position)
    return newest


def _missing(hooks: Sequence[Webhook], seen: Sequence[tuple[int, str]]) -> list[tuple[int, int]]:
    """Pairs of endpoint and event without a delivery."""
    kinds = {kind for _, kind in seen} - {PING}
    choices = [(hook, {kind for kind in kinds if wants(hook.events, kind)}) for hook in hooks]
    wanted = [
        (hook.pk, event) for hook, chosen in choices for event, kind in seen if kind in chosen and event > hook.position
    ]
    if not wanted:
        return []
    events = [event for _, event in wanted]
    there = Delivery.objects.filter(event_id__gte=min(events), event_id__lte=max(events))
    present = set(there.values_list("webhook_id", "event_id"))
    return [pair for pair in wanted if pair not in present]


def _insert(pairs: Sequence[tuple[int, int]]) -> None:
    now = clock.now()
    rows = [
        Delivery(webhook_id=webhook, event_id=event, message_id=new_message_id(), next_attempt_at=now, created_at=now)
        for webhook, event in pairs
    ]
    bulk.insert(rows, unique=("webhook", "event"), update=("event",))


@dataclass(frozen=True)
class Job:
    """A delivery that the caller has claimed. `attempt` counts from 1; `secrets` are references."""

    id: int
    attempt: int
    webhook: int
    url: str
    secrets: tuple[str, ...]
    message_id: str
    body: bytes


def claim(*, now: datetime, most: int, each: int, busy: Mapping[int, int]) -> list[Job]:
    """Take deliveries that are due, at most `most`, so that no endpoint has more than `each` under way with the caller,
    and one that fails no more than one. `busy`: endpoint -> how many it has already."""
    chosen = _chosen(now, most, each, busy)
    rows = [
        {
            "id": row["id"],
            "state": DeliveryState.SENDING,
            "attempts": row["attempts"] + 1,
            "next_attempt_at": now + CLAIMED_FOR,
            "last_attempt_at": now,
            "seen_state": row["state"],
            "seen_attempts": row["attempts"],
        }
        for row in chosen
    ]
    taken = bulk.update(Delivery, rows, seen=("state", "attempts"))
    return [_job(row) for row in _with_events(taken)]


def _chosen(now: datetime, most: int, each: int, busy: Mapping[int, int]) -> Sequence[Mapping[str, Any]]:
    due = Delivery.objects.filter(state__in=_OPEN, next_attempt_at__lte=now, webhook__enabled=True)
    turn = Window(RowNumber(), partition_by="webhook_id", order_by=["next_attempt_at", "id"])
    first = due.annotate(turn=turn, failing_since=F("webhook__failing_since")).filter(turn__lte=each)
    found = first.order_by("next_attempt_at", "id").values("id", "state", "attempts", "webhook_id", "failing_since")
    load = Counter(busy)
    chosen: list[Mapping[str, Any]] = []
    for row in found:
        room = 1 if row["failing_since"] else each
        if len(chosen) < most and load[row["webhook_id"]] < room:
            load[row["webhook_id"]] += 1
            chosen.append(row)
    return chosen


def _with_events(ids: Collection[int]) -> list[Delivery]:
    if not ids:
        return []
    rows = Delivery.objects.filter(pk__in=ids).select_related("webhook", "event__pipeline", "event__run")
    return list(rows.order_by("pk"))


def _job(row: Delivery) -> Job:
    data = event_schema(row.event).model_dump(mode="json")
    body = payload(row.event.kind, data["at"], data)
    return Job(row.pk, row.attempts, row.webhook_id, row.webhook.url, tuple(row.webhook.secrets), row.message_id, body)


def record(*, answers: Sequence[tuple[Job, WebhookResponse]], now: datetime, chance: Callable[[], float]) -> None:
    """Write down what came of attempts, and switch endpoints off that are gone or have failed for too long.

    What somebody else has claimed meanwhile is left to them.
    """
    if not answers:
        return
    known = {row.pk: row for row in _with_events([job.id for job, _ in answers])}
    found = [(known[job.id], job, answer) for job, answer in answers if job.id in known]
    rows = [_row(*each, now, chance()) for each in found]
    with transaction.atomic():
        written = bulk.update(Delivery, rows, seen=("state", "attempts"))
        _note_health([(row, answer) for row, _, answer in found if row.pk in written], now)
    abandoned = {row["id"] for row in rows if row["state"] == DeliveryState.FAILED} & written
    for row, job, answer in found:
        if row.pk in abandoned:
            _evaluate(row, job, answer)


def _row(row: Delivery, job: Job, answer: WebhookResponse, now: datetime, chance: float) -> dict[str, Any]:
    delay = None if answer.accepted else _delay(row, job, answer, now, chance)
    over = DeliveryState.DELIVERED if answer.accepted else DeliveryState.FAILED
    return {
        "id": row.pk,
        "state": over if delay is None else DeliveryState.WAITING,
        "next_attempt_at": None if delay is None else now + timedelta(seconds=delay),
        "ended_at": now if delay is None else None,
        "response_status": answer.status,
        "last_error": answer.error[:LONGEST_ERROR],
        "seen_state": DeliveryState.SENDING,
        "seen_attempts": job.attempt,
    }


def _delay(row: Delivery, job: Job, answer: WebhookResponse, now: datetime, chance: float) -> float | None:
    if answer.gone or row.event.kind == PING:
        return None
    return next_delay(job.attempt - row.attempts_before, answer, now=now, chance=chance)


def _note_health(found: Sequence[tuple[Delivery, WebhookResponse]], now: datetime) -> None:
    """An endpoint that took anything is well."""
    well = {row.webhook_id for row, answer in found if answer.accepted}
    ill = {row.webhook_id for row, _ in found} - well
    if well:
        Webhook.objects.filter(pk__in=well).update(last_success_at=now, failing_since=None)
    if ill:
        Webhook.objects.filter(pk__in=ill, failing_since=None).update(failing_since=now)


def _evaluate(row: Delivery, job: Job, answer: WebhookResponse) -> None:
    """Switch the endpoint off where it wants no more, or has taken nothing since a delivery began that is given up."""
    if answer.gone:
        switch_off(webhook=row.webhook, reason="its endpoint answers 410 Gone.")
    elif row.event.kind != PING and not _took_any(row):
        count = job.attempt - row.attempts_before
        switch_off(webhook=row.webhook, reason=f"{count} attempts in a row failed.")


def _took_any(row: Delivery) -> bool:
    return Webhook.objects.filter(pk=row.webhook_id, last_success_at__gte=row.created_at).exists()
