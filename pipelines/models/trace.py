"""Traces of single records."""

from __future__ import annotations

from django.db import models

from pipelines.models.host_task import IS_OPEN, HostTask


class RecordTrace(HostTask):
    """Where one record went. `question`: which one (`TraceQuestion`); `result`: what is known of it (`TraceResult`)."""

    NOUN = "trace"
    ADVICE = "Look in the worker's log for why it ended, and request the trace again."

    pipeline = models.ForeignKey("pipelines.Pipeline", on_delete=models.CASCADE, related_name="traces")
    question = models.JSONField()

    class Meta:
        indexes = [
            models.Index(fields=["pipeline", "-requested_at"], name="traces_by_time"),
            models.Index(fields=["expires_at"], name="traces_by_expiry"),
            models.Index(fields=["pipeline"], condition=IS_OPEN, name="open_traces"),
        ]
