"""Reading standby runs."""

from __future__ import annotations

from datetime import datetime

from django.apps import apps
from django.db.models import QuerySet

from pipelines.domain.base.states import RunRole, RunState
from pipelines.models import Pipeline, Run


def living() -> QuerySet[Run]:
    """Standbys that are not over; at most one of each pipeline is not discarded."""
    return Run.objects.filter(role=RunRole.STANDBY).exclude(state=RunState.ENDED)


def of_pipeline(pipeline: Pipeline) -> Run | None:
    """The standby of a pipeline, unless it is discarded."""
    return living().filter(pipeline=pipeline, discarded_at=None).select_related("pipeline", "host").first()


def orphans(host: str, before: datetime) -> list[Run]:
    """Standbys on a host that were prepared before a time, and whose pipeline has no open migration."""
    found = living().filter(host_id=host, discarded_at=None, warm=False, start_requested_at__lt=before)
    migrations = apps.all_models["pipelines"].get("migration")
    if migrations is not None:
        waiting = migrations._default_manager.filter(ended_at=None).values("pipeline")
        found = found.exclude(pipeline__in=waiting)
    return list(found.select_related("pipeline", "host"))
