"""A fleet of simulated pipelines: rows, run directories and sleeping processes as real agents leave them.

A quiet agent renews its status every other second and has nothing to do. A busy one finishes ten batches a second, each
with a `planned` and a `done` entry in its journal, and tells so in its status.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

from bench.control.machinery import Sleepers
from controlplane.simulation.fleet import publish
from pipelines.domain.base.positions import Frozen, PartitionRange
from pipelines.domain.base.states import AgentPhase, Command, DesiredState, Phase, RunState
from pipelines.domain.ledger import journal
from pipelines.domain.ledger.journal import Entry, EntryKind
from pipelines.domain.ledger.ledger import Counts
from pipelines.domain.runs import protocol
from pipelines.domain.runs.protocol import (
    ComponentStatus,
    Control,
    Identity,
    PartitionProgress,
    ProcessIdentity,
    QueryStatus,
    Status,
    run_dir,
)
from pipelines.models import DEFAULT_TEAM, Host, Pipeline, Run, Team
from workers.ports import Now

BATCHES_PER_SECOND = 10
RECORDS = 400
"""Per batch, over all partitions."""
PARTITIONS = 4
HEARTBEAT = 2
"""Seconds between two statuses of a quiet agent."""
_COMPONENTS = (
    ("sources.shop", "source", "kafka"),
    ("channels.main", "channel", "direct"),
    ("sinks.out", "sink", "kafka"),
)


@dataclass
class Agent:
    """One simulated agent: what it has written so far. `number` spreads the heartbeats of quiet ones over time."""

    directory: Path
    token: str
    name: str
    number: int
    busy: bool
    entries: int = 0
    batch: int = 0
    offsets: list[int] = field(default_factory=lambda: [0] * PARTITIONS)

    def live(self, second: int, now: Now) -> None:
        """What it writes in one second."""
        if self.busy:
            self._work(now)
        if self.busy or (second + self.number) % HEARTBEAT == 0:
            self.report(now)

    def _work(self, now: Now) -> None:
        lines = [line for _ in range(BATCHES_PER_SECOND) for line in self._batch(now)]
        with (self.directory / protocol.JOURNAL).open("ab") as file:
            file.write(b"".join(lines))

    def _batch(self, now: Now) -> Iterator[bytes]:
        each = RECORDS // PARTITIONS
        ranges = [
            PartitionRange(topic=f"{self.name}-in", partition=partition, start=offset, end=offset + each)
            for partition, offset in enumerate(self.offsets)
        ]
        place: dict[str, Any] = {"source": "shop", "channel": "main", "batch": self.batch, "ranges": ranges}
        yield self._line(EntryKind.PLANNED, journal.Planned(**place), now)
        counts = Counts(read=RECORDS, delivered=RECORDS, delivered_bytes=200 * RECORDS)
        yield self._line(EntryKind.DONE, journal.Done(**place, counts=counts, sink="out", ms=90), now)
        self.offsets = [offset + each for offset in self.offsets]
        self.batch += 1

    def _line(self, kind: EntryKind, payload: Frozen, now: Now) -> bytes:
        self.entries += 1
        data = payload.model_dump(mode="json")
        return journal.encode(Entry(n=self.entries, epoch=1, at=now.wall.timestamp(), kind=kind, data=data))

    def report(self, now: Now) -> None:
        """Renew the status."""
        wall = now.wall.timestamp()
        positions = [
            PartitionProgress(topic=f"{self.name}-in", partition=partition, next_offset=offset, end_offset=offset)
            for partition, offset in enumerate(self.offsets)
        ]
        query = QueryStatus(
            source="shop",
            channel="main",
            batch=self.batch,
            read=self.batch * RECORDS,
            delivered=self.batch * RECORDS,
            records_per_second=float(RECORDS * BATCHES_PER_SECOND) if self.busy else 0.0,
            positions=positions,
            first_delivered_at=1.0,
            last_batch_at=wall if self.busy else 1.0,
        )
        components = [ComponentStatus(name=n, kind=k, type=t, state="ready") for n, k, t in _COMPONENTS]
        status = Status(
            token=self.token,
            boot_id=now.boot_id,
            heartbeat=now.boottime,
            at=wall,
            phase=AgentPhase.RUNNING,
            progress=int(now.boottime),
            progress_heartbeat=now.boottime,
            command_seq=1,
            queries=[query],
            components=components,
        )
        replace(self.directory / protocol.STATUS, status.model_dump_json(indent=1).encode())


def replace(path: Path, content: bytes) -> None:
    """Replace a file in one step; the fsync of a real agent is its own affair, not the supervisor's."""
    temporary = path.with_name(f".{path.name}.tmp")
    temporary.write_bytes(content)
    temporary.replace(path)


@dataclass(frozen=True)
class SimulatedHost:
    """One host: its agents and the pids of their processes."""

    name: str
    state_dir: Path
    agents: list[Agent]
    pids: list[int]

    def live(self, second: int, now: Now) -> None:
        """One second of all its agents."""
        for agent in self.agents:
            agent.live(second, now)


@dataclass(frozen=True)
class Plan:
    """How many pipelines, how many of them busy, over how many hosts."""

    pipelines: int
    busy: int = 0
    hosts: int = 1


def build(plan: Plan, state: Path, sleepers: Sleepers, now: Now) -> list[SimulatedHost]:
    """Rows in the empty database, directories below `state`, and two processes for each pipeline."""
    names = [f"pipeline-{number:05}" for number in range(plan.pipelines)]
    hosts = [Host(name=f"host-{number}", state_dir=str(state / f"host-{number}")) for number in range(plan.hosts)]
    Host.objects.bulk_create(hosts)
    every = plan.pipelines // plan.busy if plan.busy else 0
    agents: dict[str, list[Agent]] = {host.name: [] for host in hosts}
    pids: dict[str, list[int]] = {host.name: [] for host in hosts}
    for number, name in enumerate(names):
        host = hosts[number % plan.hosts]
        token = uuid.uuid4().hex
        directory = run_dir(Path(host.state_dir), name, 1)
        directory.mkdir(parents=True)
        busy = every > 0 and number % every == 0 and number // every < plan.busy
        agents[host.name].append(Agent(directory, token, name, number, busy))
        pids[host.name] += [sleepers.start(token), sleepers.start(token)]
    known = sleepers.identities()
    for host in hosts:
        _enlist(host, agents[host.name], [known[pid] for pid in pids[host.name]], now)
    return [SimulatedHost(h.name, Path(h.state_dir), agents[h.name], pids[h.name]) for h in hosts]


def _enlist(host: Host, agents: Sequence[Agent], processes: Sequence[ProcessIdentity], now: Now) -> None:
    """The rows of one host's pipelines, each running for a while already, and the files that its agents found."""
    team = Team.objects.get(name=DEFAULT_TEAM)
    pipelines = [
        Pipeline(
            name=agent.name,
            team=team,
            host=host,
            labels={"team": "payments"},
            desired_state=DesiredState.RUNNING,
            generation=2,
            observed_generation=2,
            phase=Phase.RUNNING,
            phase_since=now.wall,
            phase_message="Records are moving.",
        )
        for agent in agents
    ]
    Pipeline.objects.bulk_create(pipelines)
    publish(pipelines, "bench")
    pairs = zip(islice(processes, 0, None, 2), islice(processes, 1, None, 2), strict=True)
    Run.objects.bulk_create(
        _run(agent, pipeline, keeper, driver, now)
        for agent, pipeline, (keeper, driver) in zip(agents, pipelines, pairs, strict=True)
    )


def _run(agent: Agent, pipeline: Pipeline, keeper: ProcessIdentity, driver: ProcessIdentity, now: Now) -> Run:
    identity = Identity(token=agent.token, keeper=keeper, driver=driver)
    control = Control(seq=1, command=Command.RUN, boot_id=now.boot_id, issued_at=now.boottime, reason="start")
    replace(agent.directory / protocol.LAUNCH, b"{}")
    replace(agent.directory / protocol.IDENTITY, identity.model_dump_json(indent=1).encode())
    replace(agent.directory / protocol.CONTROL, control.model_dump_json(indent=1).encode())
    agent.report(now)
    return Run(
        pipeline=pipeline,
        pipeline_name=agent.name,
        number=1,
        epoch=1,
        revision=pipeline.current_revision,
        host=pipeline.host,
        lineage=1,
        token=agent.token,
        run_dir=str(agent.directory),
        generation=2,
        state=RunState.LIVE,
        identity=identity.model_dump(mode="json"),
        keeper_pid=keeper.pid,
        driver_pid=driver.pid,
        start_requested_at=now.wall,
        first_record_at=now.wall,
    )
