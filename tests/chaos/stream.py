"""A pipeline in mid-stream: numbered records from a paced producer, and a look at its processes five times a second."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from controlplane.devstack import topics
from controlplane.devstack.demo import Demo
from controlplane.devstack.ledger import Readback, read_back
from controlplane.install.services.child import Child
from pipelines.domain.runs.protocol import IDENTITY, LAUNCH, Identity, Launch
from tests.agent.harness import name_of
from tests.chaos.installation import Installation, wait_for
from workers.adapters.processes import HostProcesses

RATE = 500.0
EVERY_MS = 2000
"""Between two batches: with five a second one pipeline takes a whole core."""
CHECK_EVERY = 0.2
"""Seconds between two looks at all processes. An agent lives for longer, whatever becomes of it."""
MOVING_WITHIN = 180.0
GONE_ON = 1000
"""Records that must be read after a fault before the stream counts as going on."""


@dataclass
class Watch(threading.Thread):
    """Looks for two agents at once: run tokens of the pipeline that living processes carry at the same time."""

    runs: Path
    seen: set[str] = field(default_factory=set)
    together: list[set[str]] = field(default_factory=list)
    looks: int = 0

    def __post_init__(self) -> None:
        super().__init__(daemon=True)
        self._over = threading.Event()
        self._processes = HostProcesses()

    def __hash__(self) -> int:
        return id(self)

    def alive(self) -> set[str]:
        """Run tokens of the pipeline that living processes carry."""
        launches = (Launch.load(path) for path in self.runs.glob(f"*/{LAUNCH}"))
        ours = {launch.token for launch in launches if launch is not None}
        return ours & set(self._processes.holders())

    def run(self) -> None:
        while not self._over.wait(CHECK_EVERY):
            alive = self.alive()
            self.looks += 1
            self.seen |= alive
            if len(alive) > 1:
                self.together.append(alive)

    def end(self) -> None:
        self._over.set()
        self.join()


@dataclass
class Stream:
    """The pipeline, its producer and the watch."""

    installation: Installation
    demo: Demo
    watch: Watch
    producer: Child

    @property
    def pipeline(self) -> dict[str, Any]:
        return self.installation.api.get(f"/pipelines/{self.demo.name}")

    @property
    def runs(self) -> list[dict[str, Any]]:
        """Newest first."""
        found: list[dict[str, Any]] = self.installation.api.get(f"/pipelines/{self.demo.name}/runs")["results"]
        return found

    @property
    def ledger(self) -> dict[str, Any]:
        return self.installation.api.get(f"/pipelines/{self.demo.name}/ledger/summary")

    @property
    def read(self) -> int:
        return int(self.ledger["read"])

    @property
    def identity(self) -> Identity:
        identity = Identity.load(Path(self.runs[0]["run_dir"]) / IDENTITY)
        assert identity is not None
        return identity

    def is_truthful(self) -> bool:
        """Whether what the API shows agrees with this host: nobody supervises, or the processes are as it says."""
        pipeline, runs = self.pipeline, self.runs
        alive = self._driver_lives(runs[0])
        moving = pipeline["phase"] in {"RUNNING", "DEGRADED", "STALLED", "PAUSED"}
        return not pipeline["supervised"] or alive or not moving

    def _driver_lives(self, run: dict[str, Any]) -> bool:
        identity = Identity.load(Path(run["run_dir"]) / IDENTITY)
        known = identity is not None and identity.driver is not None and identity.driver.pid == run["driver_pid"]
        return known and identity is not None and identity.driver in HostProcesses().holders().get(identity.token, ())

    def goes_on(self, since: int) -> None:
        """Wait until the stream moves again."""
        self._reads_beyond(since + GONE_ON)
        wait_for(self._runs_supervised, MOVING_WITHIN, "it is RUNNING and supervised")

    def _runs_supervised(self) -> bool:
        pipeline = self.pipeline
        return pipeline["phase"] == "RUNNING" and bool(pipeline["supervised"])

    def jvm(self) -> int:
        """The pid of the agent's JVM."""
        for process in HostProcesses().holders()[self.identity.token]:
            if name_of(process.pid) == "java":
                return process.pid
        raise AssertionError("there is no JVM")

    @property
    def positions(self) -> list[dict[str, Any]]:
        """Where the agent says that it stands."""
        status = self.installation.api.get(f"/pipelines/{self.demo.name}/status")
        return [place for query in status["queries"] for place in query["positions"]]

    @property
    def produced(self) -> int:
        """Records in the source's topic."""
        return sum(topics.end_offsets(self.demo.servers, self.demo.source).values())

    def act(self, action: str, **body: Any) -> dict[str, Any]:
        return self.installation.api.act(self.demo.name, action, timeout=MOVING_WITHIN, **body)

    def flow(self) -> None:
        """Records without end after the last one, and a pipeline that reads them, whatever others have stopped."""
        if not self.producer.alive:
            self.producer = Child(self.demo.producer(rate=RATE), output=subprocess.DEVNULL)
        if self.pipeline["desired_state"] != "RUNNING":
            self.act("resume" if self.pipeline["desired_state"] == "PAUSED" else "start")

    def feed(self, count: int) -> None:
        """So many records after the last one, and no more."""
        self.producer.stop()
        numbers = range(self.produced, self.produced + count)
        self.producer = Child(self.demo.producer(rate=RATE, numbers=numbers), output=subprocess.DEVNULL)
        wait_for(lambda: not self.producer.alive, MOVING_WITHIN, f"{count} records are produced")

    def run_out(self, reread: int = 0) -> int:
        """Stop the producer, wait for the last record, stop; returns how many were produced. Nothing is left to be
        watched. `reread`: records that are read twice."""
        self.producer.stop()
        produced = self.produced
        self._reads_up_to(produced + reread)
        self.act("stop", drain=True)
        self.watch.end()
        return produced

    def _reads_up_to(self, last: int) -> None:
        """Wait as long as reading goes on: how much was left over depends on the machine."""
        while (read := self.read) < last:
            self._reads_beyond(read)

    def _reads_beyond(self, count: int) -> None:
        wait_for(lambda: self.read > count, MOVING_WITHIN, f"more than {count} records are read")

    def finish(self, reread: int = 0) -> tuple[int, Readback]:
        """Let it run out and read the sink back; returns how many were produced, too."""
        produced = self.run_out(reread)
        return produced, read_back(topics.read_all(self.demo.servers, self.demo.sink), produced)

    def delivered_once(self) -> None:
        """Let it run out: everything was delivered, nothing twice, and the books say so."""
        produced, sink = self.finish()
        assert (sink.missing, sink.foreign, sink.duplicates) == (0, 0, 0)
        self.balances(produced)

    def nothing_is_missing(self) -> None:
        """Let it run out: everything was delivered, and what came twice was announced."""
        produced, sink = self.finish()
        assert (sink.missing, sink.foreign) == (0, 0)
        assert sink.duplicates <= self.ledger["duplicates_max"]
        self.balances(produced)

    def balances(self, produced: int) -> None:
        """Every record was read once."""
        ledger = self.ledger
        assert (ledger["read"], ledger["gaps"], ledger["overlaps"], ledger["balanced"]) == (produced, 0, 0, True), (
            ledger
        )


def kill(pid: int) -> None:
    """SIGKILL."""
    os.kill(pid, signal.SIGKILL)


@contextmanager
def streaming(
    installation: Installation,
    name: str = "stream",
    rate: float = RATE,
    batch: int = 2000,
    interceptors: Sequence[dict[str, Any]] = (),
    every_ms: int = EVERY_MS,
    sink: dict[str, Any] | None = None,
    lifecycle: dict[str, Any] | None = None,
    servers: str = "",
) -> Iterator[Stream]:
    """Start the pipeline, with more interceptors, a batch in so many ms, another sink, other deadlines and another
    broker, and its producer; the producer is stopped at the end."""
    demo = Demo(name, servers or installation.servers, batch)
    demo.create_topics()
    definition = demo.definition()
    definition["sources"]["orders"]["interceptors"] += interceptors
    definition["delivery"]["trigger_interval_ms"] = every_ms
    definition["sinks"] = {"clean": {"channel": "clean", **sink}} if sink else definition["sinks"]
    definition["lifecycle"] = lifecycle or {}
    installation.api.post("/pipelines", {"definition": definition})
    watch = Watch(installation.state / "runs" / demo.name)
    watch.start()
    producer = Child(demo.producer(rate=rate), output=subprocess.DEVNULL)
    stream = Stream(installation, demo, watch, producer)
    try:
        stream.act("start")
        stream.goes_on(0)
        yield stream
    finally:
        stream.producer.stop()
        watch.end()
