"""Workers walk over the audit's chain; nobody without the key makes the page say that it holds."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.conf import settings
from rest_framework.test import APIClient

from pipelines.domain.access.audit.chain import BEGIN
from pipelines.foundation import clock
from pipelines.foundation.signing import Signer
from pipelines.models import AuditCheck, AuditHead, AuditRow
from pipelines.services.access.audit import checking
from pipelines.services.access.audit.sealing import seal
from pipelines.services.base import audit
from pipelines.services.base.audit import Actor

pytestmark = pytest.mark.django_db
URL = "/api/v1/audit/chain"


def _written(number: int) -> None:
    for n in range(number):
        audit.record(actor=Actor("ana"), action="pipeline.stop", after={"n": n})
    seal(signer=settings.HEADGATE.signer)


def _walk(most: int = 4) -> int:
    """A whole walk in parts; returns how many passes it took."""
    walk = checking.Walk(lambda: settings.HEADGATE.signer, most=most)
    for number in range(1, 20):
        if walk.turn() != checking.PART_INTERVAL:
            return number
    raise AssertionError("the walk does not end")


def _again() -> None:
    AuditCheck.objects.update(at=clock.now() - checking.EVERY - timedelta(seconds=1))


def test_a_walk_takes_part_after_part_and_is_kept(admin: APIClient) -> None:
    _written(10)
    assert admin.get(URL).json()["check"] is None
    assert _walk() == 3
    shown = admin.get(URL).json()
    assert shown["check"]["holds"]
    assert (shown["check"]["sequence"], shown["head"]["sequence"], shown["unsealed"]) == (10, 10, 0)
    audit.record(actor=Actor("ben"), action="pipeline.start")
    assert admin.get(URL).json()["unsealed"] == 1


@pytest.mark.parametrize("gone", [range(3, 4), range(5, 9), range(9, 11), range(1, 11)])
def test_what_is_missing_is_found_wherever_it_is(admin: APIClient, gone: range) -> None:
    _written(10)
    AuditRow.objects.filter(sequence__in=gone).delete()
    _walk()
    check = admin.get(URL).json()["check"]
    assert not check["holds"]
    assert "missing" in check["problem"]


def test_a_head_that_was_removed_is_found(admin: APIClient) -> None:
    _written(3)
    _walk()
    AuditHead.objects.all().delete()
    _again()
    _walk()
    assert "head of the chain is missing" in admin.get(URL).json()["check"]["problem"]


def test_what_another_key_has_signed_counts_as_not_checked(admin: APIClient) -> None:
    _written(3)
    _walk()
    AuditRow.objects.filter(sequence=2).update(actor="eve")
    _again()
    _walk()
    assert not admin.get(URL).json()["check"]["holds"]
    AuditCheck.objects.update(problem="", sequence=3)
    assert admin.get(URL).json()["check"] is None
    checking.record(found=BEGIN, signer=Signer("another"))
    assert admin.get(URL).json()["check"] is None


def test_a_walk_is_due_once_an_hour_and_when_a_user_asks(operator: APIClient, viewer: APIClient) -> None:
    _written(3)
    assert checking.is_due()
    _walk()
    assert not checking.is_due()
    assert viewer.post(f"{URL}/verify").status_code == 403
    assert operator.post(f"{URL}/verify").json()["check_requested_at"] is not None
    assert operator.post(f"{URL}/verify").status_code == 202
    assert AuditRow.objects.filter(action="audit.verify").count() == 1
    assert checking.is_due()
    _walk()
    assert not checking.is_due()
    assert operator.get(URL).json()["check_requested_at"] is None
    _again()
    assert checking.is_due()
