"""Faults of the guided demo."""

from __future__ import annotations

import uuid

from django.db import models

from pipelines.domain.guide.faults import Card, FaultState
from pipelines.models.definition import choices


class DemoFault(models.Model):
    """One use of a card: at most one of a pipeline is under way. `since`: when its state began; `facts`: what the demo
    stack has to know to observe and undo it. What it did is in `broken`, what was observed in `noticed`, `explained`,
    `link` (a page that shows it) and `recovered`; `counted`: records of the sink against those of the source; `error`:
    why it failed."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    pipeline = models.ForeignKey("pipelines.Pipeline", on_delete=models.CASCADE, related_name="demo_faults")
    card = models.CharField(max_length=32, choices=choices(Card))
    state = models.CharField(max_length=16, choices=choices(FaultState), default=FaultState.REQUESTED)
    requested_by = models.CharField(max_length=150)
    requested_at = models.DateTimeField()
    since = models.DateTimeField()
    broken_at = models.DateTimeField(null=True, blank=True)
    noticed_at = models.DateTimeField(null=True, blank=True)
    recovered_at = models.DateTimeField(null=True, blank=True)
    ended_at = models.DateTimeField(null=True, blank=True)
    facts = models.JSONField(default=dict)
    broken = models.TextField(default="", blank=True)
    noticed = models.TextField(default="", blank=True)
    explained = models.TextField(default="", blank=True)
    link = models.CharField(max_length=200, default="", blank=True)
    recovered = models.TextField(default="", blank=True)
    counted = models.JSONField(null=True, blank=True)
    error = models.TextField(default="", blank=True)

    class Meta:
        indexes = [models.Index(fields=["pipeline", "card", "-requested_at"], name="faults_by_card")]
        constraints = [
            models.UniqueConstraint(
                fields=["pipeline"], condition=models.Q(ended_at=None), name="one_demo_fault_at_a_time"
            )
        ]

    def __str__(self) -> str:
        return f"{self.card} {self.state}"
