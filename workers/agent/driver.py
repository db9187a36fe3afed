"""The life of one run, seen from the driver.

The main thread only looks: at control.json, at what the other threads report, at the clock; it never waits for Spark, a
broker or a disk of somebody else, so that a stop is taken at any moment. Everything slow happens in the launcher, the
queries and the watches.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from pipelines.domain.base.causes import sentences
from pipelines.domain.base.states import STOP_COMMANDS, AgentPhase, Command
from pipelines.domain.definitions.document.spec import Definition
from pipelines.domain.hosts.disk import disk_finding, is_disk_full
from pipelines.domain.ledger.journal import CommandTaken, Exited, Interrupted, PhaseChanged
from pipelines.domain.runs import protocol
from pipelines.domain.runs.ends import ended_by
from pipelines.domain.runs.protocol import AgentFinding, Control, Exit, Holding, Launch, PauseProof, Promotion
from workers import crash_points
from workers.agent.base.findings import Blocked
from workers.agent.base.log import name_trace, say
from workers.agent.delivery.delivery import cause_of
from workers.agent.delivery.ending import Ending, bounded, code_for, stop_queries
from workers.agent.delivery.gate import Gate, Position
from workers.agent.delivery.real_time import Query
from workers.agent.delivery.status import PauseWatch, StatusFile
from workers.agent.run_dir import watch
from workers.agent.run_dir.control import ControlFile
from workers.agent.run_dir.journal_writer import Journal, JournalDamaged, JournalUnwritable
from workers.agent.run_dir.reserve import Reserve
from workers.agent.run_dir.signals import Signals
from workers.agent.spark.idle import IdleCollector
from workers.agent.spark.jvm import Jvm
from workers.agent.startup.launcher import Launcher

_POLL = 0.075
_RESTING_POLL = 0.2
"""Seconds between two looks at what no event tells of: orders, the lease, a record that arrives."""
_FINISH_BATCH = 5.0
"""Seconds that a batch in hand gets when the run ends although nobody asked for it."""
_JVM_ENDS = 0.5
"""Seconds in which a JVM that took its queries with it is seen to have ended."""
_HOPE = 4.0
"""Seconds in which what was away before a drain may come back."""
_NOTICED_WITHIN = 10.0
"""Seconds that may pass until it is noticed that a source or a sink is away."""
_LETTING_GO = 2.0
"""Seconds in which a batch that is given up ends by itself."""
_QUERY_STOP = 3.0
_JVM_STOP = 3.0
_SURVEY = 15.0
"""Seconds that looking at all positions may take, once they ask for a decision."""
_JOBS_GO_ON = 0.5
"""Seconds that an interrupt waits for the queries to stop before it cancels their jobs."""


class Driver:
    """Runs one launch; `run` returns the exit code."""

    def __init__(self, run_dir: Path, launch: Launch, definition: Definition, jvm: Jvm) -> None:
        self._dir = run_dir
        self._jvm = jvm
        self._launched = launch
        self._gate = Gate(launch.epoch)
        self._reserve = Reserve(run_dir / protocol.RESERVE)
        self._journal = Journal(run_dir / protocol.JOURNAL, launch.epoch, self._reserve)
        self._cancel_timeout = definition.lifecycle.cancel_timeout
        self._control = ControlFile(run_dir / protocol.CONTROL, protocol.boot_id())
        heartbeat = definition.lifecycle.heartbeat_interval
        self._status = StatusFile(run_dir / protocol.STATUS, launch.token, heartbeat, self._reserve)
        self._launcher = Launcher(launch, definition, jvm, self._gate, self._journal, run_dir / "tmp")
        self._launcher.on_blocked = self._blocked
        self._launcher.on_unready = lambda findings: self._end(
            Exit.INIT_FAILED, "a component of the standby is no longer ready", findings
        )
        self._pause = PauseWatch(self._gate, self._queries)
        self._order: Control | None = None
        self._order_done = True
        self._ending: Ending | None = None
        self._ending_lock = threading.Lock()
        self._phase: AgentPhase | None = None
        self._wake = threading.Event()
        self._signals = Signals(run_dir, self._wake.set)
        self._leaving = False
        self._damaged = False
        self._interrupts = 0
        self._stuck: list[str] = []
        self._cancelling: threading.Thread | None = None
        self._promoted: tuple[int, int] | None = None
        self._idle = IdleCollector()

    @property
    def _queries(self) -> list[Query]:
        return self._launcher.queries

    @property
    def _holdings(self) -> list[Holding]:
        return [each for query in self._queries for each in query.holdings]

    def run(self) -> int:
        """Live until there is a reason to end and nothing is in hand any more; then end in order."""
        self._signals.handle()
        watch.keeper(
            self._receive_promotion, lambda: self._end(Exit.KEEPER_LOST, "the keeper has ended", within=_FINISH_BATCH)
        )
        watch.jvm(self._jvm, self._jvm_lost)
        for query in self._queries:
            query.on_change = self._wake.set
            for ledger in query.channels:
                ledger.on_change = self._wake.set
        threading.Thread(target=self._launch, name="launcher", daemon=True).start()
        while not self._finished():
            self._tick()
            self._wake.wait(_RESTING_POLL if self._idle.resting else _POLL)
            self._wake.clear()
        return self._leave()

    def _launch(self) -> None:
        self._start(self._launcher.prepare if self._gate.granted else self._launcher.prepare_standby)

    def _receive_promotion(self, epoch: int, lock: int) -> None:
        """The keeper has taken the pipeline's lock; this process holds it, too, for as long as it lives."""
        self._promoted = epoch, lock
        self._wake.set()

    def _promote(self, epoch: int) -> None:
        """The standby is the ACTIVE run now. Its gate has the token, and opens as the standing order says."""
        promotion = Promotion.load(self._dir / protocol.PROMOTE)
        if promotion is None or promotion.epoch != epoch or promotion.token != self._launched.token:
            self._end(Exit.BAD_LAUNCH, "promote.json is not of this run")
            return
        self._journal.grant(epoch)
        self._gate.grant(epoch)
        if self._order is not None and self._order.command is Command.RUN:
            self._gate.open()
        launch = self._launched.promoted(promotion)
        start = partial(self._start, partial(self._launcher.promote, launch))
        threading.Thread(target=start, name="promotion", daemon=True).start()

    def _start(self, prepare: Callable[[], list[AgentFinding]]) -> None:
        """Prepare the queries, and start them where nothing speaks against it and the run may consume."""
        try:
            findings = prepare()
            if findings:
                self._end(code_for(findings), "preflight has findings", findings)
            elif self._launcher.prepared and self._gate.position is not Position.STOPPED:
                self._launcher.start(self._query_ended)
        except BaseException as error:
            if is_disk_full(error):
                self._out_of_room(cause_of(error))
            elif self._jvm.process.poll() is None:
                finding = AgentFinding(
                    path="", code="INIT_FAILED", message=cause_of(error), suggestion="See the agent's log."
                )
                self._end(Exit.INIT_FAILED, sentences(f"the start failed: {cause_of(error)}"), [finding])
        finally:
            self._wake.set()

    def _query_ended(self, query: Query, error: BaseException | None) -> None:
        if self._jvm.is_gone(within=_JVM_ENDS):
            return
        if isinstance(query.failure, Blocked):
            self._blocked([query.failure.finding])
        elif self._ending is None and is_disk_full(query.failure, error):
            self._out_of_room(cause_of(query.failure or error or OSError()))
        elif self._ending is None and (findings := self._guarded()):
            self._blocked(findings)
        elif self._ending is None or query.failure is not None:
            cause = cause_of(query.failure or error or RuntimeError("it ended by itself"))
            finding = AgentFinding(
                path=query.read.path, code="QUERY_FAILED", message=sentences(f"The query {query.name} ended: {cause}")
            )
            self._end(Exit.QUERY_FAILED, finding.message, [finding], within=_FINISH_BATCH)
        self._wake.set()

    def _out_of_room(self, cause: str) -> None:
        """A disk is full. The next run starts when there is room, and nothing is to be decided until then."""
        self._reserve.release()
        finding = AgentFinding(**disk_finding(str(self._dir), sentences(cause)))
        self._end(Exit.DISK_FULL, finding.message, [finding], within=_FINISH_BATCH)

    def _guarded(self) -> list[AgentFinding]:
        """What the guard has to say to the end of a query; nothing where it cannot look."""
        try:
            return self._launcher.guard.check()
        except Exception as error:
            say(f"the guard could not compare positions: {cause_of(error)}", "WARNING")
            return []

    def _jvm_lost(self, status: int) -> None:
        if not self._leaving:
            self._end(Exit.JVM_LOST, f"The JVM {ended_by(status)}.", within=0)

    def _end(self, code: int, reason: str, findings: Sequence[AgentFinding] = (), within: float = float("inf")) -> None:
        """Turn away every further batch, and end once nothing is in hand. The first reason counts; a JVM that is gone
        ends the waiting."""
        deadline = time.monotonic() + within
        with self._ending_lock:
            if self._ending is None:
                self._ending = Ending(code, reason, list(findings), deadline)
                say(f"ending: {reason}", "INFO" if code == Exit.CLEAN else "ERROR")
            elif deadline < self._ending.deadline:
                self._ending = Ending(code, reason, list(findings), deadline)
        self._gate.stop(cancel=code != Exit.CLEAN)
        self._wake.set()

    def _finished(self) -> bool:
        ending = self._ending
        if ending is None:
            return False
        return time.monotonic() > ending.deadline or self._settled()

    def _settled(self) -> bool:
        """Whether no batch is in hand."""
        return all(query.settled for query in self._queries) and not self._gate.inside

    def _tick(self) -> None:
        if order := self._control.poll():
            self._take(order)
        if self._promoted is not None and not self._gate.granted and self._launcher.initialised_in is not None:
            self._promote(self._promoted[0])
        if self._control.expired(protocol.boottime()):
            self._end(Exit.FENCED, "the supervisor's lease has ended")
        self._check_journal()
        if self._signals.take_term():
            self._interrupt()
        self._end_a_hopeless_drain()
        proof = self._pause.check() if self._gate.granted else None
        self._finish_order(proof)
        self._set_phase(self._phase_now(proof))
        self._report(proof)
        self._reserve.refill()
        self._collect_when_idle()

    def _check_journal(self) -> None:
        """Nothing is delivered that the ledger would not learn of."""
        if self._damaged:
            return
        try:
            self._journal.check()
        except JournalDamaged as damage:
            self._damaged = True
            self._gate.stop(cancel=True)
            threading.Thread(target=self._blocked, args=([damage.finding],), name="damaged", daemon=True).start()
        except OSError as error:
            say(f"the journal cannot be checked: {error}", "WARNING")

    def _take(self, order: Control) -> None:
        """Accept an order of the supervisor. It is obeyed before it is written down, since a disk may hang."""
        self._order, self._order_done = order, False
        name_trace(order.traceparent)
        say(f"command {order.command}{f': {order.reason}' if order.reason else ''}")
        if order.command in STOP_COMMANDS:
            self._signals.arm_watchdog(order.kill_at, order.issued_at)
            self._launcher.close_ingest_buffers()
            self._end(Exit.CLEAN, order.reason or f"command {order.command}")
            if order.command is Command.STOP:
                self._give_up_held_batches()
        elif order.command is Command.PAUSE:
            self._gate.close()
        elif not self._gate.granted or order.command is Command.STANDBY:
            pass  # a standby begins when it is promoted
        elif self._gate.position is Position.CLOSED and self._launcher.started:
            threading.Thread(target=self._resume, args=(order,), name="resume", daemon=True).start()
        else:
            self._gate.open()
        self._journal_safely(CommandTaken(seq=order.seq, command=order.command, state="accepted"))

    def _give_up_held_batches(self) -> None:
        self._gate.stop(cancel=True)
        threading.Thread(target=self._cancel_held_writes, name="cancel writes", daemon=True).start()

    def _cancel_held_writes(self) -> None:
        for query in self._queries:
            query.cancel_held_writes()

    def _end_a_hopeless_drain(self) -> None:
        """A drain waits for the batch in hand. What was away before the drain began is not waited for: the batch is
        given up, and the next run reads it again."""
        order = self._order
        if order is None or order.command is not Command.DRAIN_AND_STOP or self._gate.cancelled:
            return
        waited = protocol.boottime() - order.issued_at
        before = time.time() - waited + _NOTICED_WITHIN
        away = next((each for each in self._holdings if each.since <= before), None)
        if away is None or waited < _HOPE or self._settled():
            return
        self._give_up_held_batches()
        words = sentences(f"{protocol.BATCH_CANCELED}, since {away.component} is failing", away.cause)
        self._end(Exit.CLEAN, words, within=_LETTING_GO)

    def _resume(self, order: Control) -> None:
        """Open the gate once the guard has nothing against it."""
        findings = self._launcher.guard.check_patiently(lambda: self._order is order and self._ending is None)
        if findings:
            self._blocked(findings)
        elif self._order is order:
            self._gate.open()
        self._wake.set()

    def _blocked(self, findings: Sequence[AgentFinding]) -> None:
        """Positions need a person's decision: nothing more is read."""
        bounded(_SURVEY, lambda: self._launcher.take_survey(findings))
        findings = self._launcher.advised(findings)
        self._end(Exit.PREFLIGHT_BLOCKED, findings[0].message, findings, within=_FINISH_BATCH)

    def _interrupt(self) -> None:
        """SIGTERM is the token of a stop; where the stop was known already it is the keeper's interrupt, after a dump
        of the stacks: no batch is waited for any longer, queries are stopped and their jobs cancelled."""
        known = self._ending is not None
        self._end(Exit.CLEAN, "The process received SIGTERM.")
        self._gate.stop(cancel=True)
        if not known:
            now = protocol.boottime()
            self._signals.arm_watchdog(now + self._cancel_timeout if self._cancel_timeout else None, now)
            return
        self._interrupts += 1
        last = self._signals.last_dump()
        self._stuck = last.stuck if last else []
        if self._cancelling is None or not self._cancelling.is_alive():
            self._cancelling = threading.Thread(target=self._cancel, name="cancel", daemon=True)
            self._cancelling.start()
        entry = Interrupted(number=self._interrupts, stuck=self._stuck, dumps=last.files if last else [])
        self._journal_safely(entry)

    def _cancel(self) -> None:
        stop_queries(self._queries, _JOBS_GO_ON)
        if spark := self._launcher.session.spark:
            spark.sparkContext.cancelAllJobs()

    def _finish_order(self, proof: PauseProof | None) -> None:
        if self._order is None or self._order_done:
            return
        done = {
            Command.STANDBY: self._launcher.initialised_in is not None,
            Command.RUN: self._launcher.started and self._gate.position is Position.OPEN,
            Command.PAUSE: self._launcher.started and proof is not None and proof.holds,
        }
        if done.get(self._order.command, False):
            self._order_finished()

    def _order_finished(self) -> None:
        if self._order is not None and not self._order_done:
            self._order_done = True
            self._journal_safely(CommandTaken(seq=self._order.seq, command=self._order.command, state="done"))

    def _phase_now(self, proof: PauseProof | None) -> AgentPhase:
        if self._ending is not None:
            return AgentPhase.STOPPING
        if not self._launcher.prepared:
            return AgentPhase.PREFLIGHT if self._launcher.initialised_in is None else AgentPhase.STANDBY
        if proof is not None:
            return AgentPhase.PAUSED if proof.holds and self._launcher.started else AgentPhase.PAUSING
        if self._holdings:
            return AgentPhase.DEGRADED
        if self._phase is AgentPhase.RUNNING or all(query.moving for query in self._queries):
            return AgentPhase.RUNNING
        return AgentPhase.STARTING

    def _set_phase(self, phase: AgentPhase) -> None:
        if phase is not self._phase:
            self._phase = phase
            say(f"phase {phase}")
            self._journal_safely(PhaseChanged(phase=phase, reason=self._ending.reason if self._ending else ""))

    def _report(self, proof: PauseProof | None) -> None:
        self._status.update(
            phase=self._phase or AgentPhase.PREFLIGHT,
            detail=self._ending.reason if self._ending else "",
            stuck=self._stuck,
            command_seq=self._order.seq if self._order else 0,
            command_done=self._order_done,
            proof=proof,
            queries=self._queries,
            components=lambda: self._launcher.components.states(self._holdings),
            ingest_buffers=self._launcher.ingest_buffers(),
            findings=self._ending.findings if self._ending else [],
            survey=self._launcher.survey,
            initialised_in=self._launcher.initialised_in,
        )

    def _collect_when_idle(self) -> None:
        """Give memory back once whenever the agent comes to rest."""
        resting = self._launcher.started and (self._phase is AgentPhase.PAUSED or self._nothing_to_read())
        self._idle.check(self._launcher.session.spark, resting=resting)

    def _nothing_to_read(self) -> bool:
        return all(
            query.moving and query.settled and all(status.lag == 0 for status in query.statuses())
            for query in self._queries
        )

    def _leave(self) -> int:
        """End in order: queries, JVM, journal, status. Every step is bounded, by itself or by the ladder."""
        self._leaving = True
        ending = self._ending or Ending(Exit.CLEAN, "")
        self._set_phase(AgentPhase.STOPPING)
        if self._jvm.process.poll() is None:
            stop_queries(self._queries, _QUERY_STOP)
            crash_points.reach("agent.leaving")
            bounded(_QUERY_STOP, self._launcher.session.leave)
            idle = ending.code == Exit.CLEAN and self._settled() and not self._launcher.session.on_cluster
            self._jvm.stop(_JVM_STOP, workers=self._patience, idle=idle)
        if ending.code == Exit.CLEAN:
            self._order_finished()
        self._set_phase(AgentPhase.STOPPED if ending.code == Exit.CLEAN else AgentPhase.FAILED)
        self._journal_safely(Exited(code=ending.code, reason=ending.reason))
        self._report(None)
        say(f"exit {int(ending.code)}: {ending.reason}", "INFO" if ending.code == Exit.CLEAN else "ERROR")
        return int(ending.code)

    @property
    def _patience(self) -> float:
        """Seconds that Python workers may take to end. A stop that was ordered has its ladder for those that do not: it
        is not clean while the code of a component still runs."""
        ordered = self._order is not None and self._order.command in STOP_COMMANDS
        return math.inf if ordered else _JVM_STOP

    def _journal_safely(self, entry: PhaseChanged | CommandTaken | Interrupted | Exited) -> None:
        """Entries that recovery does not depend on: a full disk must not keep the agent from being stopped."""
        try:
            self._journal.append(entry)
        except (JournalUnwritable, JournalDamaged) as error:
            say(f"{error}", "WARNING")
