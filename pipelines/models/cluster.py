"""Spark clusters that pipelines may run on."""

from __future__ import annotations

from django.db import models

from pipelines.models.host_task import IS_OPEN, HostTask


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


class ConnectionTest(HostTask):
    """A host's connection to version `version` of a cluster; `result`: `ConnectionResult`."""

    NOUN = "connection"
    ADVICE = "Look in the worker's log for why it ended, and test the connection again."

    cluster = models.ForeignKey(Cluster, on_delete=models.CASCADE, related_name="tests")
    host = models.ForeignKey("pipelines.Host", on_delete=models.CASCADE, related_name="+")
    version = models.PositiveIntegerField()

    class Meta:
        indexes = [
            models.Index(fields=["cluster", "-requested_at"], name="connection_tests_by_time"),
            models.Index(fields=["expires_at"], name="connection_tests_by_expiry"),
            models.Index(fields=["host"], condition=IS_OPEN, name="open_connection_tests"),
        ]
