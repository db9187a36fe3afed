"""What is done about a standby, rule by rule: a view in, actions out; never one that concerns its pipeline."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pipelines.domain.base.states import AgentPhase, Command, DesiredState, Phase, RunOutcome, RunState
from pipelines.domain.runs.protocol import ExitRecord
from tests.unit.supervisor.decisions.test_decide import NOW, control, dead, run, snapshot, status
from workers.supervisor.decisions import actions
from workers.supervisor.decisions.command import first_control
from workers.supervisor.decisions.decide import decide, hurried
from workers.supervisor.decisions.snapshot import PipelineSnapshot, RunSnapshot

OF_A_RUN = (
    actions.Spawn,
    actions.Revoke,
    actions.RecordProcesses,
    actions.RecordDumps,
    actions.WriteControl,
    actions.EndStandby,
    actions.KillProcesses,
)


def standby(found: RunSnapshot, **fields: object) -> PipelineSnapshot:
    return snapshot(run=found, standby=True, phase=Phase.RUNNING, **fields)


WAITING = run(control=control(Command.STANDBY), status=status(AgentPhase.STANDBY))


def test_the_first_command_of_a_standby_is_to_wait() -> None:
    assert first_control(standby(WAITING), NOW).command is Command.STANDBY


def test_a_standby_that_waits_is_left_alone_and_hurries_nobody() -> None:
    assert decide(standby(WAITING), NOW) == []
    assert not hurried(standby(WAITING))
    assert hurried(standby(replace(WAITING, status=status(AgentPhase.PREFLIGHT))))


def test_one_whose_intent_is_recorded_is_started() -> None:
    assert decide(standby(dead(state=RunState.PENDING, identity=None, control=None)), NOW) == [actions.Spawn()]


def test_one_that_is_not_wanted_is_stopped_without_a_drain_and_with_deadlines() -> None:
    (given,) = decide(standby(WAITING, desired=DesiredState.STOPPED, drain_on_stop=False), NOW)
    assert isinstance(given, actions.WriteControl)
    assert given.control.command is Command.STOP
    assert given.control.kill_at is not None


def test_one_that_does_not_finish_initialising_is_ended_in_time() -> None:
    late = replace(NOW, boottime=NOW.boottime + 10_000)
    found = decide(standby(replace(WAITING, status=status(AgentPhase.PREFLIGHT))), late)
    (given,) = [each for each in found if isinstance(each, actions.WriteControl)]
    assert (given.control.command, given.control.reason) == (Command.STOP, "init_timeout")


@pytest.mark.parametrize(("code", "outcome"), [(11, RunOutcome.BLOCKED), (12, RunOutcome.FAILED), (1, "CRASHED")])
def test_its_end_is_recorded_and_nothing_follows_from_it(code: int, outcome: str) -> None:
    record = ExitRecord(token="t", exit_code=code, boottime=1.0, at=1.0)
    (given,) = decide(standby(dead(exit=record)), NOW)
    assert isinstance(given, actions.EndStandby)
    assert (given.outcome, given.exit_code) == (outcome, code)


@pytest.mark.parametrize("phase", list(AgentPhase))
@pytest.mark.parametrize("desired", [DesiredState.RUNNING, DesiredState.STOPPED])
def test_nothing_that_is_done_about_a_standby_concerns_its_pipeline(phase: AgentPhase, desired: DesiredState) -> None:
    done: list[object] = []
    for found in (WAITING, dead(), run(state=RunState.PENDING), run(control=None)):
        seen = standby(replace(found, status=status(phase)), desired=desired, drain_on_stop=False)
        done += decide(seen, NOW)
    assert [each for each in done if not isinstance(each, OF_A_RUN)] == []
    assert {actions.EndStandby, actions.WriteControl} <= {type(each) for each in done}


def test_a_promoted_run_gets_its_order_before_its_promotion_and_both_once() -> None:
    promoted = replace(WAITING, epoch=7, promoted=True)
    found = decide(snapshot(run=promoted, phase=Phase.PREFLIGHT), NOW)
    written = [each for each in found if isinstance(each, actions.WriteControl | actions.WritePromotion)]
    assert [type(each) for each in written] == [actions.WriteControl, actions.WritePromotion]
    assert isinstance(written[0], actions.WriteControl)
    assert written[0].control.command is Command.RUN
    promoted_epoch = replace(promoted, promoted_epoch=7, control=control(Command.RUN, seq=2))
    assert not [each for each in decide(snapshot(run=promoted_epoch), NOW) if isinstance(each, actions.WritePromotion)]
    stale = replace(promoted_epoch, promoted_epoch=6)
    assert [each for each in decide(snapshot(run=stale), NOW) if isinstance(each, actions.WritePromotion)]


def test_a_promoted_run_is_not_timed_out_for_what_it_did_as_a_standby() -> None:
    late = replace(NOW, boottime=NOW.boottime + 10_000)
    heartbeats = status(AgentPhase.STANDBY, heartbeat=late.boottime)
    promoted = replace(
        WAITING, epoch=7, promoted=True, promoted_epoch=7, control=control(Command.RUN, seq=2), status=heartbeats
    )
    found = decide(snapshot(run=promoted, phase=Phase.PREFLIGHT), late)
    assert not [each for each in found if isinstance(each, actions.WriteControl | actions.SetPhase)]
