"""Deliveries of events to receivers, for however many receivers and events at once: planned, claimed, recorded.

An event that a receiver wants gets exactly one delivery, and that is sent at least once: a sender claims it by
compare-and-swap before the request, and writes the answer down afterwards, if nobody has claimed it since. The messages
about one alert go out one after the other. What a silence is about is planned all the same, and held back.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db import IntegrityError, transaction
from django.db.models import Count, Exists, F, OuterRef, Window
from django.db.models.functions import RowNumber

from pipelines.domain.monitoring.alert_rules import Severity, next_step, severity_of
from pipelines.domain.monitoring.matching import Matchers, Subject
from pipelines.domain.monitoring.messages import CLIENT, Happened, Notice, page_of
from pipelines.domain.monitoring.receivers import ALERT_EVENTS, TEST, MailOptions, ReceiverKind
from pipelines.domain.monitoring.webhooks import OPEN, PING, DeliveryResponse, DeliveryState, next_delay, payload, wants
from pipelines.foundation import clock
from pipelines.models import Alert, Delivery, Event, Receiver, Silence
from pipelines.selectors.monitoring.events import event_schema
from pipelines.selectors.monitoring.silences import Active, active_silences, silence_of, subject_of, subject_of_event
from pipelines.services.base import bulk
from pipelines.services.monitoring.receivers import new_message_id, switch_off
from pipelines.services.monitoring.silences import release

MOST_EVENTS = 10_000
"""Events that are looked at in one pass."""
CLAIMED_FOR = timedelta(seconds=60)
"""Longer than any attempt: a sender that has not answered by then is dead."""
LONGEST_ERROR = 500
MOST_A_MINUTE = 60
"""Messages to one receiver that people read. More of them wait; Slack takes one a second."""
LATE = timedelta(minutes=1)
"""A message that has waited its turn for longer is not sent if its alert has ended."""
TESTS = {PING, TEST}
_OPEN = [state.value for state in OPEN]


def plan(*, settled: int) -> int:
    """Give every event that a receiver wants its delivery; returns the newest event that was looked at, 0 without any.

    `settled`: up to this id no event can turn up any more. A transaction takes the id of its event when it begins to
    write and shows it when it commits, so the events behind that are looked at again; a delivery that is there stays.
    """
    receivers = list(Receiver.objects.filter(enabled=True).only("kind", "events", "matchers", "position", "team"))
    if not receivers:
        return 0
    release(now=clock.now())
    start = min(each.position for each in receivers)
    seen = list(Event.objects.filter(pk__gt=start).order_by("pk").values_list("pk", "kind")[:MOST_EVENTS])
    if not seen:
        return start
    newest: int = seen[-1][0]
    missing, position = _routed(_missing(receivers, seen), dict(seen)), min(settled, newest)
    behind = [each.pk for each in receivers if each.position < position]
    if missing or behind:
        with suppress(IntegrityError), transaction.atomic():  # an event was removed meanwhile: the next pass does it
            bulk.insert(missing, unique=("receiver", "event"), update=("event",))
            Receiver.objects.filter(pk__in=behind, position__lt=position).update(position=position)
    return newest


Pair = tuple[Receiver, int]


def _missing(receivers: Sequence[Receiver], seen: Sequence[tuple[int, str]]) -> list[Pair]:
    """Pairs of receiver and event without a delivery, by the types of events alone."""
    kinds = {kind for _, kind in seen} - TESTS
    choices = [(each, {kind for kind in kinds if wants(each.events, kind)}) for each in receivers]
    wanted = [
        (each, event) for each, chosen in choices for event, kind in seen if kind in chosen and event > each.position
    ]
    if not wanted:
        return []
    events = [event for _, event in wanted]
    there = Delivery.objects.filter(event_id__gte=min(events), event_id__lte=max(events))
    present = set(there.values_list("receiver_id", "event_id"))
    return [(each, event) for each, event in wanted if (each.pk, event) not in present]


def _routed(pairs: Sequence[Pair], kinds: Mapping[int, str]) -> list[Delivery]:
    """The deliveries of these pairs that matchers allow; those that a silence is about are suppressed."""
    now = clock.now()
    matchers = {each.pk: Matchers.of(each.matchers) for each, _ in pairs}
    asked = {
        event
        for each, event in pairs
        if kinds[event] in ALERT_EVENTS or not matchers[each.pk].empty or each.team_id is not None
    }
    about = _subjects(asked)
    alerts = _existing({about[event].alert for event in asked if event in about} - {None})
    silences = active_silences(now) if alerts else []
    _drop_what_is_late({about[event].alert for event in asked if kinds[event] == "alert.resolved"} & alerts, now)
    never = _suppressed_firing(alerts)
    rows = []
    for each, event in pairs:
        found = about.get(event)
        if not _is_for(each, found) or (found and not matchers[each.pk].match(found.subject)):
            continue
        row = Delivery(receiver=each, event_id=event, message_id=new_message_id(), next_attempt_at=now, created_at=now)
        if found and found.alert in alerts:
            row.alert_id = found.alert
            silence = silence_of(found.subject, silences)
            if silence or (each.pk, found.alert) in never:
                _suppress(row, silence, now)
                never |= {(each.pk, found.alert)} if kinds[event] == "alert.opened" else set()
        rows.append(row)
    return rows


def _is_for(receiver: Receiver, found: _About | None) -> bool:
    """A receiver of a team gets what that team may see."""
    return receiver.team_id is None or (found is not None and found.subject.team == receiver.team_id)


@dataclass(frozen=True)
class _About:
    """What an event is about; `alert`: the number of the alert, None for other events."""

    subject: Subject
    alert: int | None


def _subjects(events: Collection[int]) -> dict[int, _About]:
    if not events:
        return {}
    between = Event.objects.filter(pk__gte=min(events), pk__lte=max(events))
    rows = between.values("pk", "kind", "data", "team", "pipeline__name", "pipeline__labels", "pipeline__team")
    return {row["pk"]: _about(row) for row in rows if row["pk"] in events}


def _about(row: Mapping[str, Any]) -> _About:
    alert = row["data"].get("alert") if row["kind"] in ALERT_EVENTS else None
    return _About(subject_of_event(row), alert if isinstance(alert, int) else None)


def _existing(alerts: Collection[int | None]) -> set[int | None]:
    """Those that are still there."""
    known = [each for each in alerts if each is not None]
    return set(Alert.objects.filter(pk__in=known).values_list("pk", flat=True)) if known else set()


def _drop_what_is_late(resolved: Collection[int | None], now: datetime) -> None:
    """Suppress messages to people that wait their turn since a while, about alerts that are over: nobody is told
    half an hour later of what has passed."""
    if not resolved:
        return
    waiting = Delivery.objects.filter(alert__in=resolved, state=DeliveryState.WAITING, attempts=0)
    late = waiting.exclude(receiver__kind=ReceiverKind.WEBHOOK).filter(created_at__lt=now - LATE)
    dropped: dict[str, Any] = {"state": DeliveryState.SUPPRESSED, "next_attempt_at": None, "ended_at": now}
    if late.filter(event__kind="alert.opened").update(**dropped):
        first = Delivery.objects.filter(
            receiver=OuterRef("receiver"), alert=OuterRef("alert"), event__kind="alert.opened", ended_at=now
        )
        waiting.filter(Exists(first.filter(state=DeliveryState.SUPPRESSED))).update(**dropped)


def _suppressed_firing(alerts: Collection[int | None]) -> set[tuple[int, int | None]]:
    """Pairs of receiver and alert of which the receiver was not told: it is not told of the end either."""
    if not alerts:
        return set()
    first = Delivery.objects.filter(alert__in=alerts, event__kind="alert.opened", state=DeliveryState.SUPPRESSED)
    return set(first.values_list("receiver_id", "alert_id"))


def _suppress(row: Delivery, silence: Silence | None, now: datetime) -> None:
    """Hold a message back for as long as the silence lasts; for ever without one."""
    row.state, row.silence, row.next_attempt_at = DeliveryState.SUPPRESSED, silence, None
    row.ended_at = None if silence else now


@dataclass(frozen=True)
class Job:
    """A delivery that the caller has claimed. `attempt` counts from 1; `secrets` are references to those of its `team`,
    or of the installation.

    `body`: that of a webhook; `notice`: what any other kind is told; `email`: what a receiver of that kind adds.
    """

    id: int
    attempt: int
    receiver: int
    team: int | None
    kind: ReceiverKind
    url: str
    secrets: tuple[str, ...]
    message_id: str
    body: bytes
    notice: Notice | None
    email: MailOptions


def claim(*, now: datetime, most: int, each: int, busy: Mapping[int, int], public_url: str = "") -> list[Job]:
    """Take deliveries that are due, at most `most`, so that no receiver has more than `each` under way with the caller,
    and one that fails no more than one. `busy`: receiver -> how many it has already."""
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
    return [_job(row, public_url) for row in _with_events(taken)]


def _chosen(now: datetime, most: int, each: int, busy: Mapping[int, int]) -> Sequence[Mapping[str, Any]]:
    due = Delivery.objects.filter(state__in=_OPEN, next_attempt_at__lte=now, receiver__enabled=True)
    same_alert = Delivery.objects.filter(receiver=OuterRef("receiver"), alert=OuterRef("alert"), state__in=_OPEN)
    due = due.exclude(Exists(same_alert.filter(event__lt=OuterRef("event"))))
    turn = Window(RowNumber(), partition_by="receiver_id", order_by=["next_attempt_at", "id"])
    first = due.annotate(turn=turn, failing_since=F("receiver__failing_since")).filter(turn__lte=each)
    found = first.order_by("next_attempt_at", "id").values(
        "id", "state", "attempts", "receiver_id", "failing_since", "receiver__kind"
    )
    load, sent = Counter(busy), _sent_lately(found, now)
    chosen: list[Mapping[str, Any]] = []
    for row in found:
        room, receiver = 1 if row["failing_since"] else each, row["receiver_id"]
        if row["receiver__kind"] != ReceiverKind.WEBHOOK and sent[receiver] >= MOST_A_MINUTE:
            continue
        if len(chosen) < most and load[receiver] < room:
            load[receiver] += 1
            sent[receiver] += 1
            chosen.append(row)
    return chosen


def _sent_lately(found: Iterable[Mapping[str, Any]], now: datetime) -> Counter[int]:
    """Attempts within the last minute, by receiver, of those whose messages people read."""
    bounded = {row["receiver_id"] for row in found if row["receiver__kind"] != ReceiverKind.WEBHOOK}
    if not bounded:
        return Counter()
    attempts = Delivery.objects.filter(receiver__in=bounded, last_attempt_at__gt=now - timedelta(minutes=1))
    return Counter(dict(attempts.values_list("receiver_id").annotate(Count("id"))))


def _with_events(ids: Collection[int]) -> list[Delivery]:
    if not ids:
        return []
    rows = Delivery.objects.filter(pk__in=ids)
    return list(rows.select_related("receiver", "event__pipeline", "event__run", "alert__pipeline").order_by("pk"))


def _job(row: Delivery, public_url: str) -> Job:
    kind, receiver = ReceiverKind(row.receiver.kind), row.receiver
    if kind is ReceiverKind.WEBHOOK:
        data = event_schema(row.event).model_dump(mode="json")
        body, notice = payload(row.event.kind, data["at"], data), None
    else:
        body, notice = b"", _notice(row.event, row.alert, public_url)
    return Job(
        id=row.pk,
        attempt=row.attempts,
        receiver=receiver.pk,
        team=receiver.team_id,
        kind=kind,
        url=receiver.url,
        secrets=tuple(receiver.secrets),
        message_id=row.message_id,
        body=body,
        notice=notice,
        email=MailOptions.of(receiver.email),
    )


_HAPPENED = {
    "alert.opened": Happened.FIRING,
    "alert.acknowledged": Happened.ACKNOWLEDGED,
    "alert.resolved": Happened.RESOLVED,
}


def _notice(event: Event, alert: Alert | None, public_url: str) -> Notice:
    """What an event says, with what is known of its alert now; that may have been deleted."""
    happened = _HAPPENED.get(event.kind, Happened.TEST)
    rule, key = str(event.data.get("rule", "")), str(event.data.get("key", ""))
    pipeline = event.pipeline.name if event.pipeline else ""
    seen = alert is not None and happened is Happened.ACKNOWLEDGED
    return Notice(
        happened=happened,
        alert=int(event.data.get("alert", 0)),
        rule=rule,
        severity=severity_of(rule) if rule else Severity.INFO,
        subject=pipeline or key or CLIENT,
        pipeline=pipeline,
        message=alert.message if alert else event.message,
        since=alert.opened_at if alert else event.at,
        at=event.at,
        by=alert.acknowledged_by if alert and seen else "",
        note=alert.acknowledged_note if alert and seen else "",
        next_step=next_step(rule),
        link=page_of(public_url, pipeline),
    )


def record(*, answers: Sequence[tuple[Job, DeliveryResponse]], now: datetime, chance: Callable[[], float]) -> None:
    """Write down what came of attempts, and switch endpoints off that are gone or have failed for too long.

    What somebody else has claimed meanwhile is left to them. What failed and a silence is about now is held back.
    """
    if not answers:
        return
    silences = [] if all(answer.accepted for _, answer in answers) else active_silences(now)
    known = {row.pk: row for row in _with_events([job.id for job, _ in answers])}
    found = [(known[job.id], job, answer) for job, answer in answers if job.id in known]
    rows = [_held_back(_row(*each, now, chance()), each[0], silences) for each in found]
    with transaction.atomic():
        written = bulk.update(Delivery, rows, seen=("state", "attempts"))
        _note_health([(row, answer) for row, _, answer in found if row.pk in written], now)
    abandoned = {row["id"] for row in rows if row["state"] == DeliveryState.FAILED} & written
    for row, job, answer in found:
        if row.pk in abandoned:
            _evaluate(row, job, answer)


def _row(row: Delivery, job: Job, answer: DeliveryResponse, now: datetime, chance: float) -> dict[str, Any]:
    delay = None if answer.accepted else _delay(row, job, answer, now, chance)
    over = DeliveryState.DELIVERED if answer.accepted else DeliveryState.FAILED
    return {
        "id": row.pk,
        "state": over if delay is None else DeliveryState.WAITING,
        "next_attempt_at": None if delay is None else now + timedelta(seconds=delay),
        "ended_at": now if delay is None else None,
        "response_status": answer.status,
        "last_error": answer.error[:LONGEST_ERROR],
        "silence": row.silence_id,
        "seen_state": DeliveryState.SENDING,
        "seen_attempts": job.attempt,
    }


def _held_back(values: dict[str, Any], row: Delivery, silences: Active) -> dict[str, Any]:
    """What is written of a delivery; one that would be tried again is suppressed while a silence is about its alert."""
    if values["state"] != DeliveryState.WAITING or row.alert is None:
        return values
    silence = silence_of(subject_of(row.alert), silences)
    if silence is None:
        return values
    return {**values, "state": DeliveryState.SUPPRESSED, "next_attempt_at": None, "silence": silence.pk}


def _delay(row: Delivery, job: Job, answer: DeliveryResponse, now: datetime, chance: float) -> float | None:
    if answer.gone or row.event.kind in TESTS:
        return None
    return next_delay(job.attempt - row.attempts_before, answer, now=now, chance=chance)


def _note_health(found: Sequence[tuple[Delivery, DeliveryResponse]], now: datetime) -> None:
    """An endpoint that took anything is well."""
    well = {row.receiver_id for row, answer in found if answer.accepted}
    ill = {row.receiver_id for row, _ in found} - well
    if well:
        Receiver.objects.filter(pk__in=well).update(last_success_at=now, failing_since=None)
    if ill:
        Receiver.objects.filter(pk__in=ill, failing_since=None).update(failing_since=now)


def _evaluate(row: Delivery, job: Job, answer: DeliveryResponse) -> None:
    """Switch the endpoint off where it wants no more, or has taken nothing since a delivery began that is given up."""
    if answer.gone:
        switch_off(receiver=row.receiver, reason="its endpoint answers 410 Gone.")
    elif row.event.kind not in TESTS and not _took_any(row):
        count = job.attempt - row.attempts_before
        switch_off(receiver=row.receiver, reason=f"{count} attempts in a row failed.")


def _took_any(row: Delivery) -> bool:
    return Receiver.objects.filter(pk=row.receiver_id, last_success_at__gte=row.created_at).exists()
