"""Sealing the audit: rows are written without a lock in the transaction of what they record, and put in the chain here.

Whoever can write the database can append rows, and whoever holds the key besides can write the chain again: keep heads
elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable

import structlog
from django.db import transaction

from pipelines.domain.access.audit import chain as audit_chain
from pipelines.domain.access.audit.chain import GENESIS, Head
from pipelines.foundation import clock
from pipelines.foundation.errors import Conflict
from pipelines.foundation.signing import PublicKey, Signer
from pipelines.models import AuditHead, AuditRow
from pipelines.selectors.access import audit as selecting

AT_ONCE = 500
INTERVAL = 2.0
REFUSED_INTERVAL = 60.0

log = structlog.get_logger(__name__)


class HeadDiffers(Conflict):
    """The head of the chain is missing, or not of this installation's key: nothing may be built upon it."""

    code = "audit_head_differs"


def sealing_pass(signer: Callable[[], Signer]) -> Callable[[], float]:
    """One pass of a background loop: seals a part, and returns the seconds until the next."""

    def turn() -> float:
        try:
            sealed = seal(signer=signer())
        except HeadDiffers as error:
            log.error("audit_not_sealed", cause=error.detail, hint=error.hint)
            return REFUSED_INTERVAL
        return 0.0 if sealed == AT_ONCE else INTERVAL

    return turn


@transaction.atomic
def seal(*, signer: Signer, most: int = AT_ONCE) -> int:
    """Put the oldest rows that wait behind the head, and sign the new one. Returns how many; none where another worker
    did it. Raises HeadDiffers."""
    if not AuditRow.objects.filter(sequence__isnull=True).exists():
        return 0
    row = AuditHead.objects.select_for_update().order_by("pk").first()
    head = selecting.head() if row else None
    _require_own(head, signer.public)
    rows = list(AuditRow.objects.filter(sequence__isnull=True).order_by("id")[:most])
    sequence, last = (head.sequence, head.digest) if head else (0, GENESIS)
    for each in rows:
        sequence += 1
        last = audit_chain.digest(last, sequence, selecting.record_of(each))
        each.sequence, each.digest = sequence, last
    if not rows or not _advance(head, sequence, last, signer):
        return 0
    AuditRow.objects.bulk_update(rows, ["sequence", "digest"], batch_size=100)
    return len(rows)


def _require_own(head: Head | None, key: PublicKey) -> None:
    if head is None:
        if AuditRow.objects.filter(sequence__isnull=False).exists():
            raise HeadDiffers("The head of the audit's chain is missing.", hint="Run `headgate audit verify`.")
    elif not head.is_signed_by(key):
        raise HeadDiffers(
            f"The head of the audit's chain is not signed by the key {key.id}; it names {head.key}.",
            hint="After a change of HEADGATE_SECRET_KEY run `headgate audit verify --public-key OLD --sign-again`.",
        )


def _advance(head: Head | None, sequence: int, last: str, signer: Signer) -> bool:
    """Compare-and-swap: whether the head is still the one that was read, and now the new one."""
    at = clock.now()
    signature = signer.sign(audit_chain.head_text(sequence, last, at))
    values = {"sequence": sequence, "digest": last, "at": at, "key": signer.public.id, "signature": signature}
    if head is None:
        _, is_new = AuditHead.objects.get_or_create(pk=1, defaults=values)
        return is_new
    found = AuditHead.objects.filter(sequence=head.sequence, digest=head.digest, signature=head.signature)
    return found.update(**values) == 1


@transaction.atomic
def sign_again(*, old: PublicKey, signer: Signer) -> Head | None:
    """Sign the head by the present key, once the chain holds by the old one. Raises HeadDiffers."""
    head, state = selecting.head(), selecting.verify_chain(key=old)
    if not state.verified.holds:
        raise HeadDiffers(state.verified.problem, hint="The chain is not signed again.")
    if head is not None and not _advance(head, head.sequence, head.digest, signer):
        raise HeadDiffers("The head changed in the meantime.", hint="Try again.")
    return selecting.head()
