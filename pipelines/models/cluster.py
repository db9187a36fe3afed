"""Spark clusters that pipelines may run on."""

from __future__ import annotations

from django.db import models


class Cluster(models.Model):
    """A named cluster for the pipelines of its team, or without one for all: `spec` as `ClusterSpec` has it. `version`
    grows with every change."""

    team = models.ForeignKey("pipelines.Team", null=True, blank=True, on_delete=models.PROTECT, related_name="clusters")
    name = models.CharField(max_length=63, unique=True)
    spec = models.JSONField()
    version = models.PositiveIntegerField(default=1)
    created_at = models.DateTimeField()
    created_by = models.CharField(max_length=150)
    updated_at = models.DateTimeField()
    updated_by = models.CharField(max_length=150)

    def __str__(self) -> str:
        return self.name
