"""Secrets: their values are stored encrypted, and never leave in an answer."""

from __future__ import annotations

from django.db import models


class Secret(models.Model):
    """A named value, encrypted. `version` grows with every new value; another key leaves it as it is."""

    name = models.CharField(max_length=128, unique=True)
    ciphertext = models.TextField()
    version = models.PositiveIntegerField(default=1)
    created_at = models.DateTimeField()
    created_by = models.CharField(max_length=150)
    updated_at = models.DateTimeField()
    updated_by = models.CharField(max_length=150)

    def __str__(self) -> str:
        return self.name
