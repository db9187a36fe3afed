"""Receivers: who events and alerts are sent to, and every message to them."""

from __future__ import annotations

from django.db import models
from django.db.models import Q

from pipelines.domain.monitoring.receivers import ReceiverKind
from pipelines.domain.monitoring.webhooks import OPEN, DeliveryState
from pipelines.models.definition import choices

_HELD = Q(state=DeliveryState.SUPPRESSED.value, ended_at=None)
_OPEN = Q(state__in=[state.value for state in OPEN])


class Receiver(models.Model):
    """One of a kind of `ReceiverKind`. It gets what its team may see; without a team, everything.

    `events`: types that it wants, of what `matchers` allow. `secrets`: references.

    `email`: what a receiver of kind email adds.
    `position`: every event up to this id that it wants has its delivery. `failing_since`: no attempt has succeeded
    since then. `disabled_reason`: why it was switched off, empty where a person did it.
    """

    team = models.ForeignKey(
        "pipelines.Team", null=True, blank=True, on_delete=models.PROTECT, related_name="receivers"
    )
    kind = models.CharField(max_length=16, choices=choices(ReceiverKind), default=ReceiverKind.WEBHOOK)
    url = models.CharField(max_length=2000, blank=True, default="")
    events = models.JSONField(default=list)
    secrets = models.JSONField(default=list)
    matchers = models.JSONField(default=dict)
    email = models.JSONField(default=dict)
    description = models.CharField(max_length=1000, blank=True, default="")
    enabled = models.BooleanField(default=True)
    disabled_reason = models.CharField(max_length=300, blank=True, default="")
    version = models.PositiveIntegerField(default=1)
    position = models.PositiveBigIntegerField(default=0)
    failing_since = models.DateTimeField(null=True, blank=True)
    last_success_at = models.DateTimeField(null=True, blank=True)
    created_at = models.DateTimeField()
    created_by = models.CharField(max_length=150)
    updated_at = models.DateTimeField()
    updated_by = models.CharField(max_length=150)

    def __str__(self) -> str:
        return f"receiver {self.pk}"


class Delivery(models.Model):
    """One event on its way to one receiver; each attempt carries the same `message_id`.

    `alert`: the one that the event is about. SUPPRESSED by `silence`, it may yet be sent while `ended_at` is empty.

    `attempts`: how many have begun; of them `attempts_before` were made before a person asked for it again.
    `next_attempt_at`: while SENDING the time after which the sender is taken for dead, and it is sent again.
    """

    receiver = models.ForeignKey(Receiver, on_delete=models.CASCADE, related_name="deliveries")
    event = models.ForeignKey("pipelines.Event", on_delete=models.CASCADE, related_name="deliveries")
    alert = models.ForeignKey(
        "pipelines.Alert", null=True, blank=True, on_delete=models.SET_NULL, related_name="deliveries"
    )
    silence = models.ForeignKey(
        "pipelines.Silence", null=True, blank=True, on_delete=models.SET_NULL, related_name="deliveries"
    )
    message_id = models.CharField(max_length=64, unique=True)
    state = models.CharField(max_length=16, choices=choices(DeliveryState), default=DeliveryState.WAITING)
    attempts = models.PositiveIntegerField(default=0)
    attempts_before = models.PositiveIntegerField(default=0)
    next_attempt_at = models.DateTimeField(null=True, blank=True)
    last_attempt_at = models.DateTimeField(null=True, blank=True)
    response_status = models.PositiveIntegerField(null=True, blank=True)
    last_error = models.TextField(blank=True, default="")
    created_at = models.DateTimeField()
    ended_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["receiver", "event"], name="an_event_goes_to_a_receiver_once"),
        ]
        indexes = [
            models.Index(fields=["receiver", "-id"], name="deliveries_of_a_receiver"),
            models.Index(fields=["next_attempt_at"], condition=_OPEN, name="deliveries_that_are_due"),
            models.Index(fields=["ended_at"], name="deliveries_that_ended"),
            models.Index(fields=["silence"], condition=_HELD, name="deliveries_held_back"),
        ]

    def __str__(self) -> str:
        return f"{self.message_id} {self.state}"
