"""Previews of revisions, and the events that differ in them."""

from __future__ import annotations

from django.db import models

from pipelines.models.host_task import IS_OPEN, HostTask


class Preview(HostTask):
    """A comparison of a definition with the present revision on real records. `result`: counts and what was read
    (`PreviewResult` without its differences)."""

    NOUN = "preview"

    pipeline = models.ForeignKey("pipelines.Pipeline", on_delete=models.CASCADE, related_name="previews")
    base = models.ForeignKey("pipelines.Revision", on_delete=models.CASCADE, related_name="+")
    candidate = models.JSONField()
    digest = models.CharField(max_length=64)
    source = models.CharField(max_length=63, blank=True, default="")
    selection = models.JSONField()

    class Meta:
        indexes = [
            models.Index(fields=["pipeline", "-requested_at"], name="previews_by_time"),
            models.Index(fields=["expires_at"], name="previews_by_expiry"),
            models.Index(fields=["pipeline"], condition=IS_OPEN, name="open_previews"),
        ]


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
