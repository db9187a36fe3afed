"""A person's answer to the question which of two memories is right."""

from __future__ import annotations

from django.db import models

from pipelines.domain.lifecycle.reconciling import SourceOfTruth
from pipelines.models.definition import choices


class Reconciliation(models.Model):
    """Whom to believe where a host knows more of a pipeline than the database; gone when that was carried out."""

    pipeline = models.OneToOneField("pipelines.Pipeline", on_delete=models.CASCADE, related_name="reconciliation")
    source_of_truth = models.CharField(max_length=16, choices=choices(SourceOfTruth))
    asked_by = models.CharField(max_length=150)
    at = models.DateTimeField()

    def __str__(self) -> str:
        return f"{self.pipeline_id}: {self.source_of_truth}"
