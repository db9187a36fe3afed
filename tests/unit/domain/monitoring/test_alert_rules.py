"""Rules of alerts: what breaks them, and whose settings count."""

from __future__ import annotations

from typing import Any

import pytest

from pipelines.domain.base.states import Phase
from pipelines.domain.monitoring.alert_rules import DEFAULTS, AlertRule, Facts, Override, broken, settings_for


def facts(**fields: Any) -> Facts:
    return Facts(**{"pipeline": "orders", "phase": Phase.RUNNING, **fields})


def rules(of: Facts, *overrides: Override) -> list[tuple[str, str]]:
    return [(each.rule.value, each.key) for each, _ in broken(of, overrides)]


def condition(kind: str, reason: str = "difference") -> dict[str, str]:
    return {"type": kind, "status": "False", "reason": reason, "message": f"{kind} is broken."}


def test_a_pipeline_that_runs_and_balances_breaks_nothing() -> None:
    assert rules(facts(lag_records=10**9, lag_seconds=10.0)) == []


@pytest.mark.parametrize("phase", [Phase.DEGRADED, Phase.STALLED, Phase.BLOCKED, Phase.FAILED, Phase.UNKNOWN])
def test_a_phase_that_needs_a_person_is_one_alert_of_the_pipeline(phase: Phase) -> None:
    assert rules(facts(phase=phase, phase_message="Decide.")) == [(phase.lower(), "orders")]


@pytest.mark.parametrize(
    ("kind", "reason", "rule"),
    [("LedgerBalanced", "journal_damaged", "journal_damaged"), ("Supervised", "error", "unsupervised")],
)
def test_a_condition_that_cannot_be_relied_on_is_one_alert(kind: str, reason: str, rule: str) -> None:
    unknown = {**condition(kind, reason), "status": "Unknown"}
    assert rules(facts(conditions=(unknown,))) == [(rule, "orders")]


def test_books_that_do_not_balance_and_a_skipped_range_are_one_alert() -> None:
    reported = (condition("PositionsSafe", "discontinuous"), condition("LedgerBalanced"))
    ((found, _),) = broken(facts(conditions=reported), [])
    assert found.rule is AlertRule.UNBALANCED
    assert "LedgerBalanced is broken. PositionsSafe is broken." in found.message


def test_a_position_that_waits_for_a_decision_is_not_taken_for_unbalanced_books() -> None:
    assert rules(facts(conditions=(condition("PositionsSafe", "below_log_start"),))) == []


def test_lag_is_judged_by_age_unless_a_number_of_records_is_set() -> None:
    late = facts(lag_records=5, lag_seconds=901.0)
    assert rules(late) == [("lag", "orders")]
    many = facts(lag_records=11, lag_seconds=1.0)
    assert rules(many, Override(AlertRule.LAG, {"records": 10})) == [("lag", "orders")]
    assert rules(late, Override(AlertRule.LAG, {"seconds": None})) == []


def test_records_may_wait_for_a_pipeline_that_was_stopped() -> None:
    assert rules(facts(phase=Phase.STOPPED, lag_seconds=10_000.0)) == []
    assert rules(facts(phase=Phase.PAUSED, lag_seconds=10_000.0)) == [("lag", "orders")]


def test_words_of_a_lag_alert_do_not_change_with_every_figure() -> None:
    reported = {broken(facts(lag_seconds=seconds), [])[0][0].message for seconds in (901.0, 1234.5)}
    assert len(reported) == 1


def test_a_rule_that_is_switched_off_raises_nothing() -> None:
    assert rules(facts(phase=Phase.BLOCKED), Override(AlertRule.BLOCKED, {"enabled": False})) == []


def test_the_setting_of_the_pipeline_goes_before_that_of_a_label_and_that_before_everything() -> None:
    overrides = [
        Override(AlertRule.LAG, {"seconds": 3.0}, pipeline="orders"),
        Override(AlertRule.LAG, {"seconds": 1.0, "records": 7}),
        Override(AlertRule.LAG, {"seconds": 2.0, "for_seconds": 0.0}, label="team:shop"),
        Override(AlertRule.LAG, {"enabled": False}, pipeline="bills"),
        Override(AlertRule.LAG, {"enabled": False}, label="team:other"),
    ]
    merged = settings_for(AlertRule.LAG, overrides, "orders", {"team": "shop"})
    assert (merged.seconds, merged.records, merged.for_seconds, merged.enabled) == (3.0, 7, 0.0, True)
    assert settings_for(AlertRule.LAG, overrides, "bills", {"team": "x"}).enabled is False
    assert settings_for(AlertRule.STALLED, overrides, "orders", {}) == DEFAULTS[AlertRule.STALLED]


def test_a_label_without_a_value_means_every_value() -> None:
    override = Override(AlertRule.LAG, {}, label="team")
    assert override.applies("orders", {"team": "x"})
    assert not override.applies("orders", {"other": "x"})
