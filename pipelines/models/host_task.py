"""What the worker of a pipeline's host is asked to make once, beside the pipeline."""

from __future__ import annotations

import uuid
from typing import ClassVar

from django.db import models

from pipelines.domain.base.states import OPEN_HOST_TASK_STATES, HostTaskState
from pipelines.models.definition import choices

IS_OPEN = models.Q(state__in=sorted(OPEN_HOST_TASK_STATES))


class HostTask(models.Model):
    """`attempts`: how often it was started; `deadline`: when it fails unless it is done. `NOUN`: what texts and codes
    call it; `ADVICE`: what may help where its worker ends over it. Each kind has a `pipeline`, or a `host` of its
    own."""

    NOUN: ClassVar[str]
    ADVICE: ClassVar[str]

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    state = models.CharField(max_length=16, choices=choices(HostTaskState), default=HostTaskState.PENDING)
    attempts = models.PositiveSmallIntegerField(default=0)
    requested_by = models.CharField(max_length=150)
    requested_at = models.DateTimeField()
    deadline = models.DateTimeField()
    started_at = models.DateTimeField(null=True, blank=True)
    ended_at = models.DateTimeField(null=True, blank=True)
    expires_at = models.DateTimeField()
    result = models.JSONField(null=True, blank=True)
    error = models.JSONField(null=True, blank=True)

    class Meta:
        abstract = True

    def __str__(self) -> str:
        return f"{self.pk} {self.state}"
