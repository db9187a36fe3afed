"""Workers walk over the audit's chain; nobody without the key makes the page say that it holds."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.conf import settings
from django.db import connection
from rest_framework.test import APIClient

from pipelines.domain.access.audit.chain import BEGIN
from pipelines.domain.monitoring.alert_rules import AlertRule
from pipelines.foundation import clock
from pipelines.foundation.signing import Signer
from pipelines.models import Alert, AuditCheck, AuditHead, AuditRow
from pipelines.services.access.audit import checking
from pipelines.services.access.audit.sealing import seal
from pipelines.services.base import audit
from pipelines.services.base.audit import Actor
from pipelines.services.monitoring import alerts

pytestmark = pytest.mark.django_db
URL = "/api/v1/audit/chain"


def _written(number: int) -> None:
    for n in range(number):
        audit.record(actor=Actor("ana"), action="pipeline.stop", after={"n": n})
    seal(signer=settings.HEADGATE.signer)


def _walk(most: int = 4) -> int:
    """A whole walk in parts; returns how many passes it took."""
    return _ended(_checker(most))


def _checker(most: int = 4) -> checking.Walk:
    return checking.Walk(lambda: settings.HEADGATE.signer, most=most)


def _ended(walk: checking.Walk) -> int:
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


@pytest.fixture
def checker(monkeypatch: pytest.MonkeyPatch) -> checking.Walk:
    """What a worker does after a walk that found nothing: ten rows, of which it looks at the newest four."""
    monkeypatch.setattr(checking, "NEWEST_EVERY", 0.0)
    _written(10)
    walk = _checker()
    _ended(walk)
    return walk


def _set_actor(sequence: int, actor: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute("UPDATE pipelines_auditrow SET actor = %s WHERE sequence = %s", [actor, sequence])


def _alerts() -> list[tuple[str, str, str]]:
    return [(row.rule, row.state, row.message) for row in Alert.objects.order_by("id")]


def test_a_changed_row_raises_an_alert_until_the_chain_holds_again(
    checker: checking.Walk, operator: APIClient, viewer: APIClient
) -> None:
    _ended(checker)
    assert _alerts() == []
    _set_actor(9, "eve")
    checker.turn()
    ((rule, state, message),) = _alerts()
    assert (rule, state) == ("audit_broken", "OPEN")
    assert "Row 9 was changed" in message
    _ended(checker)
    assert "headgate audit verify" in viewer.get("/api/v1/alerts").json()["results"][0]["next_step"]
    assert "Row 9 was changed" in operator.get(URL).json()["check"]["problem"]

    _set_actor(9, "ana")
    checker.turn()
    assert [state for _, state, _ in _alerts()] == ["OPEN"]
    operator.post(f"{URL}/verify")
    _ended(checker)
    assert [state for _, state, _ in _alerts()] == ["RESOLVED"]
    assert operator.get(URL).json()["check"]["holds"]


@pytest.mark.parametrize(
    ("attack", "words"),
    [
        ("DELETE FROM pipelines_auditrow WHERE sequence = 8", "Row 8 is missing"),
        ("DELETE FROM pipelines_auditrow WHERE sequence = 6", "Row 6 is missing"),
        ("DELETE FROM pipelines_auditrow WHERE sequence > 8", "Rows 9 to 10 are missing"),
        ("DELETE FROM pipelines_audithead", "head of the chain is missing"),
        ("UPDATE pipelines_audithead SET digest = 'x'", "another digest"),
        ("UPDATE pipelines_audithead SET signature = 'x'", "not signed"),
    ],
)
def test_the_newest_rows_show_whatever_was_done_to_them(checker: checking.Walk, attack: str, words: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(attack)
    checker.turn()
    ((rule, _, message),) = _alerts()
    assert rule == "audit_broken"
    assert words in message


def test_an_old_row_is_found_by_the_walk_of_the_hour(checker: checking.Walk) -> None:
    _set_actor(2, "eve")
    for _ in range(3):
        checker.turn()
    assert _alerts() == []
    _again()
    _ended(checker)
    ((_, state, message),) = _alerts()
    assert (state, "Row 2 was changed" in message) == ("OPEN", True)


def test_an_acknowledged_alert_is_not_raised_again_for_the_same_row(checker: checking.Walk) -> None:
    _set_actor(9, "eve")
    checker.turn()
    alerts.acknowledge(alert_id=Alert.objects.get().pk, actor=Actor("root"))
    for _ in range(3):
        _again()
        _ended(checker)
        checker.turn()
    assert [state for _, state, _ in _alerts()] == ["ACKNOWLEDGED"]


@pytest.mark.parametrize("values", [{"enabled": False}, {"for_seconds": 3600.0}])
def test_the_rule_is_set_like_others(checker: checking.Walk, values: dict[str, Any]) -> None:
    everywhere: dict[str, Any] = {"label": "", "pipeline_name": "", "actor": Actor("root")}
    alerts.configure(rule=AlertRule.AUDIT_BROKEN, values=values, **everywhere)
    _set_actor(9, "eve")
    _ended(checker)
    assert _alerts() == []
    alerts.unset(rule=AlertRule.AUDIT_BROKEN, **everywhere)
    checker.turn()
    assert [state for _, state, _ in _alerts()] == ["OPEN"]
