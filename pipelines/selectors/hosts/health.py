"""Whether the database and Redis answer."""

from __future__ import annotations

from collections.abc import Callable

from django.db import transaction

from pipelines.foundation import dispatch
from pipelines.foundation.availability import bounded
from pipelines.models import Pipeline

PROBE_SECONDS = 1.0
OK = "ok"


def checks() -> dict[str, str]:
    """Each of them, `ok` or `unreachable`."""
    asked: dict[str, Callable[[], object]] = {"database": ask_database, "redis": dispatch.event_stream().ping}
    return {name: OK if _answers(ask) else "unreachable" for name, ask in asked.items()}


def ask_database() -> None:
    """A transaction, since a database that is locked can be read and not be written."""
    with bounded(PROBE_SECONDS), transaction.atomic():
        Pipeline.objects.values_list("pk").first()


def _answers(ask: Callable[[], object]) -> bool:
    try:
        ask()
    except Exception:  # whatever the client raises, the answer is no
        return False
    return True
