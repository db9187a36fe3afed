"""Record: what agents have written since the last tick, of all pipelines of the host together.

Journals go into the books and statuses into their runs in a fixed number of statements. Where those fail, they are
repeated pipeline by pipeline, so that one that cannot be recorded leaves the others alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from django.db import InterfaceError, OperationalError

from pipelines.domain.base.states import RunRole
from pipelines.domain.ledger.journal import JournalCorrupt, read_sound_entries
from pipelines.domain.ledger.ledger import LedgerTotals
from pipelines.domain.runs.protocol import Status
from pipelines.models import Pipeline, Run
from pipelines.selectors.lifecycle.supervision import Row
from pipelines.services.base import events
from pipelines.services.base.fencing import Fenced, fenced
from pipelines.services.ledger import journals
from pipelines.services.ledger.journals import Portion
from pipelines.services.runs import observations, runs
from pipelines.services.runs.observations import Report
from workers import crash_points
from workers.ports import Now, RunDirs
from workers.supervisor.decisions.ending import journal_finding
from workers.supervisor.tick.memory import Memory, RunMemory

JOURNAL_CHUNK = 8 * 1024 * 1024
"""Bytes of one journal taken in at once; no line is longer."""
JOURNAL_BYTES = 2 * JOURNAL_CHUNK
"""Bytes of all journals after which a tick leaves the rest to the next one."""
STATUS_INTERVAL = 0.9
QUIET_STATUS_INTERVAL = 10.0
SAMPLE_INTERVAL = 2.0
ENDS_THE_TICK = (OperationalError, InterfaceError, Fenced)
_VOLATILE = {"heartbeat", "at", "progress", "progress_heartbeat"}

T = TypeVar("T", Portion, Report)
emit = fenced(events.record)


@dataclass
class JournalIngestion:
    """One tick's reading. `errors`: what was wrong with what a run has written, by its token."""

    rundirs: RunDirs
    memory: Memory
    now: Now
    errors: dict[str, Exception] = field(default_factory=dict)
    _portions: list[Portion] = field(default_factory=list)
    _reports: list[Report] = field(default_factory=list)
    _left: int = JOURNAL_BYTES

    def read(self, row: Row) -> None:
        """What a pipeline's run has written; an error is noted. Raises what ends the tick."""
        if row.run is None:
            return
        memory = self.memory.run(row.run)
        memory.drained = False
        try:
            memory.drained = self._read_journal(row.pipeline, row.run, memory)
            self._read_status(row.pipeline, row.run, memory)
        except ENDS_THE_TICK:
            raise
        except Exception as error:
            self.errors[row.run.token] = error

    def store(self) -> None:
        """Write what was read. Raises what ends the tick."""
        self._each_if_not_all(self._ingest, self._portions)
        self._each_if_not_all(observations.record_statuses, self._reports)
        for report in self._reports:
            if report.run.token not in self.errors:
                _remember(report, self.memory.run(report.run), self.now)

    def _each_if_not_all(self, write: Callable[[Sequence[T]], Any], found: Sequence[T]) -> None:
        if not found:
            return
        try:
            write(found)
        except ENDS_THE_TICK:
            raise
        except Exception:
            for each in found:
                self._alone(write, each)

    def _alone(self, write: Callable[[Sequence[T]], Any], each: T) -> None:
        try:
            write([each])
        except ENDS_THE_TICK:
            raise
        except Exception as error:
            self.errors[each.run.token] = error
            self.memory.run(each.run).drained = False

    def _ingest(self, portions: Sequence[Portion]) -> None:
        taken = journals.ingest_all(portions)
        crash_points.reach("worker.ingested")
        for portion in portions:
            run, found = portion.run, taken.get(portion.run.pk)
            if found is None:
                self.memory.run(run).drained = False
                continue
            self.memory.totals[run.pipeline_id] = self.memory.totals.get(run.pipeline_id, LedgerTotals()) + found.totals
            run.journal_seq, run.journal_offset = portion.seq, portion.offset
            if found.exited is not None:
                run.exit_code, run.exit_reason = found.exited.code, found.exited.reason

    def _read_journal(self, pipeline: Pipeline, run: Run, memory: RunMemory) -> bool:
        """One chunk of the journal; True where nothing is left to take in, or nothing can be."""
        if memory.journal_fault is not None:
            return True
        try:
            return self._read_chunk(run, memory)
        except JournalCorrupt as error:
            memory.journal_fault = str(error)
            message = f"The journal of run {run.number} cannot be read: {error}"
            emit(kind="journal.damaged", message=message, pipeline=pipeline, run=run)
            if run.role == RunRole.ACTIVE:
                runs.add_findings(pipeline=pipeline, findings=[journal_finding(str(error))])
            return True

    def _read_chunk(self, run: Run, memory: RunMemory) -> bool:
        if self._left <= 0:
            return False
        chunk = self.rundirs.journal(memory.directory, run.journal_offset, JOURNAL_CHUNK)
        self._left -= len(chunk.data)
        if chunk.size < run.journal_offset:
            raise JournalCorrupt(f"it has {chunk.size} bytes, and {run.journal_offset} are already ingested")
        entries, consumed = read_sound_entries(chunk.data, run.journal_seq)
        if entries:
            self._portions.append(Portion.of(run, entries, run.journal_offset + consumed))
        elif len(chunk.data) >= JOURNAL_CHUNK:
            raise JournalCorrupt(f"the line at byte {run.journal_offset} has no end")
        return len(chunk.data) < JOURNAL_CHUNK and b"\n" not in chunk.data[consumed:]

    def _read_status(self, pipeline: Pipeline, run: Run, memory: RunMemory) -> None:
        """What changed is stored about once a second; what did not, only to show that it is not old."""
        status = self.rundirs.status(memory.directory)
        memory.reported = status
        if status is None or status.token != run.token or status is memory.recorded:
            return
        since = self.now.boottime - memory.status_at
        urgent = memory.recorded is None or memory.recorded.phase is not status.phase
        if not urgent and since < STATUS_INTERVAL:
            return
        changed = memory.lasting != _lasting(status)
        if urgent or changed or since >= QUIET_STATUS_INTERVAL:
            sample = changed and self.now.boottime - memory.sampled_at >= SAMPLE_INTERVAL
            self._reports.append(Report(pipeline, run, status, sample))


def _lasting(status: Status) -> str:
    """What does not change all the time."""
    return status.model_dump_json(exclude=_VOLATILE)


def _remember(report: Report, memory: RunMemory, now: Now) -> None:
    """The first statuses of many runs come together; those after them are spread over time."""
    early = QUIET_STATUS_INTERVAL * _spread(report.run.token) if memory.recorded is None else 0.0
    memory.recorded, memory.lasting = report.status, _lasting(report.status)
    memory.status_at = now.boottime - early
    memory.sampled_at = now.boottime if report.sample else memory.sampled_at


def _spread(token: str) -> float:
    """A number from 0 to 1 that is always the same for a run."""
    return sum(token.encode()) % 64 / 64
