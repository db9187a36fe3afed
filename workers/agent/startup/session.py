"""The Spark session of a run, in the agent's own JVM or on a cluster; it opens while components are probed."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import TYPE_CHECKING

from pipelines.domain.base.states import RunRole
from pipelines.domain.definitions.parts.clusters import ClusterSpec
from pipelines.domain.definitions.parts.launchers import PlacedLauncher, SparkLauncher
from pipelines.domain.runs.protocol import Launch
from workers.agent.base.findings import Refused
from workers.agent.base.log import say
from workers.agent.delivery.delivery import cause_of
from workers.agent.graph.compile import Graph
from workers.agent.graph.component import Builder, Place
from workers.agent.spark import cluster as clusters
from workers.agent.spark import session as sessions
from workers.agent.spark.cluster import SparkCluster
from workers.agent.spark.jvm import Jvm
from workers.agent.startup.slots import Slots

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class Session:
    """Opens once. `spark`: the session, as soon as it is open; `below`: what it stands on, by path, as components."""

    def __init__(self, launch: Launch, graph: Graph, jvm: Jvm, tmp: Path) -> None:
        self._launch = launch
        self._definition = graph.definition
        self._jvm = jvm
        self._tmp = tmp
        self._cluster = _cluster_of(launch, graph)
        self._thread = threading.Thread(target=self._connect, name="session", daemon=True)
        self._failure: Exception | None = None
        self.spark: SparkSession | None = None
        self.below: dict[str, Builder] = {clusters.PATH: self._cluster} if self._cluster else {}

    @property
    def on_cluster(self) -> bool:
        """Whether executors run elsewhere."""
        return self._cluster is not None

    def start(self) -> None:
        """Begin to open it, in a daemon thread."""
        self._thread.start()

    def _connect(self) -> None:
        try:
            if self._cluster:
                self.spark = self._cluster.connect(self._jvm, self._launch.spark.classpath, self._tmp)
            else:
                self.spark = sessions.connect(
                    self._jvm,
                    name=self._definition.name,
                    cores=Slots.of(self._definition).total,
                    tmp=self._tmp,
                    differing={"spark.default.parallelism": str(self._definition.placement.launcher.cores)},
                )
            say("the Spark session is open")
        except Exception as error:
            self._failure = error

    def opened(self, timeout: float) -> SparkSession:
        """The session, once it is open. Raises Refused where the cluster does not serve, RuntimeError where the agent's
        own JVM does not."""
        self._thread.join(min(timeout, self._cluster.spec.slots_timeout) if self._cluster else timeout)
        if (spark := self.spark) is not None:
            return spark
        failure = self._failure
        if self._cluster:
            cause = cause_of(failure) if failure else f"no session within {self._cluster.spec.slots_timeout:.0f} s"
            raise Refused(clusters.unreachable(self._cluster.spec, cause))
        raise RuntimeError("the Spark session did not open; see the agent's log") from failure

    def promoted(self) -> None:
        """The run is no standby any more."""
        if self._cluster and self.spark:
            self._cluster.promoted(self.spark.sparkContext)

    def leave(self) -> None:
        """Nothing more will be run. To be called before the JVM is stopped; bounded by its life."""
        if self._cluster and self.spark:
            self._cluster.leave(self.spark.sparkContext)


def _cluster_of(launch: Launch, graph: Graph) -> SparkCluster | None:
    """The cluster that a run is placed on; None for one in its own JVM."""
    spec = graph.definition.placement.launcher
    if not isinstance(spec, SparkLauncher):
        return None
    if launch.cluster is None:
        raise ValueError(f"the launch lacks the cluster {spec.cluster}")
    placed = PlacedLauncher(**dict(spec), on=ClusterSpec.model_validate(launch.cluster.spec))
    parts = graph.parts.values()
    modules = sorted({type(part).__module__ for part in parts})
    code = sorted({part.spec.class_name.split(".")[0].split(":")[0] for part in parts if part.spec.type == "python"})
    standby = launch.role is RunRole.STANDBY
    place = Place(graph.definition.name, launch.lineage, clusters.PATH, launch.data_root, standby=standby)
    return SparkCluster(placed, place, launch.run, modules, code)
