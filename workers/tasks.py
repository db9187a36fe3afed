"""Celery's way in: thin, and nothing depends on it."""

from __future__ import annotations

import re
from datetime import timedelta
from math import isfinite
from typing import TypeGuard

from celery import shared_task
from django.conf import settings

from pipelines.foundation import clock, dispatch
from pipelines.foundation.refusals import Refusals
from pipelines.models import CaseRun, ConnectionTest, Peek, Preview, RecordTrace, ShadowTask
from pipelines.services.base import host_tasks
from pipelines.services.ledger.rollup import roll_up
from pipelines.services.lifecycle import operations
from pipelines.services.monitoring import alerts, lag, silences
from pipelines.services.monitoring.lag import LagRetention
from pipelines.services.runs.observations import Retention, prune
from workers.wake import CANARIES, CANARY_SECONDS, CONNECT, LOOK, PREVIEW, WAKE

_HOST = re.compile(r"[a-z0-9][a-z0-9-]{0,62}")
_QUEUE = re.compile(rf"control|host\.{_HOST.pattern}")
_REFUSALS = Refusals("canaries_refused")


@shared_task(name="workers.wake")  # type: ignore[untyped-decorator]
def wake() -> None:
    """Tick and look now instead of within a second."""
    WAKE.set()
    LOOK.set()
    PREVIEW.set()
    CONNECT.set()


@shared_task(name="workers.canary")  # type: ignore[untyped-decorator]
def canary(host: object, queue: object, sent_at: object) -> None:
    """Tell the sender that a message to `queue` was heard. One to a queue of several workers may have met another. What
    no worker sends is passed over."""
    if not (_is_host(host) and _is_queue(queue) and isinstance(sent_at, float) and isfinite(sent_at)):
        _REFUSALS.add("A canary names no host, queue and time.")
        return
    if host == settings.HEADGATE.host:
        CANARIES(queue, sent_at)
    else:
        dispatch.send_now("workers.canary", queue=f"host.{host}", expires=CANARY_SECONDS, args=[host, queue, sent_at])


def _is_host(value: object) -> TypeGuard[str]:
    return isinstance(value, str) and _HOST.fullmatch(value) is not None


def _is_queue(value: object) -> TypeGuard[str]:
    return isinstance(value, str) and _QUEUE.fullmatch(value) is not None


@shared_task(name="workers.housekeeping")  # type: ignore[untyped-decorator]
def housekeeping() -> None:
    """Delete what is older than its retention, merge what is old, and end operations that are past their deadline."""
    keep = settings.HEADGATE
    retention = Retention(
        samples=timedelta(days=keep.sample_days),
        events=timedelta(days=keep.event_days),
        dead_letters=timedelta(days=keep.dead_letter_days),
        dead_letters_each=keep.dead_letters_kept,
        deliveries=timedelta(days=keep.webhook_days),
    )
    prune(now=clock.now(), retention=retention)
    operations.expire(now=clock.now())
    host_tasks.expire(Preview, CaseRun, RecordTrace, Peek, ShadowTask, ConnectionTest, now=clock.now())
    roll_up(now=clock.now())
    alerts.prune(before=clock.now() - timedelta(days=keep.event_days))
    silences.prune(before=clock.now() - timedelta(days=keep.event_days))
    steps = (keep.lag_minute_days, keep.lag_five_minute_days, keep.lag_hour_days)
    lag.prune(now=clock.now(), retention=LagRetention(*(timedelta(days=each) for each in steps)))
