"""The other hosts, as this one sees them, and what follows when one falls silent or is drained.

A silent host is an alert until its lease is renewed, or until it is drained and nothing on it may live any more.

A host is silent when its lease has stood still on our own clock, so that no two clocks are ever compared. Then its runs
are UNKNOWN and never started elsewhere, but for those that are proven over: ended ones, and those under `fence` whose
last lease, counted from the last renewal of the host's, has passed together with its grace.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from pipelines.domain.base.states import Phase
from pipelines.domain.definitions.parts.leases import fence_of
from pipelines.domain.lifecycle.operations import OnTimeout
from pipelines.models import Host, Run
from pipelines.selectors.lifecycle import supervision
from pipelines.services.runs import ownership
from pipelines.services.runs.ownership import Lapsed
from workers.ports import Clock, Now
from workers.supervisor.tick.turns import Turns

SILENT_AFTER = 30.0
"""Seconds; supervisors renew their leases every second."""
CARE_EVERY = 5.0
"""Seconds between two rounds over silent hosts."""
ABANDONED_AFTER = 60.0
"""Seconds of silence after which a pipeline without a living run does not wait for its host any longer."""
MOVED_AT_A_TIME = 10
"""Pipelines of lost and drained hosts that a tick gives another one: each is a choice among all hosts."""
MARKED_AT_A_TIME = 200
"""Runs of a silent host that become UNKNOWN in a tick."""
EVACUATED_AGAIN_AFTER = 600.0
"""Seconds after which a run that did not end in time, and went on, is asked again to leave a host that is drained."""


@dataclass
class _Seen:
    """`since`: CLOCK_BOOTTIME at which the lease was first seen as it is. `renewed`: it was seen to change."""

    lapsed: Lapsed
    since: float
    renewed: bool = False


@dataclass
class Peers:
    """What one supervisor remembers of the other hosts. `host`: its own.

    `_sent_away`: when a run was last asked to leave, and in which manner. `_quiet`: when it looked last, no host was
    silent and no alert said that one was. That is forgotten after a pause in which others may have raised one, about us
    too.
    """

    host: str
    _seen: dict[str, _Seen] = field(default_factory=dict)
    _quiet: bool = False
    _checked_at: float = 0.0
    _acted_at: float = -CARE_EVERY
    _sent_away: dict[tuple[int, str], float] = field(default_factory=dict)
    _moves: Turns = field(init=False)
    _marks: Turns = field(init=False)

    def __post_init__(self) -> None:
        self._moves, self._marks = Turns(self.host, MOVED_AT_A_TIME), Turns(self.host, MARKED_AT_A_TIME)

    def check(self, clock: Clock) -> None:
        """One query; more, and not with every tick, only where a host is or was silent, or this one is being drained.

        The clock is read after the leases: we may have been stopped in between.
        """
        hosts = supervision.leases()
        now = clock.now()
        others = [row for row in hosts if row.name != self.host]
        for row in others:
            self._note(row, now)
        silent = [row.name for row in others if self._is_silent(row.name, now)]
        drained = next((row for row in hosts if row.name == self.host and row.drained_at is not None), None)
        living = {row.name for row in hosts if self._lives(row.name, now)}
        unfinished = self._moves.unfinished or self._marks.unfinished
        self._moves.begin()
        self._marks.begin()
        if drained:
            self._send_away(living)
        self._quiet &= now.boottime - self._checked_at < SILENT_AFTER
        self._checked_at = now.boottime
        due = unfinished or now.boottime - self._acted_at >= CARE_EVERY
        if not due or (self._quiet and not (silent or drained)):
            return
        self._acted_at = now.boottime
        held = {name for name in silent if self._care(name, living, now)}
        stood = self._report(hosts, silent, held, now)
        self._quiet = not (silent or stood)
        if drained:
            self._evacuate_one(OnTimeout(drained.on_timeout), living, now)

    def _evacuate_one(self, on_timeout: OnTimeout, living: set[str], now: Now) -> None:
        """Runs of a host that is being drained end one after another, each only while another host has room."""
        runs = supervision.living_runs(self.host)
        ids = {run.id for run in runs}
        self._sent_away = {key: at for key, at in self._sent_away.items() if key[0] in ids}
        if any(run.pipeline.restart_run is not None and run.number <= run.pipeline.restart_run for run in runs):
            return
        before = now.boottime - EVACUATED_AGAIN_AFTER
        due = [run for run in runs if self._sent_away.get((run.id, on_timeout), before) <= before]
        for run in self._moves.some("living here", due):
            if ownership.evacuate(run=run, living=living, on_timeout=on_timeout):
                self._sent_away[run.id, on_timeout] = now.boottime
                return

    def silent(self, now: Now) -> list[str]:
        """Hosts whose leases have stood still for too long, as far as they were looked at."""
        return sorted(name for name in self._seen if self._is_silent(name, now))

    def _is_silent(self, name: str, now: Now) -> bool:
        return self._silence(name, now) >= SILENT_AFTER

    def _note(self, row: Host, now: Now) -> None:
        lapsed = _lease_of(row)
        known = self._seen.get(row.name)
        if known is None or known.lapsed != lapsed:
            self._seen[row.name] = _Seen(lapsed, now.boottime, renewed=known is not None)

    def _silence(self, name: str, now: Now) -> float:
        """Seconds for which a host's lease has stood still."""
        return now.boottime - self._seen[name].since

    def _lives(self, name: str, now: Now) -> bool:
        """Whether it is this host, or one whose lease was seen to be renewed of late."""
        return name == self.host or (self._seen[name].renewed and self._silence(name, now) < SILENT_AFTER)

    def _care(self, name: str, living: set[str], now: Now) -> bool:
        """Whether something on the host may still live."""
        lapsed, silence = self._seen[name].lapsed, self._silence(name, now)
        runs = supervision.living_runs(name)
        over = {run.pk: run for run in runs if _proven_over(run, silence)}
        taken = 0
        for run in self._moves.some(f"over on {name}", over.values()):
            if ownership.take_over(run=run, lapsed=lapsed, living=living, now=now.wall):
                taken += 1
            else:
                ownership.mark_unknown(run=run, lapsed=lapsed)
        news = [run for run in runs if run.pk not in over and run.pipeline.phase != Phase.UNKNOWN]
        for run in self._marks.some(f"unknown on {name}", news):
            ownership.mark_unknown(run=run, lapsed=lapsed)
        if silence >= ABANDONED_AFTER:
            for pipeline in self._moves.some(f"waiting on {name}", supervision.waiting_without_run(name)):
                ownership.move(pipeline=pipeline, living=living, reason=f"{name} is silent.", lapsed=lapsed)
        return taken < len(runs)

    def _send_away(self, living: set[str]) -> None:
        """Pipelines of this host, which is being drained, start their next run elsewhere."""
        for pipeline in self._moves.some("waiting here", supervision.waiting_without_run(self.host)):
            ownership.move(pipeline=pipeline, living=living, reason=f"{self.host} is being drained.")

    def _report(self, hosts: list[Host], silent: list[str], held: set[str], now: Now) -> bool:
        """Whether an alert of a silent host stood."""
        drained = {row.name for row in hosts if row.drained_at is not None}
        return ownership.report_silence(
            leases=[_lease_of(row) for row in hosts],
            silent={name: self._silence(name, now) for name in silent},
            abandoned=drained.intersection(silent) - held,
        )


def _lease_of(row: Host) -> Lapsed:
    return Lapsed(row.name, row.lease_epoch, row.lease_until)


def _proven_over(run: Run, silence: float) -> bool:
    fence = fence_of(run.revision.definition)
    return fence is not None and silence >= fence.proof
