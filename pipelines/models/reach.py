"""What pipelines may reach: directories of hosts, and addresses of the network."""

from __future__ import annotations

from django.db import models


class AllowedRoot(models.Model):
    """A directory that pipelines may read, or read and write, with all below it."""

    path = models.CharField(max_length=1024)
    mode = models.CharField(max_length=5)
    note = models.CharField(max_length=1000, blank=True, default="")
    created_at = models.DateTimeField()
    created_by = models.CharField(max_length=150)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["path", "mode"], name="one_allowed_root")]

    def __str__(self) -> str:
        return f"{self.path} ({self.mode})"


class AllowedNetwork(models.Model):
    """A network, an address or the name of a host that pipelines may connect to, at some ports or all."""

    target = models.CharField(max_length=253)
    ports = models.CharField(max_length=400, default="*")
    note = models.CharField(max_length=1000, blank=True, default="")
    created_at = models.DateTimeField()
    created_by = models.CharField(max_length=150)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["target", "ports"], name="one_allowed_network")]

    def __str__(self) -> str:
        return f"{self.target} {self.ports}"
