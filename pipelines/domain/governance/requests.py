"""What a change request can be, and what may be done with it. Pure."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum


class RequestState(StrEnum):
    """AWAITING_APPROVAL and APPROVED are open. EXPIRED is one that was open for too long: it is not stored, since time
    alone makes it so."""

    AWAITING_APPROVAL = "AWAITING_APPROVAL"
    APPROVED = "APPROVED"
    APPLIED = "APPLIED"
    DENIED = "DENIED"
    CANCELLED = "CANCELLED"
    EXPIRED = "EXPIRED"


OPEN = frozenset({RequestState.AWAITING_APPROVAL, RequestState.APPROVED})
"""States from which something follows."""
FINAL = frozenset(RequestState) - OPEN


def state_at(stored: str, expires_at: datetime, now: datetime) -> RequestState:
    """The state as it is now."""
    state = RequestState(stored)
    return RequestState.EXPIRED if state in OPEN and expires_at <= now else state
