"""Events that could not be processed, as their journal told of them."""

from __future__ import annotations

from django.db import models

from pipelines.domain.base.states import DeadLetterState
from pipelines.models.definition import choices


class DeadLetter(models.Model):
    """One event and what was wrong with it. `body`: its first 16 KiB; the whole event lies at `location`.

    `headers` is `[[name, base64]]`. `operation` is the replay that has taken it; `sending_since` is set before it is
    sent and stays until the broker's answer is recorded, so what a crash left in doubt is known. `repair` is
    `{body?, headers?}` in base64, what is sent instead.
    """

    pipeline = models.ForeignKey("pipelines.Pipeline", on_delete=models.CASCADE, related_name="dead_letters")
    run = models.ForeignKey("pipelines.Run", on_delete=models.CASCADE, related_name="dead_letters")
    dead_letter_id = models.CharField(max_length=64)
    source = models.CharField(max_length=100)
    channel = models.CharField(max_length=63)
    component = models.CharField(max_length=200)
    cause = models.TextField()
    topic = models.CharField(max_length=249)
    partition = models.PositiveBigIntegerField()
    offset = models.PositiveBigIntegerField()
    at = models.DateTimeField()
    key = models.BinaryField(null=True)
    headers = models.JSONField(default=list)
    body = models.BinaryField()
    size = models.PositiveBigIntegerField()
    truncated = models.BooleanField(default=False)
    location = models.TextField(blank=True, default="")

    state = models.CharField(max_length=16, choices=choices(DeadLetterState), default=DeadLetterState.NEW)
    settled_at = models.DateTimeField(null=True, blank=True)
    settled_by = models.CharField(max_length=150, blank=True, default="")
    operation = models.ForeignKey(
        "pipelines.Operation", null=True, blank=True, on_delete=models.SET_NULL, related_name="dead_letters"
    )
    sending_since = models.DateTimeField(null=True, blank=True)
    repair = models.JSONField(null=True, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["pipeline", "dead_letter_id"], name="a_dead_letter_is_listed_once"),
        ]
        indexes = [
            models.Index(fields=["pipeline", "-id"]),
            models.Index(fields=["pipeline", "state", "component"]),
            models.Index(fields=["at"]),
        ]

    def __str__(self) -> str:
        return f"{self.component}: {self.cause}"
