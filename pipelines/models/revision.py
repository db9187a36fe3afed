"""Immutable revisions of a pipeline's definition."""

from __future__ import annotations

from django.db import models
from django.db.models.fields.json import KT

from pipelines.domain.base.roles import Role


class Revision(models.Model):
    """One published definition: canonical JSON, its SHA-256 and the text that was sent."""

    pipeline = models.ForeignKey("pipelines.Pipeline", on_delete=models.CASCADE, related_name="revisions")
    number = models.PositiveIntegerField()
    digest = models.CharField(max_length=64)
    former_digest = models.CharField(
        max_length=64, blank=True, default="", help_text="Its digest before an upgrade moved its cluster out of it."
    )
    definition = models.JSONField()
    driver_memory = models.GeneratedField(
        expression=KT("definition__placement__launcher__driver_memory"),
        output_field=models.TextField(null=True),
        db_persist=True,
        serialize=False,
        help_text="The heap that it asks for. A choice of a host adds up those of a whole fleet.",
    )
    required_role = models.PositiveSmallIntegerField(
        default=Role.OPERATOR.value, help_text="The lowest role that may publish and start it."
    )
    source_text = models.TextField(blank=True, default="")
    note = models.TextField(blank=True, default="")
    created_at = models.DateTimeField(auto_now_add=True)
    created_by = models.CharField(max_length=150)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["pipeline", "number"], name="revision_numbers_are_unique")]
        ordering = ["-number"]

    def __str__(self) -> str:
        return f"{self.pipeline_id}#{self.number}"
