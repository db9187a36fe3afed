"""Checking the audit's chain again and again, part by part, and keeping what was found for those who look. An alert
stands while it does not hold.

What was found is signed: without the key of the installation nobody can write that the chain holds.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from time import monotonic

import structlog
from django.db import transaction

from pipelines.domain.access.audit.chain import BEGIN, Checked, Head, Verified
from pipelines.domain.monitoring.alert_rules import AlertRule
from pipelines.foundation import clock
from pipelines.foundation.signing import Signer
from pipelines.models import AuditCheck
from pipelines.selectors.access import audit as selecting
from pipelines.services.base import audit
from pipelines.services.base.audit import Actor
from pipelines.services.monitoring import alerts

AT_ONCE = 2000
INTERVAL = 5.0
PART_INTERVAL = 1.0
RETRY_INTERVAL = 60.0
EVERY = timedelta(hours=1)
NEWEST_EVERY = 60.0
ALERT_KEY = "audit"

log = structlog.get_logger(__name__)


class Walk:
    """The passes of a background loop: when a walk is due it goes over the whole chain, a part in each pass. Between
    walks it looks at the newest part once a minute."""

    def __init__(self, signer: Callable[[], Signer], *, most: int = AT_ONCE) -> None:
        self._signer = signer
        self._most = most
        self._found: Verified | None = None
        self._end: Head | None = None
        self._looked_at: float | None = None
        self._broken_since: float | None = None

    def turn(self) -> float:
        """One pass; returns the seconds until the next."""
        if self._found is None:
            if not is_due() and not self._newest_differ():
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
            self._report(found)
        return INTERVAL

    def _newest_differ(self) -> bool:
        """Whether the newest part shows what the last walk did not find; once a minute, and bounded."""
        if self._looked_at is not None and monotonic() - self._looked_at < NEWEST_EVERY:
            return False
        self._looked_at = monotonic()
        key, last = self._signer().public, selecting.last_check()
        if last is not None and last.problem and last.is_signed_by(key):
            self._report(Verified(last.sequence, last.digest, last.problem))
            return False
        found = selecting.verify_newest(key, self._most)
        if not found.holds:
            self._report(found)
        return not found.holds

    def _report(self, found: Verified) -> None:
        """Only a walk over the whole chain ends the alert: what it finds may be in rows that are not new."""
        if found.holds:
            self._broken_since = None
            alerts.clear_alert(rule=AlertRule.AUDIT_BROKEN, key=ALERT_KEY)
            return
        self._broken_since = monotonic() if self._broken_since is None else self._broken_since
        message = f"The audit's chain holds up to row {found.rows}. {found.problem}"
        lasting = monotonic() - self._broken_since
        alerts.raise_alert(rule=AlertRule.AUDIT_BROKEN, key=ALERT_KEY, message=message, lasting=lasting)


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
