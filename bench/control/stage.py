"""What a case gets: an empty database, a state directory, and the real supervisor of each simulated host."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from django.conf import settings

from bench.control.fleet import Plan, SimulatedHost, build
from bench.control.machinery import OwnProcesses, SkippingClock, Sleepers
from pipelines.domain.runs.protocol import SparkSettings
from pipelines.foundation.collector import spare_what_stays
from pipelines.services.runs.observations import HostFacts
from workers.adapters.filelock import FileLock
from workers.adapters.rundirs import LocalRunDirs
from workers.adapters.secrets import StoredSecrets, backends
from workers.supervisor.launch.launch import Launcher
from workers.supervisor.launch.references import References
from workers.supervisor.tick.act import Actor
from workers.supervisor.tick.lease import HostLease
from workers.supervisor.tick.memory import Memory
from workers.supervisor.tick.observe import Observer
from workers.supervisor.tick.tick import Supervisor
from workers.workflows.runner import Runner


def on_one_core() -> None:
    """What follows runs on one processor."""
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})


Values = Mapping[str, Sequence[float]]
"""Single measurements by metric."""


@dataclass
class Fleet:
    """Hosts with their supervisors, and the one clock of them all. `second` counts what has been lived, up to `lived`
    on that clock: however long a tick took, the next second is a whole one."""

    hosts: list[SimulatedHost]
    supervisors: list[Supervisor]
    clock: SkippingClock
    lived: float
    second: int = 0

    def live(self) -> None:
        """Let a second pass: agents write, nobody has looked yet."""
        self.second += 1
        self.clock.skip_to(self.lived + 1.0)
        now = self.clock.now()
        self.lived = now.boottime
        for host in self.hosts:
            host.live(self.second, now)

    def tick(self) -> None:
        """Every host's supervisor looks once."""
        for supervisor in self.supervisors:
            if not supervisor.tick().supervising:
                raise RuntimeError("a simulated host's supervisor has no lease")


@dataclass(frozen=True)
class Stage:
    """`state`: a directory for files. `ticks`: how many a case measures. `runs`: how often."""

    state: Path
    ticks: int
    runs: int

    @contextmanager
    def fleet(self, plan: Plan) -> Iterator[Fleet]:
        """Simulated pipelines that have run for a while; their processes end with the block."""
        clock = SkippingClock()
        with Sleepers() as sleepers:
            hosts = build(plan, self.state, sleepers, clock.now())
            spare_what_stays()  # as a worker does before its first tick
            yield Fleet(hosts, [_supervisor(host, clock) for host in hosts], clock, clock.now().boottime)


def _supervisor(host: SimulatedHost, clock: SkippingClock) -> Supervisor:
    processes, rundirs, memory = OwnProcesses(host.pids), LocalRunDirs(host.state_dir), Memory()
    facts = HostFacts(host.name, str(host.state_dir), "0", 1, 2**30, processes.current().model_dump())
    secrets = StoredSecrets(settings.HEADGATE.keyring)
    launcher = Launcher(
        host.name, host.state_dir, References(backends({}, None, secrets)), lambda: SparkSettings(classpath=[])
    )
    return Supervisor(
        host=host.name,
        clock=clock,
        processes=processes,
        lease=HostLease(facts, FileLock(host.state_dir / "supervisor.lock"), processes),
        observer=Observer(processes, rundirs, memory),
        actor=Actor(processes, rundirs, launcher, memory),
        workflows=Runner(host.name, rundirs),
    )
