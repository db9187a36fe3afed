"""What happened (events, append-only), who asked for it (audit), and answers kept for repeated requests."""

from __future__ import annotations

from django.db import models


class Event(models.Model):
    """Something that happened; never changed, never deleted but by retention."""

    at = models.DateTimeField()
    kind = models.CharField(max_length=64)
    pipeline = models.ForeignKey(
        "pipelines.Pipeline", null=True, blank=True, on_delete=models.CASCADE, related_name="events"
    )
    team = models.ForeignKey(
        "pipelines.Team",
        null=True,
        blank=True,
        on_delete=models.CASCADE,
        related_name="+",
        help_text="Whose it is where it is about no pipeline; without both, it is the installation's.",
    )
    run = models.ForeignKey("pipelines.Run", null=True, blank=True, on_delete=models.CASCADE, related_name="events")
    actor = models.CharField(max_length=150, default="system")
    message = models.TextField()
    data = models.JSONField(default=dict)

    class Meta:
        indexes = [
            models.Index(fields=["pipeline", "-id"]),
            models.Index(fields=["kind", "-id"]),
            models.Index(fields=["kind", "-at"], name="events_by_kind_and_time"),
        ]

    def __str__(self) -> str:
        return f"{self.kind}: {self.message}"


class AuditRow(models.Model):
    """Who asked for what, from where, and what came of it. Survives the pipeline that it is about."""

    at = models.DateTimeField()
    actor = models.CharField(max_length=150)
    action = models.CharField(max_length=64)
    pipeline_name = models.CharField(max_length=63, blank=True, default="")
    team = models.CharField(max_length=63, blank=True, default="", help_text="The team whose pipeline it is about.")
    token = models.CharField(max_length=120, blank=True, default="", help_text="Prefix and name of the token used.")
    request_id = models.CharField(max_length=64, blank=True, default="")
    address = models.CharField(max_length=64, blank=True, default="")
    before = models.JSONField(null=True, blank=True)
    after = models.JSONField(null=True, blank=True)
    outcome = models.CharField(max_length=32, default="accepted")
    sequence = models.BigIntegerField(null=True, unique=True, help_text="The place in the chain; empty until sealed.")
    digest = models.CharField(max_length=64, blank=True, default="")

    class Meta:
        indexes = [
            models.Index(fields=["-at"]),
            models.Index(fields=["pipeline_name", "-at"]),
            models.Index(fields=["id"], condition=models.Q(sequence__isnull=True), name="audit_rows_to_be_sealed"),
        ]

    def __str__(self) -> str:
        return f"{self.actor} {self.action} {self.pipeline_name}"


class AuditHead(models.Model):
    """The end of the chain of audit rows, signed by the installation. There is one row at most."""

    sequence = models.BigIntegerField()
    digest = models.CharField(max_length=64)
    at = models.DateTimeField()
    key = models.CharField(max_length=16, help_text="The id of the key that signed.")
    signature = models.CharField(max_length=128)

    def __str__(self) -> str:
        return f"{self.sequence}:{self.digest}"


class AuditCheck(models.Model):
    """What the last walk over the whole chain found, signed by the installation. There is one row at most."""

    requested_at = models.DateTimeField(null=True, blank=True, help_text="When a user last asked for a walk.")
    at = models.DateTimeField(null=True, blank=True, help_text="When the last walk ended.")
    sequence = models.BigIntegerField(default=0, help_text="The last row up to which the chain holds.")
    digest = models.CharField(max_length=64, blank=True, default="")
    problem = models.TextField(blank=True, default="")
    signature = models.CharField(max_length=128, blank=True, default="")

    def __str__(self) -> str:
        return self.problem or f"holds up to {self.sequence}"


class AuditForwarding(models.Model):
    """How far the audit was forwarded to a destination, and which worker does it."""

    destination = models.CharField(max_length=16, primary_key=True)
    sequence = models.BigIntegerField(default=0, help_text="The last row that has arrived.")
    owner = models.CharField(max_length=128, blank=True, default="")
    held_until = models.DateTimeField(null=True, blank=True)
    forwarded_at = models.DateTimeField(null=True, blank=True)
    failing_since = models.DateTimeField(null=True, blank=True)
    last_error = models.CharField(max_length=300, blank=True, default="")

    def __str__(self) -> str:
        return f"{self.destination} up to {self.sequence}"


class IdempotencyKey(models.Model):
    """The answer to a POST that carried an Idempotency-Key; `status` is empty while it is being worked on."""

    user = models.CharField(max_length=150)
    key = models.CharField(max_length=255)
    fingerprint = models.CharField(max_length=64)
    status = models.PositiveIntegerField(null=True, blank=True)
    headers = models.JSONField(default=dict)
    body = models.JSONField(null=True, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["user", "key"], name="idempotency_keys_are_unique_per_user")]
        indexes = [models.Index(fields=["created_at"])]

    def __str__(self) -> str:
        return self.key
