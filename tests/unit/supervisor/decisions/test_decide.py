"""The supervisor's rules, one by one: a view in, actions out."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any
from uuid import UUID, uuid4

import pytest

from pipelines.domain.base.positions import FINDING_CODES
from pipelines.domain.base.states import (
    STOP_COMMANDS,
    AgentPhase,
    Command,
    DesiredState,
    OperationKind,
    OperationState,
    Phase,
    RunOutcome,
    RunState,
    StopReason,
)
from pipelines.domain.definitions.document.spec import Lifecycle
from pipelines.domain.ledger.ledger import LedgerTotals
from pipelines.domain.ledger.sink_groups import GroupStatus, Penalty
from pipelines.domain.lifecycle.operations import OnTimeout
from pipelines.domain.runs.protocol import (
    AgentFinding,
    ComponentStatus,
    Control,
    Exit,
    ExitRecord,
    Holding,
    Identity,
    IngestBufferStatus,
    PartitionProgress,
    PauseProof,
    ProcessIdentity,
    QueryStatus,
    Status,
)
from workers.ports import Now
from workers.supervisor.decisions import actions
from workers.supervisor.decisions.decide import decide, hurried
from workers.supervisor.decisions.ending import backoff
from workers.supervisor.decisions.snapshot import OperationSnapshot, PipelineSnapshot, RunSnapshot

BOOT = "boot-1"
NOW = Now(wall=datetime(2026, 1, 1, tzinfo=UTC), boottime=1000.0, boot_id=BOOT)
TICKS = 100
KEEPER = ProcessIdentity(pid=10, start_time=990 * TICKS, boot_id=BOOT)
DRIVER = ProcessIdentity(pid=11, start_time=991 * TICKS, boot_id=BOOT)
IDENTITY = Identity(token="t", keeper=KEEPER, driver=DRIVER)


def control(command: Command = Command.RUN, **fields: Any) -> Control:
    return Control(seq=fields.pop("seq", 1), command=command, boot_id=BOOT, issued_at=990.0, **fields)


def status(phase: AgentPhase = AgentPhase.RUNNING, **fields: Any) -> Status:
    defaults = {"heartbeat": 999.0, "progress_heartbeat": 999.0, "command_seq": 1}
    return Status(token="t", boot_id=BOOT, at=0.0, phase=phase, **(defaults | fields))


def run(**fields: Any) -> RunSnapshot:
    defaults: dict[str, Any] = {
        "number": 1,
        "generation": 1,
        "state": RunState.LIVE,
        "token": "t",
        "holders": (KEEPER, DRIVER),
        "known_driver": 11,
        "identity": IDENTITY,
        "control": control(),
        "status": status(),
    }
    return RunSnapshot(**(defaults | fields))


def dead(**fields: Any) -> RunSnapshot:
    return run(holders=(), **fields)


def snapshot(**fields: Any) -> PipelineSnapshot:
    defaults: dict[str, Any] = {
        "id": UUID(int=1),
        "name": "orders",
        "desired": DesiredState.RUNNING,
        "generation": 1,
        "observed_generation": 1,
        "phase": Phase.RUNNING,
        "phase_reason": "",
        "phase_message": "",
        "lifecycle": Lifecycle(),
        "run": run(),
    }
    return PipelineSnapshot(**(defaults | fields))


def one(kind: type, seen: PipelineSnapshot, now: Now = NOW) -> Any:
    """The one action of a kind."""
    found = [action for action in decide(seen, now) if isinstance(action, kind)]
    assert len(found) == 1, decide(seen, now)
    return found[0]


def none(kind: type, seen: PipelineSnapshot, now: Now = NOW) -> bool:
    return not [action for action in decide(seen, now) if isinstance(action, kind)]


def life(seen: PipelineSnapshot, now: Now = NOW) -> list[actions.Action]:
    """Every action but conditions."""
    return [action for action in decide(seen, now) if not isinstance(action, actions.SetConditions)]


def exited(code: int | None, **fields: Any) -> ExitRecord:
    return ExitRecord(token="t", exit_code=code, boottime=999.0, at=0.0, **fields)


class TestWithoutARun:
    def test_a_wanted_pipeline_is_started_afresh_when_a_person_asked(self) -> None:
        seen = snapshot(phase=Phase.STOPPED, run=None, generation=2)
        assert life(seen) == [actions.CreateRun(fresh=True)]

    def test_a_restart_keeps_the_count_of_restarts(self) -> None:
        assert life(snapshot(phase=Phase.STOPPED, run=None)) == [actions.CreateRun(fresh=False)]

    @pytest.mark.parametrize("phase", [Phase.BLOCKED, Phase.FAILED])
    def test_a_pipeline_that_needs_a_person_waits_for_one(self, phase: Phase) -> None:
        assert life(snapshot(phase=phase, run=None)) == []
        assert life(snapshot(phase=phase, run=None, generation=2)) == [actions.CreateRun(fresh=True)]

    def test_a_back_off_is_waited_for(self) -> None:
        seen = snapshot(phase=Phase.BACKOFF, run=None, restart_deadline=(BOOT, 1001.0))
        assert life(seen) == []
        assert life(seen, replace(NOW, boottime=1001.0)) == [actions.CreateRun(fresh=False)]

    def test_a_back_off_of_another_boot_is_over(self) -> None:
        seen = snapshot(phase=Phase.BACKOFF, run=None, restart_deadline=("boot-0", 99999.0))
        assert life(seen) == [actions.CreateRun(fresh=False)]

    @pytest.mark.parametrize("phase", [Phase.BACKOFF, Phase.BLOCKED, Phase.FAILED, Phase.UNKNOWN])
    def test_a_stop_needs_no_process(self, phase: Phase) -> None:
        seen = snapshot(desired=DesiredState.STOPPED, phase=phase, run=None, generation=2)
        assert one(actions.SetPhase, seen).new is Phase.STOPPED
        assert one(actions.ObserveGeneration, seen).generation == 2

    def test_a_stopped_pipeline_is_left_alone(self) -> None:
        assert life(snapshot(desired=DesiredState.STOPPED, phase=Phase.STOPPED, run=None)) == []


class TestBeforeTheProcess:
    pending = run(state=RunState.PENDING, holders=(), identity=None, status=None)

    def test_an_intent_without_a_process_is_carried_out(self) -> None:
        assert life(snapshot(phase=Phase.PREFLIGHT, run=self.pending)) == [actions.Spawn()]

    def test_a_process_that_was_started_before_a_crash_is_adopted(self) -> None:
        found = replace(self.pending, holders=(KEEPER,), identity=Identity(token="t", keeper=KEEPER))
        seen = snapshot(phase=Phase.PREFLIGHT, run=found)
        assert one(actions.RecordProcesses, seen).identity.keeper == KEEPER
        assert none(actions.Spawn, seen)

    def test_a_process_without_its_identity_yet_is_waited_for(self) -> None:
        starting = snapshot(
            phase=Phase.PREFLIGHT, phase_reason="starting", run=replace(self.pending, holders=(KEEPER,))
        )
        assert life(starting) == []

    def test_a_keeper_that_ended_at_once_costs_a_restart(self) -> None:
        end = one(actions.EndRun, snapshot(phase=Phase.PREFLIGHT, run=replace(self.pending, spawned_here=True)))
        assert (end.phase, end.outcome, end.restart.delay) == (Phase.BACKOFF, RunOutcome.FAILED, 0.0)

    def test_a_stop_ends_an_intent_without_starting_it(self) -> None:
        seen = snapshot(desired=DesiredState.STOPPED, phase=Phase.PREFLIGHT, run=self.pending)
        revoke = one(actions.Revoke, seen)
        assert seen.run is not None
        record = ExitRecord(token=seen.run.token, reason=revoke.reason, revoked=True, boottime=1.0, at=1.0)
        end = one(actions.EndRun, replace(seen, run=replace(seen.run, exit=record)))
        assert (end.phase, end.outcome) == (Phase.STOPPED, RunOutcome.CLEAN)


class TestCommands:
    def test_a_stop_sets_the_deadlines_of_the_ladder(self) -> None:
        seen = snapshot(desired=DesiredState.STOPPED, drain_on_stop=False)
        given = one(actions.WriteControl, seen).control
        assert (given.command, given.seq, given.term_at, given.kill_at) == (Command.STOP, 2, 1030.0, 1180.0)

    def test_a_drain_gets_its_own_time_first(self) -> None:
        given = one(actions.WriteControl, snapshot(desired=DesiredState.STOPPED)).control
        assert (given.command, given.term_at, given.kill_at) == (Command.DRAIN_AND_STOP, 1090.0, 1240.0)

    def test_without_a_watchdog_a_stop_is_never_killed(self) -> None:
        seen = snapshot(desired=DesiredState.STOPPED, lifecycle=Lifecycle(cancel_timeout=0))
        assert one(actions.WriteControl, seen).control.kill_at is None

    def test_deadlines_are_set_once(self) -> None:
        stopping = run(control=control(Command.STOP, term_at=1.0, kill_at=2000.0))
        assert none(actions.WriteControl, snapshot(desired=DesiredState.STOPPED, drain_on_stop=False, run=stopping))

    def test_a_drain_becomes_a_stop_and_a_stop_never_a_drain(self) -> None:
        draining = run(control=control(Command.DRAIN_AND_STOP))
        hurry = snapshot(desired=DesiredState.STOPPED, drain_on_stop=False, run=draining)
        assert one(actions.WriteControl, hurry).control.command is Command.STOP
        stopping = run(control=control(Command.STOP))
        assert none(actions.WriteControl, snapshot(desired=DesiredState.STOPPED, drain_on_stop=True, run=stopping))

    @pytest.mark.parametrize("desired", [DesiredState.RUNNING, DesiredState.PAUSED])
    def test_a_stop_is_not_taken_back(self, desired: DesiredState) -> None:
        assert none(actions.WriteControl, snapshot(desired=desired, run=run(control=control(Command.STOP))))

    def test_a_restart_drains_the_present_run_only(self) -> None:
        assert one(actions.WriteControl, snapshot(restart_run=1)).control.command is Command.DRAIN_AND_STOP
        assert none(actions.WriteControl, snapshot(restart_run=1, run=run(number=2)))

    def test_a_restart_in_a_hurry_does_not_drain(self) -> None:
        seen = snapshot(restart_run=1, drain_on_stop=False)
        assert one(actions.WriteControl, seen).control.command is Command.STOP

    def test_a_resume_opens_the_gate(self) -> None:
        seen = snapshot(phase=Phase.PAUSED, run=run(control=control(Command.PAUSE)))
        assert one(actions.WriteControl, seen).control.command is Command.RUN

    def test_a_generation_is_observed_only_when_the_command_stands(self) -> None:
        assert none(actions.ObserveGeneration, snapshot(desired=DesiredState.PAUSED, generation=2))
        seen = snapshot(desired=DesiredState.PAUSED, generation=2, run=run(control=control(Command.PAUSE)))
        assert one(actions.ObserveGeneration, seen).generation == 2

    def test_an_agent_that_does_not_finish_initialising_is_stopped(self) -> None:
        hanging = run(status=status(AgentPhase.PREFLIGHT))
        assert none(actions.WriteControl, snapshot(phase=Phase.PREFLIGHT, run=hanging))
        late = replace(NOW, boottime=1291.0)
        given = one(actions.WriteControl, snapshot(phase=Phase.PREFLIGHT, run=hanging), late).control
        assert (given.command, given.reason, given.term_at) == (Command.STOP, "init_timeout", 1291.0)


class TestPause:
    proof = PauseProof(gate_closed=True, batches_in_flight=0, positions_still=True, balanced=True, proven_at=0.0)
    operation = OperationSnapshot(uuid4(), OperationKind.PAUSE, 1)

    def paused(self, **proof: Any) -> RunSnapshot:
        said = status(AgentPhase.PAUSED, pause_proof=self.proof.model_copy(update=proof))
        return run(control=control(Command.PAUSE, deadline=1060.0, generation=1), status=said)

    @staticmethod
    def busy() -> RunSnapshot:
        return run(control=control(Command.PAUSE, deadline=1000.0, generation=1), status=status(AgentPhase.PAUSING))

    def pausing(self, run: RunSnapshot, **fields: Any) -> PipelineSnapshot:
        return snapshot(desired=DesiredState.PAUSED, phase=Phase.PAUSING, run=run, operation=self.operation, **fields)

    def test_a_pause_that_a_person_waits_for_has_a_deadline(self) -> None:
        seen = snapshot(desired=DesiredState.PAUSED, operation=self.operation)
        assert one(actions.WriteControl, seen).control.deadline == 1060.0

    def test_a_pause_before_the_agent_is_ready_gets_its_deadline_later(self) -> None:
        initialising = run(control=control(Command.PAUSE), status=status(AgentPhase.PREFLIGHT))
        assert none(actions.WriteControl, self.pausing(initialising))
        ready = run(control=control(Command.PAUSE), status=status(AgentPhase.STARTING))
        assert one(actions.WriteControl, self.pausing(ready)).control.deadline == 1060.0

    def test_a_proven_pause_is_paused(self) -> None:
        assert one(actions.SetPhase, self.pausing(self.paused())).new is Phase.PAUSED

    @pytest.mark.parametrize(
        "doubt", [{"gate_closed": False}, {"batches_in_flight": 1}, {"positions_still": False}, {"balanced": False}]
    )
    def test_a_pause_without_its_whole_proof_is_not_paused(self, doubt: dict[str, Any]) -> None:
        assert none(actions.SetPhase, self.pausing(self.paused(**doubt)))

    def test_a_proof_of_an_older_pause_proves_nothing(self) -> None:
        later = replace(self.paused(), control=control(Command.PAUSE, seq=3, deadline=1060.0))
        assert none(actions.SetPhase, self.pausing(later))

    def test_a_pause_goes_through_pausing(self) -> None:
        seen = replace(self.pausing(self.paused()), phase=Phase.RUNNING)
        assert one(actions.SetPhase, seen).new is Phase.PAUSING

    def test_a_pause_past_its_deadline_is_given_up(self) -> None:
        given = one(actions.AbortDrain, self.pausing(self.busy()))
        assert ("60 s" in given.message, given.wanted) == (True, DesiredState.RUNNING)

    def test_a_pause_past_its_deadline_stays_where_it_is_if_that_was_asked_for(self) -> None:
        given = one(actions.AbortDrain, self.pausing(self.busy(), on_timeout=OnTimeout.STAY))
        assert given.wanted is DesiredState.PAUSED

    def test_a_pause_that_is_asked_for_again_gets_another_deadline(self) -> None:
        again = self.pausing(self.busy(), generation=2)
        assert none(actions.AbortDrain, again)
        assert one(actions.WriteControl, again).control.deadline == 1060.0

    def test_a_proven_pause_is_not_given_up(self) -> None:
        seen = self.pausing(self.paused())
        assert none(actions.AbortDrain, seen, replace(NOW, boottime=1009.0))

    def test_a_pause_that_nobody_waits_for_any_more_stays(self) -> None:
        assert none(actions.AbortDrain, replace(self.pausing(self.busy()), operation=None))


class TestDrainThatMayBeAborted:
    """It is a pause first, since a stop is never taken back."""

    proof = TestPause.proof

    def stopping(self, run: RunSnapshot, **fields: Any) -> PipelineSnapshot:
        fields = {"phase": Phase.PAUSING, "on_timeout": OnTimeout.ABORT, "generation": 2, **fields}
        return snapshot(desired=DesiredState.STOPPED, run=run, **fields)

    def draining(self, **fields: Any) -> RunSnapshot:
        order = control(Command.PAUSE, reason="drain", **{"deadline": 1060.0, "generation": 2, **fields})
        return run(control=order, status=status(AgentPhase.PAUSING))

    def test_it_waits_for_the_batch_in_hand_with_a_deadline(self) -> None:
        given = one(actions.WriteControl, self.stopping(run(), phase=Phase.RUNNING)).control
        assert (given.command, given.reason, given.deadline, given.kill_at) == (Command.PAUSE, "drain", 1060.0, None)
        assert none(actions.WriteControl, self.stopping(self.draining()))
        assert none(actions.SetPhase, self.stopping(self.draining()))

    def test_it_has_a_deadline_of_its_own_where_a_pause_stands(self) -> None:
        pausing = run(control=control(Command.PAUSE, deadline=1.0, reason="pause"), status=status(AgentPhase.PAUSING))
        seen = self.stopping(pausing)
        assert none(actions.AbortDrain, seen)
        assert one(actions.WriteControl, seen).control.deadline == 1060.0

    @pytest.mark.parametrize("before", [DesiredState.RUNNING, DesiredState.PAUSED])
    def test_past_its_deadline_the_pipeline_goes_on_as_it_was(self, before: DesiredState) -> None:
        given = one(actions.AbortDrain, self.stopping(self.draining(deadline=1000.0), desired_before=before))
        assert given.wanted is before

    def test_a_restart_past_its_deadline_is_given_up_too(self) -> None:
        fields = {"desired": DesiredState.RUNNING, "restart_run": 1, "on_timeout": OnTimeout.ABORT}
        given = one(actions.WriteControl, snapshot(run=run(), **fields)).control
        assert (given.command, given.deadline, given.kill_at) == (Command.PAUSE, 1060.0, None)
        late = one(
            actions.AbortDrain,
            snapshot(phase=Phase.PAUSING, run=self.draining(deadline=1000.0, generation=1), **fields),
        )
        assert (late.wanted, "the pipeline continues running" in late.message) == (DesiredState.RUNNING, True)

    def test_one_that_is_asked_for_again_gets_another_deadline(self) -> None:
        late = self.draining(deadline=1000.0, generation=1)
        assert none(actions.AbortDrain, self.stopping(late))
        assert one(actions.WriteControl, self.stopping(late)).control.deadline == 1060.0

    def test_once_it_is_proven_the_process_ends_and_nothing_is_given_up(self) -> None:
        done = status(AgentPhase.PAUSED, pause_proof=self.proof)
        seen = self.stopping(replace(self.draining(deadline=1000.0), status=done))
        assert one(actions.WriteControl, seen).control.command is Command.DRAIN_AND_STOP
        assert none(actions.AbortDrain, seen)
        assert none(actions.SetPhase, seen)

    def test_an_agent_that_is_not_ready_has_nothing_in_hand(self) -> None:
        seen = self.stopping(run(status=status(AgentPhase.PREFLIGHT)), phase=Phase.PREFLIGHT)
        assert one(actions.WriteControl, seen).control.command is Command.DRAIN_AND_STOP

    def test_a_stop_that_may_not_be_given_up_takes_its_place(self) -> None:
        for fields in ({"on_timeout": OnTimeout.STOP}, {"drain_on_stop": False}, {"force_stop": True}):
            given = one(actions.WriteControl, self.stopping(self.draining(), **fields)).control
            assert given.command in STOP_COMMANDS


class TestKilling:
    stopping = control(Command.STOP, term_at=900.0, kill_at=990.0)

    def test_the_keeper_has_five_seconds_to_do_it_itself(self) -> None:
        late = run(control=self.stopping.model_copy(update={"kill_at": 996.0}))
        assert none(actions.KillProcesses, snapshot(desired=DesiredState.STOPPED, run=late))

    def test_the_driver_is_killed_before_its_keeper(self) -> None:
        late = run(control=self.stopping.model_copy(update={"kill_at": 994.0}))
        assert one(actions.KillProcesses, snapshot(desired=DesiredState.STOPPED, run=late)).processes == (DRIVER,)
        later = run(control=self.stopping)
        assert one(actions.KillProcesses, snapshot(desired=DesiredState.STOPPED, run=later)).processes == (
            KEEPER,
            DRIVER,
        )

    def test_a_driver_without_its_keeper_has_ten_seconds_to_stop_at_its_gate(self) -> None:
        orphan = run(holders=(DRIVER,), half_dead_since=991.0)
        assert none(actions.KillProcesses, snapshot(run=orphan))
        assert one(actions.SetPhase, snapshot(run=orphan)).reason == "keeper_lost"
        later = replace(NOW, boottime=1001.0)
        assert one(actions.KillProcesses, snapshot(run=orphan), later).processes == (DRIVER,)

    def test_nothing_is_started_while_a_process_of_the_run_lives(self) -> None:
        orphan = run(holders=(DRIVER,), half_dead_since=991.0, exit=exited(0))
        assert none(actions.EndRun, snapshot(run=orphan))
        assert none(actions.CreateRun, snapshot(run=orphan))


class TestPhases:
    @pytest.mark.parametrize(
        ("said", "phase"),
        [
            (status(AgentPhase.PREFLIGHT), Phase.PREFLIGHT),
            (status(AgentPhase.STARTING), Phase.STARTING),
            (status(AgentPhase.RUNNING), Phase.RUNNING),
            (status(AgentPhase.DEGRADED), Phase.DEGRADED),
            (None, Phase.PREFLIGHT),
            (status(heartbeat=960.0), Phase.UNKNOWN),
        ],
    )
    def test_an_agent_is_believed_as_long_as_it_reports(self, said: Status | None, phase: Phase) -> None:
        before = Phase.UNKNOWN if phase is not Phase.UNKNOWN else Phase.RUNNING
        assert one(actions.SetPhase, snapshot(phase=before, run=run(status=said))).new is phase

    def test_what_did_not_change_is_not_said_again(self) -> None:
        assert life(snapshot(phase_reason="moving")) == []

    @pytest.mark.parametrize(
        ("seen", "reason"),
        [
            ({"directory_lost": True, "status": None}, "directory_lost"),
            ({"directory_lost": True}, "directory_lost"),
            ({"halted": (DRIVER,), "halted_since": 996.0}, "halted"),
            ({"status": None, "reported": True}, "status_lost"),
            ({"status": status(heartbeat=991.0)}, "heartbeat_stale"),
        ],
    )
    def test_an_agent_of_which_nothing_can_be_relied_on_is_unknown(self, seen: dict[str, Any], reason: str) -> None:
        found = one(actions.SetPhase, snapshot(run=run(**seen)))
        assert (found.new, found.reason) == (Phase.UNKNOWN, reason)

    def test_a_debugger_that_takes_a_short_look_is_nothing_to_report(self) -> None:
        assert none(actions.SetPhase, snapshot(run=run(halted=(DRIVER,), halted_since=998.0)))

    def test_a_halted_process_is_named_with_what_continues_it(self) -> None:
        found = one(actions.SetPhase, snapshot(run=run(halted=(KEEPER, DRIVER), halted_since=990.0)))
        assert "kill -CONT 10 11" in found.message

    def test_another_reason_for_the_same_phase_is_shown(self) -> None:
        lost = snapshot(phase=Phase.UNKNOWN, phase_reason="heartbeat_stale", run=run(directory_lost=True))
        assert one(actions.Explain, lost).reason == "directory_lost"
        assert none(actions.SetPhase, lost)

    def test_a_stop_is_given_although_the_directory_is_gone(self) -> None:
        stopping = snapshot(desired=DesiredState.STOPPED, run=run(directory_lost=True, status=None))
        assert one(actions.WriteControl, stopping).control.command is Command.DRAIN_AND_STOP

    def test_lag_without_progress_is_a_stall(self) -> None:
        positions = PartitionProgress(topic="t", partition=0, next_offset=1, end_offset=9)
        query = QueryStatus(source="s", channel="c", positions=[positions])
        assert none(actions.SetPhase, snapshot(run=run(status=status(queries=[query]))))
        still = run(status=status(progress_heartbeat=600.0, queries=[query]))
        assert one(actions.SetPhase, snapshot(run=still)).new is Phase.STALLED

    def test_one_query_that_stands_still_is_a_stall_although_its_neighbour_moves(self) -> None:
        positions = PartitionProgress(topic="t", partition=0, next_offset=1, end_offset=9)
        moving = QueryStatus(source="s", channel="fast", positions=[positions], progress_heartbeat=999.0)
        still = QueryStatus(source="s", channel="slow", positions=[positions], progress_heartbeat=600.0)
        said = status(queries=[moving, still], stuck=["sinks.lake"])
        seen = one(actions.SetPhase, snapshot(run=run(status=said)))
        assert seen.new is Phase.STALLED
        assert "s.slow has a lag of 8 records" in seen.message
        assert "sinks.lake" in seen.message

    def test_no_lag_is_no_stall(self) -> None:
        positions = PartitionProgress(topic="t", partition=0, next_offset=9, end_offset=9)
        query = QueryStatus(source="s", channel="c", positions=[positions])
        assert none(actions.SetPhase, snapshot(run=run(status=status(progress_heartbeat=600.0, queries=[query]))))

    def test_a_held_batch_names_the_sink_and_the_cause(self) -> None:
        holding = Holding(component="sinks.lake", cause="broker away", attempts=3, since=0.0)
        said = status(AgentPhase.DEGRADED, queries=[QueryStatus(source="s", channel="c", holding=holding)])
        message = one(actions.SetPhase, snapshot(run=run(status=said))).message
        assert "lake" in message
        assert "broker away" in message

    def test_when_another_component_holds_the_batch_the_message_follows(self) -> None:
        queries = [
            QueryStatus(
                source="s",
                channel="c",
                holding=Holding(component=name, cause="the host is away", attempts=3, since=0.0),
            )
            for name in ("sinks.lake", "sources.s")
        ]
        seen = snapshot(run=run(status=status(AgentPhase.DEGRADED, queries=queries[:1])))
        first = one(actions.SetPhase, seen)
        there = {"phase": first.new, "phase_reason": first.reason, "phase_message": first.message}
        assert none(
            actions.Explain, snapshot(**there, run=run(status=status(AgentPhase.DEGRADED, queries=queries[:1])))
        )
        other = snapshot(**there, run=run(status=status(AgentPhase.DEGRADED, queries=queries[1:])))
        assert "sources.s holds up s.c" in one(actions.Explain, other).message

    @pytest.mark.parametrize(
        ("command", "phase"), [(Command.DRAIN_AND_STOP, Phase.STOPPING), (Command.PAUSE, Phase.PAUSING)]
    )
    def test_a_drain_that_something_holds_up_says_so_at_once(self, command: Command, phase: Phase) -> None:
        holding = Holding(component="sinks.lake", cause="broker away", attempts=3, since=0.0)
        held = status(AgentPhase.STOPPING, queries=[QueryStatus(source="s", channel="c", holding=holding)])
        ordered = {"control": control(command, kill_at=2000.0)}
        asked = {"desired": DesiredState.STOPPED if phase is Phase.STOPPING else DesiredState.PAUSED}
        if phase is Phase.PAUSING:
            held = held.model_copy(update={"phase": AgentPhase.PAUSING})
        seen = one(actions.SetPhase, snapshot(**asked, run=run(status=held, **ordered)))
        assert seen.new is phase
        assert "sinks.lake is failing. broker away." in seen.message
        assert ("--no-drain" in seen.message) is (phase is Phase.STOPPING)

    def test_a_failing_member_of_a_group_degrades_what_moves_and_does_not_hide_a_stall(self) -> None:
        out = Penalty(sink="lake_a", failures=2, until=0.0, cause="broker away")
        group = GroupStatus(name="lake", processor="failover", active="lake_b", live=["lake_b"], failed=[out])
        positions = PartitionProgress(topic="t", partition=0, next_offset=1, end_offset=9)
        queries = [QueryStatus(source="s", channel="c", group=group, positions=[positions])]
        seen = one(actions.SetPhase, snapshot(run=run(status=status(queries=queries))))
        assert (seen.new, seen.reason) == (Phase.DEGRADED, "group_member")
        assert all(word in seen.message for word in ("lake_a", "lake_b", "broker away"))
        still = run(status=status(progress_heartbeat=600.0, queries=queries))
        assert one(actions.SetPhase, snapshot(run=still)).new is Phase.STALLED
        well = [QueryStatus(source="s", channel="c", group=group.model_copy(update={"failed": []}))]
        assert none(actions.SetPhase, snapshot(run=run(status=status(queries=well))))

    def test_a_source_that_is_down_degrades_what_moves_and_does_not_hide_a_stall(self) -> None:
        down = IngestBufferStatus(source="cmd", taken=3, held=0, capacity=9, failure="It ended with 3.")
        seen = one(actions.SetPhase, snapshot(run=run(status=status(ingest_buffers=[down]))))
        assert (seen.new, seen.reason) == (Phase.DEGRADED, "source_down")
        assert seen.message == "sources.cmd: It ended with 3."
        again = status(ingest_buffers=[down.model_copy(update={"failure": ""})])
        assert one(actions.SetPhase, snapshot(phase=Phase.DEGRADED, run=run(status=again))).new is Phase.RUNNING
        positions = PartitionProgress(topic="t", partition=0, next_offset=1, end_offset=9)
        behind = [QueryStatus(source="s", channel="c", positions=[positions])]
        still = run(status=status(progress_heartbeat=600.0, queries=behind, ingest_buffers=[down]))
        assert one(actions.SetPhase, snapshot(run=still)).new is Phase.STALLED

    def test_the_way_round_is_taken_where_the_table_has_no_direct_one(self) -> None:
        seen = snapshot(phase=Phase.PREFLIGHT, run=run(status=status(AgentPhase.DEGRADED)))
        assert one(actions.SetPhase, seen).new is Phase.STARTING

    def test_a_status_of_another_run_is_nobody(self) -> None:
        foreign = status().model_copy(update={"token": "other"})
        assert one(actions.SetPhase, snapshot(phase=Phase.UNKNOWN, run=run(status=foreign))).new is Phase.PREFLIGHT


FINDING = AgentFinding(path="sources.shop", code="UNREACHABLE", message="no broker", retryable=True)
FINAL = AgentFinding(path="sources.shop", code="LEDGER_LOST", message="the ledger is empty")


class TestEnds:
    @pytest.mark.parametrize("code", [Exit.QUERY_FAILED, Exit.JVM_LOST, Exit.KEEPER_LOST, 1, Exit.CLEAN])
    def test_an_end_that_nobody_asked_for_is_followed_by_another_run(self, code: int) -> None:
        end = one(actions.EndRun, snapshot(run=dead(exit=exited(code))))
        assert (end.phase, end.exit_code) == (Phase.BACKOFF, code)
        assert end.outcome in {RunOutcome.FAILED, RunOutcome.CRASHED}

    def test_a_killed_driver_has_crashed(self) -> None:
        assert one(actions.EndRun, snapshot(run=dead(exit=exited(None, signal=9)))).outcome is RunOutcome.CRASHED

    @pytest.mark.parametrize("code", [Exit.PREFLIGHT_BLOCKED, Exit.INIT_FAILED, Exit.BAD_LAUNCH])
    def test_a_refusal_blocks_with_component_and_cause(self, code: int) -> None:
        refused = dead(exit=exited(code), status=status(AgentPhase.FAILED, findings=[FINAL]))
        end = one(actions.EndRun, snapshot(phase=Phase.PREFLIGHT, run=refused))
        assert (end.phase, end.outcome, end.restart) == (Phase.BLOCKED, RunOutcome.BLOCKED, None)
        assert end.message == "sources.shop: the ledger is empty"
        assert end.findings[0]["code"] == "LEDGER_LOST"

    @pytest.mark.parametrize(("restarts", "when"), [(0, "follows at once"), (1, "is in 1 s"), (3, "is in 4 s")])
    def test_a_cause_that_may_go_away_is_tried_again_at_any_start(self, restarts: int, when: str) -> None:
        refused = dead(exit=exited(Exit.INIT_FAILED), status=status(AgentPhase.FAILED, findings=[FINDING]))
        end = one(actions.EndRun, snapshot(phase=Phase.PREFLIGHT, run=refused, restart_count=restarts))
        assert (end.phase, end.reason, end.outcome) == (Phase.BACKOFF, "unreachable", RunOutcome.FAILED)
        assert end.message == f"sources.shop: no broker. The next start {when}."
        assert [finding["code"] for finding in end.findings] == ["UNREACHABLE"]

    def test_one_cause_that_stays_blocks_beside_another_that_may_go_away(self) -> None:
        refused = dead(exit=exited(Exit.INIT_FAILED), status=status(AgentPhase.FAILED, findings=[FINDING, FINAL]))
        end = one(actions.EndRun, snapshot(phase=Phase.PREFLIGHT, run=refused, restart_count=1))
        assert (end.phase, end.message) == (Phase.BLOCKED, "sources.shop: the ledger is empty")
        assert [finding["code"] for finding in end.findings] == ["LEDGER_LOST", "UNREACHABLE"]

    def test_a_component_that_hangs_blocks_a_users_start_and_not_a_restart(self) -> None:
        hangs = AgentFinding(path="sinks.lake", code="INIT_TIMEOUT", message="It hangs.", retryable=True)
        refused = dead(exit=exited(Exit.INIT_FAILED), status=status(AgentPhase.FAILED, findings=[hangs]))
        assert one(actions.EndRun, snapshot(phase=Phase.PREFLIGHT, run=refused)).phase is Phase.BLOCKED
        again = snapshot(phase=Phase.PREFLIGHT, run=refused, restart_count=1)
        assert one(actions.EndRun, again).phase is Phase.BACKOFF

    def test_a_cause_that_does_not_go_away_spends_the_restarts_and_is_still_named(self) -> None:
        refused = dead(exit=exited(Exit.INIT_FAILED), status=status(AgentPhase.FAILED, findings=[FINDING]))
        end = one(actions.EndRun, snapshot(phase=Phase.PREFLIGHT, run=refused, restart_count=10))
        assert (end.phase, end.reason) == (Phase.FAILED, "restarts_spent")
        assert end.message == "sources.shop: no broker. 10 restarts in a row failed."
        assert end.findings[0]["code"] == "UNREACHABLE"

    def test_the_budget_of_restarts_is_finite(self) -> None:
        end = one(actions.EndRun, snapshot(run=dead(exit=exited(1)), restart_count=10))
        assert (end.phase, end.restart) == (Phase.FAILED, None)

    def test_the_back_off_doubles_and_saturates(self) -> None:
        assert [backoff(1, 600, count) for count in (0, 1, 5, 10, 5000)] == [1, 2, 32, 600, 600]

    def test_a_stop_ends_stopped_whatever_the_exit_code(self) -> None:
        for code in (0, 1, 10, 12):
            ended = dead(exit=exited(code), control=control(Command.STOP))
            end = one(actions.EndRun, snapshot(desired=DesiredState.STOPPED, phase=Phase.STOPPING, run=ended))
            assert end.phase is Phase.STOPPED

    def test_a_killed_stop_is_never_a_clean_one(self) -> None:
        record = exited(None, signal=9, killed_by="keeper", stop_stage="KILL")
        ended = dead(exit=record, control=control(Command.STOP))
        end = one(actions.EndRun, snapshot(desired=DesiredState.STOPPED, phase=Phase.STOPPING, run=ended))
        assert (end.outcome, end.stop_stage, end.stop_reason) == (RunOutcome.KILLED, "KILL", StopReason.WATCHDOG)

    def test_a_restart_ends_stopped_and_the_next_tick_starts(self) -> None:
        ended = dead(exit=exited(0), control=control(Command.DRAIN_AND_STOP, reason="restart"))
        end = one(actions.EndRun, snapshot(phase=Phase.STOPPING, run=ended, restart_run=1))
        assert (end.phase, end.reason, end.outcome) == (Phase.STOPPED, "restarting", RunOutcome.CLEAN)

    def test_a_reboot_is_a_lost_run(self) -> None:
        end = one(actions.EndRun, snapshot(run=dead()), replace(NOW, boot_id="boot-2"))
        assert (end.outcome, end.phase) == (RunOutcome.LOST, Phase.BACKOFF)

    def test_the_drivers_own_last_word_counts_when_its_keeper_is_gone(self) -> None:
        end = one(actions.EndRun, snapshot(run=dead(last_word=(14, "the keeper is gone"))))
        assert (end.exit_code, end.exit_reason) == (14, "the keeper is gone")

    def test_nothing_ends_before_its_journal_is_taken_in(self) -> None:
        assert life(snapshot(run=dead(exit=exited(1), journal_drained=False))) == []

    def test_a_journal_that_cannot_be_read_blocks_the_next_start(self) -> None:
        end = one(actions.EndRun, snapshot(run=dead(exit=exited(1), journal_fault="damaged")))
        assert (end.phase, end.findings[0]["code"]) == (Phase.BLOCKED, "JOURNAL_DAMAGED")

    def test_and_never_a_stop(self) -> None:
        ended = dead(exit=exited(0), journal_fault="damaged", control=control(Command.STOP))
        end = one(actions.EndRun, snapshot(desired=DesiredState.STOPPED, phase=Phase.STOPPING, run=ended))
        assert (end.phase, end.findings[0]["code"]) == (Phase.STOPPED, "JOURNAL_DAMAGED")
        assert end.outcome is not RunOutcome.CLEAN
        assert "damaged" in end.message

    def test_an_agent_that_hung_in_a_component_names_it(self) -> None:
        part = ComponentStatus(name="lake", kind="sink", type="kafka", state="initialising")
        hung = dead(
            control=control(Command.STOP, reason="init_timeout"),
            exit=exited(None, signal=15, stop_stage="INTERRUPT"),
            status=status(AgentPhase.PREFLIGHT, components=[part]),
        )
        end = one(actions.EndRun, snapshot(phase=Phase.PREFLIGHT, run=hung))
        assert end.phase is Phase.BLOCKED
        assert "sink lake (kafka)" in end.message


class TestOperations:
    def waiting(self, kind: OperationKind, **fields: Any) -> PipelineSnapshot:
        return snapshot(operation=OperationSnapshot(UUID(int=9), kind, 1, expires=2000.0), **fields)

    @pytest.mark.parametrize("kind", [OperationKind.START, OperationKind.RESUME, OperationKind.RESTART])
    def test_a_start_has_succeeded_when_it_runs(self, kind: OperationKind) -> None:
        assert one(actions.FinishOperation, self.waiting(kind)).state is OperationState.SUCCEEDED

    def test_a_restart_has_not_while_the_old_run_lives(self) -> None:
        assert none(actions.FinishOperation, self.waiting(OperationKind.RESTART, restart_run=1))

    def test_a_stop_has_succeeded_when_no_process_is_left(self) -> None:
        stopped = {"desired": DesiredState.STOPPED, "phase": Phase.STOPPED}
        assert one(actions.FinishOperation, self.waiting(OperationKind.STOP, run=None, **stopped))

    def test_a_start_that_was_refused_has_failed_with_the_cause(self) -> None:
        refused = self.waiting(
            OperationKind.START,
            phase=Phase.BLOCKED,
            phase_reason="ledger_lost",
            phase_message="It is empty.",
            run=None,
            findings=({"suggestion": "Restore it."},),
        )
        finished = one(actions.FinishOperation, refused)
        assert finished.state is OperationState.FAILED
        assert finished.error == {"code": "ledger_lost", "message": "It is empty.", "hint": "Restore it."}

    def test_an_operation_of_a_generation_not_seen_yet_is_not_judged(self) -> None:
        seen = replace(self.waiting(OperationKind.START), observed_generation=0)
        assert none(actions.FinishOperation, seen)

    def test_nobody_waits_for_ever(self) -> None:
        seen = self.waiting(OperationKind.START, phase=Phase.BACKOFF, run=None, restart_deadline=(BOOT, 9999.0))
        assert none(actions.FinishOperation, seen)
        assert one(actions.FinishOperation, seen, replace(NOW, boottime=2000.0)).error["code"] == "deadline_passed"

    def test_a_start_that_is_tried_again_ends_late_with_what_is_away(self) -> None:
        late = replace(NOW, boottime=2000.0)
        trying = self.waiting(OperationKind.START, phase=Phase.PREFLIGHT, restart_count=2)
        assert none(actions.FinishOperation, trying, late)
        away = {"phase_message": "sinks.lake: kafka:9092 is away. The next start is in 4 s.", "restart_count": 3}
        waits = {"phase": Phase.BACKOFF, "run": None, "restart_deadline": (BOOT, 9999.0)}
        finished = one(actions.FinishOperation, self.waiting(OperationKind.START, **waits, **away), late)
        assert finished.error["message"].startswith("Timed out; the pipeline is backing off: sinks.lake: kafka:9092")

    def test_a_pause_of_what_does_not_come_up_is_not_waited_for_for_ever(self) -> None:
        late = replace(NOW, boottime=2000.0)
        away = {"desired": DesiredState.PAUSED, "run": None, "restart_deadline": (BOOT, 9999.0)}
        seen = self.waiting(OperationKind.PAUSE, phase=Phase.BACKOFF, **away)
        assert one(actions.FinishOperation, seen, late).error["code"] == "deadline_passed"
        busy = run(control=control(Command.PAUSE, deadline=2001.0), status=status(AgentPhase.PAUSING, heartbeat=1999.0))
        pausing = self.waiting(OperationKind.PAUSE, phase=Phase.PAUSING, desired=DesiredState.PAUSED, run=busy)
        assert none(actions.FinishOperation, pausing, late)


class TestConditions:
    def promoted_epoch(self, seen: PipelineSnapshot) -> dict[str, tuple[str, str]]:
        given = one(actions.SetConditions, replace(seen, conditions=()))
        return {each["type"]: (each["status"], each["reason"]) for each in given.conditions}

    def test_a_running_pipeline_with_balanced_books_is_as_it_should_be(self) -> None:
        assert self.promoted_epoch(snapshot(totals=LedgerTotals(batches=1))) == {
            "Stable": ("True", "as_desired"),
            "PositionsSafe": ("True", "continuous"),
            "LedgerBalanced": ("True", "balanced"),
        }

    def test_nothing_is_balanced_before_the_first_batch(self) -> None:
        assert self.promoted_epoch(snapshot())["LedgerBalanced"] == ("Unknown", "no_batches")

    def test_a_gap_makes_positions_unsafe_and_a_difference_the_books_unbalanced(self) -> None:
        promoted_epoch = self.promoted_epoch(snapshot(totals=LedgerTotals(batches=2, gaps=5, difference=1)))
        assert promoted_epoch["PositionsSafe"] == ("False", "discontinuous")
        assert promoted_epoch["LedgerBalanced"] == ("False", "difference")

    def test_components_that_count_other_than_their_sum_make_the_books_unbalanced(self) -> None:
        promoted_epoch = self.promoted_epoch(snapshot(totals=LedgerTotals(batches=2, unattributed=3)))
        assert promoted_epoch["LedgerBalanced"] == ("False", "unattributed")

    def test_a_finding_about_positions_makes_them_unsafe(self) -> None:
        seen = snapshot(phase=Phase.BLOCKED, run=None, findings=({"code": "LEDGER_LOST", "message": "gone"},))
        promoted_epoch = self.promoted_epoch(seen)
        assert (promoted_epoch["PositionsSafe"], promoted_epoch["Stable"]) == (
            ("False", "ledger_lost"),
            ("False", "blocked"),
        )

    @pytest.mark.parametrize("code", sorted(FINDING_CODES))
    def test_every_finding_for_which_an_agent_asks_a_person_makes_them_unsafe(self, code: str) -> None:
        seen = snapshot(phase=Phase.BLOCKED, run=None, findings=({"code": code, "message": "it is so"},))
        assert self.promoted_epoch(seen)["PositionsSafe"] == ("False", code.lower())

    def test_a_damaged_journal_makes_the_ledger_unknown_however_well_it_balances(self) -> None:
        damaged = ({"code": "JOURNAL_DAMAGED", "message": "It was shortened."},)
        found = self.promoted_epoch(snapshot(findings=damaged, totals=LedgerTotals(batches=1)))
        assert found["LedgerBalanced"] == ("Unknown", "journal_damaged")
        assert found["PositionsSafe"] == ("False", "journal_damaged")

    def test_an_error_of_the_supervisor_is_a_condition_while_it_lasts(self) -> None:
        found = self.promoted_epoch(snapshot(trouble="OSError: No space left on device."))
        assert found["Supervised"] == ("False", "error")
        assert "Supervised" not in self.promoted_epoch(snapshot())

    def test_a_silent_agent_makes_stability_unknown(self) -> None:
        assert self.promoted_epoch(snapshot(phase=Phase.UNKNOWN))["Stable"][0] == "Unknown"

    def test_a_condition_keeps_its_time_until_its_status_changes(self) -> None:
        first = one(actions.SetConditions, snapshot(conditions=())).conditions
        later = replace(NOW, wall=datetime(2026, 1, 2, tzinfo=UTC))
        assert none(actions.SetConditions, snapshot(conditions=first), later)
        changed = one(
            actions.SetConditions, snapshot(conditions=first, totals=LedgerTotals(batches=1)), later
        ).conditions
        assert [each["last_transition_time"][:10] for each in changed] == ["2026-01-01", "2026-01-01", "2026-01-02"]


def test_a_run_that_is_well_for_long_enough_has_its_restarts_forgiven() -> None:
    well = snapshot(restart_count=3, run=run(healthy_since=701.0))
    assert none(actions.ResetRestarts, well)
    assert one(actions.ResetRestarts, replace(well, run=run(healthy_since=700.0)))


def test_only_what_is_about_to_change_is_looked_at_more_often() -> None:
    assert not hurried(snapshot())
    assert hurried(snapshot(phase=Phase.STOPPING))
    assert hurried(snapshot(generation=2))
