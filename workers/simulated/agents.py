"""Keepers and drivers of a `SimulatedHost`, moved step by step: they obey the protocol and read an endless topic.

A driver delivers ten records of partition 0 with every other step, or rests for some steps between two batches. Its
troubles can be set: `unresponsive` (ignores every command and SIGTERM), `silent` (no heartbeat), `slow` (its batch does
not end), `fate` (its next exit code).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from pipelines.domain.base.positions import Frozen, PartitionRange
from pipelines.domain.base.states import STOP_COMMANDS, AgentPhase, Command, RunRole
from pipelines.domain.ledger import journal
from pipelines.domain.ledger.journal import Entry, EntryKind
from pipelines.domain.ledger.ledger import Counts
from pipelines.domain.runs import protocol
from pipelines.domain.runs.protocol import (
    AgentFinding,
    Control,
    Exit,
    ExitRecord,
    Identity,
    Launch,
    PartitionProgress,
    PauseProof,
    Promotion,
    QueryStatus,
    Status,
)
from pipelines.foundation import clock
from workers.simulated.host import SimulatedHost, SimulatedProcess

T = TypeVar("T")
BATCH = 10
BODY = 100
"""Bytes of each body."""
SIGKILL, SIGTERM = 9, 15


@dataclass
class Agent:
    """A keeper and its driver. `rest`: steps between two batches."""

    host: SimulatedHost
    keeper: SimulatedProcess
    run_dir: Path
    driver: SimulatedProcess | None = None
    phase: AgentPhase = AgentPhase.PREFLIGHT
    unresponsive: bool = False
    silent: bool = False
    slow: bool = False
    fate: int | None = None
    rest: int = 0
    rests: int = 0
    findings: list[AgentFinding] = field(default_factory=list)
    code: int | None = None
    signal: int | None = None
    stop_stage: str | None = None
    entries: int = 0
    batch: int = 0
    position: int = 0
    in_flight: bool = False
    delivered: int = 0
    read: int = 0
    first_at: float | None = None
    written: list[int] = field(default_factory=list)
    obeyed: Control | None = None
    promoted: Promotion | None = None

    @property
    def launch(self) -> Launch:
        """With its promotion, once that was obeyed."""
        launch = _there(self.host.launch(self.run_dir))
        return launch.promoted(self.promoted) if self.promoted else launch

    @property
    def is_standby(self) -> bool:
        """Whether it may not consume."""
        return self.launch.role is RunRole.STANDBY

    @property
    def topic(self) -> str:
        """The one topic that it reads."""
        return str(self.launch.definition["sources"]["shop"]["topics"][0])

    @property
    def control(self) -> Control:
        """The last order that is not of an older supervisor than the one before."""
        control = _there(self.host.control(self.run_dir))
        if self.obeyed is None or control.owner >= self.obeyed.owner:
            self.obeyed = control
        return self.obeyed

    @property
    def over(self) -> bool:
        """Whether neither process lives."""
        return not self.keeper.alive and (self.driver is None or not self.driver.alive)

    def step(self) -> None:
        """One step of the keeper, then one of the driver."""
        if self.keeper.alive:
            self._keep()
        if self.driver is not None and self.driver.alive:
            self._drive()

    def _keep(self) -> None:
        if self.driver is None:
            self._start_driver()
        elif not self.driver.alive:
            self._record_exit()
        else:
            self._escalate()
            self._be_promoted()

    def _be_promoted(self) -> None:
        """Take the pipeline's lock, unless somebody has it; then the driver knows."""
        promotion = self.host.promotion(self.run_dir) if self.is_standby else None
        if promotion is None:
            return
        epoch, holder = self.host.last_holder.get(self.run_dir.parent, (0, None))
        if holder is not None and (epoch >= promotion.epoch or self._holds(holder)):
            self.fate = Exit.CLEAN
            return
        self.host.last_holder[self.run_dir.parent] = (promotion.epoch, self.keeper)
        self.promoted = promotion
        self._continue()

    def _holds(self, keeper: SimulatedProcess) -> bool:
        """The lock is held for as long as keeper or driver lives."""
        return any(process.alive and process.run_dir == keeper.run_dir for process in self.host.processes.values())

    def _started_before(self) -> bool:
        """Whether the pipeline's lock, or a standby's own, names this run or a later one, and is not ours; or the run
        was ended already."""
        directory, epoch = (self.run_dir, 0) if self.is_standby else (self.run_dir.parent, self.launch.epoch)
        holder = self.host.last_holder.get(directory)
        if holder is not None and holder[1] is self.keeper:
            return False
        if self.host.exit_record(self.run_dir) is not None or (holder is not None and holder[0] >= epoch):
            return True
        self.host.last_holder[directory] = (epoch, self.keeper)
        return False

    def _start_driver(self) -> None:
        if self._started_before():
            self.keeper.alive = False
            return
        token = self.launch.token
        known = self.host.identity(self.run_dir)
        if known is None:
            self._write(protocol.IDENTITY, Identity(token=token, keeper=self.keeper.identity))
            return
        self.driver = self.host.start(token, self.run_dir)
        identity = Identity(token=token, keeper=self.keeper.identity, driver=self.driver.identity)
        self._write(protocol.IDENTITY, identity)
        if not self.is_standby:
            self._continue()

    def _continue(self) -> None:
        (head,) = self.launch.heads
        self.position = head.positions[0].offset if head.positions else 0
        self.batch = 0 if head.done_batch is None else head.done_batch + 1

    def _escalate(self) -> None:
        control = self.control
        if control.fence_at is not None and self.host.boottime >= control.fence_at:
            self.stop_stage = "KILL"
            self._die(SIGKILL)
            return
        if control.command not in STOP_COMMANDS or control.boot_id != self.host.boot_id:
            return
        self.stop_stage = self.stop_stage or "DRAIN"
        if control.kill_at is not None and self.host.boottime >= control.kill_at:
            self.stop_stage = "KILL"
            self._die(SIGKILL)
        elif control.term_at is not None and self.host.boottime >= control.term_at and not self.unresponsive:
            self.stop_stage = "INTERRUPT"
            self._die(SIGTERM)

    def _die(self, number: int) -> None:
        _there(self.driver).alive, self.signal = False, number

    def _record_exit(self) -> None:
        if self.code is None and self.signal is None:
            self.signal = SIGKILL
        by_keeper = self.signal == SIGKILL and self.stop_stage == "KILL"
        record = ExitRecord(
            token=self.launch.token,
            exit_code=self.code,
            signal=self.signal,
            boottime=self.host.boottime,
            at=0.0,
            killed_by="keeper" if by_keeper else None,
            stop_stage=self.stop_stage,
        )
        self._write(protocol.EXIT, record)
        self.keeper.alive = False

    def _drive(self) -> None:
        if self.unresponsive:
            if not self.silent:
                self._report()
            return
        if self.fate is not None:
            self._exit(self.fate)
        elif not self.keeper.alive:
            self._exit(Exit.KEEPER_LOST)
        elif self.control.lease_until is not None and self.host.boottime >= self.control.lease_until:
            self._exit(Exit.FENCED)
        else:
            self._obey(self.control.command)
        if not self.silent:
            self._report()

    def _obey(self, command: Command) -> None:
        if self.slow and self.in_flight:
            return
        if command in STOP_COMMANDS:
            self._finish_batch()
            self._exit(Exit.CLEAN)
        elif self.is_standby:
            self.phase = AgentPhase.STANDBY
        elif command is Command.STANDBY:
            pass
        elif command is Command.PAUSE:
            self._pause()
        else:
            self._move()

    def _pause(self) -> None:
        if self.in_flight:
            self.phase = AgentPhase.PAUSING
            self._finish_batch()
        else:
            self.phase = AgentPhase.PAUSED if self.phase is not AgentPhase.PREFLIGHT else AgentPhase.STARTING

    def _move(self) -> None:
        if self.phase in {AgentPhase.PREFLIGHT, AgentPhase.STANDBY}:
            self.phase = AgentPhase.STARTING
        elif self.in_flight:
            self._finish_batch()
            self.phase, self.rests = AgentPhase.RUNNING, self.rest
        elif self.rests:
            self.rests -= 1
        else:
            self._plan()

    def _ranges(self) -> list[PartitionRange]:
        return [PartitionRange(topic=self.topic, partition=0, start=self.position, end=self.position + BATCH)]

    def _plan(self) -> None:
        planned = journal.Planned(source="shop", channel="main", batch=self.batch, ranges=self._ranges())
        self.append(EntryKind.PLANNED, planned)
        self.in_flight = True

    def _finish_batch(self) -> None:
        if not self.in_flight:
            return
        counts = self._counts()
        done = journal.Done(
            source="shop", channel="main", batch=self.batch, ranges=self._ranges(), counts=counts, sink="out"
        )
        self.append(EntryKind.DONE, done)
        if counts.delivered:
            self.written.append(self.position)
        self.position, self.batch, self.in_flight = self.position + BATCH, self.batch + 1, False
        self.read += BATCH
        self.first_at = self.first_at or clock.now().timestamp()
        self.delivered += counts.delivered

    def _counts(self) -> Counts:
        """Its definition has one interceptor at most, which filters everything."""
        if not self.launch.definition["sources"]["shop"].get("interceptors"):
            return Counts(read=BATCH, delivered=BATCH, delivered_bytes=BATCH * BODY)
        path = "sources.shop.interceptors[0]"
        return Counts(read=BATCH, filtered=BATCH, components={path: {"filtered": BATCH}})

    def _exit(self, code: int) -> None:
        self.append(EntryKind.EXIT, journal.Exited(code=code, reason=f"exit {code}"))
        self.phase = AgentPhase.STOPPED if code == Exit.CLEAN else AgentPhase.FAILED
        self.code = code
        _there(self.driver).alive = False

    def append(self, kind: EntryKind, payload: Frozen) -> None:
        """Write one entry of the journal."""
        self.entries += 1
        data = payload.model_dump(mode="json")
        entry = Entry(n=self.entries, epoch=self.launch.epoch, at=clock.now().timestamp(), kind=kind, data=data)
        self.host.directories[self.run_dir].journal += journal.encode(entry)

    def _report(self) -> None:
        paused = self.phase is AgentPhase.PAUSED
        proof = PauseProof(gate_closed=True, batches_in_flight=0, positions_still=True, balanced=True, proven_at=0.0)
        positions = PartitionProgress(
            topic=self.topic, partition=0, next_offset=self.position, end_offset=self.position + 1000
        )
        query = QueryStatus(
            source="shop",
            channel="main",
            batch=self.batch,
            in_flight=self.in_flight,
            delivered=self.delivered,
            positions=[positions],
            first_delivered_at=self.first_at,
        )
        status = Status(
            token=self.launch.token,
            boot_id=self.host.boot_id,
            heartbeat=self.host.boottime,
            at=0.0,
            phase=self.phase,
            progress=self.batch,
            progress_heartbeat=self.host.boottime,
            command_seq=0 if self.unresponsive else self.control.seq,
            command_state="done",
            pause_proof=proof if paused else None,
            queries=[query],
            findings=self.findings,
        )
        self._write(protocol.STATUS, status)

    def _write(self, name: str, document: protocol.Document) -> None:
        self.host.directories[self.run_dir].documents[name] = document


def _there(found: T | None) -> T:
    """What a run has from its beginning."""
    if found is None:
        raise LookupError("the run has not started")
    return found


@dataclass
class Agents:
    """Every agent of a host. `rest`: steps between two batches of each."""

    host: SimulatedHost
    rest: int = 0
    all: dict[int, Agent] = field(default_factory=dict)
    _known: set[int] = field(default_factory=set)
    _kept: set[Path] = field(default_factory=set)

    def step(self) -> None:
        """Find new keepers, then move every agent that is not over."""
        for pid in sorted(self.host.processes.keys() - self._known):
            self._known.add(pid)
            process = self.host.processes[pid]
            if process.run_dir is not None:
                self._start(process, process.run_dir)
        for agent in self.all.values():
            if not agent.over:
                agent.step()
                if agent.driver is not None:
                    self._known.add(agent.driver.identity.pid)

    def _start(self, keeper: SimulatedProcess, run_dir: Path) -> None:
        """A second keeper of a run leaves it alone."""
        if run_dir in self._kept:
            keeper.alive = False
        else:
            self._kept.add(run_dir)
            self.all[keeper.identity.pid] = Agent(self.host, keeper, run_dir, rest=self.rest)

    @property
    def living(self) -> list[Agent]:
        """Agents with at least one living process."""
        return [agent for agent in self.all.values() if not agent.over]
