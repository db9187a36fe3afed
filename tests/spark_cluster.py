"""A standalone Spark cluster on this machine: master and workers out of the installed PySpark, ended by their pids."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import psutil

from controlplane.install.services.ports import LOOPBACK, free_port
from controlplane.install.tools.java import find_java
from pipelines.domain.runs.protocol import PlacedCluster
from tests.processes import words_of
from tests.waiting import wait_for

_READY = 180.0
_SMALL = "-XX:+UseSerialGC -XX:TieredStopAtLevel=1"


@dataclass
class Worker:
    """A worker's process and its page."""

    process: subprocess.Popen[bytes]
    page: str

    def executors(self) -> list[psutil.Process]:
        """Its executors' JVMs."""
        children = psutil.Process(self.process.pid).children(recursive=True)
        return [child for child in children if "CoarseGrainedExecutorBackend" in " ".join(words_of(child))]


@dataclass
class SparkCluster:
    """A running cluster."""

    master: str
    page: str
    process: subprocess.Popen[bytes]
    workers: list[Worker]
    directory: Path
    secret: str

    def add_worker(self) -> Worker:
        """Start one more worker with one core, and wait until the master knows it."""
        port = free_port()
        known = {each["id"] for each in probe(self.page)["workers"]}
        argv = ["Worker", "--host", LOOPBACK, "--webui-port", str(port), "--cores", "1", "--memory", "900m"]
        argv += ["--work-dir", str(self.directory / f"work-{port}"), *_properties(self.directory), self.master]
        worker = Worker(_daemon(argv, self.directory), f"http://{LOOPBACK}:{port}")
        self.workers.append(worker)
        wait_for(lambda: {each["id"] for each in self.alive()} - known, "the worker is registered", _READY)
        return worker

    def alive(self) -> list[dict[str, Any]]:
        """Workers that the master counts on."""
        return [worker for worker in probe(self.page)["workers"] if worker["state"] == "ALIVE"]

    def applications(self) -> list[dict[str, Any]]:
        """Applications that the master serves now."""
        found: list[dict[str, Any]] = probe(self.page)["activeapps"]
        return found

    def executors(self) -> list[psutil.Process]:
        """The JVMs of all executors of all living workers."""
        living = [worker for worker in self.workers if worker.process.poll() is None]
        return [executor for worker in living for executor in worker.executors()]

    def launcher(self, **more: Any) -> dict[str, Any]:
        """`placement.launcher` of a pipeline on this cluster."""
        executors = {"count": 2, "cores": 1, "memory": "512m"}
        return {"type": "spark", "cluster": "here", "executors": executors, "slots_timeout": "3m", **more}

    def placed(self, **more: Any) -> PlacedCluster:
        """This cluster as a launch has it; keywords are keys of it."""
        own = {"master": self.master, "master_ui": self.page, "driver_host": LOOPBACK, "cluster_secret": self.secret}
        return PlacedCluster(name="here", version=1, spec={**own, **more})


@contextmanager
def spark_cluster(directory: Path, workers: int = 2) -> Iterator[SparkCluster]:
    """A master and workers of one core each, that authenticate each other."""
    port, ui = free_port(), free_port()
    secret = "not-a-secret-but-a-test"
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "spark.conf").write_text(
        f"spark.authenticate true\nspark.authenticate.secret {secret}\nspark.network.crypto.enabled true\n"
    )
    argv = ["Master", "--host", LOOPBACK, "--port", str(port), "--webui-port", str(ui), *_properties(directory)]
    process = _daemon(argv, directory)
    cluster = SparkCluster(f"spark://{LOOPBACK}:{port}", f"http://{LOOPBACK}:{ui}", process, [], directory, secret)
    try:
        wait_for(lambda: process.poll() is not None or _answers(cluster.page), "the master answers", _READY)
        assert process.poll() is None, (directory / "cluster.log").read_text()[-2000:]
        for _ in range(workers):
            cluster.add_worker()
        yield cluster
    finally:
        _end([process, *(worker.process for worker in cluster.workers)])


def probe(page: str) -> dict[str, Any]:
    """A page of the cluster, as data."""
    with urllib.request.urlopen(f"{page}/json/", timeout=5) as answer:  # noqa: S310 - an address of this test
        found: dict[str, Any] = json.load(answer)
    return found


def _answers(page: str) -> bool:
    try:
        return bool(probe(page))
    except (OSError, ValueError):  # at first its page is there and does not serve data yet
        return False


def _properties(directory: Path) -> list[str]:
    return ["--properties-file", str(directory / "spark.conf")]


def _daemon(argv: list[str], directory: Path) -> subprocess.Popen[bytes]:
    spec = find_spec("pyspark")
    assert spec is not None
    assert spec.origin is not None
    home = Path(spec.origin).parent
    kind, *rest = argv
    command = [str(home / "bin" / "spark-class"), f"org.apache.spark.deploy.{kind.lower()}.{kind}", *rest]
    environment = {
        **os.environ,
        "SPARK_HOME": str(home),
        "SPARK_DAEMON_JAVA_OPTS": _SMALL,
        "SPARK_DAEMON_MEMORY": "256m",
        "JAVA_HOME": str(find_java().executable.resolve().parents[1]),
        "SPARK_LOCAL_IP": LOOPBACK,
        "SPARK_LOCAL_DIRS": str(directory / "local"),
    }
    with (directory / "cluster.log").open("ab") as log:
        return subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=environment)


def _end(processes: list[subprocess.Popen[bytes]]) -> None:
    """End processes and whatever they started."""
    family = []
    for process in processes:
        with contextlib.suppress(psutil.Error):
            family += psutil.Process(process.pid).children(recursive=True)
    for each in processes:
        each.kill()
    for descendant in family:
        with contextlib.suppress(psutil.Error):
            descendant.kill()
    for each in processes:
        each.wait(30)
