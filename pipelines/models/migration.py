"""Migrations of pipelines, approvals of them, and when none may begin."""

from __future__ import annotations

import uuid

from django.db import models
from django.db.models import F, Q

from pipelines.domain.base.states import OPEN_STAGES, MigrationKind, MigrationStage
from pipelines.domain.base.trace_context import TRACEPARENT_LENGTH, TraceContext, context_of
from pipelines.models.definition import choices

_OPEN = Q(stage__in=sorted(stage.value for stage in OPEN_STAGES))


class Evacuation(models.Model):
    """Migrations that empty a host, so many at once; it stops at the first failure. `names`: pipelines that are still
    to be moved, in order; `left`: those that are not moved, with the reason; `rules`: `domain.migration.observation`'s
    for each of them."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    host = models.ForeignKey("pipelines.Host", on_delete=models.PROTECT, related_name="evacuations")
    at_once = models.PositiveIntegerField(default=1)
    go_on = models.BooleanField(default=False, help_text="Do not stop at the first failure.")
    names = models.JSONField(default=list)
    left = models.JSONField(default=dict)
    rules = models.JSONField(default=dict)
    reason = models.TextField()
    created_by = models.CharField(max_length=150)
    created_at = models.DateTimeField()
    ended_at = models.DateTimeField(null=True, blank=True)
    outcome = models.CharField(max_length=16, blank=True, default="", help_text="done, stopped or cancelled.")
    version = models.PositiveBigIntegerField(default=0)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["host"], condition=Q(ended_at__isnull=True), name="one_open_evacuation_of_a_host"
            ),
        ]

    def __str__(self) -> str:
        return f"evacuation of {self.host_id}"


class Migration(models.Model):
    """A change of a pipeline in stages.

    `spec` is what was asked for, `plan` a `domain.migration.plan.Plan`, `steps` the log (`domain.migration.progress`),
    `snapshot` what was written down between the proof of the pause and the first change. `runner_*` name the supervisor
    that may carry it out: its host, and the epoch of that host's lease. Every write is compare-and-swap on `version`.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    pipeline = models.ForeignKey("pipelines.Pipeline", on_delete=models.CASCADE, related_name="migrations")
    kind = models.CharField(max_length=16, choices=choices(MigrationKind))
    stage = models.CharField(max_length=20, choices=choices(MigrationStage), default=MigrationStage.DRAFT)
    stage_since = models.DateTimeField()
    version = models.PositiveBigIntegerField(default=0, help_text="Grows with every write; for compare-and-swap.")

    spec = models.JSONField(default=dict)
    plan = models.JSONField(default=dict)
    plan_hash = models.CharField(max_length=64, blank=True, default="")
    planned_at = models.DateTimeField(null=True, blank=True)
    steps = models.JSONField(default=list)
    passed = models.JSONField(default=list, help_text="Gates that a person has passed: [{stage, by, at}].")
    snapshot = models.JSONField(null=True, blank=True)
    shadow = models.JSONField(null=True, blank=True, help_text="domain.migration.shadow.ShadowState.")
    observed = models.JSONField(null=True, blank=True, help_text="The last look of the observation.")
    message = models.TextField(blank=True, default="")
    findings = models.JSONField(default=list, help_text="Why it failed, or what it needs a person for.")

    old_revision = models.ForeignKey("pipelines.Revision", null=True, on_delete=models.PROTECT, related_name="+")
    new_revision = models.ForeignKey("pipelines.Revision", null=True, on_delete=models.PROTECT, related_name="+")
    old_host = models.ForeignKey("pipelines.Host", null=True, on_delete=models.PROTECT, related_name="+")
    new_host = models.ForeignKey("pipelines.Host", null=True, on_delete=models.PROTECT, related_name="+")
    old_desired = models.CharField(max_length=16, blank=True, default="")
    old_run = models.ForeignKey("pipelines.Run", null=True, on_delete=models.SET_NULL, related_name="+")
    new_run = models.ForeignKey("pipelines.Run", null=True, on_delete=models.SET_NULL, related_name="+")
    reverts = models.ForeignKey("self", null=True, blank=True, on_delete=models.SET_NULL, related_name="reverted_by")
    evacuation = models.ForeignKey(
        Evacuation, null=True, blank=True, on_delete=models.SET_NULL, related_name="migrations"
    )

    runner_host = models.CharField(max_length=63, blank=True, default="")
    runner_epoch = models.PositiveBigIntegerField(default=0)

    reason = models.TextField()
    created_by = models.CharField(max_length=150)
    traceparent = models.CharField(
        max_length=TRACEPARENT_LENGTH, blank=True, default="", help_text="The trace that the request has named."
    )
    request = models.JSONField(default=dict, blank=True, help_text="The request that made it: audit.Actor.request.")
    created_at = models.DateTimeField()
    started_at = models.DateTimeField(null=True, blank=True)
    ended_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["pipeline"], condition=_OPEN, name="one_open_migration_per_pipeline"),
        ]
        indexes = [
            models.Index(fields=["pipeline", "-created_at"], name="pipelines_migration_of"),
            models.Index(fields=["stage"], condition=_OPEN, name="open_migrations"),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.id}"

    @property
    def trace(self) -> TraceContext:
        """The trace that it belongs to."""
        return context_of(self.id, self.traceparent)


class MigrationApproval(models.Model):
    """Somebody's word for the plan with this hash."""

    migration = models.ForeignKey(Migration, on_delete=models.CASCADE, related_name="approvals")
    by = models.CharField(max_length=150)
    hash = models.CharField(max_length=64)
    at = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["migration", "by", "hash"], name="one_approval_of_a_person_and_plan"),
        ]

    def __str__(self) -> str:
        return f"{self.by} {self.hash[:8]}"


class ApprovalPolicy(models.Model):
    """How many people other than the author have to approve: of everything, of a label, or of a pipeline's name."""

    label = models.CharField(max_length=200, blank=True, default="")
    pipeline_name = models.CharField(max_length=63, blank=True, default="")
    approvers = models.PositiveSmallIntegerField(default=1)
    expiry_seconds = models.PositiveIntegerField(default=86_400, help_text="How long an approval counts.")
    updated_by = models.CharField(max_length=150)
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["label", "pipeline_name"], name="one_approval_policy_of_a_scope"),
            models.CheckConstraint(
                condition=Q(label="") | Q(pipeline_name=""), name="an_approval_policy_has_one_scope"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.approvers} for {self.pipeline_name or self.label or 'everything'}"


class FreezeWindow(models.Model):
    """No migration begins in [starts_at, ends_at): of everything, of a label, or of a pipeline's name."""

    label = models.CharField(max_length=200, blank=True, default="")
    pipeline_name = models.CharField(max_length=63, blank=True, default="")
    starts_at = models.DateTimeField()
    ends_at = models.DateTimeField()
    reason = models.TextField()
    created_by = models.CharField(max_length=150)
    created_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.CheckConstraint(condition=Q(ends_at__gt=F("starts_at")), name="a_freeze_is_not_empty"),
            models.CheckConstraint(condition=Q(label="") | Q(pipeline_name=""), name="a_freeze_has_one_scope"),
        ]

    def __str__(self) -> str:
        return f"{self.starts_at} to {self.ends_at}"
