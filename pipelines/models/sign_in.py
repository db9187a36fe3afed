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


class Totp(models.Model):
    """The authenticator application of a user. Its secret is encrypted; it counts once a code has confirmed it.
    `last_step`: that of the last code, since none is taken twice."""

    user = models.OneToOneField(User, on_delete=models.CASCADE, related_name="totp")
    ciphertext = models.TextField()
    created_at = models.DateTimeField()
    confirmed_at = models.DateTimeField(null=True)
    last_step = models.BigIntegerField(default=0)

    def __str__(self) -> str:
        return f"authenticator application of {self.user_id}"


class RecoveryCode(models.Model):
    """A code that stands in for a lost second factor, once: using it deletes it. Only its hash is kept."""

    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="recovery_codes")
    digest = models.CharField(max_length=64)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["user", "digest"], name="one_row_of_a_recovery_code")]

    def __str__(self) -> str:
        return f"recovery code of {self.user_id}"


class Passkey(models.Model):
    """A security key or the like of a user. `credential`: its id, which the browser names; `public`: its public key
    with what belongs to it; `counter`: how often it has signed, where it counts."""

    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="passkeys")
    name = models.CharField(max_length=60)
    credential = models.CharField(max_length=1400, unique=True)
    public = models.BinaryField()
    counter = models.BigIntegerField(default=0)
    created_at = models.DateTimeField()
    used_at = models.DateTimeField(null=True)

    def __str__(self) -> str:
        return f"{self.name} of {self.user_id}"
