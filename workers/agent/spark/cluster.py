"""Running on the executors of a Spark cluster: its settings, and its checks before a start.

The driver stays in the agent (client mode), so that gate, ledger and kill are those of a local run.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from pipelines.domain.definitions.parts.launchers import PlacedLauncher
from pipelines.domain.runs.protocol import AgentFinding
from workers.agent.base.findings import Refused, refuse
from workers.agent.graph.component import Builder, Place
from workers.agent.spark import contact, executors, standalone
from workers.agent.spark import session as sessions
from workers.agent.spark.fence import Fence
from workers.agent.spark.jvm import Jvm
from workers.agent.spark.parcel import ARCHIVE, pack

if TYPE_CHECKING:
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

PATH = "placement.launcher"
_KEPT = "500"
_FIXED = {
    "spark.submit.deployMode": "client",
    # A task that fails fails the attempt, as it does locally.
    "spark.task.maxFailures": "1",
    "spark.speculation": "false",
    "spark.dynamicAllocation.enabled": "false",
    "spark.decommission.enabled": "false",
    # An executor that cannot reach its driver ends after six heartbeats, well within the default fence.
    "spark.executor.heartbeatInterval": "5s",
    "spark.executor.heartbeat.maxFailures": "6",
    "spark.network.timeout": "60s",
    # Executors may fail now and then for as long as a pipeline runs.
    "spark.executor.failuresValidityInterval": "1h",
    "spark.scheduler.barrier.maxConcurrentTasksCheck.interval": "2s",
    "spark.scheduler.barrier.maxConcurrentTasksCheck.maxFailures": "10",
    # What `repeats.count` looks at.
    "spark.ui.retainedJobs": _KEPT,
    "spark.ui.retainedStages": _KEPT,
}


def settings(launcher: PlacedLauncher, jars: Sequence[str]) -> dict[str, str | None]:
    """What differs from a local session; None takes a setting away."""
    wanted = launcher.executors
    return {
        **launcher.conf,
        **launcher.on.settings(),
        **_FIXED,
        "spark.master": launcher.on.master,
        "spark.jars": ",".join(jars),
        "spark.executor.instances": str(wanted.count),
        "spark.executor.cores": str(wanted.cores),
        "spark.executor.memory": wanted.memory,
        "spark.cores.max": str(launcher.cores),
        "spark.default.parallelism": str(launcher.cores),
        # Files that are sent land in an executor's working directory before its first task.
        "spark.executorEnv.PYTHONPATH": ARCHIVE,
        "spark.driver.host": launcher.on.driver_host,
        "spark.driver.bindAddress": launcher.on.driver_bind,
        **_ports(launcher),
        **_protection(launcher),
    }


def _ports(launcher: PlacedLauncher) -> dict[str, str | None]:
    if launcher.driver_port is None:
        return {}
    return {
        "spark.driver.port": str(launcher.driver_port),
        "spark.driver.blockManager.port": str(launcher.driver_port + 1),
    }


def _protection(launcher: PlacedLauncher) -> dict[str, str | None]:
    """YARN and Kubernetes make a secret for each application; a standalone cluster has one for all."""
    if launcher.on.standalone and launcher.on.cluster_secret is None:
        # Master and workers of such a cluster share no secret with the driver, and refuse one that asks for it.
        return dict.fromkeys(
            ("spark.authenticate", "spark.network.crypto.enabled", "spark.network.crypto.saslFallback")
        )
    return {
        "spark.authenticate": "true",
        "spark.authenticate.secret": launcher.on.cluster_secret if launcher.on.standalone else None,
        "spark.network.crypto.enabled": "true",
        "spark.io.encryption.enabled": "true",
    }


class SparkCluster(Builder):
    """The cluster as a part of the pipeline that is probed and initialised before all others."""

    spec: PlacedLauncher

    def __init__(
        self, spec: PlacedLauncher, place: Place, run: int, modules: Sequence[str], code: Sequence[str]
    ) -> None:
        super().__init__(spec, place)
        self._run = run
        self._modules = list(modules)
        self._code = list(code)
        self._fence = Fence(place.state / "applications")

    def probe(self) -> None:
        """The master can be reached, and no executor of an earlier run can write any more. Raises Refused."""
        _reach(self.spec)
        if not self.place.standby:
            self._fence.wait()

    def initialise(self, spark: SparkSession) -> None:
        """All executors are there, and their Python can run every component. Raises Refused."""
        context = spark.sparkContext
        if not self.place.standby:
            self._note(context)
        self._wait_for_executors(context)
        executors.check(spark, self.spec.cores, self._modules)

    def promoted(self, context: SparkContext) -> None:
        """What waited while the run was a standby: no executor of an earlier run can write any more, and later runs are
        told of this one's."""
        self.place = replace(self.place, standby=False)
        self._fence.wait()
        self._note(context)

    def _note(self, context: SparkContext) -> None:
        self._fence.note(context.applicationId or "", self._run, self.spec)

    def connect(self, jvm: Jvm, jars: Sequence[str], tmp: Path) -> SparkSession:
        """Open a session whose tasks run on the cluster. Raises any exception."""
        name = f"headgate {self.place.pipeline} run {self._run}"
        spark = sessions.connect(
            jvm,
            name=name,
            cores=self.spec.cores,
            tmp=tmp,
            differing=settings(self.spec, jars),
            python=self.spec.on.python or sys.executable,
        )
        self._send_code(spark.sparkContext, tmp)
        return spark

    def _send_code(self, context: SparkContext, tmp: Path) -> None:
        """Give the executors this agent's own version of Headgate and of the interceptors' packages."""
        context.addFile(str(pack(tmp / ARCHIVE, self._code)))

    def leave(self, context: SparkContext) -> None:
        """The run ends: where nothing is in hand on any executor, the next one need not wait."""
        if not any(each.numRunningTasks() for each in _executors(context)):
            self._fence.forget(self._run)

    def _wait_for_executors(self, context: SparkContext) -> None:
        deadline = time.monotonic() + self.spec.slots_timeout
        while (have := len(_executors(context)) - 1) < self.spec.executors.count:
            if time.monotonic() > deadline:
                raise self._insufficient(have)
            time.sleep(0.1)

    def _insufficient(self, have: int) -> Refused:
        wanted = self.spec.executors
        return refuse(
            f"{PATH}.executors",
            "INSUFFICIENT_SLOTS",
            f"{have} of {wanted.count} executors with {wanted.cores} cores and {wanted.memory} of memory each "
            f"registered within {self.spec.slots_timeout:.0f} s.{self._free()}",
            "Ask for fewer or smaller executors, give the cluster more workers, or raise slots_timeout.",
            retryable=True,
        )

    def _free(self) -> str:
        page = standalone.page(self.spec.on)
        if page is None:
            return ""
        try:
            seen = standalone.cluster(page)
        except standalone.Silent:
            return ""
        return f" The cluster has {seen.cores} cores; {seen.free_cores} of them are free."


def _executors(context: SparkContext) -> list[executors.ExecutorInfo]:
    """All executors that Spark knows, and the driver."""
    return list(context._jsc.sc().statusTracker().getExecutorInfos())


def unreachable(launcher: PlacedLauncher, cause: str) -> AgentFinding:
    """The finding for a master that cannot be reached."""
    return AgentFinding(
        path=f"{PATH}.cluster",
        code=contact.UNREACHABLE,
        retryable=True,
        message=contact.unreachable(launcher.on.master, cause),
        suggestion=contact.ADVICE,
    )


def _reach(launcher: PlacedLauncher) -> None:
    """Connect to one of the masters, and let a standalone one show that it is alive. YARN's address is not known here:
    its session has the deadline."""
    servers = [contact.connect(address) for address in contact.addresses(launcher.on.master)]
    if cause := contact.silence(servers):
        raise Refused(unreachable(launcher, cause))
    if page := standalone.page(launcher.on):
        _is_not_frozen(launcher, page)


def _is_not_frozen(launcher: PlacedLauncher, page: str) -> None:
    """A master's page may be closed to us; one that takes a connection and stays quiet is that of a hung process."""
    try:
        standalone.cluster(page)
    except standalone.Silent as silent:
        if silent.frozen:
            raise Refused(unreachable(launcher, str(silent))) from silent
