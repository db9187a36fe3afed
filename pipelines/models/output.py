"""Whether what pipelines deliver is in proportion to what they read."""

from __future__ import annotations

from django.db import models

from pipelines.domain.lifecycle.conditions import ConditionStatus
from pipelines.models.definition import choices


class OutputVerdict(models.Model):
    """The condition Output of a pipeline. It is no column of the pipeline: ticks do not read it.

    `sources`: series that are unusual, by key, each with the band that it was compared with
    (`domain.monitoring.output`).
    """

    pipeline = models.OneToOneField("pipelines.Pipeline", on_delete=models.CASCADE, related_name="output")
    status = models.CharField(max_length=8, choices=choices(ConditionStatus))
    reason = models.CharField(max_length=32)
    message = models.TextField()
    sources = models.JSONField(default=dict)
    since = models.DateTimeField(help_text="When its status changed last.")

    def __str__(self) -> str:
        return f"{self.pipeline_id} {self.status}"
