"""Previews of revisions, and the events that differ in them."""

from __future__ import annotations

import uuid

from django.db import models
from django.db.models import Q

from pipelines.domain.base.states import OPEN_PREVIEW_STATES, PreviewState
from pipelines.models.definition import choices


class Preview(models.Model):
    """A comparison of a definition with the present revision on real records, made by the worker of the pipeline's
    host. `attempts`: how often it was started; `deadline`: when it fails unless it is done; `result`: counts and what
    was read (`PreviewResult` without its differences)."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    pipeline = models.ForeignKey("pipelines.Pipeline", on_delete=models.CASCADE, related_name="previews")
    base = models.ForeignKey("pipelines.Revision", on_delete=models.CASCADE, related_name="+")
    candidate = models.JSONField()
    digest = models.CharField(max_length=64)
    source = models.CharField(max_length=63, blank=True, default="")
    selection = models.JSONField()
    state = models.CharField(max_length=16, choices=choices(PreviewState), default=PreviewState.PENDING)
    attempts = models.PositiveSmallIntegerField(default=0)
    requested_by = models.CharField(max_length=150)
    requested_at = models.DateTimeField()
    deadline = models.DateTimeField()
    started_at = models.DateTimeField(null=True, blank=True)
    ended_at = models.DateTimeField(null=True, blank=True)
    expires_at = models.DateTimeField()
    result = models.JSONField(null=True, blank=True)
    error = models.JSONField(null=True, blank=True)

    class Meta:
        indexes = [
            models.Index(fields=["pipeline", "-requested_at"], name="previews_by_time"),
            models.Index(fields=["expires_at"], name="previews_by_expiry"),
            models.Index(fields=["pipeline"], condition=Q(state__in=sorted(OPEN_PREVIEW_STATES)), name="open_previews"),
        ]

    def __str__(self) -> str:
        return f"{self.pk} {self.state}"


class PreviewDifference(models.Model):
    """An event that differs. `kinds` and `components`: names, each between spaces; `shown`: the whole of it
    (`DifferenceRow`)."""

    preview = models.ForeignKey(Preview, on_delete=models.CASCADE, related_name="differences")
    number = models.PositiveIntegerField()
    kinds = models.TextField()
    components = models.TextField()
    shown = models.JSONField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["preview", "number"], name="differences_of_a_preview_are_numbered"),
        ]

    def __str__(self) -> str:
        return f"{self.preview_id} {self.number}"
