"""A host in memory: clocks, processes, run directories and a lock, behind the supervisor's ports.

`point` is called with a name before and after everything that the supervisor does to the host; a test makes it raise,
to kill the worker there. `boottime` moves only when a test moves it.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, TypeVar

from pipelines.domain.base.positions import PartitionPosition
from pipelines.domain.hosts.disk import DiskSpace
from pipelines.domain.runs import protocol
from pipelines.domain.runs.protocol import (
    Control,
    Document,
    DumpOrder,
    Dumps,
    ExitRecord,
    Handover,
    Identity,
    Launch,
    ProcessIdentity,
    Promotion,
    Status,
)
from workers.ports import JournalChunk, Now, TokenHolders

TICKS = os.sysconf("SC_CLK_TCK")
D = TypeVar("D", bound=Document)


class WorkerKilled(BaseException):
    """SIGKILL of the worker: nothing catches it."""


@dataclass
class SimulatedProcess:
    """A process; `run_dir` is set for a keeper and its driver."""

    identity: ProcessIdentity
    token: str | None = None
    run_dir: Path | None = None
    alive: bool = True
    killed: bool = False
    halted: bool = False


@dataclass
class SimulatedDirectory:
    """A run directory."""

    documents: dict[str, Document] = field(default_factory=dict)
    journal: bytearray = field(default_factory=bytearray)
    traced: list[PartitionPosition] = field(default_factory=list)


@dataclass
class SimulatedHost:
    """Clock, Processes and RunDirs at once."""

    state_dir: Path = Path("/state")
    boottime: float = 1000.0
    boot_id: str = "boot-1"
    wall: datetime = datetime(2026, 1, 1, tzinfo=UTC)
    processes: dict[int, SimulatedProcess] = field(default_factory=dict)
    directories: dict[Path, SimulatedDirectory] = field(default_factory=lambda: defaultdict(SimulatedDirectory))
    handovers: dict[Path, Handover] = field(default_factory=dict)
    last_holder: dict[Path, tuple[int, SimulatedProcess]] = field(default_factory=dict)
    signals: list[tuple[ProcessIdentity, str]] = field(default_factory=list)
    point: Callable[[str], None] = lambda _name: None
    spawn_error: OSError | None = None
    control_error: OSError | None = None
    disk: DiskSpace | None = None
    releases: set[Path] = field(default_factory=set)
    worker: SimulatedProcess | None = None
    next_pid: int = 100

    # Clock

    def now(self) -> Now:
        return Now(wall=self.wall, boottime=self.boottime, boot_id=self.boot_id)

    def advance(self, seconds: float) -> None:
        """Let time pass on every clock."""
        self.boottime += seconds
        self.wall += timedelta(seconds=seconds)

    # Processes

    def holders(self) -> TokenHolders:
        found: dict[str, list[ProcessIdentity]] = defaultdict(list)
        for process in self.processes.values():
            if process.alive and process.token:
                found[process.token].append(process.identity)
        return {token: tuple(identities) for token, identities in found.items()}

    def halted(self) -> frozenset[ProcessIdentity]:
        return frozenset(each.identity for each in self.processes.values() if each.alive and each.halted)

    def kill(self, process: ProcessIdentity, token: str) -> bool:
        with self._at("kill"):
            target = self.processes.get(process.pid)
            if target is None or not target.alive or target.identity != process or target.token != token:
                return False
            self.signals.append((process, token))
            target.alive, target.killed = False, True
            return True

    def is_alive(self, process: ProcessIdentity) -> bool:
        target = self.processes.get(process.pid)
        return target is not None and target.alive and target.identity == process

    def current(self) -> ProcessIdentity:
        if self.worker is None:
            self.worker = self.start()
        return self.worker.identity

    def spawn_keeper(self, run_dir: Path, token: str, handover: Handover) -> None:
        with self._at("spawn"):
            self.handovers[run_dir] = handover
            if self.spawn_error is not None:
                raise self.spawn_error
            self.start(token, run_dir)

    def start(self, token: str | None = None, run_dir: Path | None = None, pid: int | None = None) -> SimulatedProcess:
        """A new process; `pid`: one that was used before."""
        self.next_pid += 1
        start_time = int(self.boottime * TICKS)
        identity = ProcessIdentity(pid=pid or self.next_pid, start_time=start_time, boot_id=self.boot_id)
        process = SimulatedProcess(identity, token, run_dir)
        self.processes[identity.pid] = process
        return process

    def reboot(self) -> None:
        """Every process ends, the boot clock begins anew."""
        for process in self.processes.values():
            process.alive = False
        self.boottime, self.boot_id, self.worker = 10.0, f"{self.boot_id}'", None

    # RunDirs

    def path(self, pipeline: str, run: int) -> Path:
        return protocol.run_dir(self.state_dir, pipeline, run)

    def last_number(self, pipeline: str) -> int:
        parent = self.path(pipeline, 0).parent
        locked = self.last_holder[parent][0] if parent in self.last_holder else 0
        return max([locked, *(int(path.name) for path in self.directories if path.parent == parent)])

    def prepare(self, run_dir: Path, launch: Launch, control: Control) -> None:
        with self._at("prepare"):
            documents = self.directories[run_dir].documents
            found = documents.setdefault(protocol.LAUNCH, launch)
            if isinstance(found, Launch) and found.token != launch.token:
                raise FileExistsError(f"{run_dir} belongs to another run")
            documents[protocol.CONTROL] = control

    def exists(self, run_dir: Path) -> bool:
        return self.launch(run_dir) is not None

    def keep(self, run_dirs: Collection[str]) -> None:
        """Nothing is remembered here."""

    def launch(self, run_dir: Path) -> Launch | None:
        return self._document(run_dir, protocol.LAUNCH, Launch)

    def identity(self, run_dir: Path) -> Identity | None:
        return self._document(run_dir, protocol.IDENTITY, Identity)

    def control(self, run_dir: Path) -> Control | None:
        return self._document(run_dir, protocol.CONTROL, Control)

    def status(self, run_dir: Path) -> Status | None:
        return self._document(run_dir, protocol.STATUS, Status)

    def exit_record(self, run_dir: Path) -> ExitRecord | None:
        return self._document(run_dir, protocol.EXIT, ExitRecord)

    def dumps(self, run_dir: Path) -> Dumps | None:
        return self._document(run_dir, protocol.DUMPS, Dumps)

    def ask_for_dump(self, run_dir: Path, order: DumpOrder) -> None:
        with self._at("ask_for_dump"):
            self.directories[run_dir].documents[protocol.DUMP_ORDER] = order

    def promotion(self, run_dir: Path) -> Promotion | None:
        return self._document(run_dir, protocol.PROMOTE, Promotion)

    def promote(self, run_dir: Path, promotion: Promotion) -> None:
        with self._at("promote"):
            self.directories[run_dir].documents[protocol.PROMOTE] = promotion

    def traced(self, run_dir: Path) -> list[PartitionPosition]:
        return self.directories[run_dir].traced if run_dir in self.directories else []

    def write_control(self, run_dir: Path, control: Control) -> None:
        with self._at("write_control"):
            if self.control_error is not None:
                raise self.control_error
            self.directories[run_dir].documents[protocol.CONTROL] = control

    def revoke(self, run_dir: Path, record: ExitRecord) -> None:
        with self._at("revoke"):
            self.directories[run_dir].documents[protocol.EXIT] = record

    def journal(self, run_dir: Path, offset: int, limit: int) -> JournalChunk:
        data = bytes(self.directories[run_dir].journal) if run_dir in self.directories else b""
        return JournalChunk(offset=offset, data=data[offset : offset + limit], size=len(data))

    def space(self, run_dir: Path | None = None) -> DiskSpace | None:
        return self.disk

    def found_full(self, run_dir: Path) -> bool:
        return run_dir in self.releases

    def _document(self, run_dir: Path, name: str, kind: type[D]) -> D | None:
        found: Any = self.directories[run_dir].documents.get(name) if run_dir in self.directories else None
        return found if isinstance(found, kind) else None

    @contextmanager
    def _at(self, name: str) -> Iterator[None]:
        self.point(f"before {name}")
        yield
        self.point(f"after {name}")


@dataclass
class SimulatedLock:
    """A lock that ends with its process."""

    host: SimulatedHost
    holders: list[SimulatedProcess]
    owner: SimulatedProcess

    def acquire(self) -> bool:
        self.holders[:] = [process for process in self.holders if process.alive]
        if self.owner not in self.holders and not self.holders:
            self.holders.append(self.owner)
        return self.owner in self.holders

    def release(self) -> None:
        if self.owner in self.holders:
            self.holders.remove(self.owner)
