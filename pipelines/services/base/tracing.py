"""The queue of traces: an operation or a migration that ends puts itself there in the same transaction, and each host
that has spans of it takes its part out when they are exported. Nothing is queued where traces are off."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime
from uuid import UUID

from django.conf import settings
from django.db import transaction
from django.db.models import F, Q

from pipelines.foundation import clock
from pipelines.models import Host, Migration, Operation, PendingTrace, Pipeline, Run


def operation_ended(operation: Operation) -> None:
    """Queue its trace. Call it in the transaction that ends it."""
    if settings.HEADGATE.traces:
        _queue(operation.id, operation.pipeline_id, "", operation.created_at)


def migration_ended(migration: Migration) -> None:
    """Queue its trace. Call it in the transaction that ends it."""
    if settings.HEADGATE.traces:
        _queue(migration.id, migration.pipeline_id, migration.runner_host, migration.started_at)


def _queue(subject: UUID, pipeline_id: UUID, leader: str, since: datetime | None) -> None:
    """Every host with a run that lived since then has a part; `leader`, or else the pipeline's host, has the rest."""
    now = clock.now()
    leader = leader or Pipeline.objects.filter(id=pipeline_id).values_list("host_id", flat=True).first() or ""
    lived = Q(ended_at=None) | Q(ended_at__gte=since)
    runs = Run.objects.filter(lived, pipeline_id=pipeline_id) if since else Run.objects.none()
    hosts = {leader, *runs.values_list("host_id", flat=True)}
    rows = [PendingTrace(subject=subject, host=host, whole=host == leader, since=now) for host in sorted(hosts)]
    PendingTrace.objects.bulk_create(rows, ignore_conflicts=True)


def due(*, host: str, before: datetime, most: int) -> list[PendingTrace]:
    """What a host has to export that ended before then, oldest first."""
    rows = PendingTrace.objects.filter(host__in=(host, ""), since__lt=before)
    return list(rows.order_by("since", "pk")[:most])


def overdue(*, host: str, before: datetime, kept: int, most: int) -> list[PendingTrace]:
    """What a host gives up: what ended before then, and what is older than the newest `kept`. Of hosts that do not take
    theirs, every host gives up what is twice as old as that, so that the queue is bounded whoever is away."""
    own = PendingTrace.objects.filter(host__in=(host, ""))
    newest = list(own.order_by("-since", "-pk").values_list("pk", flat=True)[kept : kept + most])
    late = before - (clock.now() - before)
    given_up = Q(host__in=(host, ""), since__lt=before) | Q(since__lt=late) | Q(pk__in=newest)
    return list(PendingTrace.objects.filter(given_up).order_by("since", "pk")[:most])


@transaction.atomic
def take_out(*, host: str, rows: Collection[PendingTrace], exported: int = 0, dropped: int = 0) -> None:
    """These parts are exported or given up; the host counts their spans."""
    PendingTrace.objects.filter(pk__in=[row.pk for row in rows]).delete()
    if exported or dropped:
        counted = {"spans_exported": F("spans_exported") + exported, "spans_dropped": F("spans_dropped") + dropped}
        Host.objects.filter(name=host).update(**counted)
