"""Tokens of the REST API and the command line."""

from __future__ import annotations

from django.db import models
from knox.models import AbstractAuthToken


class AccessToken(AbstractAuthToken):  # type: ignore[misc]
    """A token, stored as a hash. `name` says in lists what it is for; without an expiry it holds until revoked.
    `token_key`, the beginning of its text, is what people know it by. `role_cap` and `read_only` are its scope."""

    name = models.CharField(max_length=100, blank=True, default="")
    created_by = models.CharField(max_length=150, blank=True, default="")
    role_cap = models.CharField(max_length=16, blank=True, default="")
    read_only = models.BooleanField(default=False)
    last_used_at = models.DateTimeField(null=True)
    last_used_address = models.CharField(max_length=64, blank=True, default="")

    class Meta:
        indexes = [models.Index(fields=["user", "created"])]


class LoginCount(models.Model):
    """Attempts to log in since the start of a window, of one user and network. `key` is a hash of whom it counts."""

    key = models.CharField(max_length=64, primary_key=True)
    since = models.DateTimeField()
    attempts = models.PositiveIntegerField(default=0)

    class Meta:
        indexes = [models.Index(fields=["since"])]

    def __str__(self) -> str:
        return f"{self.attempts} since {self.since}"
