"""What is known of the messages of a host's worker."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from django.db import transaction

from pipelines.models import Host
from pipelines.services.base import events

HEALTHY = "HEALTHY"


@transaction.atomic
def record(
    *, host: str, state: str, words: str, round_trip: float | None, now: datetime, warnings: Sequence[str] = ()
) -> None:
    """Whether messages reach the host's worker, with an event where that has changed. A host without a row is skipped.

    `round_trip`: seconds that the newest message took which came back; `warnings`: what is wrong with the server.
    """
    row = Host.objects.filter(name=host).first()
    if row is None:
        return
    before = row.messages
    since = before.get("since") if before.get("state") == state else now.isoformat()
    ms = None if round_trip is None else round(round_trip * 1000, 1)
    reported = {"state": state, "detail": words, "since": since, "round_trip_ms": ms, "at": now.isoformat()}
    Host.objects.filter(name=host).update(messages={**reported, "warnings": list(warnings)})
    if before.get("state", HEALTHY) != state:
        message = words or f"The worker of {host} receives messages again."
        events.record(kind="host.broker_connection", message=message, data={"host": host, "state": state})
