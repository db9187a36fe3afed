"""Webhooks as people set them. Audit and events name an endpoint's server, never the rest of its address."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit
from uuid import uuid4

from django.db import transaction
from django.db.models import F

from pipelines.domain.base.findings import Finding
from pipelines.domain.monitoring.webhooks import PING, DeliveryState, Reach, findings, key_of, secret_name
from pipelines.foundation import clock
from pipelines.foundation.errors import Conflict, Invalid, PreconditionFailed
from pipelines.foundation.keyring import Keyring, Undecryptable
from pipelines.models import Delivery, Event, Webhook
from pipelines.selectors.access.secrets import ciphertexts
from pipelines.selectors.monitoring.events import newest_event
from pipelines.selectors.monitoring.webhooks import get_delivery, get_webhook
from pipelines.services.base import audit, bulk, events
from pipelines.services.base.audit import Actor
from pipelines.services.monitoring import alerts

DISABLED = "webhook_disabled"
"""The alert of an endpoint that was switched off by itself."""
MOST_WEBHOOKS = 100


@dataclass(frozen=True)
class WebhookSettings:
    """An endpoint as somebody wants it. `secrets`: references."""

    url: str
    events: Sequence[str]
    secrets: Sequence[str]
    description: str = ""
    enabled: bool = True

    def fields(self) -> dict[str, Any]:
        """The columns of it."""
        lists = {"events": list(self.events), "secrets": list(self.secrets)}
        return {"url": self.url, "description": self.description, "enabled": self.enabled, **lists}


@transaction.atomic
def create(*, wanted: WebhookSettings, reach: Reach, keyring: Keyring | None, actor: Actor) -> Webhook:
    """Add an endpoint; it gets what happens from now on. Raises Invalid with every finding, Conflict for one too many.

    `keyring` None: nobody can look here whether the secrets are usable; the worker that sends finds out.
    """
    _check(wanted, reach, keyring)
    if Webhook.objects.count() >= MOST_WEBHOOKS:
        words = f"There are {MOST_WEBHOOKS} webhooks already."
        raise Conflict(words, code="too_many_webhooks", hint="Remove one that is not needed.")
    now = clock.now()
    stamps = {"created_at": now, "created_by": actor.name, "updated_at": now, "updated_by": actor.name}
    webhook = Webhook.objects.create(**wanted.fields(), position=newest_event(), **stamps)
    _emit(actor, webhook, "webhook.created", "added", after=shown(wanted))
    return webhook


@transaction.atomic
def update(
    *,
    webhook_id: int,
    version: int | None,
    changes: Mapping[str, Any],
    reach: Reach,
    keyring: Keyring | None,
    actor: Actor,
) -> Webhook:
    """Change what `changes` names. Switched off, it gets nothing, and what waits for it goes on waiting; switched on,
    it gets that, and what happens from then on. Raises NotFound, Invalid, and PreconditionFailed where `version` is
    given and stale."""
    current = get_webhook(webhook_id)
    before = _wanted(current)
    wanted = WebhookSettings(**{**before.fields(), **changes})
    _check(wanted, reach, keyring)
    more: dict[str, Any] = {"version": current.version + 1, "updated_at": clock.now(), "updated_by": actor.name}
    if wanted.enabled and not before.enabled:
        more |= {"position": newest_event(), "disabled_reason": "", "failing_since": None}
    same = Webhook.objects.filter(pk=webhook_id, version=current.version if version is None else version)
    if not same.update(**wanted.fields(), **more):
        hint = "Read it again, then repeat your change."
        raise PreconditionFailed(f"Webhook {webhook_id} was changed in the meantime.", hint=hint)
    if wanted.enabled:
        alerts.clear_alert(rule=DISABLED, key=alert_key(webhook_id))
    if wanted.enabled and not before.enabled:
        send_what_waits(webhook_id)
    webhook = get_webhook(webhook_id)
    _emit(actor, webhook, "webhook.updated", "changed", before=shown(before), after=shown(wanted))
    return webhook


@transaction.atomic
def delete(*, webhook_id: int, actor: Actor) -> None:
    """Remove an endpoint with its deliveries. Raises NotFound."""
    webhook = get_webhook(webhook_id)
    alerts.clear_alert(rule=DISABLED, key=alert_key(webhook_id))
    bulk.delete(Delivery.objects.filter(webhook=webhook))
    Webhook.objects.filter(pk=webhook_id).delete()
    _emit(actor, webhook, "webhook.deleted", "removed", before=shown(_wanted(webhook)))


@transaction.atomic
def ping(*, webhook_id: int, actor: Actor) -> Delivery:
    """Send a trial, once. Raises NotFound, and Conflict where the webhook is switched off."""
    webhook = get_webhook(webhook_id)
    if not webhook.enabled:
        raise Conflict(f"Webhook {webhook_id} is disabled.", code="webhook_disabled", hint="Enable it first.")
    event = _emit(actor, webhook, PING, "tried out")
    now = clock.now()
    return Delivery.objects.create(
        webhook=webhook, event=event, message_id=new_message_id(), next_attempt_at=now, created_at=now
    )


@transaction.atomic
def retry(*, webhook_id: int, delivery_id: int, actor: Actor) -> Delivery:
    """Send a delivery now, whatever became of it, with a new count of attempts. Raises NotFound, and Conflict while it
    is being sent or the webhook is switched off."""
    delivery = get_delivery(webhook_id, delivery_id)
    if not delivery.webhook.enabled:
        raise Conflict(f"Webhook {webhook_id} is disabled.", code="webhook_disabled", hint="Enable it first.")
    same = Delivery.objects.filter(pk=delivery_id, attempts=delivery.attempts).exclude(state=DeliveryState.SENDING)
    again: dict[str, Any] = {"next_attempt_at": clock.now(), "attempts_before": delivery.attempts, "ended_at": None}
    if not same.update(state=DeliveryState.WAITING, **again):
        words = f"Delivery {delivery_id} is being sent."
        raise Conflict(words, code="being_sent", hint="Wait for its result.")
    after = {"webhook": webhook_id, "delivery": delivery_id, "message_id": delivery.message_id}
    audit.record(actor=actor, action="webhook.retry", before={"state": delivery.state}, after=after)
    return get_delivery(webhook_id, delivery_id)


def switch_off(*, webhook: Webhook, reason: str) -> bool:
    """Switch an endpoint off by itself, with an event and an alert; False where it was off or changed already."""
    with transaction.atomic():
        same = Webhook.objects.filter(pk=webhook.pk, enabled=True, version=webhook.version)
        if not same.update(enabled=False, disabled_reason=reason, version=webhook.version + 1):
            return False
        message = f"Webhook {webhook.pk} to {server(webhook.url)} was disabled: {reason}"
        data = {"webhook": webhook.pk, "server": server(webhook.url), "reason": reason}
        events.record(kind="webhook.disabled", message=message, data=data)
        alerts.raise_alert(rule=DISABLED, key=alert_key(webhook.pk), message=message, data=data)
        return True


def send_what_waits(webhook_id: int) -> int:
    """What has waited while the endpoint was off is due now, with a new count of attempts; returns how much."""
    waiting = Delivery.objects.filter(webhook_id=webhook_id, state=DeliveryState.WAITING)
    return waiting.update(next_attempt_at=clock.now(), attempts_before=F("attempts"))


def new_message_id() -> str:
    """An id that no other message has."""
    return f"msg_{uuid4().hex}"


def alert_key(webhook_id: int) -> str:
    """What the alert of an endpoint is about."""
    return f"webhook {webhook_id}"


def server(url: str) -> str:
    """The part of an address that names the server; paths and queries often hold a password."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}"


def shown(wanted: WebhookSettings) -> dict[str, Any]:
    """An endpoint as the audit may tell of it."""
    return {**wanted.fields(), "url": server(wanted.url)}


def _wanted(webhook: Webhook) -> WebhookSettings:
    return WebhookSettings(webhook.url, webhook.events, webhook.secrets, webhook.description, webhook.enabled)


def _check(wanted: WebhookSettings, reach: Reach, keyring: Keyring | None) -> None:
    found = findings(wanted.url, wanted.events, wanted.secrets, reach) + _of_stored(wanted.secrets, keyring)
    if found:
        raise Invalid("The webhook is not valid.", code="webhook_invalid", findings=found)


def _of_stored(references: Sequence[str], keyring: Keyring | None) -> list[Finding]:
    """What is wrong with the secrets that are referred to; never a value."""
    names = {index: name for index, each in enumerate(references) if (name := secret_name(each))}
    stored = ciphertexts(set(names.values()))
    problems = {index: _problem(name, stored.get(name), keyring) for index, name in names.items()}
    return [
        Finding(path=f"secrets[{index}]", code=code, message=message, suggestion=suggestion)
        for index, (code, message, suggestion) in problems.items()
        if code
    ]


def _problem(name: str, ciphertext: str | None, keyring: Keyring | None) -> tuple[str, str, str]:
    """Code, words and what to do; an empty code where nothing is wrong."""
    if ciphertext is None:
        return "secret_not_found", f"There is no secret {name}.", f"Store it: `headgate secrets set {name}`."
    try:
        if keyring is not None:
            key_of(keyring.decrypt(ciphertext))
    except Undecryptable:
        return "secret_unreadable", f"No key of this server decrypts the secret {name}.", "Store it again."
    except ValueError as error:
        suggestion = "Store whsec_ and the base64 of 32 random bytes; docs/guides/webhooks.md has the command."
        return "bad_webhook_secret", f"The secret {name} cannot sign: {error}.", suggestion
    return "", "", ""


def _emit(actor: Actor, webhook: Webhook, kind: str, did: str, *, before: Any = None, after: Any = None) -> Event:
    named = {"webhook": webhook.pk, "server": server(webhook.url)}
    audit.record(actor=actor, action=kind, before=before and {**named, **before}, after={**named, **(after or {})})
    message = f"{actor.name} {did} webhook {webhook.pk} to {server(webhook.url)}."
    return events.record(kind=kind, message=message, actor=actor.name, data=named)
