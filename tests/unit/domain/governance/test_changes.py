"""Who may change what a pipeline runs, and what a request is a request for."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest

from pipelines.domain.governance.changes import ChangeKind, Decision, Grant, Right, decide, digest
from pipelines.domain.governance.requests import FINAL, OPEN, RequestState, state_at
from pipelines.domain.migration.policy import NO_APPROVAL, ApprovalRule

ORDERS = uuid4()
TWO = ApprovalRule(approvers=2)
FROZEN = ["Frozen until Monday."]
APPROVED, GLASS = Right(Grant.APPROVED, ORDERS), Right(Grant.BREAK_GLASS, ORDERS)
OF_ANOTHER = Right(Grant.BREAK_GLASS, uuid4())
NOW = datetime(2026, 3, 2, tzinfo=UTC)


@pytest.mark.parametrize(
    ("rule", "frozen", "right", "decision"),
    [
        (NO_APPROVAL, [], None, Decision.ALLOWED),
        (TWO, [], None, Decision.APPROVAL_REQUIRED),
        (TWO, [], OF_ANOTHER, Decision.APPROVAL_REQUIRED),
        (TWO, [], APPROVED, Decision.ALLOWED),
        (TWO, [], GLASS, Decision.ALLOWED),
        (NO_APPROVAL, FROZEN, None, Decision.FROZEN),
        (TWO, FROZEN, None, Decision.FROZEN),
        (TWO, FROZEN, APPROVED, Decision.FROZEN),
        (TWO, FROZEN, OF_ANOTHER, Decision.FROZEN),
        (TWO, FROZEN, GLASS, Decision.ALLOWED),
    ],
)
def test_a_freeze_is_passed_by_broken_glass_alone_and_approvals_by_a_request(
    rule: ApprovalRule, frozen: list[str], right: Right | None, decision: Decision
) -> None:
    assert decide(rule, frozen, right, ORDERS) is decision


@pytest.mark.parametrize(
    "other",
    [
        {"pipeline": uuid4()},
        {"kind": ChangeKind.PAUSE},
        {"arguments": {"drain": False}},
        {"basis": {"revision": 2, "generation": 3}},
        {"basis": {"revision": 1, "generation": 4}},
    ],
)
def test_every_part_of_a_change_is_in_its_hash(other: dict[str, Any]) -> None:
    def named(
        pipeline: UUID = ORDERS,
        kind: ChangeKind = ChangeKind.STOP,
        arguments: dict[str, Any] = {"drain": True},  # noqa: B006 - never written
        basis: dict[str, Any] = {"revision": 1, "generation": 3},  # noqa: B006 - never written
    ) -> str:
        return digest(pipeline=pipeline, kind=kind, arguments=arguments, basis=basis)

    assert named(**other) != named()
    assert named() == named()


def test_time_ends_what_is_open_and_nothing_else() -> None:
    for state in RequestState:
        assert state_at(state, NOW + timedelta(seconds=1), NOW) is state
        assert state_at(state, NOW, NOW) is (RequestState.EXPIRED if state in OPEN else state)
    assert set(RequestState) == OPEN | FINAL
