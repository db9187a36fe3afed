"""The append-only record of what happened, and its way to open pages."""

from __future__ import annotations

from typing import Any

from django.db import transaction

from pipelines.foundation import clock, dispatch
from pipelines.models import Event, Pipeline, Run
from pipelines.selectors.monitoring.events import event_schema


def record(
    *,
    kind: str,
    message: str,
    pipeline: Pipeline | None = None,
    run: Run | None = None,
    actor: str = "system",
    data: dict[str, Any] | None = None,
) -> Event:
    """Add one event; it is published when the transaction has committed."""
    event = Event.objects.create(
        at=clock.now(), kind=kind, message=message, pipeline=pipeline, run=run, actor=actor, data=data or {}
    )
    payload = event_schema(event).model_dump(mode="json")
    transaction.on_commit(lambda: dispatch.publish("event", payload))
    return event
