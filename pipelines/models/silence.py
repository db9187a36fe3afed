"""Silences: alerts of which nobody is told for a while."""

from __future__ import annotations

from django.db import models


class Silence(models.Model):
    """Alerts that its matchers mean are not delivered until `ends_at`. Ended early, that is when it was ended."""

    team = models.ForeignKey("pipelines.Team", null=True, blank=True, on_delete=models.CASCADE, related_name="silences")
    matchers = models.JSONField(default=dict)
    comment = models.CharField(max_length=1000)
    created_at = models.DateTimeField()
    created_by = models.CharField(max_length=150)
    ends_at = models.DateTimeField(db_index=True)
    ended_by = models.CharField(max_length=150, blank=True, default="", help_text="Who ended it early.")

    def __str__(self) -> str:
        return f"silence {self.pk}"
