"""Headgate's agent, without a control plane: a run directory, the keeper, and orders in control.json."""

from __future__ import annotations

import subprocess
import sys
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bench.records import PATTERN
from bench.systems.base import BATCH_BYTES, BUFFER_BYTES, COMPRESSION, Failed, Running, System, Work
from bench.usage import holders, wait_until
from controlplane.install.tools.java import find_java
from controlplane.install.tools.paths import PROJECT
from controlplane.provision.archive import archive_path
from controlplane.provision.module import class_path
from controlplane.provision.training_job import launch_of
from pipelines.domain.base.states import Command
from pipelines.domain.definitions.checks.validate import validate_data
from pipelines.domain.definitions.document.spec import Definition
from pipelines.domain.ledger import journal
from pipelines.domain.ledger.journal import Done
from pipelines.domain.runs import protocol
from pipelines.domain.runs.protocol import Control, Launch, SparkSettings, Status

HEAP = "1g"
EVENTS_PER_BATCH = 2_000_000
BATCH_SECONDS = 60
INTERCEPTOR = "bench.interceptor:AddField"
_KEEPER_TIMEOUT = 30.0
_STOP_TIMEOUT = 30.0


@dataclass
class Agent(Running):
    """A living agent and its run directory. `batch_seconds`: how long a stop may have to wait for a batch's end."""

    dir: Path = Path()
    batch_seconds: int = 0
    seq: int = 0

    @property
    def alive(self) -> bool:
        """Whether the keeper has not written its last record."""
        return not (self.dir / protocol.EXIT).exists()

    @property
    def status(self) -> Status | None:
        """What the agent says of itself."""
        return Status.load(self.dir / protocol.STATUS)

    def order(self, command: Command, kill_in: float | None = None) -> int:
        """Write control.json; returns the order's number."""
        self.seq += 1
        now = protocol.boottime()
        kill_at = None if kill_in is None else now + kill_in
        control = Control(seq=self.seq, command=command, boot_id=protocol.boot_id(), issued_at=now, kill_at=kill_at)
        control.store(self.dir / protocol.CONTROL)
        return self.seq

    def failed(self, what: str) -> Failed:
        """An error that also says what the agent is held up by."""
        queries = self.status.queries if self.status else []
        held = [f"{query.holding.component}: {query.holding.cause}" for query in queries if query.holding]
        return super().failed("\n    ".join([what, *held]))

    def obeyed(self, seq: int) -> bool:
        """Whether an order has been carried out."""
        status = self.status
        return status is not None and status.command_seq == seq and status.command_state == "done"

    def done(self) -> list[tuple[float, int]]:
        """Wall time and events read of every finished batch."""
        file = self.dir / protocol.JOURNAL
        entries = journal.read_entries(file.read_bytes())[0] if file.exists() else []
        return [(entry.at, payload.counts.read) for entry in entries if isinstance(payload := entry.payload(), Done)]

    def stop(self) -> None:
        """Order a stop, in real-time mode at the end of the batch; whatever is left a minute later is killed."""
        if self.alive:
            timeout = self.batch_seconds + _STOP_TIMEOUT
            self.order(Command.STOP, kill_in=timeout)
            wait_until(lambda: not holders(self.token), timeout + _STOP_TIMEOUT)
        super().stop()


@dataclass
class Headgate(System):
    """An agent with one definition. `graph` gives what differs for a piece of work: interceptors, selector and options
    of the source, channels, sinks, sink_groups. `delivery`: instead of what suits the mode. `without`: what it does
    not count, see `bench.without`. `variant`: what a report calls it where a case compares definitions. `launcher`:
    what its launcher has beside cores and memory.
    """

    mode: str = "micro_batch"
    archive: bool = True
    without: str = ""
    delivery: Mapping[str, Any] | None = None
    graph: Callable[[Work], Mapping[str, Any]] = lambda work: {}
    variant: str = ""
    launcher: Mapping[str, Any] = field(default_factory=dict)

    @property
    def name(self) -> str:  # type: ignore[override]
        """The variant, or one of the two modes."""
        return self.variant or f"headgate_{self.mode}"

    def definition(self, work: Work) -> dict[str, Any]:
        """The pipeline that does the work."""
        graph = dict(self.graph(work))
        source = {
            "type": "kafka",
            "bootstrap_servers": work.servers,
            "topics": [work.source],
            "group_id": f"headgate.{work.run}",
            "start_from": "earliest",
            "interceptors": [{"type": "timestamp"}, {"type": "regex_filter", "regex": PATTERN}],
        }
        source |= {key: graph.pop(key) for key in ("interceptors", "selector", "options") if key in graph}
        memory = "512m" if work.hurry else HEAP
        plain = {
            "api_version": "headgate/v1",
            "name": "bench",
            "sources": {"in": source},
            "channels": {"out": {"type": "direct"}},
            "sinks": {"out": kafka_sink(work, work.sink)},
            "delivery": self._delivery(work),
            "placement": {"launcher": {"type": "local", "cores": 4, "driver_memory": memory, **self.launcher}},
        }
        if self.mode == "real_time":
            plain["lifecycle"] = {"drain_timeout": 3 * BATCH_SECONDS}
        return plain | graph

    def _delivery(self, work: Work) -> dict[str, Any]:
        if self.delivery is not None:
            return dict(self.delivery)
        if self.mode == "real_time":
            return {"mode": self.mode, "batch_duration": BATCH_SECONDS}
        return {"mode": self.mode, "trigger_interval_ms": 0, "max_events_per_batch": EVENTS_PER_BATCH}

    def refusal(self, work: Work) -> str | None:
        """The validation's findings."""
        errors = [finding for finding in validate_data(self.definition(work)).findings if finding.severity == "error"]
        return "; ".join(f"{finding.path}: {finding.message}" for finding in errors[:3]) or None

    def start(self, work: Work) -> Agent:
        """Write launch.json and start the keeper."""
        run_dir = protocol.run_dir(work.directory / "state", "bench", 1)
        run_dir.mkdir(parents=True)
        launch = self.launch(work)
        launch.store(run_dir / protocol.LAUNCH)
        batch_seconds = BATCH_SECONDS if self.mode == "real_time" else 0
        agent = Agent(launch.token, run_dir / protocol.LOG, dir=run_dir, batch_seconds=batch_seconds)
        agent.order(Command.RUN)
        keeper = self._keeper(run_dir)
        subprocess.run(
            keeper, check=True, timeout=_KEEPER_TIMEOUT, cwd=PROJECT, stdin=subprocess.DEVNULL, start_new_session=True
        )
        return agent

    def launch(self, work: Work) -> Launch:
        """What a supervisor would tell the agent, which may write where the work lies."""
        archive = archive_path() if self.archive else None
        spark = SparkSettings(
            classpath=[str(path) for path in class_path()],
            archive=archive and str(archive),
            java_home=str(find_java().executable.parent.parent),
        )
        launch = launch_of(Definition.model_validate(self.definition(work)), spark, str(work.directory))
        own = {"pipeline": "bench", "token": uuid.uuid4().hex, "interceptors": [INTERCEPTOR]}
        return launch.model_copy(update=own)

    def _keeper(self, run_dir: Path) -> list[str]:
        if not self.without:
            return [sys.executable, "-m", "workers.keeper", str(run_dir)]
        driver = [sys.executable, "-P", "-m", "bench.without", self.without, str(run_dir)]
        code = "import sys; from pathlib import Path; from workers.keeper.keeper import main; "
        return [sys.executable, "-c", f"{code}sys.exit(main(Path({str(run_dir)!r}), {driver!r}))"]


def kafka_sink(work: Work, topic: str, channel: str = "out") -> dict[str, Any]:
    """A Kafka sink with the producer settings that all systems share."""
    return {
        "type": "kafka",
        "channel": channel,
        "bootstrap_servers": work.servers,
        "topic": topic,
        "compression": COMPRESSION,
        "linger_ms": work.linger_ms,
        "options": {"batch.size": BATCH_BYTES, "buffer.memory": BUFFER_BYTES},
    }
