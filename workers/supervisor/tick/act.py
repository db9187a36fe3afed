"""Carry out what `decide` chose. Every write to the database is compare-and-swap, so doing an action twice is harmless.

Starting is: intent and token in the database, run directory, keeper. Whatever is missing of that after a crash is found
missing by the next tick and done then; the token says whether a process exists already.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from functools import singledispatchmethod
from pathlib import Path

import structlog

from pipelines.domain.base.causes import explain
from pipelines.domain.base.states import STOP_COMMANDS, Phase
from pipelines.domain.ledger.journal import JournalCorrupt
from pipelines.domain.lifecycle.reconciling import Ahead
from pipelines.domain.runs.protocol import Control, DumpOrder, ExitRecord
from pipelines.foundation.errors import Conflict
from pipelines.models import Pipeline, Run
from pipelines.selectors.lifecycle.supervision import Row
from pipelines.selectors.migration import tracing
from pipelines.services.base import events, fencing
from pipelines.services.base.fencing import fenced
from pipelines.services.lifecycle import operations, reconciling
from pipelines.services.lifecycle.transitions import explain_phase, set_phase
from pipelines.services.runs import runs, standby, warm
from pipelines.services.runs.runs import Aftermath, NextRun, Overtaken, RunEnd
from workers import crash_points
from workers.ports import Now, Processes, RunDirs
from workers.supervisor.decisions import actions
from workers.supervisor.decisions.command import first_control
from workers.supervisor.decisions.ending import backoff, journal_finding
from workers.supervisor.decisions.leading import leased
from workers.supervisor.decisions.snapshot import PipelineSnapshot
from workers.supervisor.launch.launch import Launcher, NotProvisioned
from workers.supervisor.launch.references import Unresolved
from workers.supervisor.tick.journals import ENDS_THE_TICK
from workers.supervisor.tick.memory import Memory, StandbyTries
from workers.supervisor.tick.reconciling import Reconciler

_STANDBY_BACKOFF = 5.0
"""Seconds before a second standby is prepared where the first was refused or has ended."""

log = structlog.get_logger(__name__)
emit = fenced(events.record)


@dataclass(frozen=True)
class Actor:
    """Acts on the pipelines of one host."""

    processes: Processes
    rundirs: RunDirs
    launcher: Launcher
    memory: Memory

    def perform(self, row: Row, snapshot: PipelineSnapshot, chosen: list[actions.Action], now: Now) -> list[Exception]:
        """Do the actions in order; the rest is left to the next tick where another supervisor was faster. An action
        that fails leaves the others alone; returns what failed. Raises what ends the tick."""
        deed, failed = _Deed(self, row.pipeline, row.run, snapshot, now), list[Exception]()
        for action in chosen:
            try:
                deed.do(action)
            except Overtaken:
                log.info("overtaken", pipeline=row.pipeline.name)
                break
            except ENDS_THE_TICK:
                raise
            except Exception as error:
                failed.append(error)
        return failed


@dataclass
class _Deed:
    """The actions of one tick on one pipeline."""

    actor: Actor
    pipeline: Pipeline
    run: Run | None
    snapshot: PipelineSnapshot
    now: Now

    @property
    def living_run(self) -> Run:
        """The run that the action is about."""
        if self.run is None:
            raise LookupError(f"{self.pipeline.name} has no run")
        return self.run

    @property
    def _reconciler(self) -> Reconciler:
        return Reconciler(self.actor.rundirs, self.actor.processes)

    @singledispatchmethod
    def do(self, action: actions.Action) -> None:
        """Carry out one action."""
        raise NotImplementedError(type(action))

    @do.register
    def _(self, _action: actions.Reconcile) -> None:
        try:
            self._ask_about(self._reconciler.carry_out(self.pipeline, self.now))
        except JournalCorrupt as error:
            reconciling.cancel(pipeline=self.pipeline)
            runs.add_findings(pipeline=self.pipeline, findings=[journal_finding(str(error))])
        self.actor.memory.totals.pop(self.pipeline.id, None)

    def _ask_about(self, ahead: Ahead) -> bool:
        """Ask a person where the host knows more than the database; False where it does not."""
        if not ahead:
            return False
        finding = ahead.finding(self.actor.launcher.host, self.pipeline.generation)
        runs.refuse_start(pipeline=self.pipeline, findings=[finding.model_dump(mode="json", exclude_none=True)])
        return True

    @do.register
    def _(self, action: actions.CreateRun) -> None:
        if self._ask_about(self._reconciler.ahead(self.pipeline)):
            return
        launcher = self.actor.launcher
        lineage = launcher.check(self.pipeline)
        if isinstance(lineage, list):
            found = [finding.model_dump(mode="json", exclude_none=True) for finding in lineage]
            runs.refuse_start(pipeline=self.pipeline, findings=found)
            return
        wanted = NextRun(
            token=secrets.token_hex(16),
            host=launcher.host,
            state_dir=launcher.state_dir,
            lineage=lineage.number,
            floor=self.actor.rundirs.last_number(self.pipeline.name),
            fresh=action.fresh,
        )
        self.run = runs.create_run(pipeline=self.pipeline, wanted=wanted, now=self.now.wall)
        crash_points.reach("worker.intended")
        self._spawn(self.run)

    @do.register
    def _(self, action: actions.TakeOver) -> None:
        """A standby that cannot take over is ended, and the next tick starts a run."""
        if self._ask_about(self._reconciler.ahead(self.pipeline)):
            return
        ready = self.actor.memory.standbys[self.pipeline.id]
        try:
            self.run = warm.take_over(pipeline=self.pipeline, run=ready, fresh=action.fresh, now=self.now.wall)
        except Conflict as refusal:
            log.warning("no_take_over", pipeline=self.pipeline.name, run=ready.number, cause=str(refusal))
            warm.give_way(pipeline=self.pipeline, actor=warm.SYSTEM, reason=str(refusal))

    @do.register
    def _(self, _action: actions.PrepareStandby) -> None:
        """Each further try in a row waits twice as long as the one before."""
        tries = self.actor.memory.tries.get(self.pipeline.id, StandbyTries())
        wait = backoff(_STANDBY_BACKOFF, self.snapshot.lifecycle.restart_backoff_max, tries.number)
        refused = ""
        try:
            warm.keep(pipeline=self.pipeline)
        except Conflict as refusal:
            refused = str(refusal)
        self.actor.memory.tries[self.pipeline.id] = StandbyTries(tries.number + 1, self.now.boottime + wait, refused)

    @do.register
    def _(self, _action: actions.GiveWay) -> None:
        warm.give_way(pipeline=self.pipeline, actor=warm.SYSTEM, reason="The pipeline is restarted.")

    @do.register
    def _(self, _action: actions.DismissStandby) -> None:
        warm.dismiss(run=self.living_run)

    @do.register
    def _(self, _action: actions.Spawn) -> None:
        against, data = self.actor.launcher.against, self.living_run.revision.definition
        if self.snapshot.standby and (found := against(self.pipeline, data)):
            standby.refuse(run=self.living_run, findings=found, now=self.now.wall)
        else:
            self._spawn(self.living_run)

    def _spawn(self, run: Run) -> None:
        """A keeper that cannot be started counts as one that ended at once, so the restart budget bounds it."""
        run_dir = Path(run.run_dir)
        control = leased(first_control(self.snapshot, self.now), self.snapshot, self.now)
        memory = self.actor.memory.run(run)
        try:
            launch, handover, versions = self.actor.launcher.launch(run)
            control = control.model_copy(update={"traceparent": launch.traceparent})
            if launch.cluster:
                runs.record_cluster(run=run, version=launch.cluster.version)
            if versions:
                runs.record_secrets(run=run, versions=versions)
            fencing.require_time()
            self.actor.rundirs.prepare(run_dir, launch, control)
            memory.control = control
            crash_points.reach("worker.prepared")
            fencing.require_time()
            self.actor.processes.spawn_keeper(run_dir, run.token, handover)
            crash_points.reach("worker.spawned")
        except (OSError, Unresolved, NotProvisioned) as error:
            message = f"The keeper of run {run.number} could not be started: {explain(error)}"
            emit(kind="run.spawn_failed", message=message, pipeline=self.pipeline, run=run)
        memory.spawned = True

    @do.register
    def _(self, action: actions.Revoke) -> None:
        fencing.require_time()
        record = ExitRecord(
            token=self.living_run.token,
            reason=action.reason,
            revoked=True,
            boottime=self.now.boottime,
            at=self.now.wall.timestamp(),
        )
        self.actor.rundirs.revoke(Path(self.living_run.run_dir), record)

    @do.register
    def _(self, action: actions.RecordProcesses) -> None:
        runs.record_processes(run=self.living_run, identity=action.identity)
        crash_points.reach("worker.recorded")

    @do.register
    def _(self, action: actions.RecordDumps) -> None:
        runs.record_dumps(pipeline=self.pipeline, run=self.living_run, dumps=action.dumps)

    @do.register
    def _(self, action: actions.WriteControl) -> None:
        run = self.living_run
        if action.control.command in STOP_COMMANDS:
            runs.record_stop_request(run=run, now=self.now.wall)
            crash_points.reach("worker.commanding")
        control = self._traced(action.control)
        fencing.require_time()
        # It stands although it cannot be written: its deadlines hold, and the next tick writes it again.
        self.actor.memory.run(run).control = control
        self.actor.rundirs.write_control(Path(run.run_dir), control)
        crash_points.reach("worker.commanded")

    def _traced(self, control: Control) -> Control:
        """A new order with the trace of what it follows from; one that is written again keeps its own."""
        last = self.snapshot.run.control if self.snapshot.run else None
        if last is not None and last.seq == control.seq:
            return control
        return control.model_copy(update={"traceparent": tracing.traceparent_of(self.pipeline.id)})

    @do.register
    def _(self, action: actions.SetPhase) -> None:
        changed = set_phase(
            pipeline_id=self.pipeline.id,
            expected=Phase(self.pipeline.phase),
            new=action.new,
            reason=action.reason,
            message=action.message,
            run=self.run,
            stop_reason=action.stop_reason,
        )
        if not changed:
            raise Overtaken(self.pipeline.name)
        if action.new is Phase.STALLED:
            self._dump_stacks()

    @do.register
    def _(self, action: actions.Explain) -> None:
        phase = Phase(self.pipeline.phase)
        if not explain_phase(self.pipeline.id, phase, reason=action.reason, message=action.message):
            raise Overtaken(self.pipeline.name)

    def _dump_stacks(self) -> None:
        """A run that stands still is asked what it is doing; the dump names the component that is at work."""
        order = DumpOrder(id=secrets.token_hex(8), stop_stage="stalled")
        self.actor.rundirs.ask_for_dump(Path(self.living_run.run_dir), order)

    @do.register
    def _(self, action: actions.EndRun) -> None:
        restart = action.restart
        runs.end_run(
            pipeline=self.pipeline,
            run=self.living_run,
            end=RunEnd(
                action.outcome,
                action.exit_code,
                action.exit_reason,
                action.stop_stage,
                action.in_flight,
                action.journal_whole,
            ),
            after=Aftermath(
                phase=action.phase,
                reason=action.reason,
                message=action.message,
                stop_reason=action.stop_reason,
                findings=action.findings,
                restart=(restart.boot_id, restart.boottime, restart.delay) if restart else None,
                follows=action.follows,
            ),
            now=self.now.wall,
        )
        crash_points.reach("worker.ended")

    @do.register
    def _(self, action: actions.EndStandby) -> None:
        how = RunEnd(action.outcome, action.exit_code, action.exit_reason, action.stop_stage, journal_whole=True)
        standby.end(run=self.living_run, how=how, now=self.now.wall)
        crash_points.reach("worker.ended")

    @do.register
    def _(self, _action: actions.WritePromotion) -> None:
        promotion = self.actor.launcher.promotion(self.living_run)
        fencing.require_time()
        self.actor.rundirs.promote(Path(self.living_run.run_dir), promotion)

    @do.register
    def _(self, action: actions.AbortDrain) -> None:
        runs.abort_drain(pipeline=self.pipeline, wanted=action.wanted, message=action.message, now=self.now.wall)

    @do.register
    def _(self, action: actions.KillProcesses) -> None:
        run = self.living_run
        fencing.require_time()
        killed = [p.pid for p in action.processes if self.actor.processes.kill(p, run.token)]
        if killed:
            message = f"{action.reason} Killed: {', '.join(map(str, killed))}."
            emit(kind="run.killed", message=message, pipeline=self.pipeline, run=run, data={"pids": killed})

    @do.register
    def _(self, action: actions.SetConditions) -> None:
        runs.set_conditions(pipeline_id=self.pipeline.id, conditions=action.conditions)

    @do.register
    def _(self, action: actions.SetFindings) -> None:
        runs.add_findings(pipeline=self.pipeline, findings=action.findings)

    @do.register
    def _(self, _action: actions.ResetRestarts) -> None:
        runs.reset_restarts(pipeline=self.pipeline)

    @do.register
    def _(self, action: actions.ObserveGeneration) -> None:
        runs.observe_generation(pipeline_id=self.pipeline.id, generation=action.generation)

    @do.register
    def _(self, action: actions.FinishOperation) -> None:
        error = dict(action.error) if action.error else None
        operations.finish(
            operation_id=action.id, state=action.state, now=self.now.wall, message=action.message, error=error
        )

    @do.register
    def _(self, action: actions.AdvanceOperation) -> None:
        operations.advance(
            operation_id=action.id, step=action.step, state="running", message=action.message, now=self.now.wall
        )
