"""What one tick sees of one pipeline: plain values, collected by `observe`, judged by `decide`."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from pipelines.domain.base.states import STOP_COMMANDS, DesiredState, OperationKind, Phase, RunState
from pipelines.domain.definitions.document.spec import Lifecycle
from pipelines.domain.definitions.parts.leases import Fence
from pipelines.domain.hosts.disk import DiskState
from pipelines.domain.ledger.ledger import LedgerTotals
from pipelines.domain.lifecycle.operations import OnTimeout
from pipelines.domain.runs.crashes import Crash
from pipelines.domain.runs.protocol import Control, Dump, ExitRecord, Identity, ProcessIdentity, Status

HEALTHY_PHASES = frozenset({Phase.RUNNING, Phase.PAUSED})
_TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class OperationSnapshot:
    """The open operation of a pipeline. `expires`: CLOCK_BOOTTIME at which nobody need wait any longer."""

    id: UUID
    kind: OperationKind
    generation: int
    expires: float | None = None


@dataclass(frozen=True)
class DiskSnapshot:
    """The scarcer of the disks of runs and checkpoints. `state`: FULL, too, where the agent has found it full;
    `startable`: an agent can start; `lately`: it was full a moment ago, so a run may have ended for that."""

    path: str
    state: DiskState
    startable: bool = True
    lately: bool = False


def lives(named: ProcessIdentity | None, holders: Collection[ProcessIdentity]) -> bool:
    """Whether a process is among the living ones; true as long as none is named."""
    return named is None or named in holders


@dataclass(frozen=True)
class RunSnapshot:
    """The run that is not proven over yet.

    `holders` are the living processes with its token. `journal_drained`: all that the journal holds is in the
    database. `journal_fault`: why it cannot be. `last_word`: code and reason of the journal's exit entry. The rest is
    what this supervisor process remembers: `spawned_here`: it has started a keeper for the run; `half_dead_since` and
    `healthy_since`: CLOCK_BOOTTIME at which it first saw that, None where it is not so. `crashes`, of a run without
    processes: what it left in hand, and the runs directly before it where they crashed, newest first. `dumps`: of the
    stacks, of a run that is to end, has ended or is stalled, oldest first; those up to `dumped_at` (wall time) are
    recorded. `halted`: those of its processes that a signal or a debugger has stopped, and `halted_since` when that
    was first seen; `reported`: it has written a status before; `directory_lost`: its directory was removed while its
    processes live. `epoch`: 0 of a standby; `promoted`: it was one, and `told`: the epoch that its promote.json names.
    """

    number: int
    generation: int
    state: RunState
    token: str
    epoch: int = 0
    promoted: bool = False
    promoted_epoch: int | None = None
    holders: tuple[ProcessIdentity, ...] = ()
    known_driver: int | None = None
    identity: Identity | None = None
    control: Control | None = None
    status: Status | None = None
    exit: ExitRecord | None = None
    journal_drained: bool = True
    journal_fault: str | None = None
    last_word: tuple[int, str] | None = None
    spawned_here: bool = False
    half_dead_since: float | None = None
    healthy_since: float | None = None
    halted: tuple[ProcessIdentity, ...] = ()
    halted_since: float | None = None
    reported: bool = False
    directory_lost: bool = False
    crashes: tuple[Crash, ...] = ()
    dumps: tuple[Dump, ...] = ()
    dumped_at: float = 0.0

    @property
    def keeper_alive(self) -> bool:
        """Whether the keeper that identity.json names lives; true as long as it names none."""
        return self.identity is None or lives(self.identity.keeper, self.holders)

    @property
    def driver_alive(self) -> bool:
        """Whether the driver that identity.json names lives; true as long as it names none."""
        return self.identity is None or lives(self.identity.driver, self.holders)

    @property
    def started(self) -> float | None:
        """CLOCK_BOOTTIME at which the oldest living process of the run began."""
        return min((holder.start_time / _TICKS_PER_SECOND for holder in self.holders), default=None)

    @property
    def new_dumps(self) -> tuple[Dump, ...]:
        """Dumps that are not recorded yet."""
        return tuple(dump for dump in self.dumps if dump.at > self.dumped_at)

    @property
    def interrupts(self) -> tuple[Dump, ...]:
        """Those that interrupts of a stop have taken."""
        return tuple(dump for dump in self.dumps if dump.number)

    @property
    def stopping(self) -> bool:
        """Whether it was told to stop; that is never taken back."""
        return self.control is not None and self.control.command in STOP_COMMANDS

    @property
    def obeyed(self) -> bool:
        """Whether the agent has finished the last command."""
        return (
            self.control is not None
            and self.status is not None
            and self.status.command_seq == self.control.seq
            and self.status.command_state == "done"
        )


@dataclass(frozen=True)
class StandbySnapshot:
    """The standby of a pipeline on this host. `ready`: a warm one of the present revision that could take over now."""

    number: int
    warm: bool = True
    ready: bool = False


@dataclass(frozen=True)
class PipelineSnapshot:
    """One pipeline. `restart_deadline` is (boot id, CLOCK_BOOTTIME) at which the back-off ends. `owner`: the epoch of
    the host's lease, under which this is seen; `fence`: how long its run may go on without a supervisor, None for
    ever. `on_timeout`: what follows where the batch in hand of a pause or of a drain does not end in time;
    `desired_before`: what is wanted again where that is given up. `reconcile`: a person has said whom to believe, the
    database or the host. `trouble`: the error that the supervisor met here in its last tick, in words. `standby`: it
    is looked at only for the sake of `run`, a standby on this host, and `desired` is what is wanted of that; `surplus`:
    it was prepared for the definition's sake, and seems to be wanted no more. `second`: beside `run`, its standby;
    `no_standby`: why none could be prepared; `standby_due`: CLOCK_BOOTTIME before which no further one is.
    """

    id: UUID
    name: str
    desired: DesiredState
    generation: int
    observed_generation: int
    phase: Phase
    phase_reason: str
    phase_message: str
    lifecycle: Lifecycle
    drain_on_stop: bool = True
    on_timeout: OnTimeout = OnTimeout.STOP
    desired_before: DesiredState = DesiredState.RUNNING
    force_stop: bool = False
    restart_run: int | None = None
    restart_count: int = 0
    restart_deadline: tuple[str, float] | None = None
    findings: tuple[Mapping[str, Any], ...] = ()
    reconcile: bool = False
    conditions: tuple[Mapping[str, Any], ...] = ()
    totals: LedgerTotals = field(default_factory=LedgerTotals)
    operation: OperationSnapshot | None = None
    owner: int = 0
    fence: Fence | None = None
    run: RunSnapshot | None = None
    trouble: str = ""
    standby: bool = False
    surplus: bool = False
    second: StandbySnapshot | None = None
    no_standby: str = ""
    standby_due: float = 0.0
    disk: DiskSnapshot | None = None

    @property
    def behind(self) -> bool:
        """Whether the run was told what a later request asked for: the database has forgotten that one."""
        return self.run is not None and self.run.control is not None and self.run.control.generation > self.generation

    @property
    def disk_full(self) -> bool:
        """Whether there is no room for what an agent has to write."""
        return self.disk is not None and self.disk.state is DiskState.FULL

    @property
    def asked_anew(self) -> bool:
        """Whether a person has asked for something since the supervisor last acted."""
        return self.generation > self.observed_generation

    @property
    def end_wanted(self) -> bool:
        """Whether the present run is to end: by a stop, or by a restart."""
        return self.desired is DesiredState.STOPPED or self.restart_wanted

    @property
    def restart_wanted(self) -> bool:
        """Whether the present run is to be followed by a new one."""
        return self.run is not None and self.restart_run is not None and self.run.number <= self.restart_run
