"""Consumer groups of others that are watched, and what was seen of them."""

from __future__ import annotations

from django.db import models
from django.db.models import Q

from pipelines.models.series import SeriesPoint


class ExternalGroup(models.Model):
    """A consumer group and how its cluster is reached; `options` may hold references, never secrets themselves.

    `host`: whose worker looks, every `interval` seconds. `last`: what it saw last
    (`pipelines.domain.monitoring.watching.Look`).
    `history`: by `topic/partition` where the log stood at earlier times, `[[seconds, offset], ...]`. `fastest`: records
    per second that a partition has been consumed with at most. `max_rate`, `leap_records`: limits that people have set.
    """

    team = models.ForeignKey(
        "pipelines.Team", null=True, blank=True, on_delete=models.PROTECT, related_name="external_groups"
    )
    name = models.CharField(max_length=249)
    bootstrap_servers = models.CharField(max_length=1000)
    options = models.JSONField(default=dict)
    interval = models.FloatField(default=60.0)
    max_rate = models.FloatField(null=True, blank=True)
    leap_records = models.PositiveBigIntegerField(null=True, blank=True)
    host = models.ForeignKey(
        "pipelines.Host", null=True, blank=True, on_delete=models.PROTECT, related_name="external_groups"
    )
    last = models.JSONField(null=True, blank=True)
    history = models.JSONField(default=dict)
    fastest = models.FloatField(default=0.0)
    inspected_at = models.DateTimeField(null=True, blank=True)
    error = models.TextField(blank=True, default="", help_text="Why the last look failed.")
    created_at = models.DateTimeField(auto_now_add=True)
    created_by = models.CharField(max_length=150)

    class Meta:
        db_table = "pipelines_watchedgroup"
        constraints = [
            models.UniqueConstraint(
                fields=["team", "name", "bootstrap_servers"], name="a_group_is_watched_once_by_a_team"
            ),
            models.UniqueConstraint(
                fields=["name", "bootstrap_servers"], condition=Q(team=None), name="a_group_of_no_team_is_watched_once"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.name} at {self.bootstrap_servers}"


class GroupSnapshot(SeriesPoint):
    """What a group had committed. `members`: `[{client, host}]`; a rolled-up point has those of its last look."""

    group = models.ForeignKey(ExternalGroup, on_delete=models.CASCADE, related_name="snapshots")
    state = models.CharField(max_length=32, blank=True, default="")
    coordinator = models.CharField(max_length=300, blank=True, default="")
    members = models.JSONField(default=list)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["group", "step", "at"], name="one_snapshot_per_window")]
        indexes = [models.Index(fields=["step", "at"])]

    def __str__(self) -> str:
        return f"{self.group_id} {self.at} {self.step}"
