"""What the supervisor needs of the machine it runs on, and nothing more.

The real adapters are in `workers.adapters`; the tests' fakes pass the same contract suite.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, Protocol
from uuid import UUID

from pipelines.domain.access.audit.export import Exported
from pipelines.domain.access.reach import ReachPolicy
from pipelines.domain.access.secret_bindings import Purpose
from pipelines.domain.base.positions import PartitionPosition
from pipelines.domain.definitions.parts.clusters import ClusterSpec
from pipelines.domain.hosts.connection_tests import ConnectionResult
from pipelines.domain.hosts.disk import DiskSpace
from pipelines.domain.monitoring.receivers import MailServer
from pipelines.domain.monitoring.spans import Subject, Trace
from pipelines.domain.monitoring.webhooks import DeliveryResponse
from pipelines.domain.positions.plan import InspectionRequest, InspectionResult
from pipelines.domain.preview.protocol import AnswerT, HostRequest
from pipelines.domain.reprocessing.dead_letters import HttpTarget, TopicLocation
from pipelines.domain.runs.protocol import (
    AgentUser,
    Control,
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


@dataclass(frozen=True)
class Now:
    """One reading of all clocks. Deadlines use `boottime` (CLOCK_BOOTTIME) with `boot_id`; `wall` is for people."""

    wall: datetime
    boottime: float
    boot_id: str


class Clock(Protocol):
    """The time, and nothing else."""

    def now(self) -> Now:
        """Read all clocks at once."""


TokenHolders = Mapping[str, tuple[ProcessIdentity, ...]]
"""Run token -> living processes that carry it in their environment."""


class Processes(Protocol):
    """Processes of this host, found by the run token in their environment. A zombie is not a process."""

    def holders(self) -> TokenHolders:
        """Every living process that carries a run token, by token."""

    def halted(self) -> Collection[ProcessIdentity]:
        """Those of the last `holders` that a signal (SIGSTOP) or a debugger has halted."""

    def kill(self, process: ProcessIdentity, token: str) -> bool:
        """SIGKILL the process if pid, start time, boot id and token still match; say whether it was sent."""

    def is_alive(self, process: ProcessIdentity) -> bool:
        """Whether a process with this pid, start time and boot id lives."""

    def current(self) -> ProcessIdentity:
        """The calling process."""

    def spawn_keeper(self, run_dir: Path, token: str, handover: Handover) -> None:
        """Start a detached keeper for the directory; returns once it carries the token. Raises OSError.

        `handover` reaches it through a pipe and nothing else.
        """


class ProcessWatch(Protocol):
    """Notices the end of processes between two looks at them."""

    def watch(self, processes: Collection[ProcessIdentity]) -> None:
        """Ring the bell when one of these ends, and no longer for any other."""


@dataclass(frozen=True)
class JournalChunk:
    """Bytes of a journal from `offset` on. `size` is the whole file's; 0 where there is no file."""

    offset: int
    data: bytes
    size: int


class RunDirs(Protocol):
    """Run directories of this host. Reading gives None where a file is absent or is not a whole document."""

    def path(self, pipeline: str, run: int) -> Path:
        """The directory of a run."""

    def last_number(self, pipeline: str) -> int:
        """The highest number that a run directory or the pipeline's lock knows, of a run or an epoch; 0 without any."""

    def prepare(self, run_dir: Path, launch: Launch, control: Control) -> None:
        """Create the directory with launch.json, which stays if it is there already, and with control.json.

        Raises OSError, also where the directory is that of another run.
        """

    def keep(self, run_dirs: Collection[str]) -> None:
        """Only these directories will be read again; whatever is remembered of others is forgotten."""

    def exists(self, run_dir: Path) -> bool:
        """Whether the directory is the one that `prepare` has made: launch.json stays in it as long as it does."""

    def launch(self, run_dir: Path) -> Launch | None: ...
    def identity(self, run_dir: Path) -> Identity | None: ...
    def control(self, run_dir: Path) -> Control | None: ...
    def status(self, run_dir: Path) -> Status | None: ...
    def exit_record(self, run_dir: Path) -> ExitRecord | None: ...
    def promotion(self, run_dir: Path) -> Promotion | None: ...

    def traced(self, run_dir: Path) -> list[PartitionPosition]:
        """The records that interceptors were looking at when their processes ended, as far as that was written down."""

    def dumps(self, run_dir: Path) -> Dumps | None:
        """The last dumps of the run's stacks."""

    def ask_for_dump(self, run_dir: Path, order: DumpOrder) -> None:
        """Have the keeper take one now."""

    def write_control(self, run_dir: Path, control: Control) -> None:
        """Replace control.json, in a new directory where somebody has removed the run's. Raises OSError."""

    def promote(self, run_dir: Path, promotion: Promotion) -> None:
        """Replace promote.json."""

    def revoke(self, run_dir: Path, record: ExitRecord) -> None:
        """Write exit.json of a run that never began, so that no keeper begins it."""

    def journal(self, run_dir: Path, offset: int, limit: int) -> JournalChunk:
        """Up to `limit` bytes of the journal from `offset` on."""

    def space(self, run_dir: Path | None = None) -> DiskSpace | None:
        """The scarcer of the file systems of checkpoints and of a run directory, or of all of them."""

    def found_full(self, run_dir: Path) -> bool:
        """Whether the agent has found its disk full, and released the run's reserve."""


@dataclass(frozen=True)
class RunDir:
    """A run directory on disk. `journal`: bytes of its journal."""

    path: Path
    name: str
    number: int
    size: int
    journal: int
    changed: datetime


@dataclass(frozen=True)
class CheckpointDir:
    """The checkpoints of one lineage on disk."""

    path: Path
    name: str
    lineage: int
    changed: datetime


class HostStorage(Protocol):
    """What runs, checkpoints and stores have left on the host's disk, and on storages beside it."""

    def runs(self) -> list[RunDir]:
        """Every run directory."""

    def checkpoints(self, storages: Sequence[str] = ()) -> list[CheckpointDir]:
        """The checkpoints of every lineage."""

    def dumps(self, run: RunDir) -> list[tuple[Path, int, datetime]]:
        """Stack dumps of a run: path, bytes, time of change."""

    def leftovers(self, run: RunDir) -> list[Path]:
        """What a run that was killed has left: temporary files, and the room that it had set aside."""

    def stores(self, name: str, pipeline_id: UUID, storages: Sequence[str] = ()) -> list[Path]:
        """What is kept of one pipeline beside its runs and checkpoints, on disk and in shared memory."""

    def remove(self, path: Path, storages: Sequence[str] = ()) -> int:
        """Remove it with all in it; returns the bytes. Raises ValueError for a path that is not below ours."""


@dataclass(frozen=True)
class SecretValue:
    """A value as its backend has it. `version`: as the backend counts, 0 where it does not; `changed_at`: since when it
    is of this version; `team`: whose secret it is, None for the installation."""

    text: str = field(repr=False)
    version: int = 0
    changed_at: datetime | None = None
    team: int | None = None


@dataclass(frozen=True)
class Unreadable:
    """A secret that this host cannot have: why, and what to do. Never a value."""

    reason: str
    hint: str


ON_THIS_HOST = "A pipeline does not start with an unresolved reference; define it on this host."
ABSENT = {
    "env": Unreadable("it is not set, or is not in HEADGATE_ENV_REFERENCES.", ON_THIS_HOST),
    "file": Unreadable("it cannot be read on this host.", ON_THIS_HOST),
}
"""Of a variable and of a file that are not there, by the kind of reference."""


def missing(name: str, purpose: Purpose) -> Unreadable:
    """Of a secret that is not stored for this purpose."""
    if purpose is Purpose.PIPELINES:
        hint = f"Store it: `headgate secrets set {name} --pipeline NAME --destination HOST:PORT`."
        return Unreadable(f"there is no secret {name}.", hint)
    return Unreadable(
        f"there is no secret {name} for {purpose}.", f"Store it: `headgate secrets set {name} --for {purpose}`."
    )


class Secrets(Protocol):
    """A backend of secrets: the store as far as it is for one purpose, Vault, variables, or files."""

    def read(self, names: Collection[str]) -> Mapping[str, SecretValue | Unreadable]:
        """The value of each name, or why there is none; all of them at once, within bounded time. Raises nothing that
        has a value in it."""


class Exclusive(Protocol):
    """A lock that at most one living process holds."""

    def acquire(self) -> bool:
        """Take it if it is free; True where this process holds it already."""

    def release(self) -> None:
        """Give it back."""


@dataclass(frozen=True)
class Outgoing:
    """A letter on its way to a topic, or to the port of a source, which takes headers and body alone."""

    topic: str
    partition: int
    key: bytes | None
    headers: Sequence[tuple[str, bytes]]
    body: bytes


class Away(Exception):
    """The source does not answer; what was sent may have arrived. The text says what it said last; `acknowledged`:
    numbers of the records that did arrive."""

    def __init__(self, message: str, acknowledged: Sequence[int] = ()) -> None:
        super().__init__(message)
        self.acknowledged = tuple(acknowledged)


class Closed(Exception):
    """The source refuses us whatever is sent; `hint` what to do."""

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(message)
        self.hint = hint


class Gone(Exception):
    """The whole of a truncated letter is not where it was put; the text says where it was looked for."""


class InspectionFailed(Exception):
    """Nobody could look at the positions; `code` and `hint` say why and what to do."""

    def __init__(self, code: str, message: str, hint: str) -> None:
        super().__init__(message)
        self.code, self.hint = code, hint


class Surveys(Protocol):
    """Looks at positions on this host."""

    def inspect(self, question: InspectionRequest) -> InspectionResult:
        """Ask the disk and the clusters, bounded. Raises InspectionFailed."""

    def get_ready(self) -> None:
        """Have what makes the next look at another cluster quick: data waits for that one."""

    def stand_down(self) -> None:
        """Let that go."""


class ConnectionFailed(Exception):
    """No answer about a cluster; `code` and `hint` say why and what to do."""

    def __init__(self, code: str, message: str, hint: str) -> None:
        super().__init__(message)
        self.code, self.hint = code, hint


class SparkClusters(Protocol):
    """Connects to Spark clusters from this host."""

    def test(self, spec: ClusterSpec) -> ConnectionResult:
        """Connect to its servers, bounded. Raises ConnectionFailed."""


class PreviewFailed(Exception):
    """Nobody could make it; `code` and `hint` say why and what to do."""

    def __init__(self, code: str, message: str, hint: str) -> None:
        super().__init__(message)
        self.code, self.hint = code, hint


class PreviewInterrupted(Exception):
    """The worker is being stopped: the next one makes it."""


class Previews(Protocol):
    """Runs revisions on records of a source, on this host."""

    def make(
        self,
        owner: str,
        user: AgentUser | None,
        request: HostRequest[AnswerT],
        wanted: Callable[[], bool] = lambda: True,
    ) -> AnswerT:
        """Have it answered, bounded. `owner`: the pipeline, with which a process is shared by no other; `wanted`: asked
        now and then whether to go on. Raises PreviewFailed or PreviewInterrupted."""

    def tidy(self) -> None:
        """Let processes go that have ended."""

    def close(self) -> None:
        """End all of them."""


class Outlet(Protocol):
    """A producer for one cluster, or a client of one port."""

    def send(self, records: Sequence[Outgoing]) -> list[str | None]:
        """Send all of them and wait for every answer, bounded: None, or why the source never takes that one.

        Raises Away or Closed.
        """

    def close(self) -> None:
        """Let it go."""


class Clusters(Protocol):
    """Kafka, for replays."""

    def outlet(self, servers: str, options: Mapping[str, Any], pipeline: str, reach: ReachPolicy) -> Outlet:
        """A producer with the connection of a component, for brokers that its pipeline may reach."""

    def record(self, servers: str, options: Mapping[str, Any], place: TopicLocation, reach: ReachPolicy) -> bytes:
        """The value of one record, bounded. Raises Gone, Away, or Closed."""


class PushSources(Protocol):
    """HTTP sources of this host, for replays."""

    def outlet(self, to: HttpTarget) -> Outlet:
        """A client of the source's port. Raises Closed where what it needs cannot be read."""


class Workflows(Protocol):
    """What is carried out step by step, beside the care for each pipeline."""

    def turn(self, now: Now, silent: Collection[str]) -> bool:
        """Do the next step of each. `silent`: hosts that are not heard. Says whether data waits for it."""


class Posts(Protocol):
    """The way of messages over HTTP out of this host."""

    def post(self, url: str, headers: Mapping[str, str], body: bytes) -> DeliveryResponse:
        """Send one message and wait for its answer, bounded as a whole. Raises nothing: a failure is an answer too."""


@dataclass(frozen=True)
class Mail:
    """A message of text. `message_id`: unique; `thread`: of the messages about one alert."""

    sender: str
    recipients: tuple[str, ...]
    subject: str
    text: str
    message_id: str
    thread: str


class Mails(Protocol):
    """The way of mail out of this host."""

    def send(self, server: MailServer, password: str, mail: Mail) -> DeliveryResponse:
        """Give one message to a mail server, bounded as a whole. Raises nothing: a failure is an answer too."""


class NotForwarded(Exception):
    """Rows of the audit have not arrived, or not all of them; the text says why."""


class AuditReceiver(Protocol):
    """The way of the audit out of this host."""

    def send(self, rows: Sequence[Exported]) -> None:
        """Send sealed rows in their order, bounded as a whole. Raises NotForwarded unless all of them have arrived."""


class SpanExport(Protocol):
    """The way of spans out of this host."""

    def is_sampled(self, subject: Subject) -> bool:
        """Whether the trace of an operation or a migration is wanted."""

    def export(self, traces: Sequence[Trace]) -> bool:
        """Send spans, bounded; False where they were not taken, and can be sent again."""

    def close(self) -> None:
        """Let the connection go."""
