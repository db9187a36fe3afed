"""The audit: read page by page, and exported; and the key by which it is verified."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from dataclasses import fields
from functools import cached_property
from typing import Annotated

from asgiref.sync import sync_to_async
from django.conf import settings
from django.db.models import Max, QuerySet
from django.http import StreamingHttpResponse
from drf_spectacular.utils import extend_schema
from pydantic import AwareDatetime, BaseModel, Field, StringConstraints
from rest_framework.request import Request
from rest_framework.response import Response

from pipelines.api.http.base import TeamView, View, answer
from pipelines.api.http.paging import Page, PageQuery, each, page
from pipelines.api.http.permissions import CLOSED
from pipelines.domain.access.audit import export as audit_export
from pipelines.domain.base.roles import Role
from pipelines.foundation.signing import PublicKey
from pipelines.models import AuditRow
from pipelines.selectors.access.audit import (
    AuditFilter,
    audit_rows,
    chain_schema,
    exported,
    get_audit_row,
    head,
    owner_of,
)
from pipelines.selectors.access.schemas import AuditChainSchema
from pipelines.selectors.monitoring.events import audit_schema
from pipelines.selectors.monitoring.schemas import AuditSchema, SigningKeySchema
from pipelines.services.access.audit import checking

CHUNK = 1000


class Wanted(BaseModel):
    """Which rows. `action`: one, or with a dot at its end all that begin so. `object`: the whole name or id of what was
    changed. `token`: the begin of its prefix. `text`: part of a name or address, or of what was before and after."""

    actor: str | None = Field(default=None, max_length=150)
    action: str | None = Field(default=None, max_length=64)
    object: str | None = Field(default=None, max_length=253)
    pipeline: str | None = Field(default=None, max_length=63)
    team: str | None = Field(default=None, max_length=63)
    token: str | None = Field(default=None, max_length=120)
    outcome: str | None = Field(default=None, max_length=32)
    since: AwareDatetime | None = None
    until: AwareDatetime | None = None
    text: str | None = Field(default=None, max_length=150)

    @property
    def filter(self) -> AuditFilter:
        """What the selector is asked for."""
        return AuditFilter(**{each.name: getattr(self, each.name) for each in fields(AuditFilter)})


class AuditQuery(PageQuery, Wanted):
    """Which rows, and which page of them."""


class ExportQuery(Wanted):
    """Which rows, and as what."""

    format: Annotated[str, StringConstraints(pattern="^(jsonl|csv)$")] = "jsonl"


class Audit(View):
    """Who asked for what."""

    roles = {"GET": Role.OPERATOR}
    queries = {"GET": AuditQuery}

    @extend_schema(operation_id="list_audit", responses=Page[AuditSchema])
    def get(self, request: Request) -> Response:
        """List the audit, newest first."""
        query = self.query(AuditQuery)
        return page(audit_rows(query.filter, self.access, Role.OPERATOR), ["-id"], query, each(audit_schema))


class AuditDetail(TeamView):
    """One row of the audit."""

    roles = {"GET": Role.OPERATOR}

    @cached_property
    def row(self) -> AuditRow:
        """The row that the address names; raises NotFound."""
        return get_audit_row(self.kwargs["row_id"], self.access)

    @property
    def owner(self) -> int | None:
        """The team of the pipeline that it is about."""
        return owner_of(self.row)

    @extend_schema(operation_id="get_audit_row", responses=AuditSchema)
    def get(self, request: Request, row_id: int) -> Response:
        """Show a row of the audit."""
        return answer(audit_schema(self.row))


class AuditExport(View):
    """The audit as a file."""

    roles = {"GET": Role.ADMIN}
    queries = {"GET": ExportQuery}

    @extend_schema(
        operation_id="export_audit",
        responses={(200, "application/json"): str, (200, "application/x-ndjson"): str, (200, "text/csv"): str},
    )
    def get(self, request: Request) -> StreamingHttpResponse:
        """Export rows, oldest first, up to the newest one when it starts. JSON Lines (`jsonl`) without a filter has
        every digest and the signed head first; cells of `csv` are text for a spreadsheet, never formulas."""
        query = self.query(ExportQuery)
        is_csv, end = query.format == "csv", head() if self.access.visible is None else None
        first = audit_export.csv_header() if is_csv else audit_export.head_line(end)
        line = audit_export.csv_line if is_csv else audit_export.json_line
        headers = {"Content-Disposition": f'attachment; filename="audit.{query.format}"', "Cache-Control": "no-store"}
        kind = "text/csv; charset=utf-8" if is_csv else "application/x-ndjson"
        rows = audit_rows(query.filter, self.access, Role.ADMIN)
        return StreamingHttpResponse(_lines(rows, first, line), content_type=kind, headers=headers)


async def _lines(
    rows: QuerySet[AuditRow], first: str, line: Callable[[audit_export.Exported], str]
) -> AsyncIterator[str]:
    """Part by part, so that neither memory nor a transaction grows with the number of rows."""
    yield first
    after, newest = 0, await sync_to_async(_newest)(rows)
    while part := await sync_to_async(_part)(rows, after, newest):
        yield "".join(map(line, map(exported, part)))
        after = part[-1].pk


def _newest(rows: QuerySet[AuditRow]) -> int:
    return rows.aggregate(newest=Max("pk"))["newest"] or 0


def _part(rows: QuerySet[AuditRow], after: int, newest: int) -> list[AuditRow]:
    return list(rows.filter(pk__gt=after, pk__lte=newest).order_by("pk")[:CHUNK])


def _chain() -> AuditChainSchema:
    environment = settings.HEADGATE
    return chain_schema(environment.signer.public, environment.audit_destinations)


class AuditChain(View):
    """The chain that the rows of every team are sealed in."""

    scope = CLOSED
    roles = {"GET": Role.OPERATOR}

    @extend_schema(operation_id="get_audit_chain", responses=AuditChainSchema)
    def get(self, request: Request) -> Response:
        """Show how far the audit is sealed, and how far workers have verified it."""
        return answer(_chain())


class VerifyAudit(View):
    """A walk over the whole chain."""

    scope = CLOSED
    while_read_only = frozenset({"POST"})

    @extend_schema(operation_id="verify_audit", request=None, responses={202: AuditChainSchema})
    def post(self, request: Request) -> Response:
        """Ask a worker to verify the whole chain now, instead of within the hour."""
        checking.request(actor=self.actor)
        return answer(_chain(), 202)


class SigningKey(View):
    """What signatures of this installation are verified by."""

    @extend_schema(operation_id="get_signing_key", responses=SigningKeySchema)
    def get(self, request: Request) -> Response:
        """Show the public key that verifies heads of the audit and evidence of migrations. Keep a copy elsewhere."""
        key: PublicKey = settings.HEADGATE.signer.public
        return answer(SigningKeySchema(id=key.id, algorithm="Ed25519", public_key=key.text))
