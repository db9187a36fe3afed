"""Checking the audit's chain again and again, part by part, and keeping what was found for those who look.

What was found is signed: without the key of the installation nobody can write that the chain holds.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta

import structlog
from django.db import transaction

from pipelines.domain.access.audit.chain import BEGIN, Checked, Head, Verified
from pipelines.foundation import clock
from pipelines.foundation.signing import Signer
from pipelines.models import AuditCheck
from pipelines.selectors.access import audit as selecting
from pipelines.services.base import audit
from pipelines.services.base.audit import Actor

AT_ONCE = 2000
INTERVAL = 5.0
PART_INTERVAL = 1.0
RETRY_INTERVAL = 60.0
EVERY = timedelta(hours=1)

log = structlog.get_logger(__name__)


class Walk:
    """The passes of a background loop: when a walk is due it goes over the whole chain, a part in each pass."""

    def __init__(self, signer: Callable[[], Signer], *, most: int = AT_ONCE) -> None:
        self._signer = signer
        self._most = most
        self._found: Verified | None = None
        self._end: Head | None = None

    def turn(self) -> float:
        """One pass; returns the seconds until the next."""
        if self._found is None:
            if not is_due():
                return INTERVAL
            self._found, self._end = BEGIN, selecting.head()
        signer = self._signer()
        found = selecting.verify_part(self._found, self._end, signer.public, self._most)
        if found.holds and self._end is not None and found.rows < self._end.sequence:
            self._found = found
            return PART_INTERVAL
        self._found = None
        if found.rows or not found.holds:
            record(found=found, signer=signer)
        return INTERVAL


def is_due() -> bool:
    """Whether the last walk is too long ago, or a user has asked for another."""
    last = selecting.last_check()
    return last is None or clock.now() - last.at >= EVERY or selecting.check_requested_at() is not None


def record(*, found: Verified, signer: Signer) -> None:
    """Keep what a walk over the whole chain found, in place of the last one."""
    checked = Checked(clock.now(), found.rows, found.digest, found.problem)
    signed = replace(checked, signature=signer.sign(checked.text))
    AuditCheck.objects.update_or_create(pk=1, defaults=vars(signed))
    if not found.holds:
        log.error("audit_chain_differs", problem=found.problem)


@transaction.atomic
def request(*, actor: Actor) -> None:
    """Ask for a walk as soon as possible; the answer is `last_check` once its time is later."""
    if selecting.check_requested_at() is None:
        AuditCheck.objects.update_or_create(pk=1, defaults={"requested_at": clock.now()})
        audit.record(actor=actor, action="audit.verify")
