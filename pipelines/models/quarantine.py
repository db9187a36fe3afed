"""Records that a person has set aside."""

from __future__ import annotations

from django.db import models
from django.db.models import F, Q


class Quarantine(models.Model):
    """The half-open range [start, end) of one partition: its records become dead letters of a channel, unseen."""

    pipeline = models.ForeignKey("pipelines.Pipeline", on_delete=models.CASCADE, related_name="quarantines")
    source = models.CharField(max_length=63)
    channel = models.CharField(max_length=63)
    topic = models.CharField(max_length=249)
    partition = models.PositiveBigIntegerField()
    start = models.PositiveBigIntegerField()
    end = models.PositiveBigIntegerField()
    cause = models.TextField()
    created_at = models.DateTimeField()
    created_by = models.CharField(max_length=150)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["pipeline", "source", "channel", "topic", "partition", "start", "end"],
                name="a_range_is_in_quarantine_once",
            ),
            models.CheckConstraint(condition=Q(end__gt=F("start")), name="a_quarantine_is_not_empty"),
        ]

    def __str__(self) -> str:
        return f"{self.topic}/{self.partition} [{self.start}, {self.end})"
