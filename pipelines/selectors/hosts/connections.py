"""What tests of hosts' connections to Spark clusters have found."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from pipelines.domain.base.states import OPEN_HOST_TASK_STATES, HostTaskState
from pipelines.domain.hosts.connection_tests import ConnectionResult, ConnectionState
from pipelines.foundation import clock
from pipelines.models import Cluster, ConnectionTest, Host
from pipelines.selectors.access.schemas import ClusterTestSchema, HostConnectionSchema
from pipelines.selectors.base.host_tasks import open_tasks
from pipelines.selectors.hosts.hosts import expected, supervised

_UNTESTED = "The connection was not tested lately."
_SILENT = "The worker of this host is not running, so that nothing can be checked from it."
_CHANGED = "The cluster was changed after the last test."
_LATE = {
    "code": "connection_timed_out",
    "message": "The worker of this host has not answered in time.",
    "hint": "Check that it runs, and test the connection again.",
}


def open_tests(host: str) -> list[ConnectionTest]:
    """What the worker of a host has to test, oldest first."""
    return open_tasks(ConnectionTest.objects.filter(host=host).select_related("cluster"))


def test_schema(cluster: Cluster) -> ClusterTestSchema:
    """The last test of each host, as the API shows it."""
    last: dict[str, ConnectionTest] = {}
    for row in ConnectionTest.objects.filter(cluster=cluster).order_by("requested_at"):
        last[row.host_id] = row
    now = clock.now()
    hosts = [_of_host(host, last.get(host.name), cluster.version, now) for host in expected().order_by("name")]
    return ClusterTestSchema(
        cluster=cluster.name,
        version=cluster.version,
        checking=any(each.state == ConnectionState.CHECKING for each in hosts),
        hosts=hosts,
    )


def _of_host(host: Host, test: ConnectionTest | None, version: int, now: datetime) -> HostConnectionSchema:
    if test is None or test.version != version:
        message = _CHANGED if test else _UNTESTED
        return _schema(host, None, ConnectionState.NOT_CHECKED, message=message if supervised(host) else _SILENT)
    if test.state in OPEN_HOST_TASK_STATES and test.deadline > now:
        return _schema(host, test, ConnectionState.CHECKING)
    if test.state != HostTaskState.DONE:
        return _schema(host, test, ConnectionState.FAILED, **_words(test.error or _LATE))
    found = ConnectionResult.model_validate(test.result)
    return _schema(host, test, found.state, **found.model_dump())


def _words(error: dict[str, Any]) -> dict[str, str]:
    return {key: error.get(key, "") for key in ("code", "message", "hint")}


def _schema(host: Host, test: ConnectionTest | None, state: ConnectionState, **found: Any) -> HostConnectionSchema:
    nothing: dict[str, Any] = {
        "code": "",
        "message": "",
        "hint": "",
        "servers": [],
        "standalone": None,
        "unchecked": [],
    }
    return HostConnectionSchema(
        host=host.name,
        state=state,
        requested_by=test.requested_by if test else None,
        requested_at=test.requested_at if test else None,
        checked_at=test.ended_at if test else None,
        **{**nothing, **found},
    )
