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
    team: int | None = None,
    run: Run | None = None,
    actor: str = "system",
    data: dict[str, Any] | None = None,
) -> Event:
    """Add one event; it is published when the transaction has committed. `team`: whose it is where it is about no
    pipeline; without both, it is the installation's."""
    about = {"pipeline": pipeline, "team_id": team, "run": run}
    event = Event.objects.create(at=clock.now(), kind=kind, message=message, actor=actor, data=data or {}, **about)
    payload = event_schema(event).model_dump(mode="json")
    owner = pipeline.team_id if pipeline else team
    transaction.on_commit(lambda: dispatch.publish("event", {dispatch.OWNER: owner, **payload}))
    return event
