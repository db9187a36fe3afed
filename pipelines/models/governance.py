"""Changes of what runs that wait for the word of others, and the mode in which none are made."""

from __future__ import annotations

import uuid

from django.db import models

from pipelines.domain.governance.changes import ChangeKind
from pipelines.domain.governance.requests import OPEN, RequestState
from pipelines.models.definition import choices


class ChangeRequest(models.Model):
    """One change of a pipeline. `arguments` are the body of the address that it stands for, `basis` the revision and
    the generation that it is a change of, `hash` the name of both. Every write is compare-and-swap on `version`."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    pipeline = models.ForeignKey("pipelines.Pipeline", on_delete=models.CASCADE, related_name="change_requests")
    kind = models.CharField(max_length=16, choices=choices(ChangeKind))
    arguments = models.JSONField(default=dict)
    summary = models.TextField(blank=True, default="", help_text="What it does, in words.")
    basis = models.JSONField()
    hash = models.CharField(max_length=64)
    reason = models.TextField()
    state = models.CharField(max_length=20, choices=choices(RequestState), default=RequestState.AWAITING_APPROVAL)
    version = models.PositiveBigIntegerField(default=0, help_text="Grows with every write; for compare-and-swap.")
    created_by = models.CharField(max_length=150)
    created_at = models.DateTimeField()
    expires_at = models.DateTimeField(help_text="From then on it is neither approved nor applied.")
    ended_by = models.CharField(max_length=150, blank=True, default="")
    ended_at = models.DateTimeField(null=True, blank=True)
    message = models.TextField(blank=True, default="", help_text="Why it was denied or cancelled.")

    class Meta:
        indexes = [
            models.Index(fields=["pipeline", "-created_at"], name="change_requests_of"),
            models.Index(
                fields=["state"],
                condition=models.Q(state__in=sorted(state.value for state in OPEN)),
                name="open_change_requests",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.id}"


class ChangeApproval(models.Model):
    """Somebody's word for a change request."""

    request = models.ForeignKey(ChangeRequest, on_delete=models.CASCADE, related_name="approvals")
    by = models.CharField(max_length=150)
    at = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["request", "by"], name="one_approval_of_a_person_and_request"),
        ]

    def __str__(self) -> str:
        return f"{self.by} {self.request_id}"


class ReadOnlyMode(models.Model):
    """Whether users can change the installation, as an administrator has last said. There is one row at most. Every
    write is compare-and-swap on `version`."""

    on = models.BooleanField(default=False)
    reason = models.CharField(max_length=1000)
    set_by = models.CharField(max_length=150)
    since = models.DateTimeField(help_text="When it was last turned on or off.")
    version = models.PositiveBigIntegerField(default=0, help_text="Grows with every write; for compare-and-swap.")

    def __str__(self) -> str:
        return f"{'on' if self.on else 'off'}: {self.reason}"
