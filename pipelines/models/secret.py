"""Secrets: their values are stored encrypted, and never leave in an answer."""

from __future__ import annotations

from django.db import models


class Secret(models.Model):
    """A named value, encrypted, of a team or, without one, of the installation. `version` grows with every new value;
    another key leaves it as it is. Names are of a `purpose`, of `pipelines.domain.access.secret_bindings`, as are the
    three lists that it is bound by."""

    team = models.ForeignKey("pipelines.Team", null=True, blank=True, on_delete=models.PROTECT, related_name="secrets")
    name = models.CharField(max_length=128)
    purpose = models.CharField(max_length=16, default="pipelines")
    pipelines = models.JSONField(default=list, blank=True)
    destinations = models.JSONField(default=list, blank=True)
    unencrypted = models.JSONField(default=list, blank=True)
    ciphertext = models.TextField()
    version = models.PositiveIntegerField(default=1)
    created_at = models.DateTimeField()
    created_by = models.CharField(max_length=150)
    updated_at = models.DateTimeField()
    updated_by = models.CharField(max_length=150)
    last_used_at = models.DateTimeField(null=True, blank=True, help_text="When a run was last given its value.")
    last_used_by = models.CharField(max_length=80, blank=True, default="", help_text="The run, as PIPELINE/NUMBER.")

    class Meta:
        constraints = [models.UniqueConstraint(fields=["purpose", "name"], name="one_secret_of_a_purpose")]

    def __str__(self) -> str:
        return self.name
