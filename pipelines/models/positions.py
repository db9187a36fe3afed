"""What positions are offsets of, and what was found and decided about them."""

from __future__ import annotations

import uuid

from django.db import models
from django.db.models import Q

from pipelines.domain.base.states import InspectionState
from pipelines.models.definition import choices


class LogIdentity(models.Model):
    """The id of a topic, and of its cluster, that the positions of a source are offsets of."""

    pipeline = models.ForeignKey("pipelines.Pipeline", on_delete=models.CASCADE, related_name="log_identities")
    source = models.CharField(max_length=100)
    topic = models.CharField(max_length=249)
    topic_id = models.CharField(max_length=64)
    cluster_id = models.CharField(max_length=64)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["pipeline", "source", "topic"], name="one_identity_per_topic"),
        ]

    def __str__(self) -> str:
        return f"{self.source} {self.topic}={self.topic_id}"


class PositionInspection(models.Model):
    """A look at all positions of a pipeline, asked for by people and taken by the worker of its host.

    With a `target` (position_plan.Target) it is a plan: `moves` and `impossible` say what the choice would do, and
    `hash` names it. `basis` is what of the database it was made against, `survey` what was found. Of a target that is a
    ClusterMove, `moves` are the rows of its Translation.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    pipeline = models.ForeignKey("pipelines.Pipeline", on_delete=models.CASCADE, related_name="position_looks")
    target = models.JSONField(null=True, blank=True)
    state = models.CharField(max_length=16, choices=choices(InspectionState), default=InspectionState.PENDING)
    asked_by = models.CharField(max_length=150)
    asked_at = models.DateTimeField()
    deadline = models.DateTimeField()
    answered_at = models.DateTimeField(null=True, blank=True)
    survey = models.JSONField(null=True, blank=True)
    moves = models.JSONField(default=list)
    impossible = models.JSONField(default=list)
    findings = models.JSONField(default=list)
    basis = models.JSONField(default=dict)
    hash = models.CharField(max_length=64, blank=True, default="")
    error = models.JSONField(null=True, blank=True)

    class Meta:
        db_table = "pipelines_positionlook"
        indexes = [
            models.Index(fields=["pipeline", "-asked_at"], name="position_looks_by_time"),
            models.Index(fields=["pipeline", "hash"], name="position_looks_by_hash"),
            models.Index(
                fields=["pipeline"], condition=Q(state=InspectionState.PENDING), name="pending_position_looks"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.target or 'survey'} {self.state}"
