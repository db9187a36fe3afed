"""The ladder as the supervisor sees it: stops by force, what an interrupt found, and who has killed."""

from __future__ import annotations

from dataclasses import replace
from uuid import uuid4

import pytest

from pipelines.domain.base.states import Command, DesiredState, OperationKind, Phase, RunOutcome, StopReason
from pipelines.domain.definitions.checks.validate import validate_data
from pipelines.domain.definitions.document.spec import Lifecycle
from pipelines.domain.runs.protocol import Dump
from tests.unit.definitions import changed
from tests.unit.supervisor.decisions.test_decide import NOW, control, dead, exited, life, none, one, run, snapshot
from workers.supervisor.decisions import actions
from workers.supervisor.decisions.snapshot import OperationSnapshot

INTERRUPT = Dump(stop_stage="INTERRUPT", number=2, at=5.0, stuck=["sinks.lake"], files=["a.txt"])
STOPPING = control(Command.STOP, reason="stop", term_at=1020.0, term_every=30.0, kill_at=1170.0)


def test_a_stop_interrupts_again_and_again() -> None:
    given = one(actions.WriteControl, snapshot(desired=DesiredState.STOPPED, drain_on_stop=False)).control
    assert (given.term_at, given.term_every) == (1030.0, 30.0)


@pytest.mark.parametrize(
    "last", [control(), control(Command.PAUSE), control(Command.DRAIN_AND_STOP, reason="stop"), STOPPING]
)
def test_a_stop_by_force_kills_at_once_whatever_was_ordered_before(last: object) -> None:
    forced = snapshot(desired=DesiredState.STOPPED, force_stop=True, drain_on_stop=False, run=run(control=last))
    given = one(actions.WriteControl, forced).control
    assert (given.command, given.kill_at, given.seq) == (Command.STOP, NOW.boottime, 2)
    assert none(actions.WriteControl, replace(forced, run=run(control=given)))


def test_a_run_that_was_killed_says_after_how_long_and_what_was_at_work() -> None:
    record = exited(None, signal=9, killed_by="keeper", stop_stage="KILL")
    ended = dead(exit=record, control=STOPPING, dumps=(INTERRUPT,), dumped_at=5.0)
    end = one(actions.EndRun, snapshot(desired=DesiredState.STOPPED, phase=Phase.STOPPING, run=ended))
    assert (end.outcome, end.stop_reason) == (RunOutcome.KILLED, StopReason.WATCHDOG)
    assert end.exit_reason == "it had not ended 9.0 s after the request (stop); at work: sinks.lake"
    assert "sinks.lake" in end.message


def test_the_watchdog_inside_the_agent_kills_too_and_is_no_crash() -> None:
    record = exited(1, killed_by="agent", stop_stage="KILL")
    end = one(actions.EndRun, snapshot(phase=Phase.STOPPING, restart_run=1, run=dead(exit=record, control=STOPPING)))
    assert (end.outcome, end.stop_stage, end.exit_code) == (RunOutcome.KILLED, "KILL", None)


def test_a_stop_by_force_is_the_users() -> None:
    record = exited(None, signal=9, killed_by="keeper", stop_stage="KILL")
    seen = snapshot(desired=DesiredState.STOPPED, force_stop=True, phase=Phase.STOPPING)
    end = one(actions.EndRun, replace(seen, run=dead(exit=record, control=STOPPING)))
    assert (end.outcome, end.stop_reason) == (RunOutcome.KILLED, StopReason.USER)


def test_what_an_interrupt_found_is_recorded_once() -> None:
    fresh = run(control=STOPPING, dumps=(INTERRUPT,), dumped_at=4.0)
    stopping = snapshot(desired=DesiredState.STOPPED, phase=Phase.STOPPING, run=fresh)
    assert one(actions.RecordDumps, stopping).dumps == (INTERRUPT,)
    assert none(actions.RecordDumps, replace(stopping, run=replace(fresh, dumped_at=5.0)))
    ended = dead(exit=exited(0), control=STOPPING, dumps=(INTERRUPT,))
    assert [type(action) for action in life(snapshot(desired=DesiredState.STOPPED, run=ended))] == [
        actions.RecordDumps,
        actions.EndRun,
    ]


@pytest.mark.parametrize(("kill_at", "words"), [(1170.0, "killed 180 s after"), (None, "force")])
def test_the_operation_says_who_is_at_work_and_what_ends_it(kill_at: float | None, words: str) -> None:
    order = control(Command.STOP, reason="stop", term_at=1020.0, kill_at=kill_at)
    stopping = snapshot(
        desired=DesiredState.STOPPED,
        drain_on_stop=False,
        phase=Phase.STOPPING,
        operation=OperationSnapshot(uuid4(), OperationKind.STOP, 1),
        run=run(control=order, dumps=(INTERRUPT,), dumped_at=5.0),
    )
    message = one(actions.AdvanceOperation, stopping).message
    assert "Interrupted 2 times; at work: sinks.lake" in message
    assert words in message


def test_whoever_switches_the_watchdog_off_is_told_what_that_means() -> None:
    found = validate_data(changed({"lifecycle": {"cancel_timeout": 0}}))
    (finding,) = found.findings
    assert (finding.code, finding.path, finding.severity) == ("watchdog_off", "lifecycle.cancel_timeout", "warning")
    assert "never killed" in finding.message
    assert Lifecycle(cancel_timeout=0).cancel_timeout == 0
