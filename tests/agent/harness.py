"""Drives agents as a supervisor does, without Django: writes launch.json, starts the keeper, reads what comes back."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import uuid
from collections import defaultdict
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from pipelines.domain.access.reach import AllowedNetwork, AllowedRoot, ReachPolicy
from pipelines.domain.base.positions import PartitionPosition, SourceIdentity, TopicPartition
from pipelines.domain.base.states import Command, RunRole
from pipelines.domain.definitions.document.spec import Definition
from pipelines.domain.ledger import journal
from pipelines.domain.ledger.journal import (
    Done,
    Entry,
    Identified,
    Planned,
    Positions,
    Resolved,
    SinkFailed,
    SourceFailed,
)
from pipelines.domain.positions.plan import Plan, Survey
from pipelines.domain.runs import protocol
from pipelines.domain.runs.protocol import (
    Control,
    ExitRecord,
    Handover,
    Identity,
    Launch,
    PlacedCluster,
    Promotion,
    QueryHead,
    QueryStatus,
    SparkSettings,
    Status,
)
from tests.counts import is_balanced
from tests.java import no_java
from tests.waiting import wait_for
from workers import crash_points

ROOT = Path(__file__).resolve().parents[2]
PATIENCE = 180.0
"""Seconds that anything may take, a start included, on a machine with other things to do."""
T = TypeVar("T")

_LOOPBACK = (AllowedNetwork(target="127.0.0.0/8"), AllowedNetwork(target="::1"))
REACH = ReachPolicy(roots=(AllowedRoot(path="/"),), networks=_LOOPBACK)
"""What agents of tests may use: this machine."""


@dataclass
class Ledger:
    """What a supervisor would have stored of one (source, channel)."""

    positions: dict[TopicPartition, int] = field(default_factory=dict)
    done: list[Done] = field(default_factory=list)
    planned: Planned | None = None
    decided: dict[TopicPartition, int] = field(default_factory=dict)

    def head(self, source: str, channel: str) -> QueryHead:
        """The ledger's head for launch.json."""
        return QueryHead(
            source=source,
            channel=channel,
            done_batch=self.done[-1].batch if self.done else None,
            positions=_in_order(self.positions),
            decided=_in_order(self.decided),
            planned=self.planned.model_dump(mode="json") if self.planned else None,
        )


def _in_order(offsets: dict[TopicPartition, int]) -> list[PartitionPosition]:
    return [PartitionPosition(topic=t, partition=p, offset=o) for (t, p), o in sorted(offsets.items())]


class Run:
    """One run directory and the processes that belong to it."""

    def __init__(self, directory: Path, token: str, handover: Handover | None = None) -> None:
        self.dir = directory
        self.token = token
        self._handover = handover or Handover()
        self._seq = 0

    def start(self, crash_at: str | None = None) -> Run:
        """Start the keeper, which detaches. `crash_at`: where the driver kills itself (`workers.crash_points`)."""
        argv = [sys.executable, "-m", "workers.keeper", str(self.dir)]
        environment = {**os.environ, crash_points.VARIABLE: crash_at} if crash_at else None
        frame = self._handover.frame()
        subprocess.run(argv, cwd=ROOT, check=True, timeout=60, start_new_session=True, input=frame, env=environment)
        return self

    def order(self, command: Command, *, term_in: float | None = None, kill_in: float | None = None) -> int:
        """Write control.json; returns its sequence number."""
        now = protocol.boottime()
        self._seq += 1
        Control(
            seq=self._seq,
            command=command,
            boot_id=protocol.boot_id(),
            issued_at=now,
            term_at=None if term_in is None else now + term_in,
            kill_at=None if kill_in is None else now + kill_in,
        ).store(self.dir / protocol.CONTROL)
        return self._seq

    def obey(self, command: Command, timeout: float = PATIENCE) -> Status:
        """Give an order and wait until the agent has carried it out."""
        seq = self.order(command)
        return self.wait_status(
            lambda s: s.command_seq == seq and s.command_state == "done", f"{command} done", timeout
        )

    @property
    def status(self) -> Status | None:
        return Status.load(self.dir / protocol.STATUS)

    @property
    def identity(self) -> Identity | None:
        return Identity.load(self.dir / protocol.IDENTITY)

    @property
    def exit(self) -> ExitRecord | None:
        return ExitRecord.load(self.dir / protocol.EXIT)

    @property
    def log(self) -> str:
        path = self.dir / protocol.LOG
        return path.read_text(errors="replace") if path.exists() else ""

    def entries(self) -> list[Entry]:
        """The journal; it must be readable at any moment."""
        path = self.dir / protocol.JOURNAL
        return journal.read_entries(path.read_bytes())[0] if path.exists() else []

    def of_kind(self, payload: type[T]) -> list[T]:
        """Journal entries of one kind."""
        return [p for entry in self.entries() if isinstance(p := entry.payload(), payload)]

    def wait_status(self, check: Callable[[Status], bool], what: str, timeout: float = PATIENCE) -> Status:
        """Wait for a status; fails at once, with the log, where the run ends before. The end is looked at first: what a
        run has said last is there by then."""

        def inspection() -> Status | None:
            ended = self.exit
            if (status := self.status) and check(status):
                return status
            assert ended is None, f"the run ended while waiting for {what}:\n{ended}\n{self.log[-3000:]}"
            return None

        try:
            return wait_for(inspection, what, timeout)
        except AssertionError as error:
            raise AssertionError(f"{error}\n{self.status}\n{self.log[-3000:]}") from None

    def wait_exit(self, timeout: float = PATIENCE) -> ExitRecord:
        """Wait for exit.json, after which no process of the run may be left."""
        record = wait_for(lambda: self.exit, f"exit.json\n{self.log[-3000:]}", timeout)
        keeper = self.identity.keeper.pid if self.identity else 0
        wait_for(lambda: not [pid for pid in holders(self.token) if pid != keeper], "no process to be left", 10)
        return record

    def wait_delivered(self, count: int, timeout: float = PATIENCE) -> Status:
        """Wait until so many records are delivered in this run, all queries together."""
        return self.wait_status(lambda s: sum(q.delivered for q in s.queries) >= count, f"{count} delivered", timeout)

    def wait_read(self, ends: Mapping[TopicPartition, int], timeout: float = PATIENCE) -> Status:
        """Wait until every query is done with all that lies before these ends, by (topic, partition). A lag of zero
        says less: it is as old as the agent's last look at the log."""

        def reached(query: QueryStatus) -> bool:
            at = {TopicPartition(p.topic, p.partition): p.next_offset for p in query.positions}
            return all(at.get(key, 0) >= end for key, end in ends.items())

        return self.wait_status(lambda s: bool(s.queries) and all(map(reached, s.queries)), "all records", timeout)

    def stop(self, timeout: float = 30.0) -> ExitRecord:
        """Stop in good order."""
        self.order(Command.STOP, kill_in=timeout)
        return self.wait_exit(timeout + 5)

    def pid(self, which: str) -> int:
        """The pid of keeper, driver or jvm."""
        identity = self.identity
        assert identity is not None
        if which == "keeper":
            return identity.keeper.pid
        assert identity.driver is not None
        if which == "driver":
            return identity.driver.pid
        return next(pid for pid in holders(self.token) if name_of(pid) == "java")

    def kill(self, which: str) -> None:
        """SIGKILL keeper, driver or jvm."""
        os.kill(self.pid(which), signal.SIGKILL)

    def processes(self) -> dict[int, str]:
        """Those that live now by pid: keeper, driver or jvm."""
        return {pid: label for pid in holders(self.token) if (label := _label(pid))}

    def kill_what_there_is(self, which: str, processes: Mapping[int, str] | None = None) -> list[str]:
        """SIGKILL keeper, driver, jvm or `all`, at whatever instant; returns which of them there were. `processes`: as
        they were found before, where the instant matters."""
        known = self.processes() if processes is None else processes
        found = {pid: label for pid, label in known.items() if which in ("all", label)}
        for pid in found:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        return sorted(found.values())

    def pss(self) -> dict[str, int]:
        """Proportional set size in kB per process of the run."""
        found = {}
        for pid in holders(self.token):
            with suppress(OSError):  # a child of the JVM that changed a file's mode and is gone
                rollup = Path(f"/proc/{pid}/smaps_rollup").read_text()
                found[_label(pid)] = int(rollup.split("Pss:")[1].split()[0])
        return found


def _label(pid: int) -> str:
    """Which process of a run it is; empty where it is gone."""
    try:
        name = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    except OSError:
        return ""
    return "jvm" if b"java" in name[0] else "keeper" if b"workers.keeper" in name else "driver"


def holders(token: str) -> list[int]:
    """Living processes of this host that carry a run's token."""
    found = []
    for path in Path("/proc").iterdir():
        try:
            if path.name.isdigit() and f"{protocol.TOKEN_VARIABLE}={token}".encode() in (path / "environ").read_bytes():
                found.append(int(path.name))
        except OSError:
            continue
    return found


def alive(pid: int) -> bool:
    """Neither gone nor a zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def name_of(pid: int) -> str:
    """The name of a process; empty where it is gone."""
    try:
        return Path(f"/proc/{pid}/comm").read_text().strip()
    except OSError:
        return ""


@dataclass
class Pipeline:
    """A pipeline without a control plane: runs follow each other on one checkpoint, the books are kept in memory."""

    state_dir: Path
    definition: dict[str, Any]
    spark: SparkSettings
    run_number: int = 0
    lineage: int = 1
    ledger: dict[tuple[str, str], Ledger] = field(default_factory=lambda: defaultdict(Ledger))
    identities: dict[str, SourceIdentity] = field(default_factory=dict)
    current: Run | None = None
    interceptors: list[str] = field(default_factory=list)
    interceptor_path: list[str] = field(default_factory=list)
    standbys: list[Run] = field(default_factory=list)
    cluster: PlacedCluster | None = None

    @property
    def name(self) -> str:
        return str(self.definition["name"])

    def checkpoint(self, source: str, channel: str) -> Path:
        """Spark's checkpoint of one query."""
        return protocol.checkpoint_root(self.state_dir, self.name, self.lineage) / f"{source}.{channel}"

    def prepare(self, handover: Handover | None = None, *, spark: SparkSettings | None = None) -> Run:
        """Ingest the last run and write the next launch.json; `handover`: the values of the definition's references."""
        self.ingest()
        self.run_number += 1
        definition = Definition.model_validate(self.definition)
        directory = protocol.run_dir(self.state_dir, self.name, self.run_number)
        directory.mkdir(parents=True)
        token = uuid.uuid4().hex
        Launch(
            reach=REACH,
            pipeline=self.name,
            pipeline_id="1",
            run=self.run_number,
            epoch=self.run_number,
            token=token,
            host="here",
            revision=1,
            revision_digest=definition.digest(),
            definition=definition.plain(),
            cluster=self.cluster,
            lineage=self.lineage,
            checkpoint_root=str(protocol.checkpoint_root(self.state_dir, self.name, self.lineage)),
            heads=[self.ledger[query].head(*query) for query in definition.queries()],
            spark=spark or self.spark,
            identities=list(self.identities.values()),
            interceptors=self.interceptors,
            interceptor_path=self.interceptor_path,
            handover=handover is not None,
        ).store(directory / protocol.LAUNCH)
        self.current = Run(directory, token, handover)
        return self.current

    def prepare_standby(self) -> Run:
        """Write the launch.json of a standby beside the present run; it is told where the ledger of the test stands."""
        self.run_number += 1
        directory = protocol.run_dir(self.state_dir, self.name, self.run_number)
        directory.mkdir(parents=True)
        run = Run(directory, uuid.uuid4().hex)
        definition = Definition.model_validate(self.definition)
        Launch(
            reach=REACH,
            pipeline=self.name,
            pipeline_id="1",
            run=self.run_number,
            epoch=0,
            role=RunRole.STANDBY,
            token=run.token,
            host="here",
            revision=2,
            revision_digest=definition.digest(),
            definition=definition.plain(),
            cluster=self.cluster,
            lineage=0,
            checkpoint_root=str(protocol.checkpoint_root(self.state_dir, self.name, 0)),
            heads=[self.ledger[query].head(*query) for query in definition.queries()],
            spark=self.spark,
            interceptors=self.interceptors,
            interceptor_path=self.interceptor_path,
        ).store(directory / protocol.LAUNCH)
        self.standbys.append(run)
        return run

    def promote(self, standby: Run, *, same_lineage: bool = True) -> None:
        """Do what a supervisor does when the run before is over: take its books in, then grant everything."""
        self.ingest()
        self.run_number += 1
        if not same_lineage:
            self.lineage = self.run_number
            for ledger in self.ledger.values():
                ledger.done = []
        definition = Definition.model_validate(self.definition)
        standby.order(Command.RUN)
        Promotion(
            token=standby.token,
            epoch=self.run_number,
            lineage=self.lineage,
            checkpoint_root=str(protocol.checkpoint_root(self.state_dir, self.name, self.lineage)),
            heads=[self.ledger[query].head(*query) for query in definition.queries()],
            identities=list(self.identities.values()),
        ).store(standby.dir / protocol.PROMOTE)
        self.current = standby

    def start(self, crash_at: str | None = None) -> Run:
        """Prepare and start the next run."""
        return self.prepare().start(crash_at)

    @property
    def no_jvm(self) -> SparkSettings:
        """For a run that has to end before it needs a session: keeper and driver are real, its JVM never comes up."""
        return SparkSettings(classpath=[], java_home=no_java(self.state_dir.with_name("no-java")))

    def start_refused(self) -> Run:
        """Prepare and start a run that must not get as far as a session."""
        return self.prepare(spark=self.no_jvm).start()

    def ingest(self) -> None:
        """Take the whole journal of the run that has ended into the books."""
        if self.current is None:
            return
        for entry in self.current.entries():
            payload = entry.payload()
            if isinstance(payload, Positions):
                changes = {TopicPartition(c.topic, c.partition): c.new for c in payload.changes}
                self.ledger[payload.source, payload.channel].positions.update(changes)
            elif isinstance(payload, Identified):
                self.identities[payload.source] = payload
            elif isinstance(payload, Planned):
                self.ledger[payload.source, payload.channel].planned = payload.attempted()
            elif isinstance(payload, SinkFailed | SourceFailed):
                ledger = self.ledger[payload.source, payload.channel]
                ledger.planned = ledger.planned.attempted() if ledger.planned else None
            elif isinstance(payload, Done):
                assert is_balanced(payload.counts), payload
                ledger = self.ledger[payload.source, payload.channel]
                ledger.done.append(payload)
                ledger.planned = None
                ledger.positions.update({r.key: r.end for r in payload.ranges})
        self.current = None

    def decide(self, survey: Survey, made: Plan) -> None:
        """Do what a plan says, as services.positions does."""
        self.ingest()
        self.lineage = max(self.run_number, self.lineage) + 1
        reported = {(row.source, row.channel, row.key): row.reported for row in survey.rows}
        for move in made.moves:
            ledger, key = self.ledger[move.source, move.channel], TopicPartition(move.topic, move.partition)
            ledger.done, ledger.planned = [], None
            ledger.positions[key] = move.new
            ledger.decided[key] = reported[move.source, move.channel, key]
        self.identities = {each.source: each for each in survey.identities}

    @property
    def possible_duplicates(self) -> int:
        """Duplicates that the ledger announced, over all runs ingested."""
        return sum(done.duplicates_max for ledger in self.ledger.values() for done in ledger.done)

    def kill_all(self) -> None:
        """Leave no process behind, also none that was just being started."""
        for run in (*self.standbys, *([self.current] if self.current else [])):
            wait_for(partial(_all_dead, run.token), "no process to be left", 30)


def _all_dead(token: str) -> bool:
    """Send SIGKILL to every process of a run; those that end by themselves meanwhile need none."""
    found = holders(token)
    for pid in found:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    return not found


__all__ = ["Ledger", "Pipeline", "Resolved", "Run", "alive", "holders"]
