"""What pipelines may reach: directories of hosts, and addresses of the network."""

from __future__ import annotations

from django.db import models
from django.db.models import Q


class AllowedRoot(models.Model):
    """A directory that pipelines may read, or read and write, with all below it: those of its team, or without one
    all."""

    team = models.ForeignKey(
        "pipelines.Team", null=True, blank=True, on_delete=models.PROTECT, related_name="allowed_roots"
    )
    path = models.CharField(max_length=1024)
    mode = models.CharField(max_length=5)
    note = models.CharField(max_length=1000, blank=True, default="")
    created_at = models.DateTimeField()
    created_by = models.CharField(max_length=150)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["team", "path", "mode"], name="one_allowed_root_of_a_team"),
            models.UniqueConstraint(fields=["path", "mode"], condition=Q(team=None), name="one_allowed_root"),
        ]

    def __str__(self) -> str:
        return f"{self.path} ({self.mode})"


class AllowedNetwork(models.Model):
    """A network, an address or the name of a host that pipelines may connect to, at some ports or all: those of its
    team, or without one all."""

    team = models.ForeignKey(
        "pipelines.Team", null=True, blank=True, on_delete=models.PROTECT, related_name="allowed_networks"
    )
    target = models.CharField(max_length=253)
    ports = models.CharField(max_length=400, default="*")
    note = models.CharField(max_length=1000, blank=True, default="")
    created_at = models.DateTimeField()
    created_by = models.CharField(max_length=150)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["team", "target", "ports"], name="one_allowed_network_of_a_team"),
            models.UniqueConstraint(fields=["target", "ports"], condition=Q(team=None), name="one_allowed_network"),
        ]

    def __str__(self) -> str:
        return f"{self.target} {self.ports}"
