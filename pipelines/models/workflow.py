"""Requests that take time, stored so that they can be awaited."""

from __future__ import annotations

import uuid

from django.db import models
from django.db.models import Q

from pipelines.domain.base.states import OPEN_OPERATION_STATES, SIDE_OPERATIONS, OperationKind, OperationState
from pipelines.domain.base.trace_context import TRACEPARENT_LENGTH, TraceContext, context_of
from pipelines.models.definition import choices

_OPEN = Q(state__in=sorted(state.value for state in OPEN_OPERATION_STATES))
_SIDE = Q(kind__in=sorted(kind.value for kind in SIDE_OPERATIONS))


class Operation(models.Model):
    """A request and its steps: `[{name, state, started_at, ended_at, message}]`. Of a pipeline, one is open that
    changes what it does, and beside it one of each kind of SIDE_OPERATIONS."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    pipeline = models.ForeignKey("pipelines.Pipeline", on_delete=models.CASCADE, related_name="operations")
    kind = models.CharField(max_length=16, choices=choices(OperationKind))
    state = models.CharField(max_length=16, choices=choices(OperationState), default=OperationState.PENDING)
    generation = models.PositiveBigIntegerField(help_text="The generation of the pipeline that this request made.")
    steps = models.JSONField(default=list)
    parameters = models.JSONField(default=dict, help_text="What the request asked for, where its kind needs more.")
    progress = models.JSONField(default=dict)
    message = models.TextField(blank=True, default="")
    error = models.JSONField(null=True, blank=True)
    created_by = models.CharField(max_length=150)
    created_at = models.DateTimeField(auto_now_add=True)
    ended_at = models.DateTimeField(null=True, blank=True)
    deadline = models.DateTimeField(null=True, blank=True)
    version = models.PositiveIntegerField(default=0, help_text="Grows with every write; for compare-and-swap.")
    traceparent = models.CharField(
        max_length=TRACEPARENT_LENGTH, blank=True, default="", help_text="The trace that the request has named."
    )
    request = models.JSONField(default=dict, blank=True, help_text="The request that made it: audit.Actor.request.")

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["pipeline"], condition=_OPEN & ~_SIDE, name="one_open_operation_per_pipeline"
            ),
            models.UniqueConstraint(
                fields=["pipeline", "kind"], condition=_OPEN & _SIDE, name="one_open_side_operation_of_a_kind"
            ),
        ]
        indexes = [models.Index(fields=["pipeline", "-created_at"])]

    def __str__(self) -> str:
        return f"{self.kind} {self.id}"

    @property
    def trace(self) -> TraceContext:
        """The trace that it belongs to."""
        return context_of(self.id, self.traceparent)
