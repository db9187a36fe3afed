"""Who may tick for a host: one process per state directory (file lock) and one per host name (lease in the database).

Another owner's lease is believed until it has not changed for `TTL` seconds of our own clock, or its owner is a process
of this boot that is dead. Wall clocks are compared with nothing. An owner that lives and has not renewed its lease for
that long is frozen; its file lock is then not waited for, since the lease's epoch fences all that it may still do.
"""

from __future__ import annotations

from datetime import datetime
from enum import Enum, auto
from typing import Any

from pipelines.domain.runs.protocol import ProcessIdentity
from pipelines.models import Host
from pipelines.services.base.fencing import Lease
from pipelines.services.runs import observations
from pipelines.services.runs.observations import HostFacts
from workers.ports import Clock, Exclusive, Now, Processes

TTL = 15.0


class _Right(Enum):
    """NONE: another has the lease. WITH_LOCK: it is free. ENOUGH: it is ours, or that of a frozen process."""

    NONE = auto()
    WITH_LOCK = auto()
    ENOUGH = auto()


class HostLease:
    """The right to tick, taken and renewed by every tick."""

    def __init__(self, facts: HostFacts, lock: Exclusive, processes: Processes) -> None:
        self._facts = facts
        self._lock = lock
        self._processes = processes
        self._seen: tuple[dict[str, Any] | None, datetime | None] | None = None
        self._seen_at = 0.0

    def hold(self, clock: Clock, tick_ms: float | None, disk: dict[str, Any] | None = None) -> Lease | None:
        """Renew or take the lease, with the host's heartbeat; None while another supervisor has it.

        Our own lease is counted from before it is written, another's stillness from after it was read: a process that
        was stopped in between believes too little of both.
        """
        now = clock.now()
        locked = self._lock.acquire()
        row = observations.lease_of(self._facts.name)
        right = self._right(row, clock.now())
        if right is _Right.NONE or not (locked or right is _Right.ENOUGH):
            self._lock.release()
            return None
        epoch = observations.heartbeat(facts=self._facts, seen=row, now=now.wall, ttl=TTL, tick_ms=tick_ms, disk=disk)
        return None if epoch is None else Lease(self._facts.name, epoch, now.boottime + TTL)

    def release(self) -> None:
        """Give the right back."""
        observations.release_lease(name=self._facts.name, owner=self._facts.owner)
        self._lock.release()

    def _right(self, row: Host, now: Now) -> _Right:
        owner = row.lease_owner
        if owner == self._facts.owner:
            return _Right.ENOUGH
        if owner is None:
            return _Right.WITH_LOCK
        identity = ProcessIdentity.model_validate(owner)
        if identity.boot_id == now.boot_id and not self._processes.is_alive(identity):
            return _Right.WITH_LOCK
        if self._unchanged_for(row, now) < TTL:
            return _Right.NONE
        return _Right.ENOUGH if identity.boot_id == now.boot_id else _Right.WITH_LOCK

    def _unchanged_for(self, row: Host, now: Now) -> float:
        if self._seen != (row.lease_owner, row.lease_until):
            self._seen, self._seen_at = (row.lease_owner, row.lease_until), now.boottime
        return now.boottime - self._seen_at
