"""A pipeline: its name, what is wanted of it, and what was observed."""

from __future__ import annotations

import uuid

from django.db import models
from django.db.models import Q

from pipelines.domain.base.states import DesiredState, Phase, StopReason
from pipelines.domain.lifecycle.operations import OnTimeout


def choices(enum: type) -> list[tuple[str, str]]:
    """Choices of a text field from a StrEnum."""
    return [(member.value, member.value) for member in enum]  # type: ignore[attr-defined]


class Pipeline(models.Model):
    """One pipeline, archived ones included.

    `desired_state` and `generation` are written by people's requests, `phase` by the supervisor through
    `services.lifecycle.transitions` alone. `observed_generation` is the last generation that the supervisor has acted
    on.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    name = models.CharField(max_length=63)
    team = models.ForeignKey("pipelines.Team", on_delete=models.PROTECT, related_name="pipelines")
    description = models.TextField(blank=True, default="")
    labels = models.JSONField(default=dict)
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True)
    archived_at = models.DateTimeField(null=True, blank=True)
    version = models.PositiveBigIntegerField(default=1, help_text="Grows with every edit; the ETag.")

    current_revision = models.ForeignKey("pipelines.Revision", null=True, on_delete=models.PROTECT, related_name="+")

    desired_state = models.CharField(max_length=16, choices=choices(DesiredState), default=DesiredState.STOPPED)
    generation = models.PositiveBigIntegerField(default=1)
    observed_generation = models.PositiveBigIntegerField(default=0)
    drain_on_stop = models.BooleanField(default=True)
    on_timeout = models.CharField(
        max_length=8,
        choices=choices(OnTimeout),
        default=OnTimeout.STOP,
        help_text="What follows where a pause or a drain takes longer than drain_timeout.",
    )
    desired_before = models.CharField(
        max_length=16,
        choices=choices(DesiredState),
        default=DesiredState.RUNNING,
        help_text="What was wanted before the pause or the drain; wanted again where that is aborted.",
    )
    force_stop = models.BooleanField(default=False, help_text="The present run is to be killed at once.")
    restart_run = models.PositiveBigIntegerField(
        null=True,
        blank=True,
        help_text="A run with this number or a lower one is to be ended and followed by a new one.",
    )

    phase = models.CharField(max_length=16, choices=choices(Phase), default=Phase.STOPPED)
    phase_since = models.DateTimeField()
    phase_reason = models.CharField(max_length=64, blank=True, default="")
    phase_message = models.TextField(blank=True, default="")
    stop_reason = models.CharField(max_length=16, choices=choices(StopReason), null=True, blank=True)
    conditions = models.JSONField(default=list)
    findings = models.JSONField(default=list, help_text="Why the last start was refused.")

    closed_lineage = models.PositiveBigIntegerField(
        default=0,
        help_text="Checkpoints of this lineage and of older ones are not continued: a decision has ended them.",
    )

    host = models.ForeignKey(
        "pipelines.Host", null=True, blank=True, on_delete=models.PROTECT, related_name="pipelines"
    )
    restart_count = models.PositiveIntegerField(default=0)
    restarts = models.PositiveBigIntegerField(default=0, help_text="Every restart after a failure; it only grows.")
    restart_boot_id = models.CharField(max_length=64, blank=True, default="")
    restart_boottime = models.FloatField(null=True, blank=True, help_text="CLOCK_BOOTTIME at which the back-off ends.")
    restart_at = models.DateTimeField(null=True, blank=True, help_text="The same for people.")
    restart_cause = models.TextField(
        blank=True, default="", help_text="How the last run ended that Headgate restarts or restarted."
    )

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["name"], condition=Q(archived_at__isnull=True), name="one_pipeline_of_a_name"
            ),
        ]
        indexes = [models.Index(fields=["host", "phase"]), models.Index(fields=["phase"])]

    def __str__(self) -> str:
        return self.name
