"""Celery's way in: thin, and nothing depends on it."""

from __future__ import annotations

from celery import shared_task

from controlplane.shared import clock
from pipelines.services import operations
from pipelines.services.observations import Retention, prune
from workers.wake import WAKE


@shared_task(name="workers.wake")  # type: ignore[untyped-decorator]
def wake() -> None:
    """Tick now instead of within a second."""
    WAKE.set()


@shared_task(name="workers.housekeeping")  # type: ignore[untyped-decorator]
def housekeeping() -> None:
    """Delete what is older than its retention, and end operations that are past their deadline."""
    prune(now=clock.now(), retention=Retention())
    operations.expire(now=clock.now())
