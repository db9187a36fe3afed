"""Receivers as people set them. Audit and events name the server of an address, never the rest of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any
from uuid import uuid4

from django.db import transaction
from django.db.models import F

from pipelines.domain.access.secret_bindings import Purpose
from pipelines.domain.base.findings import Finding
from pipelines.domain.monitoring.alert_rules import RECEIVER_DISABLED
from pipelines.domain.monitoring.matching import Matchers
from pipelines.domain.monitoring.receivers import (
    DEFAULT_EVENTS,
    MailOptions,
    MailServer,
    ReceiverKind,
    Wanted,
    event_of_test,
    findings,
    value_problem,
)
from pipelines.domain.monitoring.webhooks import DeliveryState, Reach, secret_name
from pipelines.foundation import clock
from pipelines.foundation.errors import Conflict, Invalid, PreconditionFailed
from pipelines.foundation.keyring import Keyring, Undecryptable
from pipelines.models import Delivery, Event, Receiver, Team
from pipelines.selectors.access.secrets import Stored, stored
from pipelines.selectors.monitoring.events import newest_event
from pipelines.selectors.monitoring.receivers import get_delivery, get_receiver, server, target
from pipelines.services.base import audit, bulk, events
from pipelines.services.base.audit import Actor
from pipelines.services.monitoring import alerts

MOST_RECEIVERS = 100


@dataclass(frozen=True)
class ReceiverSettings:
    """A receiver as somebody wants it. `secrets`: references. `events` None: those that are usual for the kind."""

    kind: ReceiverKind = ReceiverKind.WEBHOOK
    url: str = ""
    events: Sequence[str] | None = None
    secrets: Sequence[str] = ()
    description: str = ""
    enabled: bool = True
    matchers: Matchers = field(default_factory=Matchers)
    email: MailOptions = field(default_factory=MailOptions)

    @property
    def types(self) -> list[str]:
        """The events that it gets."""
        return list(DEFAULT_EVENTS[self.kind] if self.events is None else self.events)

    def fields(self) -> dict[str, Any]:
        """The columns of it."""
        return {
            "kind": self.kind.value,
            "url": self.url,
            "events": self.types,
            "secrets": list(self.secrets),
            "description": self.description,
            "enabled": self.enabled,
            "matchers": self.matchers.stored(),
            "email": self.email.stored() if self.kind is ReceiverKind.EMAIL else {},
        }

    def wanted(self) -> Wanted:
        """What is judged of it."""
        return Wanted(self.kind, self.url, tuple(self.types), tuple(self.secrets), self.matchers, self.email)


@dataclass(frozen=True)
class Installation:
    """What an installation allows and has. `keyring` None: nobody can look here whether secrets are usable; the worker
    that sends finds out."""

    reach: Reach
    keyring: Keyring | None = None
    mail: MailServer = field(default_factory=MailServer)


@transaction.atomic
def create(*, wanted: ReceiverSettings, installation: Installation, actor: Actor, team: Team | None = None) -> Receiver:
    """Add a receiver, of a team or of the installation; it gets what happens from now on. Raises Invalid with every
    finding, and Conflict."""
    _check(wanted, installation, team.pk if team else None)
    if Receiver.objects.filter(team=team).count() >= MOST_RECEIVERS:
        words = f"There are {MOST_RECEIVERS} receivers already."
        raise Conflict(words, code="too_many_receivers", hint="Remove one that is not needed.")
    now = clock.now()
    stamps = {"created_at": now, "created_by": actor.name, "updated_at": now, "updated_by": actor.name}
    receiver = Receiver.objects.create(team=team, **wanted.fields(), position=newest_event(), **stamps)
    _emit(actor, receiver, "receiver.created", "added", after=shown(wanted))
    return receiver


@transaction.atomic
def update(
    *,
    receiver_id: int,
    version: int | None,
    changes: Mapping[str, Any],
    installation: Installation,
    actor: Actor,
) -> Receiver:
    """Change what `changes` names. Switched off, it gets nothing, and what waits for it goes on waiting; switched on,
    it gets that, and what happens from then on. Raises NotFound, Invalid, and PreconditionFailed where `version` is
    given and stale."""
    current = get_receiver(receiver_id)
    before = _wanted(current)
    wanted = replace(before, **changes)
    _check(wanted, installation, current.team_id)
    more: dict[str, Any] = {"version": current.version + 1, "updated_at": clock.now(), "updated_by": actor.name}
    if wanted.enabled and not before.enabled:
        more |= {"position": newest_event(), "disabled_reason": "", "failing_since": None}
    same = Receiver.objects.filter(pk=receiver_id, version=current.version if version is None else version)
    if not same.update(**wanted.fields(), **more):
        hint = "Read it again, then repeat your change."
        raise PreconditionFailed(f"Receiver {receiver_id} was changed in the meantime.", hint=hint)
    if wanted.enabled:
        alerts.clear_alert(rule=RECEIVER_DISABLED, key=alert_key(receiver_id))
    if wanted.enabled and not before.enabled:
        send_what_waits(receiver_id)
    receiver = get_receiver(receiver_id)
    _emit(actor, receiver, "receiver.updated", "changed", before=shown(before), after=shown(wanted))
    return receiver


@transaction.atomic
def delete(*, receiver_id: int, actor: Actor) -> None:
    """Remove an endpoint with its deliveries. Raises NotFound."""
    receiver = get_receiver(receiver_id)
    alerts.clear_alert(rule=RECEIVER_DISABLED, key=alert_key(receiver_id))
    bulk.delete(Delivery.objects.filter(receiver=receiver))
    Receiver.objects.filter(pk=receiver_id).delete()
    _emit(actor, receiver, "receiver.deleted", "removed", before=shown(_wanted(receiver)))


@transaction.atomic
def test(*, receiver_id: int, actor: Actor) -> Delivery:
    """Send a test, once. Raises NotFound, and Conflict where the receiver is switched off."""
    receiver = get_receiver(receiver_id)
    if not receiver.enabled:
        raise Conflict(f"Receiver {receiver_id} is disabled.", code="receiver_disabled", hint="Enable it first.")
    event = _emit(actor, receiver, event_of_test(ReceiverKind(receiver.kind)), "tested")
    now = clock.now()
    return Delivery.objects.create(
        receiver=receiver, event=event, message_id=new_message_id(), next_attempt_at=now, created_at=now
    )


@transaction.atomic
def retry(*, receiver_id: int, delivery_id: int, actor: Actor) -> Delivery:
    """Send a delivery now, whatever became of it, with a new count of attempts. Raises NotFound, and Conflict while it
    is being sent or the receiver is switched off."""
    delivery = get_delivery(receiver_id, delivery_id)
    if not delivery.receiver.enabled:
        raise Conflict(f"Receiver {receiver_id} is disabled.", code="receiver_disabled", hint="Enable it first.")
    same = Delivery.objects.filter(pk=delivery_id, attempts=delivery.attempts).exclude(state=DeliveryState.SENDING)
    again: dict[str, Any] = {"next_attempt_at": clock.now(), "attempts_before": delivery.attempts}
    if not same.update(state=DeliveryState.WAITING, ended_at=None, silence=None, **again):
        words = f"Delivery {delivery_id} is being sent."
        raise Conflict(words, code="being_sent", hint="Wait for its result.")
    after = {"receiver": receiver_id, "delivery": delivery_id, "message_id": delivery.message_id}
    team = delivery.receiver.team
    audit.record(
        actor=actor,
        action="receiver.retry",
        team=team.name if team else "",
        before={"state": delivery.state},
        after=after,
    )
    return get_delivery(receiver_id, delivery_id)


def switch_off(*, receiver: Receiver, reason: str) -> bool:
    """Switch an endpoint off by itself, with an event and an alert; False where it was off or changed already."""
    with transaction.atomic():
        same = Receiver.objects.filter(pk=receiver.pk, enabled=True, version=receiver.version)
        if not same.update(enabled=False, disabled_reason=reason, version=receiver.version + 1):
            return False
        message = f"Receiver {receiver.pk} ({target(receiver)}) was disabled: {reason}"
        data = {**_named(receiver), "reason": reason}
        team = receiver.team_id
        events.record(kind="receiver.disabled", message=message, team=team, data=data)
        alerts.raise_alert(rule=RECEIVER_DISABLED, key=alert_key(receiver.pk), message=message, team=team, data=data)
        return True


def send_what_waits(receiver_id: int) -> int:
    """What has waited while the endpoint was off is due now, with a new count of attempts; returns how much."""
    waiting = Delivery.objects.filter(receiver_id=receiver_id, state=DeliveryState.WAITING)
    return waiting.update(next_attempt_at=clock.now(), attempts_before=F("attempts"))


def new_message_id() -> str:
    """An id that no other message has."""
    return f"msg_{uuid4().hex}"


def alert_key(receiver_id: int) -> str:
    """What the alert of an endpoint is about."""
    return f"receiver {receiver_id}"


def shown(wanted: ReceiverSettings) -> dict[str, Any]:
    """A receiver as the audit may tell of it."""
    return {**wanted.fields(), "url": server(wanted.url) if wanted.url else ""}


def _wanted(receiver: Receiver) -> ReceiverSettings:
    return ReceiverSettings(
        kind=ReceiverKind(receiver.kind),
        url=receiver.url,
        events=receiver.events,
        secrets=receiver.secrets,
        description=receiver.description,
        enabled=receiver.enabled,
        matchers=Matchers.of(receiver.matchers),
        email=MailOptions.of(receiver.email),
    )


def _check(settings: ReceiverSettings, installation: Installation, team: int | None) -> None:
    wanted, reach = settings.wanted(), installation.reach
    found = findings(wanted, reach, installation.mail) + _of_stored(wanted, installation, team)
    if found:
        raise Invalid("The receiver is not valid.", code="receiver_invalid", findings=found)


def _of_stored(wanted: Wanted, installation: Installation, team: int | None) -> list[Finding]:
    """What is wrong with the secrets that are referred to; never a value. Those of other owners are not there: who
    writes a receiver says where its secrets go."""
    names = {index: name for index, each in enumerate(wanted.secrets) if (name := secret_name(each))}
    found = {name: row for name, row in stored(set(names.values()), Purpose.RECEIVERS).items() if row.team == team}
    problems = {index: _problem(wanted.kind, name, found.get(name), installation) for index, name in names.items()}
    return [
        Finding(path=f"secrets[{index}]", code=code, message=message, suggestion=suggestion)
        for index, (code, message, suggestion) in problems.items()
        if code
    ]


_VALUES = {
    ReceiverKind.WEBHOOK: "Store whsec_ and the base64 of 32 random bytes; docs/guides/webhooks.md has the command.",
    ReceiverKind.SLACK: "Store the address that Slack shows: https://hooks.slack.com/services/...",
    ReceiverKind.PAGERDUTY: "Store the integration key that PagerDuty shows for an Events API v2 integration.",
    ReceiverKind.EMAIL: "Store the password of the mail server's user.",
}


def _problem(kind: ReceiverKind, name: str, row: Stored | None, installation: Installation) -> tuple[str, str, str]:
    """Code, words and what to do; an empty code where nothing is wrong."""
    if row is None:
        hint = f"Store it: `headgate secrets set {name} --for receivers`."
        return "secret_not_found", f"There is no secret {name} for receivers.", hint
    if installation.keyring is None:
        return "", "", ""
    try:
        problem = value_problem(kind, installation.keyring.decrypt(row.ciphertext), installation.reach)
    except Undecryptable:
        return "secret_unreadable", f"No key of this server decrypts the secret {name}.", "Store it again."
    return (problem[0], f"The secret {name} {problem[1]}.", _VALUES[kind]) if problem else ("", "", "")


def _named(receiver: Receiver) -> dict[str, Any]:
    return {"receiver": receiver.pk, "kind": receiver.kind, "target": target(receiver)}


def _emit(actor: Actor, receiver: Receiver, kind: str, did: str, *, before: Any = None, after: Any = None) -> Event:
    named = _named(receiver)
    audit.record(
        actor=actor,
        action=kind,
        team=receiver.team.name if receiver.team else "",
        before=before and {**named, **before},
        after={**named, **(after or {})},
    )
    message = f"{actor.name} {did} receiver {receiver.pk} ({target(receiver)})."
    return events.record(kind=kind, message=message, team=receiver.team_id, actor=actor.name, data=named)
