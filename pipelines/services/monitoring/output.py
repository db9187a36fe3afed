"""Storing what is said of the output of pipelines."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from uuid import UUID

from django.db import transaction

from pipelines.domain.monitoring.output import Verdict
from pipelines.models import Host, OutputVerdict
from pipelines.services.base import bulk

_WRITTEN = ("status", "reason", "message", "sources", "since")


@transaction.atomic
def record(*, host: str, changed: Mapping[UUID, tuple[Verdict, datetime]], now: datetime) -> None:
    """Store the verdicts that have changed, each with since when its status is so, and that all were judged now."""
    rows = [
        OutputVerdict(
            pipeline_id=pipeline,
            status=verdict.status,
            reason=verdict.reason,
            message=verdict.message,
            sources=dict(verdict.sources),
            since=since,
        )
        for pipeline, (verdict, since) in changed.items()
    ]
    bulk.insert(rows, unique=["pipeline"], update=_WRITTEN)
    Host.objects.filter(name=host).update(output_judged_at=now)
