"""Peeks at records of topics."""

from __future__ import annotations

from django.db import models

from pipelines.models.host_task import IS_OPEN, HostTask


class Peek(HostTask):
    """Records of a topic as they are, shown to who asked for them. `question`: which ones (`PeekQuestion`); `result`:
    `PeekResult`."""

    NOUN = "peek"
    ADVICE = "Look in the worker's log for why it ended, and request the peek again."

    pipeline = models.ForeignKey("pipelines.Pipeline", on_delete=models.CASCADE, related_name="peeks")
    question = models.JSONField()

    class Meta:
        indexes = [
            models.Index(fields=["pipeline", "-requested_at"], name="peeks_by_time"),
            models.Index(fields=["expires_at"], name="peeks_by_expiry"),
            models.Index(fields=["pipeline"], condition=IS_OPEN, name="open_peeks"),
        ]
