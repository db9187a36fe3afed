"""How far the audit was forwarded: a place in the chain for each destination, which only the worker that holds the
destination moves on, by compare-and-swap."""

from __future__ import annotations

from datetime import datetime, timedelta

from django.db.models import Q

from pipelines.models import AuditForwarding

LEASE = timedelta(minutes=1)
"""Longer than an attempt may take: another worker sends the same rows only after this one has ended."""
LONGEST_ERROR = 300


def claim(*, destination: str, owner: str, now: datetime) -> int | None:
    """Hold a destination, for as long as an attempt may take; returns the last row that was forwarded, or None while
    another worker holds it."""
    AuditForwarding.objects.get_or_create(destination=destination)
    free = Q(owner=owner) | Q(held_until=None) | Q(held_until__lt=now)
    found = AuditForwarding.objects.filter(free, destination=destination)
    if not found.update(owner=owner, held_until=now + LEASE):
        return None
    return AuditForwarding.objects.get(destination=destination).sequence


def advance(*, destination: str, owner: str, old: int, new: int, now: datetime) -> bool:
    """Note that every row up to `new` has arrived; False where another worker has taken over meanwhile."""
    found = AuditForwarding.objects.filter(destination=destination, owner=owner, sequence=old)
    return found.update(sequence=new, forwarded_at=now, failing_since=None, last_error="") == 1


def note_failure(*, destination: str, cause: str, now: datetime) -> None:
    """Note why nothing arrives, and since when."""
    found = AuditForwarding.objects.filter(destination=destination)
    found.filter(failing_since=None).update(failing_since=now)
    found.update(last_error=cause[:LONGEST_ERROR])
