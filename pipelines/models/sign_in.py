"""Who users are elsewhere, and what they prove themselves with beside a password."""

from __future__ import annotations

from django.contrib.auth.models import User
from django.db import models


class Identity(models.Model):
    """A user at a provider: its `issuer`, and the `subject` that it never gives to another user. Neither names nor mail
    addresses say who a user is, since a provider may give them to others."""

    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="identities")
    issuer = models.CharField(max_length=500)
    subject = models.CharField(max_length=255)
    created_at = models.DateTimeField()
    used_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["issuer", "subject"], name="one_user_of_an_identity")]

    def __str__(self) -> str:
        return f"{self.subject} of {self.issuer}"
