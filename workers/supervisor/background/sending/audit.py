"""Forwards sealed rows of the audit, in their order, in a background loop beside the ticks.

The rows in the database are the queue. A part of them counts as forwarded once the receiver has taken all of it; until
then, and after a worker died in between, it is sent again. No request waits for it.
"""

from __future__ import annotations

import structlog

from pipelines.domain.access.audit.export import Exported
from pipelines.foundation import clock
from pipelines.selectors.access import audit as selecting
from pipelines.services.access.audit import forwarding
from workers.ports import AuditReceiver, Exclusive, NotForwarded
from workers.supervisor.background.loop import BackgroundLoop

IDLE_SECONDS = 2.0
RETRY_SECONDS = 2.0
SLOWEST_RETRY = 60.0
AT_ONCE = 200

log = structlog.get_logger(__name__)


class AuditForwarder:
    """Sends to one destination. `owner`: this worker, among those that forward to the same one."""

    def __init__(self, destination: str, receiver: AuditReceiver, owner: str) -> None:
        self._destination = destination
        self._receiver = receiver
        self._owner = owner
        self._failures = 0

    def loop(self, lock: Exclusive) -> BackgroundLoop:
        """`lock`: one for a destination on each host, however many workers it has."""
        name = f"audit-{self._destination}"
        return BackgroundLoop(name, self.turn, pause=IDLE_SECONDS, slowest=SLOWEST_RETRY, lock=lock)

    def turn(self) -> float:
        """Send the next part; returns the seconds until the next turn."""
        if selecting.forwarded_up_to(self._destination) >= selecting.sealed_up_to():
            return IDLE_SECONDS
        last = forwarding.claim(destination=self._destination, owner=self._owner, now=clock.now())
        if last is None:
            return IDLE_SECONDS
        rows = selecting.sealed_after(last, most=AT_ONCE)
        if not rows:
            return IDLE_SECONDS
        return self._forward(last, rows)

    def _forward(self, last: int, rows: list[Exported]) -> float:
        try:
            self._receiver.send(rows)
        except NotForwarded as error:
            return self._failed(str(error))
        new = rows[-1].sequence or last
        forwarding.advance(destination=self._destination, owner=self._owner, old=last, new=new, now=clock.now())
        if self._failures:
            log.info("audit_forwarded_again", destination=self._destination)
        self._failures = 0
        return 0.0 if len(rows) == AT_ONCE else IDLE_SECONDS

    def _failed(self, cause: str) -> float:
        """Log the first of several failures; the pause doubles with each."""
        forwarding.note_failure(destination=self._destination, cause=cause, now=clock.now())
        if not self._failures:
            log.warning("audit_not_forwarded", destination=self._destination, cause=cause)
        self._failures += 1
        return float(min(SLOWEST_RETRY, RETRY_SECONDS * 2 ** min(self._failures - 1, 8)))
