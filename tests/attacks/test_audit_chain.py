"""Somebody who can write the database changes the audit; the chain shows it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from datetime import datetime
from io import StringIO
from typing import Any

import pytest
from django.conf import settings
from django.core.management import CommandError, call_command
from django.db.models import F

from pipelines.domain.access.audit import chain as audit_chain
from pipelines.foundation import clock
from pipelines.foundation.signing import Signer
from pipelines.models import AuditHead, AuditRow
from pipelines.selectors.access import audit as selecting
from pipelines.services.access.audit.sealing import HeadDiffers, seal, sign_again
from pipelines.services.base import audit
from pipelines.services.base.audit import Actor

pytestmark = pytest.mark.django_db


def _written(number: int, *, sealed: bool = True) -> None:
    rows = [
        AuditRow(at=clock.now(), actor="ana", action="pipeline.stop", pipeline_name="orders", after={"n": n, "f": 1.0})
        for n in range(number)
    ]
    AuditRow.objects.bulk_create(rows, batch_size=500)
    while sealed and seal(signer=settings.HEADGATE.signer):
        pass


def _verify(*options: str) -> str:
    out = StringIO()
    call_command("verify_audit", *options, stdout=out)
    return out.getvalue()


def test_one_changed_row_among_ten_thousand_is_found() -> None:
    _written(10_000)
    assert "10000 rows are as they were sealed" in _verify()
    AuditRow.objects.filter(sequence=7_301).update(actor="ben")
    with pytest.raises(CommandError, match=r"Row 7301 was changed.*ben pipeline\.stop"):
        _verify()


def _swap() -> None:
    AuditRow.objects.filter(sequence=4).update(sequence=99)
    AuditRow.objects.filter(sequence=5).update(sequence=4)
    AuditRow.objects.filter(sequence=99).update(sequence=5)


def _insert() -> None:
    for row in AuditRow.objects.filter(sequence__gte=5).order_by("-sequence"):
        AuditRow.objects.filter(pk=row.pk).update(sequence=F("sequence") + 1)
    AuditRow.objects.create(at=clock.now(), actor="eve", action="x", sequence=5, digest="0" * 64)
    AuditHead.objects.update(sequence=11)


def _recompute() -> None:
    """The whole chain again, which takes no key; its head takes one."""
    AuditRow.objects.filter(sequence=2).update(actor="ben")
    last = audit_chain.GENESIS
    for row in AuditRow.objects.order_by("sequence"):
        last = audit_chain.digest(last, row.sequence or 0, selecting.record_of(row))
        AuditRow.objects.filter(pk=row.pk).update(digest=last)
    AuditHead.objects.update(digest=last)


ATTACKS: dict[str, tuple[Callable[[], Any], str]] = {
    "deleted": (lambda: AuditRow.objects.filter(sequence=4).delete(), "Row 4 is missing"),
    "taken out of the chain": (lambda: AuditRow.objects.filter(sequence=4).update(sequence=None), "Row 4 is missing"),
    "cut off": (lambda: AuditRow.objects.filter(sequence__gt=7).delete(), "Rows 8 to 10 are missing"),
    "moved": (_swap, "Row 4 was changed"),
    "inserted": (_insert, "Row 5 was changed"),
    "appended": (
        lambda: AuditRow.objects.create(at=clock.now(), actor="eve", action="x", sequence=11),
        "Row 11 lies behind the head",
    ),
    "head removed": (lambda: AuditHead.objects.all().delete(), "head of the chain is missing"),
    "all computed again": (_recompute, "The head is not signed by the key"),
    "before changed": (lambda: AuditRow.objects.filter(sequence=6).update(before={"a": 1}), "Row 6 was changed"),
    "token changed": (lambda: AuditRow.objects.filter(sequence=6).update(token="hg_0"), "Row 6 was changed"),
    "team changed": (lambda: AuditRow.objects.filter(sequence=6).update(team="web"), "Row 6 was changed"),
    "time changed": (lambda: AuditRow.objects.filter(sequence=6).update(at=clock.now()), "Row 6 was changed"),
}


@pytest.mark.parametrize("attack", ATTACKS)
def test_what_was_done_is_named(attack: str) -> None:
    _written(10)
    act, words = ATTACKS[attack]
    act()
    with pytest.raises(CommandError, match=words):
        _verify()


def test_a_chain_from_before_columns_were_added_verifies() -> None:
    """The digests are those of the columns that there were then, whatever has been added since."""
    last, at = audit_chain.GENESIS, "2026-01-01T00:00:00+00:00"
    for number in (1, 2):
        old = {"id": 100 + number, "at": at, "actor": "ana", "action": "pipeline.stop", "outcome": "accepted"}
        text = json.dumps([last, number, old], sort_keys=True, separators=(",", ":"))
        last = hashlib.sha256(text.encode()).hexdigest()
        AuditRow.objects.create(**{**old, "at": datetime.fromisoformat(at)}, sequence=number, digest=last)
    signer, now = settings.HEADGATE.signer, clock.now()
    signature = signer.sign(audit_chain.head_text(2, last, now))
    AuditHead.objects.create(sequence=2, digest=last, at=now, key=signer.public.id, signature=signature)
    _written(3)
    assert "5 rows are as they were sealed" in _verify()


def test_nothing_is_sealed_upon_a_head_that_somebody_else_wrote() -> None:
    _written(10)
    _recompute()
    _written(1, sealed=False)
    with pytest.raises(HeadDiffers):
        seal(signer=settings.HEADGATE.signer)


def test_a_head_that_was_kept_elsewhere_finds_a_chain_written_again_with_the_key() -> None:
    _written(10)
    kept = str(AuditHead.objects.get())
    AuditHead.objects.all().delete()
    AuditRow.objects.filter(sequence=2).update(actor="ben")
    AuditRow.objects.update(sequence=None, digest="")
    _written(3)
    assert "13 rows" in _verify()
    with pytest.raises(CommandError, match="Row 10 has another digest than the head that was kept"):
        _verify("--head", kept)


def test_rows_wait_unsealed_and_are_counted() -> None:
    _written(3)
    audit.record(actor=Actor("ana"), action="pipeline.start")
    assert "1 rows wait to be sealed" in _verify()


def test_another_key_takes_over_only_what_holds() -> None:
    _written(10)
    old, new = settings.HEADGATE.signer, Signer("another")
    assert sign_again(old=old.public, signer=new) is not None
    assert selecting.verify_chain(key=new.public).verified.holds
    assert not selecting.verify_chain(key=old.public).verified.holds
    AuditRow.objects.filter(sequence=3).update(actor="ben")
    with pytest.raises(HeadDiffers):
        sign_again(old=new.public, signer=old)
