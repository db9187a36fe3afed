"""What leaves the audit as a file: verified without the server, and harmless in a spreadsheet; and signed evidence."""

from __future__ import annotations

import csv
import io
import json
from typing import Any

import pytest
from django.conf import settings
from rest_framework.test import APIClient

from pipelines.api.ledger import audit as api
from pipelines.domain.access.audit.export import NotAnExport, verify_export
from pipelines.domain.migration import evidence
from pipelines.foundation.signing import PublicKey, Signer
from pipelines.models import AuditRow
from pipelines.services.access.audit.sealing import seal
from pipelines.services.base import audit
from pipelines.services.base.audit import Actor

pytestmark = pytest.mark.django_db(transaction=True)
URL = "/api/v1/audit/export"


def _written(number: int) -> None:
    for n in range(number):
        audit.record(actor=Actor("ana", "10.0.0.1"), action="pipeline.stop", pipeline_name="orders", after={"n": n})
    seal(signer=settings.HEADGATE.signer)


def _text(response: Any) -> str:
    return b"".join(response).decode()


def test_an_export_is_verified_without_the_server(admin: APIClient) -> None:
    _written(20)
    audit.record(actor=Actor("ben"), action="pipeline.start")
    lines = _text(admin.get(URL)).splitlines()
    key = PublicKey(admin.get("/api/v1/signing-key").json()["public_key"])
    assert verify_export(lines, key).holds
    assert len(lines) == 22
    changed = [*lines[:8], lines[8].replace("ana", "eve"), *lines[9:]]
    assert "Row 8 was changed" in verify_export(changed, key).problem
    assert "Row 8 is missing" in verify_export([*lines[:8], *lines[9:]], key).problem
    assert "missing at the end" in verify_export(lines[:15], key).problem
    assert "not signed by the key" in verify_export(lines, Signer("x").public).problem
    with pytest.raises(NotAnExport):
        verify_export(["[]"], key)


@pytest.mark.parametrize("begin", ["=", "+", "-", "@", "\t", "\r", " ="])
def test_a_cell_is_never_a_formula(admin: APIClient, begin: str) -> None:
    name = f'{begin}HYPERLINK("http://evil")'
    audit.record(actor=Actor(name), action="session.login", outcome="refused")
    (row,) = csv.DictReader(io.StringIO(_text(admin.get(URL, {"format": "csv"})), newline=""))
    assert row["actor"] == f"'{name}"


def test_a_cell_moves_no_cursor_of_a_terminal(admin: APIClient) -> None:
    audit.record(actor=Actor("a\x1b[2Jb\x9b"), action="session.login", outcome="refused")
    assert "a\\x1b[2Jb\\x9b" in _text(admin.get(URL, {"format": "csv"}))


def test_an_export_has_every_row_of_its_begin_and_ends(admin: APIClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(api, "CHUNK", 3)
    read = api._part

    def busy(*given: Any) -> list[AuditRow]:
        _written(5)
        return read(*given)

    monkeypatch.setattr(api, "_part", busy)
    _written(10)
    assert len(_text(admin.get(URL)).splitlines()) == 11


def test_operators_read_and_administrators_export(operator: APIClient, viewer: APIClient) -> None:
    assert operator.get("/api/v1/audit").status_code == 200
    assert operator.get(URL).status_code == 403
    assert viewer.get("/api/v1/audit").status_code == 403


def test_filters(admin: APIClient) -> None:
    _written(3)
    named = {"name": "warehouse", "note": 'Grüße "an alle"'}
    audit.record(actor=Actor("ben", "10.9.9.9"), action="migration.create", outcome="refused", after=named)

    def found(**query: str) -> int:
        return len(admin.get("/api/v1/audit", query).json()["results"])

    assert AuditRow.objects.count() == 4
    assert found(actor="ben") == found(outcome="refused") == found(action="migration.") == found(text="9.9") == 1
    assert found(object="warehouse") == found(text="wareh") == found(text='üße "an') == 1
    assert found(object="wareh") == found(text="wareh_") == 0
    assert found(object="orders") == 3
    assert found(pipeline="orders") == found(action="pipeline.stop") == 3
    assert found(since="2100-01-01T00:00:00Z") == 0
    assert found(until="2100-01-01T00:00:00Z") == 4
    assert len(_text(admin.get(URL, {"actor": "ben"})).splitlines()) == 2


def test_evidence_that_was_computed_again_is_not_signed() -> None:
    signer: Signer = settings.HEADGATE.signer
    made = evidence.signed(evidence.sealed({"by": "ana"}), key=signer.public.id, sign=signer.sign)
    assert evidence.verify(json.dumps(made), signer.public).signed_by == signer.public.id
    forged = {**evidence.sealed({"by": "eve"}), "signature": made["signature"]}
    assert evidence.verify(json.dumps(forged)).holds, "the digest alone can be computed again"
    assert not evidence.verify(json.dumps(forged), signer.public).holds
    assert not evidence.verify(json.dumps(evidence.sealed({"by": "ana"})), signer.public).holds
    assert not evidence.verify(json.dumps(made), Signer("another").public).holds
