"""Tests whether this host reaches Spark clusters, in a background loop beside the ticks.

What is requested lies in the database, so that a test that a crash interrupted is made again, once. A secret of a
cluster is looked up, since a start without it fails, and is given to nothing.
"""

from __future__ import annotations

import threading
from functools import partial
from typing import Any

import structlog
from pydantic import ValidationError

from pipelines.domain.access.secret_uses import CLUSTER
from pipelines.domain.base.causes import explain
from pipelines.domain.definitions.document.references import substituted
from pipelines.domain.definitions.parts.clusters import ClusterSpec
from pipelines.models import Cluster, ConnectionTest
from pipelines.selectors.access.secrets import user_of
from pipelines.selectors.hosts.connections import open_tests
from pipelines.services.base import host_tasks
from workers.ports import ConnectionFailed, Exclusive, SparkClusters
from workers.supervisor.background.loop import BackgroundLoop, UnderWay
from workers.supervisor.launch.references import References, of_pipeline

IDLE_SECONDS = 2.0
AT_ONCE = 4
_SECRET = "cluster_secret"  # noqa: S105 - the key of a definition

log = structlog.get_logger(__name__)


class ConnectionTester:
    """Makes every test that is requested of the host, a few at once."""

    def __init__(self, host: str, references: References, clusters: SparkClusters) -> None:
        self._host, self._references, self._clusters = host, references, clusters
        self._under_way = UnderWay("connection", at_once=AT_ONCE)

    def loop(self, lock: Exclusive, wake: threading.Event) -> BackgroundLoop:
        """`lock`: one per host, however many workers it has."""
        return BackgroundLoop(
            "connections", self.turn, pause=IDLE_SECONDS, lock=lock, close=self._under_way.close, bell=wake
        )

    def turn(self) -> float:
        """Begin every test that is not under way."""
        for test in open_tests(self._host):
            self._under_way.begin(test.pk, partial(self._make, test))
        return IDLE_SECONDS

    def _make(self, test: ConnectionTest) -> None:
        try:
            self.make(test)
        except Exception as error:
            log.exception("connection_test_failed", test=str(test.pk))
            words = {"code": "connection_failed", "message": explain(error), "hint": "Test the connection again."}
            host_tasks.fail(test, words)

    def make(self, test: ConnectionTest) -> None:
        """Make one, if it is still to be made."""
        if not host_tasks.start(test):
            return
        try:
            found = self._clusters.test(self._resolved(test.cluster))
            host_tasks.finish(test, found.model_dump(mode="json"))
        except ConnectionFailed as error:
            host_tasks.fail(test, {"code": error.code, "message": str(error), "hint": error.hint})

    def _resolved(self, cluster: Cluster) -> ClusterSpec:
        """The cluster as this host has it, with its secret as a reference. Raises ConnectionFailed."""
        data: dict[str, Any] = {CLUSTER: cluster.spec}
        teams = None if cluster.team_id is None else [cluster.team_id]
        resolved = self._references.resolve(data, of_pipeline(user_of("", teams)))
        if resolved.findings:
            first = resolved.findings[0]
            raise ConnectionFailed(first.code, first.message, first.suggestion)
        plain = substituted({key: value for key, value in cluster.spec.items() if key != _SECRET}, resolved.values)
        secret = {_SECRET: cluster.spec[_SECRET]} if _SECRET in cluster.spec else {}
        try:
            return ClusterSpec.model_validate({**plain, **secret})
        except ValidationError:
            message = f"What the references of {cluster.name} stand for on this host is not a cluster."
            raise ConnectionFailed("cluster_invalid", message, "Correct the variables of this host.") from None
