"""Spark clusters that answer as a test wants."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from pipelines.domain.definitions.parts.clusters import ClusterSpec
from pipelines.domain.hosts.connection_tests import ConnectionResult


@dataclass
class FakeSparkClusters:
    """`workers.ports.SparkClusters`; `asked`: what it was given."""

    found: Callable[[ClusterSpec], ConnectionResult]
    asked: list[ClusterSpec] = field(default_factory=list)

    def test(self, spec: ClusterSpec) -> ConnectionResult:
        """Note the cluster and answer."""
        self.asked.append(spec)
        return self.found(spec)
