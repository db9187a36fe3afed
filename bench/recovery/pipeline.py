"""One supervised pipeline: its runs, its processes, and what a run leaves behind about its start and its end."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from bench.recovery.timeline import journal_marks, log_marks, missing
from bench.recovery.victims import Process
from bench.systems.base import Failed
from bench.usage import wait_until
from controlplane.devstack.client import Api, Json
from pipelines.domain.base.states import Phase, RunRole, RunState
from pipelines.domain.ledger import journal
from pipelines.domain.ledger.journal import Entry, EntryKind
from pipelines.domain.runs import protocol
from pipelines.domain.runs.protocol import Identity, ProcessIdentity
from workers.adapters.processes import HostProcesses
from workers.keeper.processes import kind_of

_ACTION_TIMEOUT = 180.0
_READY_TIMEOUT = 180.0
_LOOK = 0.5


@dataclass(frozen=True)
class Pipeline:
    """As a user has it, through the API; behind the API's back it only reads run directories and kills."""

    api: Api
    name: str

    def create(self, definition: Json) -> None:
        """Create it, and start it."""
        self.api.post("/pipelines", {"definition": definition})
        self.api.act(self.name, "start", timeout=_ACTION_TIMEOUT)

    def stop(self) -> None:
        """Stop it once its in-flight batch has ended."""
        self.api.act(self.name, "stop", timeout=_ACTION_TIMEOUT, drain=True)

    def await_ready(self, agents: int) -> None:
        """Wait until it runs as if it had never been restarted, with so many agents that are ready. Raises Failed."""
        if not wait_until(lambda: self._ready(agents), _READY_TIMEOUT, _LOOK):
            raise self.failed(f"it is not ready within {_READY_TIMEOUT:.0f} s")

    def failed(self, what: str) -> Failed:
        """An error with the pipeline's state."""
        found = self.api.get(f"/pipelines/{self.name}")
        return Failed(f"{self.name}: {what}; the pipeline is {found['phase']}: {found['phase_message']}")

    def _ready(self, agents: int) -> bool:
        found = self.api.get(f"/pipelines/{self.name}")
        if found["phase"] != Phase.RUNNING or found["restart_count"]:
            return False
        live = [run for run in self._runs() if run["state"] == RunState.LIVE]
        return sum("preflight" in _log_marks(run) for run in live) >= agents

    def active(self) -> Json:
        """The run that consumes, or was the last to do so."""
        return max((run for run in self._runs() if run["role"] == RunRole.ACTIVE), key=lambda run: int(run["epoch"]))

    def _runs(self) -> list[Json]:
        found: list[Json] = self.api.get(f"/pipelines/{self.name}/runs")["results"]
        return found

    def kill(self, run: Json, processes: Sequence[Process]) -> float:
        """SIGKILL to processes of a run, each once its token was seen behind its pid. Returns the wall time just before
        the first. Raises Failed where one of them is not there."""
        identity = Identity.load(Path(run["run_dir"]) / protocol.IDENTITY)
        if identity is None:
            raise Failed(f"{run['run_dir']} names no processes")
        host = HostProcesses()
        holders = host.holders().get(identity.token, ())
        jvm = next((process for process in holders if kind_of(process.pid) == "jvm"), None)
        known: dict[Process, ProcessIdentity | None] = {
            "keeper": identity.keeper,
            "driver": identity.driver,
            "jvm": jvm,
        }
        killed = time.time()
        for name in processes:
            process = known[name]
            if process is None or not host.kill(process, identity.token):
                raise Failed(f"the {name} of {self.name}/{run['number']} was gone before it could be killed")
        return killed

    def marks(self, number: int, heir: Json) -> dict[str, float]:
        """When each part of a recovery ended, from the run `number` that was killed to the one that delivers. Raises
        Failed where that is not written down."""
        killed = next(run for run in self._runs() if run["number"] == number)
        marks = {
            **_end_mark(killed),
            **_log_marks(heir),
            **journal_marks(_entries(heir)),
            **_instant("detection", killed["ended_at"]),
            **_instant("backoff", intended_at(heir)),
        }
        if lacking := missing(marks):
            raise Failed(f"{heir['run_dir']} does not tell the end of: {', '.join(lacking)}")
        return marks


def intended_at(run: Json) -> str:
    """When a run was told to consume: a standby when it was promoted, any other when its start was recorded."""
    return str(run["promoted_at"] or run["started_at"])


def seconds(instant: str) -> float:
    """Wall seconds of an instant of the API."""
    return datetime.fromisoformat(instant).timestamp()


def _instant(part: str, at: str | None) -> dict[str, float]:
    return {part: seconds(at)} if at else {}


def _end_mark(run: Json) -> dict[str, float]:
    """The last word of a run: of its keeper, or else of its driver; of one that was killed as a whole there is none."""
    file = Path(run["run_dir"]) / protocol.EXIT
    record = protocol.ExitRecord.load(file)
    if record is not None:
        return {"agent_end": record.at}
    words = [entry.at for entry in _entries(run) if entry.kind is EntryKind.EXIT]
    return {"agent_end": words[-1]} if words else {}


def _log_marks(run: Json) -> dict[str, float]:
    file = Path(run["run_dir"]) / protocol.LOG
    return log_marks(file.read_text(errors="replace")) if file.exists() else {}


def _entries(run: Json) -> list[Entry]:
    file = Path(run["run_dir"]) / protocol.JOURNAL
    return journal.read_sound_entries(file.read_bytes())[0] if file.exists() else []
