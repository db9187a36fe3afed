"""Lag over time. Each row is one window of `step` seconds that begins at `at`, with all partitions in one value."""

from __future__ import annotations

from django.db import models


class SeriesPoint(models.Model):
    """`partitions`: `pipelines.domain.monitoring.lag.PartitionLag` as lists. `records`, `seconds`: the most of the
    window."""

    at = models.DateTimeField()
    step = models.PositiveIntegerField()
    partitions = models.JSONField(default=list)
    records = models.PositiveBigIntegerField(null=True, blank=True)
    seconds = models.FloatField(null=True, blank=True)

    class Meta:
        abstract = True


class LagPoint(SeriesPoint):
    """The lag of a pipeline."""

    pipeline = models.ForeignKey("pipelines.Pipeline", on_delete=models.CASCADE, related_name="lag_points")

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["pipeline", "step", "at"], name="one_lag_point_per_window"),
        ]
        indexes = [models.Index(fields=["step", "at"])]

    def __str__(self) -> str:
        return f"{self.pipeline_id} {self.at} {self.step}"
