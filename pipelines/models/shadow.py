"""Parts of the shadows of migrations."""

from __future__ import annotations

from django.db import models

from pipelines.models.host_task import IS_OPEN, HostTask


class ShadowTask(HostTask):
    """Ranges of a source (`PartitionRange`) on which the revisions of a migration are compared. `channel`: the one
    whose batches they are; `samples`: events of which both sides are shown; `result`: `ShadowPart`."""

    NOUN = "shadow"
    ADVICE = "Look in the worker's log for why it ended."

    pipeline = models.ForeignKey("pipelines.Pipeline", on_delete=models.CASCADE, related_name="+")
    migration = models.ForeignKey("pipelines.Migration", on_delete=models.CASCADE, related_name="shadow_tasks")
    source = models.CharField(max_length=63)
    channel = models.CharField(max_length=63)
    ranges = models.JSONField()
    samples = models.PositiveSmallIntegerField()

    class Meta:
        indexes = [
            models.Index(fields=["expires_at"], name="shadow_tasks_by_expiry"),
            models.Index(fields=["pipeline"], condition=IS_OPEN, name="open_shadow_tasks"),
        ]
