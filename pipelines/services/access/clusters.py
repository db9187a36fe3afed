"""Writing clusters: administrators say whose Spark runs the code of pipelines."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django.db import transaction

from pipelines.domain.base.findings import listed
from pipelines.domain.definitions.checks.cluster_checks import cluster_findings
from pipelines.foundation import clock, dispatch
from pipelines.foundation.errors import Conflict, Invalid, NotFound
from pipelines.models import Cluster, ConnectionTest, Pipeline, Team
from pipelines.models.host_task import IS_OPEN
from pipelines.selectors.access.clusters import used_by
from pipelines.selectors.hosts.hosts import expected, supervised
from pipelines.services.base import audit, events, host_tasks
from pipelines.services.base.audit import Actor

TESTED_WITHIN = 60.0
"""Seconds from the request for a test to its end, those before it on the host included."""


@transaction.atomic
def put(*, name: str, spec: dict[str, Any], team: Team | None = None, actor: Actor) -> tuple[Cluster, bool]:
    """Define a cluster for the pipelines of a team, or for all, as version 1 or the next one; the same again changes
    nothing. Returns it, and whether it is new. Raises Invalid with every finding, and Conflict where a pipeline of
    another team is placed on it."""
    valid, findings = cluster_findings(spec)
    if valid is None:
        raise Invalid(f"The cluster {name} was not stored.", code="cluster_invalid", findings=findings)
    wanted, now = valid.model_dump(mode="json", exclude_none=True), clock.now()
    defaults = {
        "team": team,
        "spec": wanted,
        "created_at": now,
        "updated_at": now,
        "created_by": actor.name,
        "updated_by": actor.name,
    }
    row, new = Cluster.objects.select_for_update().get_or_create(name=name, defaults=defaults)
    if new:
        _emit(actor, "cluster.created", f"{actor.name} defined the cluster {name}.", name, after=_told(row))
    elif row.spec != wanted or row.team != team:
        _require_unused_by_others(row, team)
        before = _told(row)
        row.team = team
        row.spec, row.version, row.updated_at, row.updated_by = wanted, row.version + 1, now, actor.name
        row.save()
        message = f"{actor.name} changed the cluster {name}; pipelines take version {row.version} at their next start."
        _emit(actor, "cluster.changed", message, name, before=before, after=_told(row))
    return row, new


def _require_unused_by_others(row: Cluster, team: Team | None) -> None:
    others = Pipeline.objects.filter(name__in=used_by().get(row.name, []), archived_at=None).exclude(team=team)
    if team is not None and (names := list(others.values_list("name", flat=True))):
        raise Conflict(
            f"The cluster {row.name} is used by {listed(names)} of other teams.",
            code="cluster_in_use",
            hint="Publish revisions of them that name another cluster first.",
            used_by=sorted(names),
        )


@transaction.atomic
def delete(*, name: str, actor: Actor) -> None:
    """Remove a cluster. Raises NotFound, and Conflict while a pipeline is placed on it."""
    row = Cluster.objects.select_for_update().filter(name=name).first()
    if row is None:
        raise unknown(name)
    if users := used_by().get(name, []):
        raise Conflict(
            f"The cluster {name} is used by {listed(users)}; without it they cannot start again.",
            code="cluster_in_use",
            hint="Publish revisions of them that name another cluster first.",
            used_by=users,
        )
    before = _told(row)
    row.delete()
    _emit(actor, "cluster.deleted", f"{actor.name} deleted the cluster {name}.", name, before=before)


@transaction.atomic
def test(*, cluster: Cluster, actor: Actor) -> None:
    """Have every host whose worker runs connect to a cluster; those that are about to are not asked twice. Raises
    Conflict where no worker runs, and TooManyRequests."""
    hosts = [host for host in expected().order_by("name") if supervised(host)]
    if not hosts:
        raise Conflict(
            f"No worker runs that could connect to {cluster.name}.", code="host_silent", hint="Start a worker."
        )
    now = clock.now()
    asked = ConnectionTest.objects.filter(IS_OPEN, cluster=cluster, version=cluster.version, deadline__gt=now)
    waiting = set(asked.values_list("host_id", flat=True))
    for host in hosts:
        if host.name in waiting:
            continue
        fields = host_tasks.admitted(ConnectionTest, host, actor.name, of_host="host")
        fields["deadline"] = now + timedelta(seconds=TESTED_WITHIN)
        ConnectionTest.objects.create(**fields, cluster=cluster, host=host, version=cluster.version)
        dispatch.wake(host.name)
    after = {"cluster": cluster.name, "version": cluster.version, "hosts": [host.name for host in hosts]}
    audit.record(actor=actor, action="cluster.tested", after=after)


def unknown(name: str) -> NotFound:
    """The error for a name that no cluster has."""
    return NotFound(f"There is no cluster {name}.", code="cluster_not_found", hint="GET /api/v1/clusters lists them.")


def _told(row: Cluster) -> dict[str, Any]:
    return {"cluster": row.name, "team": row.team.name if row.team else None, "version": row.version, "spec": row.spec}


def _emit(actor: Actor, kind: str, message: str, name: str, *, before: Any = None, after: Any = None) -> None:
    audit.record(actor=actor, action=kind, before=before, after=after)
    events.record(kind=kind, message=message, actor=actor.name, data={"cluster": name})
