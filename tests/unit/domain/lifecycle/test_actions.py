"""What may be asked of a pipeline, for every state that it can be in."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import pytest

from pipelines.domain.base.roles import Role
from pipelines.domain.base.states import RESTING_PHASES, SIDE_OPERATIONS, DesiredState, OperationKind, Phase
from pipelines.domain.lifecycle.actions import STARTING, Action, Outcome, Situation, allowed_actions, evaluate
from pipelines.services.lifecycle.lifecycle import TARGETS

OPERATIONS = [None, *(kind for kind in OperationKind if kind not in SIDE_OPERATIONS)]
EVERY_SITUATION = [
    Situation(desired, phase, operation, live)
    for desired, phase, operation, live in product(DesiredState, Phase, OPERATIONS, [False, True])
    if operation is None or TARGETS[operation] == desired
]


@pytest.mark.parametrize("action", Action)
def test_whatever_changes_nothing_says_why(action: Action) -> None:
    for now in EVERY_SITUATION:
        verdict = evaluate(action, now)
        assert bool(verdict.reason) == (verdict.outcome != Outcome.DO), (now, verdict)


def test_a_stop_is_never_refused() -> None:
    assert all(evaluate(Action.STOP, now).outcome != Outcome.REFUSE for now in EVERY_SITUATION)


def test_there_is_a_way_out_of_every_situation_for_an_operator() -> None:
    for now in EVERY_SITUATION:
        outcomes = {evaluate(action, now).outcome for action in (Action.START, Action.STOP, Action.RESUME)}
        assert outcomes & {Outcome.DO, Outcome.AWAIT}, now


def test_nothing_that_may_have_a_process_is_edited_or_deleted() -> None:
    for now in EVERY_SITUATION:
        if now.phase not in RESTING_PHASES:
            assert evaluate(Action.EDIT, now).outcome == Outcome.REFUSE
            assert evaluate(Action.DELETE, now).outcome == Outcome.REFUSE


@pytest.mark.parametrize(
    ("role", "start", "delete"),
    [(Role.VIEWER, False, False), (Role.OPERATOR, True, False), (Role.ADMIN, True, True)],
)
def test_a_role_sees_what_it_may_do_and_what_it_lacks(role: Role, start: bool, delete: bool) -> None:
    now = Situation(DesiredState.STOPPED, Phase.STOPPED)
    found = {each.name: each for each in allowed_actions(now, role)}

    assert list(found) == list(Action)
    assert (found[Action.START].allowed, found[Action.DELETE].allowed) == (start, delete)
    if not delete:
        assert "admin" in found[Action.DELETE].reason


def test_what_only_an_admin_may_start_can_be_stopped_and_paused_by_operators() -> None:
    for now in EVERY_SITUATION:
        usual = {each.name: each for each in allowed_actions(now, Role.OPERATOR)}
        found = {each.name: each for each in allowed_actions(replace(now, starter=Role.ADMIN), Role.OPERATOR)}
        assert {name for name in Action if found[name] != usual[name]} == STARTING
        assert {found[name].reason for name in STARTING} == {"What it runs needs the role admin; yours is operator."}


def test_a_running_pipeline_is_paused_stopped_and_restarted_and_not_started() -> None:
    found = {a.name: a for a in allowed_actions(Situation(DesiredState.RUNNING, Phase.RUNNING), Role.ADMIN)}

    assert [name for name in Action if found[name].allowed] == [Action.PAUSE, Action.STOP, Action.RESTART]
    assert found[Action.START].reason == "The pipeline is already running."
