"""Conditions, headlines, and the steps of operations."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from pipelines.domain.base.states import SIDE_OPERATIONS, DesiredState, OperationKind, Phase, StopReason
from pipelines.domain.definitions.document.spec import Lifecycle
from pipelines.domain.lifecycle.conditions import Condition, ConditionStatus, ConditionType, Known, completed, headline
from pipelines.domain.lifecycle.operations import STEPS, StepState, closed, moved, seconds_allowed, steps_of
from pipelines.domain.lifecycle.vocabulary import PHASES

THEN = datetime(2026, 1, 1, tzinfo=UTC)


def known(phase: Phase, desired: DesiredState = DesiredState.RUNNING, **changes: Any) -> Known:
    facts = {"phase_message": "Because.", "supervised": True, "host": "alpha", "host_seen_at": THEN, **changes}
    return Known(desired=desired, phase=phase, phase_since=THEN, **facts)


@pytest.mark.parametrize("phase", Phase)
def test_every_phase_has_a_headline_and_a_silent_supervisor_is_named_in_it(phase: Phase) -> None:
    assert headline(known(phase)).startswith(PHASES[phase].label)
    assert "alpha is silent" in headline(known(phase, supervised=False))


def test_a_failure_says_why_and_a_pause_what_it_means() -> None:
    assert headline(known(Phase.FAILED)).endswith("Because.")
    assert headline(known(Phase.PAUSED)) == "Paused. Nothing is being read. The process stays warm."


def test_a_block_has_its_cause_once_and_what_to_do() -> None:
    blocked = known(Phase.BLOCKED, phase_message="sources.shop: 1,204 records are gone.", advice="Choose a position.")
    assert headline(blocked) == "Blocked. sources.shop: 1,204 records are gone. Choose a position."
    assert "Choose" not in headline(known(Phase.DEGRADED, advice="Choose a position."))


def test_a_stopped_pipeline_says_what_stopped_it_or_that_it_never_ran() -> None:
    watchdog = known(Phase.STOPPED, stop_reason=StopReason.WATCHDOG)
    assert headline(watchdog) == "Stopped by the watchdog. No process exists."
    assert headline(known(Phase.STOPPED, host=None)) == "Not started yet. No process exists."


def test_recorded_conditions_are_kept_and_missing_ones_are_unknown() -> None:
    recorded = Condition(ConditionType.STABLE, ConditionStatus.TRUE, "as_desired", "So it is.", THEN)
    found = {each.type: each for each in completed([recorded], known(Phase.RUNNING))}

    assert list(found) == [kind for kind in ConditionType if kind is not ConditionType.STANDBY]
    assert found[ConditionType.STABLE] is recorded
    assert found[ConditionType.LEDGER_BALANCED].status == ConditionStatus.UNKNOWN


def test_a_standby_is_shown_where_one_is_recorded() -> None:
    recorded = Condition(ConditionType.STANDBY, ConditionStatus.TRUE, "ready", "Run 2 can take over.", THEN)
    assert completed([recorded], known(Phase.RUNNING))[-1] is recorded


def test_a_silent_supervisor_overrules_what_it_once_recorded() -> None:
    recorded = Condition(ConditionType.SUPERVISED, ConditionStatus.TRUE, "ticking", "It looks.", THEN)
    found = {each.type: each for each in completed([recorded], known(Phase.RUNNING, supervised=False))}
    assert found[ConditionType.SUPERVISED].status == ConditionStatus.FALSE


@pytest.mark.parametrize(
    ("desired", "status"),
    [(DesiredState.STOPPED, ConditionStatus.TRUE), (DesiredState.RUNNING, ConditionStatus.FALSE)],
)
def test_a_pipeline_without_a_host_is_stable_only_where_it_is_meant_to_be_stopped(
    desired: DesiredState, status: ConditionStatus
) -> None:
    found = {each.type: each for each in completed([], known(Phase.STOPPED, desired, host=None, host_seen_at=None))}
    assert found[ConditionType.STABLE].status == status
    assert found[ConditionType.SUPERVISED].status == ConditionStatus.UNKNOWN


@pytest.mark.parametrize("kind", OperationKind)
def test_the_steps_of_every_kind_move_forward_and_close(kind: OperationKind) -> None:
    steps = steps_of(kind)
    for name in STEPS[kind]:
        steps = moved(steps, name, StepState.RUNNING, "now", "t1")
    assert [step["state"] for step in steps] == ["done"] * (len(steps) - 1) + ["running"]
    assert {step["state"] for step in closed(steps, True, "t2")} == {"done"}
    assert [step["state"] for step in closed(steps, False, "t2")][-1] == "failed"
    assert moved(steps, STEPS[kind][-1], StepState.RUNNING, "now", "t3") == steps


@pytest.mark.parametrize("kind", [kind for kind in OperationKind if kind not in SIDE_OPERATIONS])
def test_every_operation_has_an_end_in_time_even_without_a_watchdog(kind: OperationKind) -> None:
    unwatched = Lifecycle(cancel_timeout=0)
    assert 0 < seconds_allowed(kind, Lifecycle(), True) < 3600
    assert seconds_allowed(kind, unwatched, False) > 0
