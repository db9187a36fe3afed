"""Hypothesis drives people, time and faults in any order: what must hold always holds, and things come right."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.db.models import Sum
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from pipelines.domain.base.states import SIDE_OPERATIONS, DesiredState, OperationKind, Phase
from pipelines.domain.lifecycle.operations import OnTimeout
from pipelines.domain.runs.protocol import AgentFinding, Exit
from pipelines.models import Event, LedgerBatch, Operation, Run
from tests.chaos.extent import EXAMPLES, sweep
from tests.simulation.clean import clean
from tests.simulation.world import Hasty, World
from workers import crash_points
from workers.simulated.supervisor import supervisor
from workers.supervisor.tick import journals

KINDS = st.sampled_from([kind for kind in OperationKind if kind not in SIDE_OPERATIONS])


class Supervision(RuleBasedStateMachine):
    """Anything may happen between two steps."""

    def __init__(self) -> None:
        super().__init__()
        clean()
        Hasty.times = 1
        self.world = World()

    @initialize(seconds=st.integers(0, 12))
    def it_was_started_some_time_ago(self, seconds: int) -> None:
        if seconds:
            self.world.ask(OperationKind.START)
        for _ in range(seconds):
            self.world.pass_time()

    @rule(seconds=st.sampled_from([0.2, 1.0, 1.0, 1.0, 4.0, 60.0]), times=st.integers(1, 6), worker_first=st.booleans())
    def time_passes(self, seconds: float, times: int, worker_first: bool) -> None:
        for _ in range(times):
            self.world.pass_time(seconds, worker_first=worker_first)
            self.world.check()

    @rule(kind=KINDS, drain=st.booleans(), on_timeout=st.sampled_from([None, *OnTimeout]))
    def a_user_asks(self, kind: OperationKind, drain: bool, on_timeout: OnTimeout | None) -> None:
        self.world.ask(kind, drain=drain, on_timeout=on_timeout)

    @rule(points=st.integers(0, 8))
    def the_worker_will_be_killed(self, points: int) -> None:
        self.world.points_left = points

    @rule(rarely=st.integers(0, 2))
    def the_worker_is_killed(self, rarely: int) -> None:
        if not rarely:
            self.world.kill_worker()

    @rule()
    def a_worker_is_started(self) -> None:
        self.world.start_worker()

    @rule()
    def a_tick_comes_twice(self) -> None:
        self.world.tick()
        self.world.tick()

    @rule(times=st.sampled_from([0, 2]), seconds=st.integers(1, 3))
    def actions_are_lost_or_repeated(self, times: int, seconds: int) -> None:
        Hasty.times = times
        for _ in range(seconds):
            self.world.pass_time()
            self.world.check()
        Hasty.times = 1

    @rule(rarely=st.integers(0, 1))
    def a_second_worker_is_started(self, rarely: int) -> None:
        if not rarely and len(self.world.workers) < 2:
            self.world.another_worker()

    @rule(points=st.integers(0, 6), seconds=st.sampled_from([1, 5, 40]))
    def the_worker_will_be_frozen_in_a_tick(self, points: int, seconds: int) -> None:
        self.world.freeze_in, self.world.frozen_for = points, seconds

    @rule()
    def process_ids_are_used_again(self) -> None:
        self.world.use_pid_again()

    @precondition(lambda self: self.world.agents.living)
    @rule(who=st.sampled_from(["keeper", "driver", "both"]))
    def processes_are_killed(self, who: str) -> None:
        for agent in self.world.agents.living:
            if who in ("keeper", "both"):
                agent.keeper.alive = False
            if who in ("driver", "both") and agent.driver is not None:
                agent.driver.alive = False

    @precondition(lambda self: self.world.agents.living)
    @rule(trouble=st.sampled_from(["unresponsive", "silent", "slow"]), value=st.booleans())
    def an_agent_is_in_trouble(self, trouble: str, value: bool) -> None:
        for agent in self.world.agents.living:
            setattr(agent, trouble, value)

    @precondition(lambda self: self.world.agents.living)
    @rule(code=st.sampled_from([0, 1, 12, 13]))
    def an_agent_ends_by_itself(self, code: int) -> None:
        for agent in self.world.agents.living:
            agent.fate = code

    @rule(hours=st.sampled_from([-1, 1]))
    def the_wall_clock_jumps(self, hours: int) -> None:
        self.world.host.wall += timedelta(hours=hours)

    @rule(rarely=st.integers(0, 4))
    def the_host_is_started_anew(self, rarely: int) -> None:
        if not rarely:
            self.world.reboot()

    @invariant()
    def what_must_hold_holds(self) -> None:
        self.world.check()

    def come_right(self) -> None:
        """Whatever was wrong is over."""
        for agent in self.world.agents.living:
            agent.unresponsive = agent.silent = agent.slow = False
            agent.fate = None
        self.world.points_left = self.world.freeze_in = None
        self.world.start_worker()

    def teardown(self) -> None:
        world = self.world
        self.come_right()
        world.run_until(world.settled)
        world.check()
        world.ask(OperationKind.STOP)
        world.run_until(lambda: world.phase is Phase.STOPPED)
        world.run_until(world.settled)
        assert not world.agents.living
        world.check_ledger()


@pytest.fixture(autouse=True)
def small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    """A journal takes several ticks to be taken in. What a world does at crash points ends with the test."""
    monkeypatch.setattr(journals, "JOURNAL_CHUNK", 1000)
    monkeypatch.setattr(crash_points, "reach", crash_points.reach)


@pytest.mark.django_db
def test_whatever_happens_there_is_one_agent_at_most_and_the_desired_state_is_reached() -> None:
    run_state_machine_as_test(
        Supervision,
        settings=settings(
            max_examples=EXAMPLES,
            stateful_step_count=30,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        ),
    )


@pytest.fixture
def world(db: None) -> World:
    world = World()
    world.ask(OperationKind.START)
    world.run_until(lambda: world.phase is Phase.RUNNING)
    return world


@pytest.mark.parametrize("points", sweep(18, 6))
def test_a_start_survives_the_death_of_the_worker_at_every_point(db: None, points: int) -> None:
    world = World()
    world.ask(OperationKind.START)
    world.points_left = points
    for _ in range(5):
        world.pass_time()
    world.kill_worker()
    world.start_worker()
    world.run_until(world.settled)
    world.check()
    assert world.pipeline.desired_state == DesiredState.RUNNING
    assert Run.objects.filter(pipeline_id=world.pipeline_id).count() == 1


def test_a_stop_is_never_blocked_by_a_driver_that_ignores_everything(world: World) -> None:
    world.agent.unresponsive = world.agent.silent = True
    operation = world.ask(OperationKind.STOP, drain=False)
    world.run_until(lambda: world.phase is Phase.STOPPED, within=30)
    assert operation is not None
    run = Run.objects.get(pipeline_id=world.pipeline_id)
    assert (run.outcome, run.stop_stage) == ("KILLED", "KILL")
    assert world.pipeline.stop_reason == "WATCHDOG"


def test_a_stop_is_enforced_by_the_supervisor_when_keeper_and_driver_ignore_it(world: World) -> None:
    agent = world.agent
    agent.unresponsive = True
    agent.step = lambda: None  # type: ignore[method-assign]
    world.ask(OperationKind.STOP, drain=False)
    world.run_until(lambda: world.phase is Phase.STOPPED, within=40)
    assert {identity.pid for identity, _ in world.host.signals} == {
        agent.keeper.identity.pid,
        agent.driver.identity.pid if agent.driver else 0,
    }


def test_an_agent_whose_directory_is_removed_is_unknown_and_can_be_stopped(world: World) -> None:
    agent = world.agent
    agent.step = lambda: None  # type: ignore[method-assign]
    del world.host.directories[agent.run_dir]
    world.run_until(lambda: world.phase is Phase.UNKNOWN, within=3)
    assert world.pipeline.phase_reason == "directory_lost"
    world.ask(OperationKind.FORCE_STOP)
    world.run_until(lambda: world.phase is Phase.STOPPED, within=20)
    assert agent.over
    assert world.pipeline.findings[0]["code"] == "JOURNAL_DAMAGED"


def test_a_stop_that_cannot_be_written_is_enforced_all_the_same(world: World) -> None:
    world.agent.step = lambda: None  # type: ignore[method-assign]
    world.host.control_error = OSError("No space left on device")
    world.ask(OperationKind.STOP, drain=False)
    world.run_until(lambda: world.phase is Phase.STOPPING, within=5)
    (supervised,) = [each for each in world.pipeline.conditions if each["type"] == "Supervised"]
    assert "No space left on device" in supervised["message"]
    world.run_until(lambda: world.phase is Phase.STOPPED, within=40)
    assert world.agents.living == []


def test_what_could_not_be_written_is_written_as_soon_as_it_can_be(world: World) -> None:
    world.host.control_error = OSError("No space left on device")
    world.ask(OperationKind.STOP)
    world.pass_time(3)
    world.host.control_error = None
    world.run_until(lambda: world.phase is Phase.STOPPED, within=10)
    run = Run.objects.get(pipeline_id=world.pipeline_id)
    assert (run.outcome, world.pipeline.stop_reason) == ("CLEAN", "USER")


def test_everything_a_dead_agent_wrote_is_in_the_books_before_the_next_one_starts(world: World) -> None:
    world.kill_worker()
    dead = world.agent
    for _ in range(30):
        world.host.advance(1)
        world.agents.step()
    dead.fate = 1
    world.agents.step()
    world.agents.step()
    world.start_worker()
    world.run_until(lambda: Run.objects.filter(pipeline_id=world.pipeline_id).count() == 2)
    known = LedgerBatch.objects.filter(run__number=1, state="done").aggregate(read=Sum("read"))
    assert known["read"] == dead.delivered > 0
    world.run_until(world.settled)
    world.ask(OperationKind.STOP)
    world.run_until(world.settled)
    world.check_ledger()


def test_deadlines_of_a_stop_survive_the_worker(world: World) -> None:
    world.agent.unresponsive = True
    world.ask(OperationKind.STOP, drain=False)
    world.pass_time()
    before = world.agent.control
    assert before.kill_at is not None
    for _ in range(5):
        world.kill_worker()
        world.start_worker()
        world.pass_time()
    assert (world.agent.control.term_at, world.agent.control.kill_at) == (before.term_at, before.kill_at)


def test_a_pause_that_cannot_be_proven_is_given_up_and_the_pipeline_goes_on(world: World) -> None:
    world.agent.slow = True
    world.run_until(lambda: world.agent.in_flight)
    failed_in_time(world, world.ask(OperationKind.PAUSE))
    assert world.pipeline.desired_state == DesiredState.RUNNING
    world.agent.slow = False
    world.run_until(world.settled)
    assert world.phase is Phase.RUNNING


def test_a_pause_that_cannot_be_proven_stays_where_it_is_if_that_was_asked_for(world: World) -> None:
    world.agent.slow = True
    world.run_until(lambda: world.agent.in_flight)
    operation = world.ask(OperationKind.PAUSE, on_timeout=OnTimeout.STAY)
    failed_in_time(world, operation)
    delivered = world.agent.delivered
    for _ in range(30):
        world.pass_time()
    assert (world.phase, world.pipeline.desired_state) == (Phase.PAUSING, DesiredState.PAUSED)
    again = world.ask(OperationKind.PAUSE)
    assert again is not None
    world.agent.slow = False
    world.run_until(world.settled)
    again.refresh_from_db()
    assert (world.phase, again.state, world.agent.delivered) == (Phase.PAUSED, "SUCCEEDED", delivered + 10)


@pytest.mark.parametrize("before", [DesiredState.RUNNING, DesiredState.PAUSED])
def test_a_drain_that_could_not_finish_leaves_the_pipeline_as_it_was(world: World, before: DesiredState) -> None:
    world.agent.slow = True
    world.run_until(lambda: world.agent.in_flight)
    if before is DesiredState.PAUSED:
        world.ask(OperationKind.PAUSE, on_timeout=OnTimeout.STAY)
        world.pass_time()
    failed_in_time(world, world.ask(OperationKind.STOP, on_timeout=OnTimeout.ABORT))
    assert world.pipeline.desired_state == before
    assert Event.objects.filter(kind="desired.changed", message__contains="the pipeline continues running").count() == 1
    world.agent.slow = False
    world.run_until(world.settled)
    assert (world.phase, Run.objects.count(), world.host.signals) == (Phase(before), 1, [])


def test_a_restart_that_could_not_drain_leaves_the_pipeline_as_it_was_unless_a_stop_is_asked_for(world: World) -> None:
    world.agent.slow = True
    world.run_until(lambda: world.agent.in_flight)
    failed_in_time(world, world.ask(OperationKind.RESTART))
    for _ in range(60):
        world.pass_time()
    assert (world.pipeline.restart_run, Run.objects.count(), world.host.signals) == (None, 1, [])
    operation = world.ask(OperationKind.RESTART, on_timeout=OnTimeout.STOP)
    world.run_until(lambda: world.settled() and Run.objects.count() == 2)
    assert operation is not None
    operation.refresh_from_db()
    assert (operation.state, Run.objects.get(number=1).stop_stage) == ("SUCCEEDED", "INTERRUPT")


def test_a_drain_that_may_be_given_up_ends_the_process_once_the_batch_has_ended(world: World) -> None:
    world.agent.slow = True
    world.run_until(lambda: world.agent.in_flight)
    operation = world.ask(OperationKind.STOP, on_timeout=OnTimeout.ABORT)
    for _ in range(2):
        world.kill_worker()
        world.start_worker()
        world.pass_time()
    world.agent.slow = False
    world.run_until(lambda: world.phase is Phase.STOPPED, within=15)
    world.pass_time()
    assert operation is not None
    operation.refresh_from_db()
    assert (operation.state, Run.objects.get().outcome) == ("SUCCEEDED", "CLEAN")
    world.check_ledger()


def failed_in_time(world: World, operation: Operation | None) -> None:
    """Wait until a request has failed because the batch in hand did not end."""
    assert operation is not None
    world.run_until(lambda: Operation.objects.get(id=operation.id).state == "FAILED", within=15)
    operation.refresh_from_db()
    assert operation.error is not None
    assert operation.error["code"] == "drain_timeout"


def test_a_keeper_that_cannot_be_started_costs_restarts_and_then_fails(db: None) -> None:
    world = World()
    world.host.spawn_error = OSError("no space left on device")
    operation = world.ask(OperationKind.START)
    world.run_until(lambda: world.phase is Phase.FAILED)
    world.pass_time()
    assert operation is not None
    operation.refresh_from_db()
    assert operation.state == "FAILED"
    assert Run.objects.filter(pipeline_id=world.pipeline_id).count() == 5


AWAY = AgentFinding(path="sinks.clean", code="BROKER_UNREACHABLE", message="kafka:9092 is away.", retryable=True)


def _starts_while_away(world: World) -> None:
    """A user starts it, and the first run finds its broker away."""
    world.ask(OperationKind.START)
    world.run_until(lambda: bool(world.agents.living))
    world.agent.findings, world.agent.fate = [AWAY], Exit.INIT_FAILED
    world.run_until(lambda: world.phase is Phase.BACKOFF, within=60)


def test_a_broker_that_is_away_at_a_users_start_is_waited_for(db: None) -> None:
    world = World()
    _starts_while_away(world)
    assert "kafka:9092 is away." in world.pipeline.phase_message
    assert "next start" in world.pipeline.phase_message
    operation = Operation.objects.get(pipeline_id=world.pipeline_id)
    assert operation.state == "RUNNING"
    world.run_until(lambda: world.phase is Phase.RUNNING, within=120)
    world.pass_time()
    operation.refresh_from_db()
    assert (operation.state, world.pipeline.findings) == ("SUCCEEDED", [])
    world.check()


def test_a_broker_that_stays_away_spends_the_restarts_and_names_itself(db: None) -> None:
    world = World()
    _starts_while_away(world)

    def refused_again() -> bool:
        for agent in world.agents.living:
            agent.findings, agent.fate = [AWAY], Exit.INIT_FAILED
        return world.phase is Phase.FAILED

    world.run_until(refused_again)
    world.pass_time()
    operation = Operation.objects.get(pipeline_id=world.pipeline_id)
    assert operation.state == "FAILED"
    assert operation.error is not None
    assert "kafka:9092 is away." in operation.error["message"]
    world.check()


def test_an_agent_that_never_finishes_initialising_is_ended_and_blocks(db: None) -> None:
    world = World()
    operation = world.ask(OperationKind.START)
    world.run_until(lambda: bool(world.agents.living))
    world.agent.unresponsive = True
    world.run_until(lambda: world.phase is Phase.BLOCKED, within=60)
    world.pass_time()
    world.check()
    assert operation is not None
    operation.refresh_from_db()
    assert operation.error is not None
    assert operation.error["code"] == "init_timeout"
    assert not world.agents.living


@pytest.mark.parametrize("kind", [OperationKind.RESTART, OperationKind.STOP])
def test_a_damaged_journal_blocks_the_next_start_and_never_a_stop(world: World, kind: OperationKind) -> None:
    world.host.directories[world.agent.run_dir].journal += b"damaged\n"
    world.ask(kind)
    wanted = Phase.STOPPED if kind is OperationKind.STOP else Phase.BLOCKED
    world.run_until(lambda: world.phase is wanted, within=30)
    assert world.pipeline.findings[0]["code"] == "JOURNAL_DAMAGED"
    assert Event.objects.filter(kind="journal.damaged").count() == 1
    assert Run.objects.filter(pipeline_id=world.pipeline_id).count() == 1


def test_a_second_worker_waits_for_the_first_and_takes_over_when_it_is_dead(world: World) -> None:
    owner = world.workers[0].process
    second = supervisor(world.host, world.lock)
    assert not second.tick().supervising
    owner.alive = False
    assert second.tick().supervising


def test_a_pause_asked_for_before_a_reboot_is_the_first_command_after_it(db: None) -> None:
    world = World()
    world.ask(OperationKind.START)
    world.points_left = 2  # the worker dies after the run directory, before the keeper
    world.pass_time()
    assert not world.agents.living
    world.reboot()
    world.ask(OperationKind.PAUSE)
    world.start_worker()
    world.run_until(lambda: bool(world.agents.living))
    assert (world.agent.control.command, world.agent.control.boot_id) == ("pause", world.host.boot_id)
    world.run_until(world.settled)
    assert (world.phase, world.agent.delivered) == (Phase.PAUSED, 0)
