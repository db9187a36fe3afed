"""Reading the audit, and the chain of its rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Max, Min, Q, QuerySet

from pipelines.domain.access import audit_chain
from pipelines.domain.access.audit_chain import Head, Link, Record, Verified
from pipelines.domain.access.audit_export import Exported
from pipelines.foundation.signing import PublicKey
from pipelines.models import AuditHead, AuditRow

CHUNK = 1000
_OF_THE_CHAIN = frozenset({"sequence", "digest"})
_COLUMNS = [field.attname for field in AuditRow._meta.concrete_fields if field.attname not in _OF_THE_CHAIN]


_SEARCHED = ("actor", "action", "pipeline_name", "address", "request_id")


@dataclass(frozen=True)
class AuditFilter:
    """Which rows; None is any. `action` with a dot at its end: all that begin so. `text`: part of actor, action,
    pipeline, address or request id."""

    actor: str | None = None
    action: str | None = None
    pipeline: str | None = None
    outcome: str | None = None
    since: datetime | None = None
    until: datetime | None = None
    text: str | None = None


def audit_rows(wanted: AuditFilter) -> QuerySet[AuditRow]:
    """The rows that a filter asks for."""
    equal = {
        "actor": wanted.actor,
        "action__startswith" if (wanted.action or "").endswith(".") else "action": wanted.action,
        "pipeline_name": wanted.pipeline,
        "outcome": wanted.outcome,
        "at__gte": wanted.since,
        "at__lt": wanted.until,
    }
    rows = AuditRow.objects.filter(**{name: value for name, value in equal.items() if value is not None})
    if wanted.text is None:
        return rows
    found = Q()
    for name in _SEARCHED:
        found |= Q(**{f"{name}__icontains": wanted.text})
    return rows.filter(found)


@dataclass(frozen=True)
class ChainState:
    """What was found of the chain, and what is not in it yet."""

    verified: Verified
    unsealed: int
    oldest_unsealed: datetime | None


def record_of(row: AuditRow) -> Record:
    """What the digest of a row covers: every column but the place in the chain."""
    return audit_chain.record_of({name: getattr(row, name) for name in _COLUMNS})


def exported(row: AuditRow) -> Exported:
    """A row as exports have it."""
    return Exported(row.sequence, row.digest, record_of(row))


def links(*, most: int | None = None) -> Iterator[Link]:
    """The sealed rows in their order; `most`: up to this place."""
    rows = AuditRow.objects.filter(sequence__isnull=False).order_by("sequence")
    if most is not None:
        rows = rows.filter(sequence__lte=most)
    for row in rows.iterator(chunk_size=CHUNK):
        yield Link(row.sequence or 0, row.digest, record_of(row))


def head() -> Head | None:
    """The signed end of the chain; None where nothing was sealed."""
    row = AuditHead.objects.order_by("pk").first()
    return None if row is None else Head(row.sequence, row.digest, row.at, row.key, row.signature)


def verify_chain(*, key: PublicKey, kept: tuple[int, str] | None = None) -> ChainState:
    """Check every sealed row while others are written and sealed. Raises NotAKey."""
    end = head()
    found = audit_chain.verify(links(most=end.sequence if end else None), end, key, kept)
    if found.holds and end is not None:
        last = AuditRow.objects.aggregate(last=Max("sequence"))["last"]
        if (now := head()) is None or last > now.sequence:
            found = Verified(found.rows, found.digest, f"Row {last} lies behind the head of the chain.")
    waiting = AuditRow.objects.filter(sequence__isnull=True)
    return ChainState(found, waiting.count(), waiting.aggregate(oldest=Min("at"))["oldest"])
