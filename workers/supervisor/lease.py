"""Who may tick for a host: one process per state directory (file lock) and one per host name (lease in the database).

Another owner's lease is believed until it has not changed for `TTL` seconds of our own clock, or its owner is a process
of this boot that is dead. Wall clocks are compared with nothing.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

from pipelines.domain.protocol import ProcessIdentity
from pipelines.models import Host
from pipelines.services import observations
from pipelines.services.observations import HostFacts
from workers.ports import Exclusive, Now, Processes

TTL = 15.0


class HostLease:
    """The right to tick, taken and renewed by every tick."""

    def __init__(self, facts: HostFacts, lock: Exclusive, processes: Processes) -> None:
        self._facts = facts
        self._lock = lock
        self._processes = processes
        self._seen: tuple[dict[str, Any] | None, datetime | None] | None = None
        self._seen_at = 0.0

    def hold(self, now: Now, tick_ms: float | None) -> bool:
        """Renew or take the lease, with the host's heartbeat; False while another supervisor has it."""
        if not self._lock.acquire():
            return False
        row = observations.lease_of(self._facts.name)
        if not self._free(row, now):
            return False
        return observations.beat(facts=self._facts, seen=row, now=now.wall, ttl=TTL, tick_ms=tick_ms)

    def release(self) -> None:
        """Give the right back."""
        observations.release_lease(name=self._facts.name, owner=self._facts.owner)
        self._lock.release()

    def _free(self, row: Host, now: Now) -> bool:
        owner = row.lease_owner
        if owner is None or owner == self._facts.owner:
            return True
        identity = ProcessIdentity.model_validate(owner)
        if identity.boot_id == now.boot_id and not self._processes.is_alive(identity):
            return True
        return self._unchanged_for(row, now) >= TTL

    def _unchanged_for(self, row: Host, now: Now) -> float:
        if self._seen != (row.lease_owner, row.lease_until):
            self._seen, self._seen_at = (row.lease_owner, row.lease_until), now.boottime
        return now.boottime - self._seen_at
