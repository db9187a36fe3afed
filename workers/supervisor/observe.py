"""Observe and record: from rows, files and processes to one view per pipeline.

Processes are looked at before files, so that what a vanished process wrote last is read after it is known to be gone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from pipelines.domain.journal import JournalCorrupt, read_entries
from pipelines.domain.ledger import Books
from pipelines.domain.protocol import ProcessIdentity, Status
from pipelines.domain.spec import Lifecycle
from pipelines.domain.states import DesiredState, OperationKind, Phase, RunState
from pipelines.models import Operation, Pipeline, Run
from pipelines.selectors import supervision
from pipelines.selectors.supervision import Row
from pipelines.services import events, journals, observations, runs
from workers import crash_points
from workers.ports import Now, Processes, RunDirs, TokenHolders
from workers.supervisor.decide import HEALTHY_PHASES
from workers.supervisor.ending import journal_finding
from workers.supervisor.memory import Memory, RunMemory
from workers.supervisor.view import OperationView, PipelineView, RunView

JOURNAL_CHUNK = 8 * 1024 * 1024
"""Bytes of a journal taken in at once; no line is longer."""
STATUS_INTERVAL = 0.9
QUIET_STATUS_INTERVAL = 10.0
SAMPLE_INTERVAL = 2.0
_VOLATILE = {"beat", "at", "progress", "progress_beat"}


def living(processes: Processes, rows: Sequence[Row]) -> TokenHolders:
    """Token holders. A token that nobody seems to carry is looked for again: a process in exec shows no environment."""
    first = processes.holders()
    if all(row.run is None or row.run.token in first for row in rows):
        return first
    second = processes.holders()
    return {**first, **second}


@dataclass(frozen=True)
class Observer:
    """Looks at the pipelines of one host."""

    processes: Processes
    rundirs: RunDirs
    memory: Memory

    def look(self, row: Row, holders: TokenHolders, now: Now) -> PipelineView:
        """Take in what a run has written, then see the pipeline as it is."""
        run = self._run(row.pipeline, row.run, holders.get(row.run.token, ()), now) if row.run else None
        pipeline = row.pipeline
        return PipelineView(
            id=pipeline.id,
            name=pipeline.name,
            desired=DesiredState(pipeline.desired_state),
            generation=pipeline.generation,
            observed_generation=pipeline.observed_generation,
            phase=Phase(pipeline.phase),
            phase_reason=pipeline.phase_reason,
            phase_message=pipeline.phase_message,
            lifecycle=self._lifecycle(row),
            drain_on_stop=pipeline.drain_on_stop,
            restart_run=pipeline.restart_run,
            restart_count=pipeline.restart_count,
            restart_deadline=_restart_deadline(pipeline),
            findings=tuple(pipeline.findings),
            conditions=tuple(pipeline.conditions),
            books=self.memory.books.get(pipeline.id, Books()),
            operation=self._operation(row.operation, now) if row.operation else None,
            run=run,
        )

    def _lifecycle(self, row: Row) -> Lifecycle:
        """Deadlines of the revision that runs, or of the one that would."""
        revision = row.run.revision_id if row.run else row.pipeline.current_revision_id
        return self.memory.lifecycles.get(revision or 0, Lifecycle())

    def _operation(self, operation: Operation, now: Now) -> OperationView:
        seen = self.memory.operations.setdefault(operation.id, now.boottime)
        allowed = (operation.deadline - operation.created_at).total_seconds() if operation.deadline else None
        return OperationView(
            id=operation.id,
            kind=OperationKind(operation.kind),
            generation=operation.generation,
            expires=seen + allowed if allowed is not None else None,
        )

    def _run(self, pipeline: Pipeline, run: Run, holders: tuple[ProcessIdentity, ...], now: Now) -> RunView:
        memory, run_dir = self.memory.run(run.token), Path(run.run_dir)
        drained = self._ingest(pipeline, run, run_dir, memory)
        status = self.rundirs.status(run_dir)
        if status is not None and status.token == run.token:
            _record_status(pipeline, run, status, memory, now)
        view = RunView(
            number=run.number,
            generation=run.generation,
            state=RunState(run.state),
            token=run.token,
            holders=holders,
            known_driver=run.driver_pid,
            identity=self.rundirs.identity(run_dir),
            control=self.rundirs.control(run_dir),
            status=status,
            exit=self.rundirs.exit_record(run_dir),
            journal_drained=drained,
            journal_fault=memory.journal_fault,
            last_word=(run.exit_code, run.exit_reason) if run.exit_code is not None else None,
            spawned_here=memory.spawned,
        )
        return _remember(view, pipeline, memory, now)

    def _ingest(self, pipeline: Pipeline, run: Run, run_dir: Path, memory: RunMemory) -> bool:
        """One chunk of the journal; True where nothing is left to take in, or nothing can be."""
        if memory.journal_fault is not None:
            return True
        try:
            return self._ingest_chunk(run, run_dir)
        except JournalCorrupt as error:
            memory.journal_fault = str(error)
            message = f"The journal of run {run.number} cannot be read: {error}"
            events.record(kind="journal.corrupt", message=message, pipeline=pipeline, run=run)
            runs.add_findings(pipeline=pipeline, findings=[journal_finding(str(error))])
            return True

    def _ingest_chunk(self, run: Run, run_dir: Path) -> bool:
        chunk = self.rundirs.journal(run_dir, run.journal_offset, JOURNAL_CHUNK)
        if chunk.size < run.journal_offset:
            raise JournalCorrupt(f"it has {chunk.size} bytes, and {run.journal_offset} were taken in already")
        entries, consumed = read_entries(chunk.data, run.journal_seq)
        if not entries:
            if len(chunk.data) >= JOURNAL_CHUNK:
                raise JournalCorrupt(f"the line at byte {run.journal_offset} has no end")
            return True
        offset = run.journal_offset + consumed
        added = journals.ingest(run=run, entries=entries, offset=offset)
        if added is None:
            return False
        crash_points.reach("worker.ingested")
        self.memory.books[run.pipeline_id] = self.memory.books.get(run.pipeline_id, Books()) + added
        run.journal_seq, run.journal_offset = entries[-1].n, offset
        run.refresh_from_db(fields=["exit_code", "exit_reason"])
        return len(chunk.data) < JOURNAL_CHUNK


def _restart_deadline(pipeline: Pipeline) -> tuple[str, float] | None:
    if pipeline.restart_boottime is None:
        return None
    return pipeline.restart_boot_id, pipeline.restart_boottime


def _remember(view: RunView, pipeline: Pipeline, memory: RunMemory, now: Now) -> RunView:
    """Since when the run has been half dead, or well."""
    memory.half_dead_since = (memory.half_dead_since or now.boottime) if view.half_dead else None
    well = pipeline.phase in HEALTHY_PHASES and bool(view.holders)
    memory.healthy_since = (memory.healthy_since or now.boottime) if well else None
    return replace(view, half_dead_since=memory.half_dead_since, healthy_since=memory.healthy_since)


def _record_status(pipeline: Pipeline, run: Run, status: Status, memory: RunMemory, now: Now) -> None:
    """Store what changed, about once a second; what did not, only to show that it is not old."""
    since = now.boottime - memory.status_at
    lasting = status.model_dump(exclude=_VOLATILE)
    changed = lasting != memory.status
    urgent = memory.status.get("phase") is not status.phase
    if not urgent and since < (STATUS_INTERVAL if changed else QUIET_STATUS_INTERVAL):
        return
    sample = changed and now.boottime - memory.sampled_at >= SAMPLE_INTERVAL
    observations.record_status(pipeline=pipeline, run=run, status=status, sample=sample)
    memory.status, memory.status_at = lasting, now.boottime
    memory.sampled_at = now.boottime if sample else memory.sampled_at


def learn(memory: Memory, rows: Sequence[Row]) -> None:
    """Read the books of pipelines and the deadlines of revisions that were not seen before, in a query each."""
    new = [row.pipeline.id for row in rows if row.pipeline.id not in memory.books]
    if new:
        memory.books |= {pipeline_id: Books() for pipeline_id in new} | supervision.books(new)
    wanted = {row.run.revision_id if row.run else row.pipeline.current_revision_id for row in rows}
    unknown = [revision for revision in wanted if revision is not None and revision not in memory.lifecycles]
    if not unknown:
        return
    for revision, definition in supervision.definitions(unknown).items():
        memory.lifecycles[revision] = Lifecycle.model_validate(definition.get("lifecycle", {}))
