"""What the supervisor does about a disk that is low, full, and free again."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from pipelines.domain.base.states import AgentPhase, DesiredState, Phase, RunOutcome, RunState
from pipelines.domain.hosts.disk import DiskState, disk_finding
from pipelines.domain.runs.protocol import AgentFinding, Exit
from tests.unit.supervisor.decisions.test_decide import (
    NOW,
    control,
    dead,
    exited,
    life,
    none,
    one,
    run,
    snapshot,
    status,
)
from workers.supervisor.decisions import actions
from workers.supervisor.decisions.conditions import evaluate
from workers.supervisor.decisions.snapshot import DiskSnapshot

FULL = DiskSnapshot("/runs", DiskState.FULL, startable=False, lately=True)
FREED = DiskSnapshot("/runs", DiskState.OK, startable=True, lately=True)
FINDING = disk_finding("/runs")


class TestAnAgentOnAFullDisk:
    def test_is_degraded_with_the_reason_and_a_finding(self) -> None:
        seen = snapshot(disk=FULL)
        change = one(actions.SetPhase, seen)
        assert (change.new, change.reason) == (Phase.DEGRADED, "disk_full")
        assert "/runs is full" in change.message
        assert one(actions.SetFindings, seen).findings == (FINDING,)

    def test_is_unknown_with_the_same_reason_where_it_cannot_report(self) -> None:
        seen = snapshot(disk=FULL, run=run(status=status(heartbeat=900.0)))
        assert (one(actions.SetPhase, seen).new, one(actions.SetPhase, seen).reason) == (Phase.UNKNOWN, "disk_full")

    def test_is_told_once(self) -> None:
        seen = snapshot(disk=FULL, phase=Phase.DEGRADED, phase_reason="disk_full", findings=(FINDING,))
        assert none(actions.SetPhase, seen)
        assert none(actions.Explain, seen)
        assert none(actions.SetFindings, seen)

    def test_keeps_what_else_is_found(self) -> None:
        other = {"code": "OTHER", "path": "", "message": "", "suggestion": ""}
        assert one(actions.SetFindings, snapshot(disk=FULL, findings=(other,))).findings == (other, FINDING)
        seen = snapshot(disk=FREED, findings=(other, FINDING))
        assert one(actions.SetFindings, seen).findings == (other,)

    def test_stays_paused(self) -> None:
        paused = run(status=status(AgentPhase.PAUSED), control=control())
        seen = snapshot(disk=FULL, phase=Phase.PAUSED, desired=DesiredState.PAUSED, run=paused)
        assert none(actions.SetPhase, seen)
        assert one(actions.SetFindings, seen).findings == (FINDING,)

    def test_is_running_again_when_there_is_room(self) -> None:
        seen = snapshot(disk=FREED, phase=Phase.DEGRADED, phase_reason="disk_full", findings=(FINDING,))
        assert one(actions.SetPhase, seen).new is Phase.RUNNING
        assert one(actions.SetFindings, seen).findings == ()


@pytest.mark.parametrize(
    ("state", "expected"),
    [
        (DiskState.OK, ("True", "sufficient")),
        (DiskState.LOW, ("False", "disk_low")),
        (DiskState.FULL, ("False", "disk_full")),
    ],
)
def test_the_condition_has_the_state(state: DiskState, expected: tuple[str, str]) -> None:
    found = evaluate(snapshot(disk=replace(FREED, state=state)))
    assert found["DiskSpace"][:2] == expected  # type: ignore[index]


def test_nothing_is_said_of_a_disk_that_nothing_runs_on() -> None:
    assert "DiskSpace" not in evaluate(snapshot(disk=None))


class TestARunThatEndsOnAFullDisk:
    @pytest.mark.parametrize("restarts", [0, 10, 100])
    def test_waits_for_room_however_often(self, restarts: int) -> None:
        seen = snapshot(disk=FULL, run=dead(exit=exited(Exit.DISK_FULL)), restart_count=restarts)
        end = one(actions.EndRun, seen)
        assert (end.outcome, end.phase, end.reason) == (RunOutcome.FAILED, Phase.BACKOFF, "disk_full")
        assert end.findings == (FINDING,)
        assert end.restart is not None
        assert end.restart.delay == seen.lifecycle.restart_backoff
        assert "starts when there is room" in end.message

    def test_is_restarted_later_and_later_where_the_disk_has_room_already(self) -> None:
        ends = [
            one(actions.EndRun, snapshot(disk=FREED, run=dead(exit=exited(Exit.DISK_FULL)), restart_count=restarts))
            for restarts in (0, 1, 50)
        ]
        delays = [end.restart.delay for end in ends]
        assert delays[0] < delays[1] < delays[2]
        assert {end.phase for end in ends} == {Phase.BACKOFF}

    def test_shows_what_the_agent_found(self) -> None:
        found = AgentFinding(**disk_finding("/elsewhere", "The disk is full."))
        ended = dead(exit=exited(Exit.DISK_FULL), status=status(AgentPhase.FAILED, findings=[found]))
        assert one(actions.EndRun, snapshot(disk=FREED, run=ended)).findings[0]["path"] == "/elsewhere"

    @pytest.mark.parametrize(
        "ended",
        [
            {"exit": exited(1)},
            {"exit": exited(Exit.INIT_FAILED)},
            {"exit": exited(Exit.JVM_LOST)},
            {"exit": None},
            {"exit": None, "state": RunState.PENDING, "identity": None, "spawned_here": True, "status": None},
        ],
    )
    def test_needs_no_word_of_the_agent(self, ended: dict[str, Any]) -> None:
        end = one(actions.EndRun, snapshot(disk=FULL, run=dead(**ended)))
        assert (end.outcome, end.phase, end.reason) == (RunOutcome.FAILED, Phase.BACKOFF, "disk_full")

    def test_is_a_crash_where_a_signal_ended_it(self) -> None:
        end = one(actions.EndRun, snapshot(disk=FULL, run=dead(exit=exited(None, signal=9))))
        assert (end.outcome, end.reason) == (RunOutcome.CRASHED, "crashed")

    def test_is_a_stop_where_a_stop_was_asked_for(self) -> None:
        seen = snapshot(disk=FULL, desired=DesiredState.STOPPED, run=dead(exit=exited(Exit.DISK_FULL)))
        assert one(actions.EndRun, seen).phase is Phase.STOPPED


class TestANextRun:
    def waiting(self, disk: DiskSnapshot | None, **fields: Any) -> list[actions.Action]:
        defaults: dict[str, Any] = {
            "phase": Phase.BACKOFF,
            "phase_reason": "disk_full",
            "findings": (FINDING,),
            "run": None,
            "restart_deadline": (NOW.boot_id, NOW.boottime - 1),
        }
        return life(snapshot(disk=disk, **(defaults | fields)))

    def test_starts_when_there_is_room(self) -> None:
        assert self.waiting(FULL) == []
        assert self.waiting(FREED) == [actions.CreateRun(fresh=False)]

    def test_of_another_cause_says_what_it_waits_for(self) -> None:
        explained, found = self.waiting(FULL, phase_reason="crashed", findings=())
        assert isinstance(explained, actions.Explain)
        assert explained.reason == "disk_full"
        assert found == actions.SetFindings((FINDING,))

    def test_of_a_user_is_tried(self) -> None:
        assert self.waiting(FULL, generation=2) == [actions.CreateRun(fresh=True)]
