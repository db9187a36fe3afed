"""Observe and record: from rows, files and processes to one view per pipeline.

Processes are looked at before files, so that what a vanished process wrote last is read after it is known to be gone.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from pipelines.domain.base.states import AgentPhase, DesiredState, OperationKind, Phase, RunState
from pipelines.domain.definitions.document.spec import Lifecycle
from pipelines.domain.definitions.parts.leases import fence_of
from pipelines.domain.hosts.disk import DiskState, Margin
from pipelines.domain.ledger.ledger import LedgerTotals
from pipelines.domain.lifecycle.operations import OnTimeout
from pipelines.domain.runs.crashes import Crash
from pipelines.domain.runs.protocol import Control, Dump, Identity, ProcessIdentity
from pipelines.models import Operation, Pipeline, Run
from pipelines.selectors.lifecycle import supervision
from pipelines.selectors.lifecycle.supervision import Row
from pipelines.selectors.runs import crashes
from pipelines.services.base import fencing
from pipelines.services.lifecycle import reconciling
from workers.ports import Now, Processes, RunDirs, TokenHolders
from workers.supervisor.decisions.snapshot import (
    HEALTHY_PHASES,
    DiskSnapshot,
    OperationSnapshot,
    PipelineSnapshot,
    RunSnapshot,
    StandbySnapshot,
    lives,
)
from workers.supervisor.tick.journals import JournalIngestion
from workers.supervisor.tick.memory import Memory, RunMemory, StandbyTries

_NO_TOTALS, _USUAL = LedgerTotals(), Lifecycle()
LATELY = 15.0
"""Seconds that a run may take to end after its disk was full, whose last act frees room."""


def living(processes: Processes, rows: Sequence[Row]) -> TokenHolders:
    """Token holders. A token that nobody seems to carry is looked for again: a process in exec shows no environment."""
    first = processes.holders()
    if all(row.run is None or row.run.token in first for row in rows):
        return first
    second = processes.holders()
    return {**first, **second}


@dataclass(frozen=True)
class Recorded:
    """`reached`: so many rows were read; `errors`: what was wrong with what a run has written, by its token."""

    reached: int
    errors: Mapping[str, Exception]


@dataclass(frozen=True)
class Observer:
    """Looks at the pipelines of one host."""

    processes: Processes
    rundirs: RunDirs
    memory: Memory
    margin: Margin = field(default_factory=Margin)

    def record(self, rows: Sequence[Row], now: Now, late: Callable[[], bool]) -> Recorded:
        """Read and store what the runs have written since the last look, until it is too late to go on."""
        ingestion, reached = JournalIngestion(self.rundirs, self.memory, now), 0
        self.rundirs.keep({row.run.run_dir for row in rows if row.run})
        for row in rows:
            ingestion.read(row)
            reached += 1
            if late():
                break
        ingestion.store()
        return Recorded(reached, ingestion.errors)

    def snapshot(self, row: Row, holders: TokenHolders, now: Now) -> PipelineSnapshot:
        """See the pipeline as it is, after `record` has read what its run has written."""
        run = self._run(row.pipeline, row.run, holders.get(row.run.token, ()), now) if row.run else None
        pipeline = row.pipeline
        return PipelineSnapshot(
            id=pipeline.id,
            name=pipeline.name,
            owner=fencing.epoch(),
            desired=_wanted_of_standby(row) if row.is_standby else DesiredState(pipeline.desired_state),
            generation=pipeline.generation,
            observed_generation=pipeline.observed_generation,
            phase=Phase(pipeline.phase),
            phase_reason=pipeline.phase_reason,
            phase_message=pipeline.phase_message,
            lifecycle=self._lifecycle(row),
            fence=None if row.is_standby else self.memory.fences.get(_revision(row) or 0),
            drain_on_stop=pipeline.drain_on_stop and not row.is_standby,
            on_timeout=OnTimeout.STOP if row.is_standby else OnTimeout(pipeline.on_timeout),
            desired_before=DesiredState(pipeline.desired_before),
            force_stop=pipeline.force_stop and not row.is_standby,
            restart_run=None if row.is_standby else pipeline.restart_run,
            restart_count=pipeline.restart_count,
            restart_deadline=_restart_deadline(pipeline),
            findings=tuple(pipeline.findings),
            reconcile=reconciling.in_question(pipeline) and supervision.reconciliation(pipeline.id),
            conditions=tuple(pipeline.conditions),
            totals=self.memory.totals.get(pipeline.id, _NO_TOTALS),
            operation=self._operation(row.operation, now) if row.operation else None,
            run=run,
            trouble=self.memory.troubles.get(pipeline.id, ""),
            standby=row.is_standby,
            surplus=row.is_standby and self._is_surplus(row),
            second=None if row.is_standby else self._second(pipeline, now),
            no_standby=self._tries(pipeline).refused,
            standby_due=self._tries(pipeline).due,
            disk=self._disk(row, now),
        )

    def _tries(self, pipeline: Pipeline) -> StandbyTries:
        return self.memory.tries.get(pipeline.id, StandbyTries())

    def _second(self, pipeline: Pipeline, now: Now) -> StandbySnapshot | None:
        """The pipeline's standby on this host, as this tick has read it."""
        run = self.memory.standbys.get(pipeline.id)
        if run is None:
            return None
        status = self.memory.run(run).reported
        same = run.warm and run.revision_id == pipeline.current_revision_id and run.host_id == pipeline.host_id
        lifecycle = self.memory.lifecycles.get(run.revision_id, _USUAL)
        waits = status is not None and (status.token, status.phase) == (run.token, AgentPhase.STANDBY)
        fresh = status is not None and now.boottime - status.heartbeat <= lifecycle.heartbeat_timeout
        if waits and fresh:
            self.memory.tries.pop(pipeline.id, None)
        return StandbySnapshot(run.number, run.warm, same and waits and fresh and run.state == RunState.LIVE)

    def _is_surplus(self, row: Row) -> bool:
        """Whether a warm standby seems to be wanted no more; a migration may know better."""
        run, pipeline = row.run, row.pipeline
        if run is None or not run.warm or run.discarded_at is not None:
            return False
        present = (pipeline.host_id, pipeline.current_revision_id) == (run.host_id, run.revision_id)
        rests = pipeline.desired_state == DesiredState.STOPPED or pipeline.phase in {Phase.BLOCKED, Phase.FAILED}
        return not present or rests or pipeline.archived_at is not None

    def _disk(self, row: Row, now: Now) -> DiskSnapshot | None:
        """The disk of what runs or is to run; asked of the kernel, since an agent on a full one cannot say so."""
        run, memory = row.run, self.memory.run(row.run) if row.run else None
        if run is None and row.pipeline.desired_state == DesiredState.STOPPED:
            return None
        run_dir = memory.directory if memory else self.rundirs.path(row.pipeline.name, 0).parent
        space = self.rundirs.space(run_dir)
        if space is None:
            return None
        found = memory is not None and self.rundirs.found_full(run_dir)
        state = DiskState.FULL if found else space.state(self.margin)
        if memory is not None and state is DiskState.FULL:
            memory.full_at = now.boottime
        lately = memory is not None and memory.full_at is not None and now.boottime - memory.full_at < LATELY
        return DiskSnapshot(space.path, state, space.startable, lately)

    def _control(self, run_dir: Path, memory: RunMemory) -> Control | None:
        """The standing order. Where the file is not ours, since a stale supervisor has replaced it, it was removed,
        or it could not be written, ours still stands, and seems to be of nobody, so that it is written again."""
        found, given = self.rundirs.control(run_dir), memory.control
        if given is not None and (found is None or (found.owner, found.seq) < (given.owner, given.seq)):
            return given.model_copy(update={"owner": 0})
        return found

    def _lifecycle(self, row: Row) -> Lifecycle:
        """Deadlines of the revision that runs, or of the one that would."""
        return self.memory.lifecycles.get(_revision(row) or 0, _USUAL)

    def _operation(self, operation: Operation, now: Now) -> OperationSnapshot:
        seen = self.memory.operations.setdefault(operation.id, now.boottime)
        allowed = (operation.deadline - operation.created_at).total_seconds() if operation.deadline else None
        return OperationSnapshot(
            id=operation.id,
            kind=OperationKind(operation.kind),
            generation=operation.generation,
            expires=seen + allowed if allowed is not None else None,
        )

    def _run(self, pipeline: Pipeline, run: Run, holders: tuple[ProcessIdentity, ...], now: Now) -> RunSnapshot:
        memory = self.memory.run(run)
        run_dir = memory.directory
        identity, control = self.rundirs.identity(run_dir), self._control(run_dir, memory)
        well = bool(run.epoch and holders) and pipeline.phase in HEALTHY_PHASES
        _note_health(memory, well, identity, holders, now)
        halted = tuple(each for each in holders if each in self.processes.halted())
        memory.halted_since = (memory.halted_since or now.boottime) if halted else None
        return RunSnapshot(
            number=run.number,
            generation=run.generation,
            state=RunState(run.state),
            token=run.token,
            epoch=run.epoch or 0,
            promoted=run.promoted_at is not None,
            promoted_epoch=self._promoted_epoch(run, run_dir),
            holders=holders,
            known_driver=run.driver_pid,
            identity=identity,
            control=control,
            status=memory.reported,
            exit=self.rundirs.exit_record(run_dir),
            journal_drained=memory.drained,
            journal_fault=memory.journal_fault,
            last_word=(run.exit_code, run.exit_reason) if run.exit_code is not None else None,
            spawned_here=memory.spawned,
            half_dead_since=memory.half_dead_since,
            healthy_since=memory.healthy_since,
            halted=halted,
            halted_since=memory.halted_since,
            reported=memory.recorded is not None or run.first_record_at is not None,
            directory_lost=bool(holders) and run.state == RunState.LIVE and not self.rundirs.exists(run_dir),
            crashes=self._crashes(run, run_dir) if run.epoch and memory.drained and not holders else (),
            dumps=self._dumps(run, run_dir),
            dumped_at=run.dumped_at,
        )

    def _dumps(self, run: Run, run_dir: Path) -> tuple[Dump, ...]:
        found = self.rundirs.dumps(run_dir)
        return tuple(found.taken) if found is not None and found.token == run.token else ()

    def _promoted_epoch(self, run: Run, run_dir: Path) -> int | None:
        """The epoch that its keeper was told, where it was a standby."""
        promotion = self.rundirs.promotion(run_dir) if run.promoted_at is not None else None
        return promotion.epoch if promotion and promotion.token == run.token else None

    def _crashes(self, run: Run, run_dir: Path) -> tuple[Crash, ...]:
        """Asked once, when a run is about to be judged."""
        return crashes.left_in_flight(run, self.rundirs.traced(run_dir)), *crashes.crashes_before(run)


def _wanted_of_standby(row: Row) -> DesiredState:
    discarded = row.run is not None and row.run.discarded_at is not None
    return DesiredState.STOPPED if discarded or row.pipeline.archived_at else DesiredState.RUNNING


def _revision(row: Row) -> int | None:
    """The revision that runs, or the one that would."""
    return row.run.revision_id if row.run else row.pipeline.current_revision_id


def _restart_deadline(pipeline: Pipeline) -> tuple[str, float] | None:
    if pipeline.restart_boottime is None:
        return None
    return pipeline.restart_boot_id, pipeline.restart_boottime


def _note_health(
    memory: RunMemory, well: bool, identity: Identity | None, holders: Collection[ProcessIdentity], now: Now
) -> None:
    """Since when the run has been half dead (keeper or driver has ended while other processes live on), or well."""
    whole = identity is None or (lives(identity.keeper, holders) and lives(identity.driver, holders))
    half_dead = bool(holders) and not whole
    memory.half_dead_since = (memory.half_dead_since or now.boottime) if half_dead else None
    memory.healthy_since = (memory.healthy_since or now.boottime) if well else None


def learn(memory: Memory, rows: Sequence[Row]) -> None:
    """Read the books of pipelines and the deadlines of revisions that were not seen before, in a query each."""
    new = [row.pipeline.id for row in rows if row.pipeline.id not in memory.totals]
    if new:
        memory.totals |= {pipeline_id: LedgerTotals() for pipeline_id in new} | supervision.totals(new)
    wanted = {_revision(row) for row in rows}
    unknown = [revision for revision in wanted if revision is not None and revision not in memory.lifecycles]
    if not unknown:
        return
    for revision, definition in supervision.definitions(unknown).items():
        memory.lifecycles[revision] = Lifecycle.model_validate(definition.get("lifecycle", {}))
        memory.fences[revision] = fence_of(definition)
