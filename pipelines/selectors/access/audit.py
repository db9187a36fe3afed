"""Reading the audit, and the chain of its rows."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import islice

from django.db.models import Count, Max, Min, Q, QuerySet, TextField
from django.db.models.functions import Cast

from pipelines.domain.access.audit import chain as audit_chain
from pipelines.domain.access.audit.chain import BEGIN, Checked, Head, Link, Record, Verified
from pipelines.domain.access.audit.export import Exported
from pipelines.domain.access.teams import Access
from pipelines.domain.base.roles import Role
from pipelines.foundation.errors import NotFound
from pipelines.foundation.signing import PublicKey
from pipelines.models import AuditCheck, AuditForwarding, AuditHead, AuditRow, Team
from pipelines.selectors.access.schemas import (
    AuditChainSchema,
    AuditCheckSchema,
    AuditForwardingSchema,
    AuditHeadSchema,
    AuditMetricsSchema,
)

CHUNK = 1000
_OF_THE_CHAIN = frozenset({"sequence", "digest"})
_COLUMNS = [field.attname for field in AuditRow._meta.concrete_fields if field.attname not in _OF_THE_CHAIN]


_SEARCHED = ("actor", "action", "pipeline_name", "team", "token", "address", "request_id")
_CONTENT = ("before", "after")


@dataclass(frozen=True)
class AuditFilter:
    """Which rows; None is any. `action` with a dot at its end: all that begin so. `object`: the whole name or id of
    what was changed. `token`: the begin of its prefix. `text`: part of actor, action, pipeline, team, token, address,
    request id, or of what was before and after."""

    actor: str | None = None
    action: str | None = None
    object: str | None = None
    pipeline: str | None = None
    team: str | None = None
    token: str | None = None
    outcome: str | None = None
    since: datetime | None = None
    until: datetime | None = None
    text: str | None = None


def audit_rows(wanted: AuditFilter, access: Access, role: Role) -> QuerySet[AuditRow]:
    """The rows that a filter asks for, of teams in which a user has a role; those of no team are for that role in every
    team."""
    equal = {
        "actor": wanted.actor,
        "action__startswith" if (wanted.action or "").endswith(".") else "action": wanted.action,
        "pipeline_name": wanted.pipeline,
        "team": wanted.team,
        "token__startswith": wanted.token,
        "outcome": wanted.outcome,
        "at__gte": wanted.since,
        "at__lt": wanted.until,
    }
    rows = _of_teams(access.teams_with(role)).filter(
        **{name: value for name, value in equal.items() if value is not None}
    )
    if wanted.object is not None:
        rows = _with_content(rows).filter(Q(pipeline_name=wanted.object) | _contains(wanted.object, whole=True))
    if wanted.text is not None:
        found = _contains(wanted.text)
        for name in _SEARCHED:
            found |= Q(**{f"{name}__icontains": wanted.text})
        rows = _with_content(rows).filter(found)
    return rows


def owner_of(row: AuditRow) -> int | None:
    """Id of the team that a row is about; None for the installation, and where the team is no more."""
    return Team.objects.filter(name=row.team).values_list("pk", flat=True).first()


def get_audit_row(row_id: int, access: Access) -> AuditRow:
    """A row of a team in which the user has a role, or for a role in every team any row; raises NotFound."""
    row = _of_teams(access.visible).filter(pk=row_id).first()
    if row is None:
        raise NotFound(
            f"There is no row {row_id} in the audit.", code="audit_row_not_found", hint="GET /api/v1/audit lists them."
        )
    return row


def _with_content(rows: QuerySet[AuditRow]) -> QuerySet[AuditRow]:
    """With what was before and after as the text of its JSON, in which names stand between quotation marks."""
    return rows.alias(**{f"{name}_text": Cast(name, TextField()) for name in _CONTENT})


def _contains(text: str, *, whole: bool = False) -> Q:
    """Rows whose content has a text in its JSON; `whole`: as a value or key. SQLite keeps letters as escapes there."""
    found = Q()
    for escaped in (True, False):
        written = json.dumps(text, ensure_ascii=escaped)
        for name in _CONTENT:
            found |= Q(**{f"{name}_text__icontains": written if whole else written[1:-1]})
    return found


def _of_teams(teams: frozenset[int] | None) -> QuerySet[AuditRow]:
    if teams is None:
        return AuditRow.objects.all()
    return AuditRow.objects.filter(team__in=Team.objects.filter(pk__in=teams).values("name"))


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


def links(*, after: int = 0, most: int | None = None) -> Iterator[Link]:
    """The sealed rows in their order, those that follow the place `after`; `most`: up to this place."""
    rows = AuditRow.objects.filter(sequence__gt=after).order_by("sequence")
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
    return ChainState(_nothing_behind(found, end), *waiting())


def verify_part(found: Verified, end: Head | None, key: PublicKey, most: int) -> Verified:
    """Go on from `found` by at most so many rows. At `end` the signature of the head is checked, too; without a head
    there must be no row."""
    if end is None:
        return audit_chain.compared(audit_chain.walk(islice(links(), 1)), None, key)
    upto = min(found.rows + most, end.sequence)
    walked = audit_chain.walk(links(after=found.rows, most=upto), found)
    if walked.holds and upto < end.sequence:
        missing = "" if walked.rows == upto else f"Rows {walked.rows + 1} to {upto} are missing."
        return replace(walked, problem=missing)
    return _nothing_behind(audit_chain.compared(walked, end, key), end)


def verify_newest(key: PublicKey, most: int) -> Verified:
    """Check the last so many rows and the head. What is before them holds if the last walk over all of it says so."""
    end = head()
    start = max(0, end.sequence - most) if end else 0
    if start == 0:
        return verify_part(BEGIN, end, key, most)
    before = AuditRow.objects.filter(sequence=start).values_list("digest", flat=True).first()
    if before is None:
        return Verified(start - 1, "", f"Row {start} is missing.")
    return verify_part(Verified(start, before), end, key, most)


def chain_schema(key: PublicKey, destinations: Mapping[str, str]) -> AuditChainSchema:
    """The chain as the API shows it. What is not signed by `key` counts as not checked."""
    end, checked, (unsealed, oldest) = head(), last_check(), waiting()
    return AuditChainSchema(
        head=AuditHeadSchema(**vars(end)) if end else None,
        unsealed=unsealed,
        oldest_unsealed_at=oldest,
        check=_check_schema(checked) if checked and checked.is_signed_by(key) else None,
        check_requested_at=check_requested_at(),
        forwarding=forwarding_schemas(destinations),
    )


def _check_schema(checked: Checked) -> AuditCheckSchema:
    return AuditCheckSchema(
        at=checked.at, sequence=checked.sequence, holds=not checked.problem, problem=checked.problem
    )


def _nothing_behind(found: Verified, end: Head | None) -> Verified:
    """What was found, or a row that was appended without the head."""
    if not found.holds or end is None:
        return found
    last = sealed_up_to()
    if (now := head()) is None or last > now.sequence:
        return replace(found, problem=f"Row {last} lies behind the head of the chain.")
    return found


def sealed_up_to() -> int:
    """The last place of the chain."""
    return AuditRow.objects.aggregate(last=Max("sequence"))["last"] or 0


def sealed_after(place: int, *, most: int) -> list[Exported]:
    """The sealed rows that follow a place, in their order."""
    return [exported(row) for row in AuditRow.objects.filter(sequence__gt=place).order_by("sequence")[:most]]


def forwarded_up_to(destination: str) -> int:
    """The last row that has arrived there."""
    found = AuditForwarding.objects.filter(destination=destination).values_list("sequence", flat=True)
    return next(iter(found), 0)


def forwarding_schemas(destinations: Mapping[str, str]) -> list[AuditForwardingSchema]:
    """How far the audit was forwarded to each destination that is configured, by its name and address."""
    rows, last = AuditForwarding.objects.in_bulk(list(destinations)), sealed_up_to()
    return [
        _forwarding(rows.get(name) or AuditForwarding(destination=name), at, last) for name, at in destinations.items()
    ]


def audit_metrics(key: PublicKey, destinations: Mapping[str, str]) -> AuditMetricsSchema:
    """Counts for metrics, in two queries, and two more where the audit is forwarded."""
    checked = last_check()
    behind = dict.fromkeys(destinations, sealed_up_to()) if destinations else {}
    for name, row in AuditForwarding.objects.in_bulk(list(destinations)).items():
        behind[name] = max(0, behind[name] - row.sequence)
    holds = not checked.problem if checked and checked.is_signed_by(key) else None
    return AuditMetricsSchema(unsealed=waiting()[0], holds=holds, behind=behind)


def _forwarding(row: AuditForwarding, address: str, last: int) -> AuditForwardingSchema:
    behind = AuditRow.objects.filter(sequence__gt=row.sequence).order_by("sequence")
    return AuditForwardingSchema(
        destination=row.destination,
        address=address,
        sequence=row.sequence,
        behind=max(0, last - row.sequence),
        behind_since=behind.values_list("at", flat=True).first(),
        forwarded_at=row.forwarded_at,
        failing_since=row.failing_since,
        error=row.last_error,
    )


def waiting() -> tuple[int, datetime | None]:
    """How many rows are not sealed yet, and since when the oldest waits."""
    rows = AuditRow.objects.filter(sequence__isnull=True).aggregate(number=Count("pk"), oldest=Min("at"))
    return rows["number"], rows["oldest"]


def last_check() -> Checked | None:
    """What the last walk over the whole chain found; None before the first."""
    row = AuditCheck.objects.order_by("pk").first()
    return Checked(row.at, row.sequence, row.digest, row.problem, row.signature) if row and row.at else None


def check_requested_at() -> datetime | None:
    """When a user asked for a walk that has not ended since."""
    row = AuditCheck.objects.order_by("pk").first()
    if row is None or row.requested_at is None or (row.at is not None and row.at >= row.requested_at):
        return None
    return row.requested_at
