"""The tick: hold the lease, then observe, record, decide and act for every pipeline of the host.

One thread ticks, so ticks neither overlap nor pile up. An error of one pipeline is told and leaves the others alone; a
database that is away ends the tick, and the next one begins with the pipelines that were not reached.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

import structlog
from structlog.contextvars import bound_contextvars

from pipelines.domain.base.causes import explain
from pipelines.domain.definitions.document.spec import ANY_HOST
from pipelines.models import Pipeline
from pipelines.selectors.hosts.capacity import wanted_host
from pipelines.selectors.lifecycle import supervision
from pipelines.selectors.lifecycle.supervision import Row
from pipelines.services.base import events, fencing
from pipelines.services.base.fencing import Fenced
from pipelines.services.lifecycle import placement
from workers.ports import Clock, Now, Processes, ProcessWatch, TokenHolders, Workflows
from workers.supervisor.decisions.decide import decide, hurried
from workers.supervisor.tick.act import Actor
from workers.supervisor.tick.disk import HostDisk
from workers.supervisor.tick.journals import ENDS_THE_TICK
from workers.supervisor.tick.lease import HostLease
from workers.supervisor.tick.memory import Memory
from workers.supervisor.tick.observe import Observer, learn, living
from workers.supervisor.tick.peers import Peers
from workers.supervisor.tick.strays import Strays

BUDGET = 10.0
"""Seconds after which a tick leaves the remaining pipelines to the next one, which begins with them."""
COMPLAINT_INTERVAL = 60.0

log = structlog.get_logger(__name__)
emit = fencing.fenced(events.record)


@dataclass(frozen=True)
class Ticked:
    """`supervising`: the lease is held. `hurry`: something is expected to change in a second. `quick`: data waits."""

    supervising: bool
    hurry: bool = False
    quick: bool = False


class Supervisor:
    """Everything a tick needs, and what it remembers. `ends` brings the next tick when a process ends; without it, what
    has ended is seen by a tick that comes anyway."""

    def __init__(
        self,
        *,
        host: str,
        clock: Clock,
        processes: Processes,
        lease: HostLease,
        observer: Observer,
        actor: Actor,
        workflows: Workflows,
        ends: ProcessWatch | None = None,
    ) -> None:
        self._host = host
        self._clock = clock
        self._processes = processes
        self._lease = lease
        self._observer = observer
        self._actor = actor
        self._workflows = workflows
        self._ends = ends
        self._peers = Peers(host)
        self._strays = Strays(host, processes)
        self._disk = HostDisk(host, observer.rundirs, observer.margin)
        self._epoch = 0
        self._first: str | None = None
        self._tick_ms: float | None = None

    @property
    def _memory(self) -> Memory:
        return self._observer.memory

    def tick(self) -> Ticked:
        """Look after every pipeline once, unless the host is another's. Raises OperationalError or InterfaceError where
        the database is away."""
        now = self._clock.now()
        lease = self._lease.hold(self._clock, self._tick_ms, self._disk.figures(now))
        if lease is None:
            return Ticked(supervising=False)
        if lease.epoch != self._epoch:
            self._memory.forget()
            self._disk.forget()
            self._epoch = lease.epoch
        try:
            with fencing.holding(lease, lambda: self._clock.now().boottime):
                return self._supervise(now)
        except Fenced as fenced:
            log.warning("fenced", host=self._host, cause=str(fenced))
            return Ticked(supervising=False)

    def _supervise(self, now: Now) -> Ticked:
        self._claim_homeless()
        self._check_peers()
        self._check_disk(now)
        rows = [*supervision.roster(self._host, self._memory.busy), *supervision.standbys(self._host)]
        self._memory.keep({r.run.token for r in rows if r.run}, {r.operation.id for r in rows if r.operation})
        self._memory.standbys = {
            r.pipeline.id: r.run for r in rows if r.run and r.is_standby and not r.run.discarded_at
        }
        learn(self._memory, rows)
        holders = living(self._processes, rows)
        self._strays.end(rows, holders)
        hurry = self._attend_all(self._in_turn(rows), holders, now)
        if self._ends is not None:
            self._ends.watch(self._memory.ends)
        quick = self._go_on_with_workflows() or self._memory.restart_due
        self._tick_ms = (self._clock.now().boottime - now.boottime) * 1000
        return Ticked(supervising=True, hurry=hurry, quick=quick)

    def release(self) -> None:
        """Let another supervisor begin at once."""
        self._lease.release()

    def _claim_homeless(self) -> None:
        for pipeline in supervision.homeless():
            if wanted_host(pipeline) in (ANY_HOST, self._host):
                placement.claim(pipeline=pipeline, host=self._host)

    def _check_peers(self) -> None:
        """A defect in what concerns other hosts must not keep this one from its own."""
        try:
            self._peers.check(self._clock)
        except ENDS_THE_TICK:
            raise
        except Exception:
            log.exception("peers_failed")

    def _check_disk(self, now: Now) -> None:
        """A defect here leaves the agents alone."""
        try:
            self._disk.check(now)
        except (*ENDS_THE_TICK, Fenced):
            raise
        except Exception:
            log.exception("disk_check_failed")

    def _go_on_with_workflows(self) -> bool:
        """After the pipelines, so that a step sees what this tick has recorded. A defect leaves their agents alone."""
        now = self._clock.now()
        try:
            return self._workflows.turn(now, self._peers.silent(now))
        except (*ENDS_THE_TICK, Fenced):
            raise
        except Exception:
            log.exception("workflows_failed")
            return False

    def _in_turn(self, rows: Sequence[Row]) -> Sequence[Row]:
        """Begin where the last tick ran out of time."""
        names = [row.pipeline.name for row in rows]
        start = names.index(self._first) if self._first in names else 0
        return [*rows[start:], *rows[:start]]

    def _attend_all(self, rows: Sequence[Row], holders: TokenHolders, now: Now) -> bool:
        hurry, busy, self._memory.busy = False, set[UUID](), None
        self._memory.ends, self._memory.restart_due = set(), False
        recorded = self._observer.record(rows, now, lambda: self._spent(now) > BUDGET / 2)
        for row, following in zip(rows[: recorded.reached], [*rows[1:], None], strict=False):
            self._first = following.pipeline.name if following else None
            failure = recorded.errors.get(row.run.token) if row.run else None
            hurry |= self._attend(row, failure, holders, now, busy)
            if self._first is not None and self._spent(now) > BUDGET:
                return True
        if recorded.reached < len(rows):
            return True
        self._memory.busy = busy
        return hurry

    def _spent(self, now: Now) -> float:
        return self._clock.now().boottime - now.boottime

    def _attend(self, row: Row, failure: Exception | None, holders: TokenHolders, now: Now, busy: set[UUID]) -> bool:
        """Its log lines name the trace of the operation under way."""
        if row.operation is None:
            return self._attend_to(row, failure, holders, now, busy)
        with bound_contextvars(trace_id=row.operation.trace.trace_id):
            return self._attend_to(row, failure, holders, now, busy)

    def _attend_to(self, row: Row, failure: Exception | None, holders: TokenHolders, now: Now, busy: set[UUID]) -> bool:
        """What a run has written and cannot be stored keeps nobody from commanding it, nor does one action another."""
        failures, hurry = [failure] if failure is not None else [], False
        try:
            snapshot = self._observer.snapshot(row, holders, now)
            chosen = decide(snapshot, now)
            if chosen:
                busy.add(snapshot.id)
            self._memory.note(snapshot, chosen)
            failures += self._actor.perform(row, snapshot, chosen, now)
            hurry = hurried(snapshot)
        except ENDS_THE_TICK:
            raise
        except Exception as error:
            failures.append(error)
        self._note(row.pipeline, failures, now, busy)
        return hurry and not failures

    def _note(self, pipeline: Pipeline, failures: Sequence[Exception], now: Now, busy: set[UUID]) -> None:
        """The next tick makes a condition of it, and takes that back where nothing has failed."""
        words = " ".join(dict.fromkeys(explain(each) for each in failures))
        if words != self._memory.troubles.get(pipeline.id, ""):
            busy.add(pipeline.id)
        self._memory.troubles[pipeline.id] = words
        for each in failures:
            self._complain(pipeline, each, now)

    def _complain(self, pipeline: Pipeline, error: Exception, now: Now) -> None:
        """One event a minute for the same error of the same pipeline."""
        key = (pipeline.id, type(error).__name__)
        if now.boottime - self._memory.complaints.get(key, -COMPLAINT_INTERVAL) < COMPLAINT_INTERVAL:
            return
        self._memory.complaints[key] = now.boottime
        log.error("pipeline_failed", pipeline=pipeline.name, exc_info=error)
        message = f"The supervisor failed for this pipeline: {explain(error)}"
        emit(kind="supervisor.error", message=message, pipeline=pipeline)
