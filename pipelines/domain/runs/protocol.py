"""The run directory: the protocol between supervisor, keeper and agent, as plain files that a person can read.

Each file has one writer and is replaced as a whole (temporary file, fsync, rename); the journal only grows. Times
between processes are seconds of CLOCK_BOOTTIME together with the boot id; wall time is for people.
"""

from __future__ import annotations

import struct
import time
from collections.abc import Mapping
from enum import IntEnum
from pathlib import Path
from typing import Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from pipelines.domain.access.reach import ReachPolicy
from pipelines.domain.base import files
from pipelines.domain.base.positions import Offset, PartitionPosition, SourceIdentity
from pipelines.domain.base.states import AgentPhase, Command, RunRole
from pipelines.domain.definitions.document.references import substituted
from pipelines.domain.ledger.journal import Planned
from pipelines.domain.ledger.sink_groups import GroupStatus, Penalty
from pipelines.domain.positions.plan import Survey
from pipelines.domain.runs.crashes import Quarantined

LAUNCH = "launch.json"
PROMOTE = "promote.json"
IDENTITY = "identity.json"
CONTROL = "control.json"
STATUS = "status.json"
EXIT = "exit.json"
JOURNAL = "journal.jsonl"
LOG = "agent.log"
RESERVE = "reserve"
"""Room for the last words of a run on a full disk. Empty: the agent found the disk full."""
STACKS = "stacks"
TRACES = "traces"
ACTIVE_LOCK = "active.lock"
"""In the directory of a pipeline's runs: held by its ACTIVE agent, names the last epoch that held it."""
DUMPS = "dumps.json"
DUMP_ORDER = "dump.json"

TOKEN_VARIABLE = "HEADGATE_RUN_TOKEN"  # noqa: S105 - an environment variable's name
KEEPER_FD_VARIABLE = "HEADGATE_KEEPER_FD"


class Exit(IntEnum):
    """Exit codes of the driver; any other number is a crash."""

    CLEAN = 0
    PREFLIGHT_BLOCKED = 10
    INIT_FAILED = 11
    QUERY_FAILED = 12
    JVM_LOST = 13
    KEEPER_LOST = 14
    BAD_LAUNCH = 15
    FENCED = 16
    DISK_FULL = 17


def boottime() -> float:
    """Seconds since boot, suspended time included."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


def boot_id() -> str:
    """The kernel's id of this boot."""
    return Path("/proc/sys/kernel/random/boot_id").read_text().strip()


class Document(BaseModel):
    """A file of the run directory. Unknown keys are ignored, so that a newer writer and an older reader agree."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    @classmethod
    def load(cls, path: Path | str) -> Self | None:
        """Read the file; None where it does not exist or is not a whole document of this kind."""
        try:
            return cls.model_validate_json(files.read(path))
        except (OSError, ValueError):
            return None

    def store(self, path: Path) -> None:
        """Replace the file in one step: temporary file, fsync, rename."""
        files.write_atomically(path, self.model_dump_json(indent=1).encode() + b"\n")


class QueryHead(BaseModel):
    """Where the ledger says that one (source, channel) stands.

    `positions`: next offset per partition. `done_batch`: last batch of this lineage that the sink acknowledged.
    `planned`: a batch that may have touched the sink and was never done. `penalties`: members of its sink group
    that had failed when the run before ended. `decided`: per partition where a person has decided to go on, the
    furthest offset that anything told of at that time. `incomplete`: the journal of a run that may have moved it since
    was not ingested whole, so a batch may have touched the sink that the ledger knows nothing of.
    """

    model_config = ConfigDict(frozen=True, extra="ignore")

    source: str
    channel: str
    positions: list[PartitionPosition] = []
    done_batch: Offset | None = None
    planned: Planned | None = None
    penalties: list[Penalty] = []
    decided: list[PartitionPosition] = []
    incomplete: bool = False


class AgentUser(BaseModel):
    """Whom the driver, and all that it starts, runs as: numbers that need no entry in the machine's list of users.
    `groups`: those that its pipeline shares with others."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    uid: int = Field(ge=1)
    gid: int = Field(ge=1)
    groups: list[int] = []


KafkaReader = Literal["headgate", "spark"]


class SparkSettings(BaseModel):
    """What the agent needs to start its JVM. `classpath`: jars; `archive`: class-data archive or None; `kafka_reader`:
    which reader Kafka sources have in micro-batch mode."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    classpath: list[str]
    archive: str | None = None
    java_home: str | None = None
    kafka_reader: KafkaReader = "headgate"


class Granted(BaseModel):
    """What a run that consumes has and a standby has not: its epoch, and where the ledger stands with it."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    epoch: int = Field(ge=1)
    lineage: int = Field(ge=1)
    checkpoint_root: str
    heads: list[QueryHead]
    identities: list[SourceIdentity] = []
    quarantined: list[Quarantined] = []
    trace: bool = False


class PlacedCluster(BaseModel):
    """The cluster of a run as it was when the run was started, with its references as they are written."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    name: str
    version: int
    spec: dict[str, Any]


class Launch(Document):
    """Everything a run needs to know; written once, before the keeper is started. Durations are seconds.

    The definition has its references as they are written; `handover`: their values come in a frame on the keeper's
    standard input, which passes it on to the driver. `interceptors`: the Python classes that the administrator of
    the host allows, as module:Class; `interceptor_path`: the directories in which they may lie. `identities`: the
    logs that the heads' positions are offsets of, as far as known. `quarantined`: records that become dead letters
    unseen. `trace`: the run before crashed with a batch in hand, so interceptors write down which record they look
    at. `traceparent`: the trace of what the run is started for, which the agent's log names.
    `reach`: the paths and addresses that it may use; without it, none.

    A standby has no epoch and no lineage, which are 0, and its heads only show where the ledger stood when it was
    launched; all three come with its promotion.

    `user`: whom the driver runs as, None for the worker's own user.
    """

    version: Literal[1] = 1
    pipeline: str
    pipeline_id: str
    run: int = Field(ge=1)
    epoch: int = Field(ge=0)
    role: RunRole = RunRole.ACTIVE
    token: str
    host: str
    revision: int
    revision_digest: str
    definition: dict[str, Any]
    cluster: PlacedCluster | None = None
    lineage: int = Field(ge=0)
    checkpoint_root: str
    heads: list[QueryHead]
    identities: list[SourceIdentity] = []
    spark: SparkSettings
    handover: bool = False
    interceptors: list[str] = []
    interceptor_path: list[str] = []
    quarantined: list[Quarantined] = []
    trace: bool = False
    traceparent: str = ""
    reach: ReachPolicy = ReachPolicy()
    user: AgentUser | None = None
    log_bytes: int = 16 * 1024 * 1024
    log_files: int = 4

    @property
    def data_root(self) -> Path:
        """Beside `<state>/checkpoints/<pipeline>/<lineage>`."""
        return data_root(Path(self.checkpoint_root).parents[2], self.pipeline, self.pipeline_id)

    @model_validator(mode="after")
    def _epoch_by_role(self) -> Self:
        """An ACTIVE run has an epoch and a lineage, a standby neither."""
        active = self.role is RunRole.ACTIVE
        if active != (self.epoch > 0) or active != (self.lineage > 0):
            raise ValueError(f"a run that is {self.role} cannot have epoch {self.epoch} and lineage {self.lineage}")
        return self

    def on_cluster(self, values: Mapping[str, str]) -> Launch:
        """The launch with the values of the references of its cluster."""
        if self.cluster is None:
            return self
        spec = substituted(self.cluster.spec, values)
        return self.model_copy(update={"cluster": self.cluster.model_copy(update={"spec": spec})})

    def promoted(self, promotion: Promotion) -> Launch:
        """The launch of the ACTIVE run that the standby becomes."""
        granted = {name: getattr(promotion, name) for name in Granted.model_fields}
        return self.model_copy(update={"role": RunRole.ACTIVE, **granted})


class Promotion(Document, Granted):
    """Makes a standby the ACTIVE run: the keeper takes the pipeline's lock under `epoch`, then the driver compares
    positions and begins. Obeyed once; `token` is that of the run."""

    token: str


class Handover(BaseModel):
    """What a run must know and no file may hold. `values`: by reference, as it is written in the definition; `masked`:
    texts that no log, status or journal may show."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    values: dict[str, str] = Field(default={}, repr=False)
    masked: list[str] = Field(default=[], repr=False)

    def frame(self) -> bytes:
        """As it goes through a pipe: length in four bytes, big endian, then JSON."""
        body = self.model_dump_json().encode()
        return struct.pack(">I", len(body)) + body


class ProcessIdentity(BaseModel):
    """Who a process is: pid, start time in clock ticks since boot (field 22 of /proc/PID/stat) and boot id."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    pid: int
    start_time: int
    boot_id: str

    def __eq__(self, other: object) -> bool:
        """The same process. Thousands are compared in a tick, and the general comparison of models looks at more."""
        if not isinstance(other, ProcessIdentity):
            return NotImplemented
        return (self.pid, self.start_time, self.boot_id) == (other.pid, other.start_time, other.boot_id)

    def __hash__(self) -> int:
        return hash((self.pid, self.start_time))


class Identity(Document):
    """The processes of a run. `driver` is None until the keeper has spawned it."""

    token: str
    keeper: ProcessIdentity
    driver: ProcessIdentity | None = None


class Control(Document):
    """What the agent should do. `seq` grows with every change.

    `term_at` and `kill_at` are CLOCK_BOOTTIME seconds at which the keeper climbs the ladder, or None for never;
    `term_every`: seconds between the interrupts that follow the first. `deadline` is when a pause is given up by the
    supervisor; the agent only reports it.

    `owner`: the epoch of the supervisor that wrote it; keeper and driver obey no older one any more. `lease_until` and
    `fence_at`: CLOCK_BOOTTIME at which the driver stops at its gate and the keeper kills the run, unless the order is
    written anew before; None where the run goes on without a supervisor. `generation`: the request that it follows; a
    database that knows only earlier ones is older than the order. `traceparent`: the trace of that request.
    """

    seq: int = Field(ge=1)
    owner: int = Field(default=0, ge=0)
    command: Command
    boot_id: str
    issued_at: float
    deadline: float | None = None
    term_at: float | None = None
    term_every: float | None = None
    kill_at: float | None = None
    lease_until: float | None = None
    fence_at: float | None = None
    reason: str = ""
    generation: int = Field(default=0, ge=0)
    traceparent: str = ""


DRAIN = "drain"
"""What the dump of a run is filed under whose pause a migration gave up."""


BATCH_CANCELED = "The in-flight batch was canceled"
"""Begins the driver's last word where a drain did not wait for a batch that could not end."""


class DumpOrder(Document):
    """Asks the keeper for a dump of all stacks, whatever the run is doing. `stop_stage`: what the dump is filed
    under."""

    id: str
    stop_stage: str = "live"


class Dump(BaseModel):
    """A dump of all stacks that the keeper has taken.

    `stop_stage`: INTERRUPT or KILL where a stop took it (`number` counts the interrupts of a stop), live where a user
    asked with the order `asked`, drain where a migration aborted its pause, stalled where nothing moved, crash for
    what a driver that ended by itself has left. `stuck`: paths of the components that were at work; `silent`: processes
    that did not answer, for example because they block signals. `files` are names in the directory `stacks`.
    """

    model_config = ConfigDict(frozen=True, extra="ignore")

    stop_stage: str
    number: int = 0
    asked: str = ""
    at: float
    stuck: list[str] = []
    silent: list[int] = []
    files: list[str] = []


class Dumps(Document):
    """The last dumps of a run, oldest first."""

    token: str
    taken: list[Dump] = []


class PartitionProgress(BaseModel):
    """Where one partition stands: next offset to read, and the log's end as last seen (None: not known)."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    topic: str
    partition: Offset
    next_offset: Offset
    end_offset: Offset | None = None

    @property
    def lag(self) -> int | None:
        """Records between the cursor and the end of the log."""
        return None if self.end_offset is None else max(0, self.end_offset - self.next_offset)


class Holding(BaseModel):
    """What keeps a query from moving: a sink whose batch is held, or a source that is away.

    `component` is its path in the definition, for example `sinks.lake`; `since` is wall time.
    """

    model_config = ConfigDict(frozen=True, extra="ignore")

    component: str
    cause: str
    attempts: int
    since: float


class Checking(BaseModel):
    """A sink is read for what it holds of an unfinished batch: `looked_at` of `records` were looked at."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    sink: str
    looked_at: int
    records: int


class QueryStatus(BaseModel):
    """Progress of one (source, channel). Totals are of this run. Times are wall seconds; `progress_heartbeat` is the
    CLOCK_BOOTTIME at which it last finished a batch, found nothing to read, or was not meant to move. `batch_interval`:
    seconds that events may wait for a fuller batch. `checking`: what the in-flight batch waits for. `guarantee`: as of
    `ChannelGuarantee`."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    source: str
    channel: str
    batch: int | None = None
    in_flight: bool = False
    read: int = 0
    delivered: int = 0
    filtered: int = 0
    records_per_second: float = 0.0
    first_delivered_at: float | None = None
    last_batch_at: float | None = None
    last_batch_balanced: bool = True
    positions: list[PartitionProgress] = []
    holding: Holding | None = None
    group: GroupStatus | None = None
    progress_heartbeat: float = 0.0
    batch_interval: float = 0.0
    checking: Checking | None = None
    guarantee: str = ""

    @property
    def lag(self) -> int | None:
        """Sum over the partitions; None where one is not known."""
        lags = [position.lag for position in self.positions]
        return None if not lags or None in lags else sum(lag for lag in lags if lag is not None)


class IngestBufferStatus(BaseModel):
    """A push source. `taken`: events accepted since the run started; `held`: events in its ingest buffer now;
    `answers`: requests since the run started, by HTTP status; `held_up_by`: what keeps the buffer from freeing space;
    `failure`: why no process accepts events."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    source: str
    taken: int
    held: int
    capacity: int
    answers: dict[str, int] = {}
    held_up_by: str = ""
    failure: str = ""


class AgentFinding(BaseModel):
    """Why an agent refuses to start, or what it warns of. `retryable`: the cause may go away by itself (a broker that
    is away), so the next start is tried with back-off.

    The rest is what a finding about a position is about, as far as it is about one channel, topic or partition.
    """

    model_config = ConfigDict(frozen=True, extra="ignore")

    path: str
    code: str
    message: str
    suggestion: str = ""
    retryable: bool = False
    channel: str = ""
    topic: str = ""
    partition: Offset | None = None


class ComponentStatus(BaseModel):
    """Initialisation of one component: state is initialising, ready or failed. `warnings`: what a check found, or could
    not find out, that is no reason to refuse a start."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    name: str
    kind: str
    type: str
    state: str
    detail: str = ""
    warnings: list[AgentFinding] = []


class PauseProof(BaseModel):
    """Evidence that consumption has stopped; PAUSED is reported only when all of it holds."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    gate_closed: bool
    batches_in_flight: int
    positions_still: bool
    balanced: bool
    proven_at: float

    @property
    def holds(self) -> bool:
        """Whether every part of the proof holds."""
        return self.gate_closed and self.batches_in_flight == 0 and self.positions_still and self.balanced


class Status(Document):
    """What the agent says of itself; a heartbeat that carries progress.

    `heartbeat` is CLOCK_BOOTTIME, `at` wall time. `progress` grows with every finished batch or idle poll of the
    source, so that a living thread over dead work is seen as such. `stuck`: components that the last interrupt of a
    stop found at work. `survey`: what was found of each partition where a position asks for a decision, and by a
    standby, which only reads. `initialised_in`: seconds from the driver's start until every component was ready.
    """

    token: str
    boot_id: str
    heartbeat: float
    at: float
    phase: AgentPhase
    detail: str = ""
    stuck: list[str] = []
    progress: int = 0
    progress_heartbeat: float = 0.0
    command_seq: int = 0
    command_state: Literal["accepted", "done"] = "done"
    pause_proof: PauseProof | None = None
    queries: list[QueryStatus] = []
    components: list[ComponentStatus] = []
    ingest_buffers: list[IngestBufferStatus] = []
    findings: list[AgentFinding] = []
    survey: Survey | None = None
    initialised_in: float | None = None


class ExitRecord(Document):
    """How the driver ended; the keeper's last act. `signal` is set where a signal ended it.

    `killed_by`: the keeper, the supervisor, or the watchdog inside the agent. `revoked`: the supervisor wrote it, for a
    run that never started; no keeper starts a run that has this file.
    """

    token: str
    exit_code: int | None = None
    signal: int | None = None
    killed_by: Literal["keeper", "supervisor", "agent"] | None = None
    stop_stage: Literal["DRAIN", "INTERRUPT", "KILL"] | None = None
    reason: str = ""
    revoked: bool = False
    boottime: float
    at: float


def run_dir(state_dir: Path, pipeline: str, run: int) -> Path:
    """`<state_dir>/runs/<pipeline>/<run>`."""
    return state_dir / "runs" / pipeline / str(run)


def data_root(state_dir: Path, pipeline: str, pipeline_id: str) -> Path:
    """`<state_dir>/data/<pipeline>/<id>`: a name may be used again, and nothing that an earlier pipeline of that name
    left may be taken for the new one's."""
    return state_dir / "data" / pipeline / pipeline_id


def checkpoint_root(state_dir: Path, pipeline: str, lineage: int) -> Path:
    """`<state_dir>/checkpoints/<pipeline>/<lineage>`; one directory `<source>.<channel>` per query below it."""
    return state_dir / "checkpoints" / pipeline / str(lineage)
