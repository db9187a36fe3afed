"""Migrations go on while everything fails that can: one agent consumes at most, and each comes to a told end."""

from __future__ import annotations

from contextlib import suppress
from datetime import datetime, timedelta
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings as django_settings
from django.db import OperationalError, connection, transaction
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import precondition, rule, run_state_machine_as_test

from pipelines.domain.base.positions import SourceIdentity
from pipelines.domain.base.states import (
    FINAL_STAGES,
    DesiredState,
    InspectionState,
    MigrationKind,
    MigrationStage,
    OperationKind,
    Phase,
    RunRole,
    RunState,
)
from pipelines.domain.migration.observation import FIRST_RESULT_SECONDS
from pipelines.domain.monitoring.alert_rules import AlertRule
from pipelines.domain.positions.plan import InspectionRequest, InspectionResult, PartitionSurvey, Survey
from pipelines.domain.runs import protocol
from pipelines.domain.runs.protocol import Exit, Launch, SparkSettings
from pipelines.foundation import clock
from pipelines.foundation.errors import HeadgateError
from pipelines.models import Alert, Event, Host, LedgerBatch, Migration, Pipeline, Position, PositionInspection, Run
from pipelines.selectors.base.prepared import Prepared, given
from pipelines.selectors.migration import evidence
from pipelines.selectors.migration import migrations as selecting
from pipelines.services.base.audit import Actor
from pipelines.services.migration import migrations, plans
from pipelines.services.positions import positions
from pipelines.services.runs import standby
from tests.chaos.extent import EXAMPLES, some, sweep
from tests.factories import HostFactory
from tests.fakes.surveys import Unhurried
from tests.simulation.test_supervisor_survives_everything import Supervision
from tests.simulation.world import World
from workers import crash_points
from workers.adapters.secrets import StoredSecrets, backends
from workers.simulated.agents import Agent, Agents
from workers.simulated.host import SimulatedHost
from workers.simulated.supervisor import supervisor
from workers.supervisor.background.surveyor import InspectionContext
from workers.supervisor.launch.launch import Launcher
from workers.supervisor.launch.references import References
from workers.supervisor.tick import journals

ANA = Actor("ana")
ENDS = {*FINAL_STAGES, MigrationStage.NEEDS_ATTENTION}
QUICK_RULES = {"window": 3}


def changed(world: World) -> dict[str, Any]:
    """Another definition than the present one."""
    pipeline = world.pipeline
    assert pipeline.current_revision is not None
    data = dict(pipeline.current_revision.definition)
    sinks = {name: dict(sink) for name, sink in data["sinks"].items()}
    sinks["out"]["topic"] = f"{sinks['out']['topic'].split('.')[0]}.{pipeline.version}"
    return {**data, "sinks": sinks}


FILTER = {"type": "regex_filter", "regex": ".", "exclude_events": True}


def filtering(world: World) -> dict[str, Any]:
    """The present definition, or that without its filter, with an interceptor that filters every record."""
    data = changed(world)
    return {**data, "sources": {"shop": {**data["sources"]["shop"], "interceptors": [FILTER]}}}


def start(world: World, **spec: Any) -> Migration:
    """Plan, approve and begin a migration to another revision."""
    made = migrations.create(
        pipeline=world.pipeline,
        kind=MigrationKind.REVISION,
        reason="because",
        actor=ANA,
        spec={"definition": changed(world), "rules": QUICK_RULES, **spec},
    )
    assert made.stage == MigrationStage.PLANNED, made.findings
    made = migrations.approve(migration=made, named=made.plan_hash, actor=ANA)
    return migrations.advance(migration=made, named=made.plan_hash, actor=ANA)


LAST = Prepared(lambda: Migration.objects.filter(pipeline_id=given("pipeline")).order_by("-created_at")[:1])


def present(world: World) -> Migration:
    """The last migration as it is now."""
    (migration,) = LAST(pipeline=world.pipeline_id)
    return migration


def over(world: World) -> bool:
    return present(world).stage in ENDS


class Migrating(Supervision):
    """The same, with people who migrate the pipeline."""

    @property
    def migration(self) -> Migration | None:
        return selecting.open_migration(self.world.pipeline_id)

    @rule(gate=st.sampled_from([None, None, "PAUSING", "APPLYING", "READY_TO_CUT_OVER", "COMMITTED"]))
    def a_migration_is_started(self, gate: str | None) -> None:
        with suppress(HeadgateError, AssertionError):
            start(self.world, gates=[gate] if gate else [])

    @rule()
    def a_migration_to_a_revision_that_filters_everything_is_started(self) -> None:
        with suppress(HeadgateError, AssertionError):
            start(self.world, definition=filtering(self.world))

    @precondition(lambda self: self.migration)
    @rule(action=st.sampled_from(["advance", "abort", "rollback"]))
    def a_user_decides(self, action: str) -> None:
        found = self.migration
        assert found is not None
        more = {"named": found.plan_hash} if action == "advance" else {"reason": ""}
        with suppress(HeadgateError):
            getattr(migrations, action)(migration=found, actor=ANA, **more)

    @precondition(lambda self: self.migration)
    @rule(seconds=st.integers(1, 30))
    def the_migration_goes_on(self, seconds: int) -> None:
        for _ in range(seconds):
            self.world.pass_time(0.2)
            self.world.check()

    def teardown(self) -> None:
        self.come_right()
        self.world.run_until(self._ended)
        found = self.migration
        if found is not None:
            assert found.findings or found.message
            with suppress(HeadgateError):
                migrations.abort(migration=found, reason="", actor=ANA)
        super().teardown()
        runs = Run.objects.filter(pipeline_id=self.world.pipeline_id)
        assert not runs.exclude(state=RunState.ENDED).exists()
        for migration in Migration.objects.filter(pipeline_id=self.world.pipeline_id):
            self._check_end(migration)

    def _ended(self) -> bool:
        """Every gate is passed; what stays needs attention."""
        found = self.migration
        if found is not None and found.stage in {MigrationStage.DRAFT, MigrationStage.PLANNED, MigrationStage.APPROVED}:
            migrations.abort(migration=found, reason="", actor=ANA)
        elif found is not None and selecting.waits(found):
            migrations.advance(migration=found, named=found.plan_hash, actor=ANA)
        return found is None or found.stage in ENDS

    def _check_end(self, migration: Migration) -> None:
        """No record lies between the two sides, and none was read twice."""
        found = evidence.document(migration)["content"]
        if migration.stage == MigrationStage.COMMITTED:
            assert (found["gap"], found["overlap"]) == (0, 0), self.world.story()
            filters = migration.new_revision and migration.new_revision.definition["sources"]["shop"]["interceptors"]
            assert not filters or any(each["by"] == ANA.name for each in migration.passed), self.world.story()


@pytest.fixture(autouse=True)
def small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    """A journal takes several ticks to be taken in; the host is heard, whatever its wall clock says."""
    monkeypatch.setattr(journals, "JOURNAL_CHUNK", 1000)
    monkeypatch.setattr(crash_points, "reach", crash_points.reach)
    monkeypatch.setattr(standby, "seen_within", lambda *_: True)
    monkeypatch.setattr(plans, "seen_within", lambda *_: True)
    monkeypatch.setattr(plans, "supervised", lambda *_: True)


@pytest.mark.django_db
def test_whatever_happens_one_configuration_owns_the_pipeline_and_every_migration_ends() -> None:
    run_state_machine_as_test(
        Migrating,
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
    world.run_until(world.settled)
    return world


def kill(agent: Agent) -> None:
    """SIGKILL of its keeper and its driver."""
    agent.keeper.alive = False
    if agent.driver is not None:
        agent.driver.alive = False


def _moves(world: World, until: MigrationStage) -> None:
    for _ in range(400):
        if present(world).stage == until:
            return
        world.pass_time(0.2)
        world.check()
    raise AssertionError(world.story())


def _shows_both_cuts(migration: Migration) -> None:
    """Of one that was taken back after its new side had delivered."""
    found = evidence.document(migration)["content"]
    (row,), back = found["positions"], found["rollback"]
    (returned,) = back["positions"]
    assert [each["side"] for each in found["runs"]] == ["before", "new", "went_on"]
    assert row["stopped_at"] == row["started_at"] < returned["stopped_at"] == returned["started_at"]
    assert [back[name] for name in ("gap", "overlap", "not_compared")] == [0, 0, 0]
    assert back["seen"] >= 0
    assert back["last_delivered_at"] <= back["first_delivered_at"]


def test_a_revision_is_migrated_without_a_gap_or_an_overlap(world: World) -> None:
    old = world.agent.launch.revision_digest
    start(world)
    world.run_until(lambda: over(world), within=60)
    made = present(world)
    assert made.stage == MigrationStage.COMMITTED, world.story()
    assert world.agent.launch.revision_digest != old
    assert world.pipeline.current_revision == made.new_revision
    found = evidence.document(made)["content"]
    assert (found["gap"], found["overlap"]) == (0, 0)
    assert [row["state"] for row in found["steps"]] == ["done"] * 8
    assert found["positions"]
    world.check_ledger()
    stages = [e.data["stage"] for e in Event.objects.filter(kind__startswith="migration.").order_by("id")]
    assert list(dict.fromkeys(stages)) == [
        "DRAFT",
        "PLANNED",
        "APPROVED",
        "PREFLIGHT",
        "PAUSING",
        "PAUSE_PROVEN",
        "SNAPSHOT",
        "APPLYING",
        "READY_TO_CUT_OVER",
        "RESUMING",
        "VERIFYING",
        "COMMITTED",
    ]


def test_a_paused_pipeline_is_paused_again_afterwards(world: World) -> None:
    world.ask(OperationKind.PAUSE)
    world.run_until(world.settled)
    start(world)
    world.run_until(lambda: over(world), within=60)
    assert present(world).stage == MigrationStage.COMMITTED, world.story()
    assert (world.phase, world.pipeline.desired_state) == (Phase.PAUSED, DesiredState.PAUSED)


def test_a_new_agent_that_cannot_initialise_costs_the_old_one_nothing(world: World) -> None:
    old, delivered = world.agent, world.agent.delivered
    start(world)
    world.run_until(lambda: len(world.agents.living) == 2)
    new = next(agent for agent in world.agents.living if agent is not old)
    new.fate = 11
    world.run_until(lambda: over(world), within=60)
    made = present(world)
    assert made.stage == MigrationStage.ABORTED, world.story()
    assert world.agents.living == [old]
    assert (world.phase, new.delivered) == (Phase.RUNNING, 0)
    assert old.delivered > delivered
    assert not Event.objects.filter(kind="phase.changed", data__new="PAUSING").exists()


def test_a_drain_that_does_not_end_is_given_up_and_the_old_agent_goes_on(world: World) -> None:
    old = world.agent
    made = _cannot_be_drained(world)
    assert (made.stage, world.agents.living) == (MigrationStage.ABORTED, [old]), world.story()
    assert "timed out after" in made.message
    world.run_until(world.settled)
    assert world.phase is Phase.RUNNING


def _cannot_be_drained(world: World) -> Migration:
    """A migration that begins, and gives its pause up."""
    old = world.agent
    start(world)
    _moves(world, MigrationStage.PAUSING)
    old.slow = True
    world.run_until(lambda: present(world).stage == MigrationStage.ROLLING_BACK, within=60)
    old.slow = False
    world.run_until(lambda: over(world), within=60)
    return present(world)


FORWARD = [
    MigrationStage.PREFLIGHT,
    MigrationStage.PAUSING,
    MigrationStage.PAUSE_PROVEN,
    MigrationStage.SNAPSHOT,
    MigrationStage.APPLYING,
    MigrationStage.READY_TO_CUT_OVER,
    MigrationStage.RESUMING,
    MigrationStage.VERIFYING,
]


@pytest.mark.parametrize("stage", some(FORWARD, 4))
def test_it_is_taken_back_at_every_stage(world: World, stage: MigrationStage) -> None:
    before = world.pipeline.current_revision
    start(world, rules={"window": 600})
    _moves(world, stage)
    migrations.rollback(migration=present(world), reason="no", actor=ANA)
    world.run_until(lambda: over(world), within=120)
    assert present(world).stage in {MigrationStage.ROLLED_BACK, MigrationStage.ABORTED}, world.story()
    world.run_until(world.settled)
    assert (world.pipeline.current_revision, world.phase) == (before, Phase.RUNNING)
    assert len(world.agents.living) == 1
    world.ask(OperationKind.STOP)
    world.run_until(world.settled)
    world.check_ledger()


@pytest.mark.parametrize("points", sweep(40, 10))
def test_it_survives_the_death_of_the_worker_at_every_point(world: World, points: int) -> None:
    start(world)
    world.points_left = points
    for _ in range(40):
        world.pass_time(0.2)
        if not world.workers:
            break
    world.kill_worker()
    world.start_worker()
    world.run_until(lambda: over(world), within=120)
    assert present(world).stage == MigrationStage.COMMITTED, world.story()
    world.check()


OF_THE_NEW_ONE = {
    MigrationStage.PREFLIGHT: MigrationStage.COMMITTED,
    MigrationStage.PAUSING: MigrationStage.ABORTED,
    MigrationStage.PAUSE_PROVEN: MigrationStage.ROLLED_BACK,
    MigrationStage.SNAPSHOT: MigrationStage.ROLLED_BACK,
    MigrationStage.APPLYING: MigrationStage.ROLLED_BACK,
    MigrationStage.READY_TO_CUT_OVER: MigrationStage.ROLLED_BACK,
    MigrationStage.RESUMING: MigrationStage.COMMITTED,
    MigrationStage.VERIFYING: MigrationStage.COMMITTED,
}
"""What comes of its death: there is none yet at first, and once it is the run, it is started again."""
NOBODY = {("new", MigrationStage.PREFLIGHT), *(("old", stage) for stage in FORWARD[5:])}


@pytest.mark.parametrize(("stage", "which"), some(list(product(FORWARD, ["old", "new"])), 5))
def test_the_death_of_either_agent_at_every_stage_leaves_one_that_works(
    world: World, stage: MigrationStage, which: str
) -> None:
    old = world.agent
    start(world)
    _moves(world, stage)
    doomed = [agent for agent in world.agents.living if (agent is old) == (which == "old")]
    for agent in doomed:
        kill(agent)
    assert len(doomed) == ((which, stage) not in NOBODY)
    world.run_until(lambda: over(world), within=300)
    made = present(world)
    assert made.stage == (MigrationStage.COMMITTED if which == "old" else OF_THE_NEW_ONE[stage]), world.story()
    world.run_until(world.settled)
    assert world.phase is Phase.RUNNING
    assert len(world.agents.living) == 1
    owner = made.new_revision if made.stage == MigrationStage.COMMITTED else made.old_revision
    assert world.pipeline.current_revision == owner


@pytest.mark.parametrize("gate", ["PAUSING", "APPLYING", "READY_TO_CUT_OVER", "COMMITTED"])
def test_it_waits_at_a_gate_until_a_person_lets_it_go_on(world: World, gate: str) -> None:
    start(world, gates=[gate])
    world.run_until(lambda: selecting.waits(selecting.get_migration(present(world).pk)) == gate, within=60)
    for _ in range(10):
        world.pass_time()
    found = present(world)
    assert found.stage not in ENDS
    assert _called() == [("OPEN", str(found.pk))]
    migrations.advance(migration=found, named=found.plan_hash, actor=ANA)
    assert _called() == [("RESOLVED", str(found.pk))]
    world.run_until(lambda: over(world), within=60)
    assert present(world).stage == MigrationStage.COMMITTED, world.story()


def _called() -> list[tuple[str, str]]:
    """What people were told of migrations that wait for them."""
    found = Alert.objects.filter(rule=AlertRule.MIGRATION_WAITS).order_by("pk")
    return [(each.state, each.data["migration"]) for each in found]


def test_a_person_commits_before_the_window_is_over(world: World) -> None:
    start(world, rules={"window": 3600})
    _moves(world, MigrationStage.VERIFYING)
    found = present(world)
    migrations.advance(migration=found, named=found.plan_hash, actor=ANA)
    world.run_until(lambda: over(world), within=10)
    assert present(world).stage == MigrationStage.COMMITTED


def test_a_new_side_that_keeps_crashing_is_taken_back_by_the_rules(world: World) -> None:
    before = world.pipeline.current_revision
    start(world, rules={"window": 600, "crashes": 0})
    _moves(world, MigrationStage.VERIFYING)
    world.agent.fate = 1
    world.run_until(lambda: over(world), within=300)
    made = present(world)
    assert made.stage == MigrationStage.ROLLED_BACK, world.story()
    _shows_both_cuts(made)
    assert "restarts" in made.message
    world.run_until(world.settled)
    assert world.pipeline.current_revision == before
    assert Run.objects.filter(pipeline_id=world.pipeline_id, role=RunRole.STANDBY).exclude(state="ENDED").count() == 0


def _written(world: World) -> list[int]:
    """Offsets of the batches that were delivered."""
    return sorted(offset for agent in world.agents.all.values() for offset in agent.written)


def test_a_revision_that_filters_everything_is_taken_back_and_no_record_is_lost(world: World) -> None:
    before = world.pipeline.current_revision
    start(world, definition=filtering(world), rules={"window": 60})
    world.run_until(lambda: over(world), within=200)
    made = present(world)
    assert made.stage == MigrationStage.ROLLED_BACK, world.story()
    codes = {each["code"] for each in made.findings}
    assert {"OBSERVED_DELIVERING", "OBSERVED_DELIVERED_SHARE", "OBSERVED_FILTERED_SHARE"} <= codes
    world.run_until(world.settled)
    assert world.pipeline.current_revision == before
    world.ask(OperationKind.STOP)
    world.run_until(world.settled)
    world.check_ledger()
    written = _written(world)
    assert written == list(range(0, written[-1] + 10, 10))
    assert LedgerBatch.objects.filter(pipeline_id=world.pipeline_id, state="done", filtered__gt=0).exists()


def test_what_was_read_again_once_is_not_read_again_by_another_rollback(world: World) -> None:
    start(world, definition=filtering(world), rules={"window": 60})
    world.run_until(lambda: present(world).stage == MigrationStage.ROLLING_BACK, within=200)
    world.run_until(lambda: any(not agent.is_standby for agent in world.agents.living) and _restored(world), within=100)
    next(agent for agent in world.agents.living if not agent.is_standby).fate = Exit.INIT_FAILED
    world.run_until(lambda: over(world), within=120)
    assert present(world).stage == MigrationStage.NEEDS_ATTENTION, world.story()
    _started_by_hand(world)
    reached = Position.objects.get(pipeline_id=world.pipeline_id).next_offset
    migrations.rollback(migration=present(world), reason="again", actor=ANA)
    world.run_until(lambda: over(world), within=120)
    assert present(world).stage == MigrationStage.ROLLED_BACK, world.story()
    assert Position.objects.get(pipeline_id=world.pipeline_id).next_offset >= reached
    written = _written(world)
    assert written == list(range(0, written[-1] + 10, 10))


def _restored(world: World) -> bool:
    return any(row["name"] == "restore" and row["state"] == "done" for row in present(world).steps)


def test_a_new_agent_that_reads_nothing_waits_for_a_person(world: World) -> None:
    start(world, rules={"window": 20})
    _moves(world, MigrationStage.RESUMING)
    world.run_until(lambda: present(world).stage == MigrationStage.VERIFYING, within=60, step=0.2)
    world.agent.slow = True
    LedgerBatch.objects.filter(run=present(world).new_run).update(read=0, delivered=0)
    world.run_until(
        lambda: selecting.waits(selecting.get_migration(present(world).pk)) == "COMMITTED",
        within=20 + FIRST_RESULT_SECONDS + 20,
    )
    assert "Nothing was delivered yet" in present(world).message


def test_a_clock_that_is_set_forward_ends_no_wait_for_a_person(world: World) -> None:
    start(world, gates=["APPLYING"])
    world.run_until(lambda: selecting.waits(present(world)) == "APPLYING", within=60)
    world.pass_time()
    assert "Action required" in present(world).message
    world.host.wall = clock.now() + timedelta(hours=2)
    for _ in range(5):
        world.pass_time()
    assert present(world).stage == MigrationStage.SNAPSHOT, world.story()


def test_a_new_agent_that_dies_while_a_person_is_waited_for_costs_the_old_one_nothing(world: World) -> None:
    old = world.agent
    start(world, gates=["APPLYING"])
    world.run_until(lambda: selecting.waits(present(world)) == "APPLYING", within=60)
    (new,) = (agent for agent in world.agents.living if agent is not old)
    kill(new)
    world.run_until(lambda: over(world), within=60)
    assert (present(world).stage, world.agents.living) == (MigrationStage.ABORTED, [old]), world.story()


def test_what_could_not_be_drained_is_asked_once_what_it_is_doing(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    orders: list[tuple[Path, protocol.DumpOrder]] = []
    monkeypatch.setattr(world.host, "ask_for_dump", lambda *order: orders.append(order))
    made = _cannot_be_drained(world)
    assert made.old_run is not None
    assert orders == [(Path(made.old_run.run_dir), protocol.DumpOrder(id=made.pk.hex, stop_stage="drain"))]


def test_a_disk_that_takes_no_order_for_a_dump_keeps_nobody_from_going_back(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(world.host, "ask_for_dump", full)
    assert _cannot_be_drained(world).stage == MigrationStage.ABORTED, world.story()


def test_a_new_side_that_refuses_to_begin_is_not_started_again_to_be_ended(world: World) -> None:
    start(world)
    _moves(world, MigrationStage.RESUMING)
    world.agent.fate = Exit.PREFLIGHT_BLOCKED
    world.run_until(lambda: over(world), within=120)
    made = present(world)
    assert made.stage == MigrationStage.ROLLED_BACK, world.story()
    assert Run.objects.filter(revision=made.new_revision).count() == 1


def test_a_pipeline_that_needs_a_person_meanwhile_is_not_started_by_its_migration(world: World) -> None:
    old = world.agent
    start(world)
    old.fate = Exit.PREFLIGHT_BLOCKED
    world.run_until(lambda: over(world), within=120)
    assert present(world).stage == MigrationStage.ABORTED, world.story()
    assert world.phase is Phase.BLOCKED
    world.run_until(lambda: not world.agents.living, within=60)
    assert Run.objects.filter(pipeline_id=world.pipeline_id, role=RunRole.ACTIVE).count() == 1


def _start_of_the_old_one_fails(world: World) -> None:
    """Taken back before the cut-over, the old configuration cannot initialise: a person is needed."""
    world.run_until(lambda: selecting.waits(present(world)) == "READY_TO_CUT_OVER", within=60)
    migrations.rollback(migration=present(world), reason="no", actor=ANA)
    world.run_until(lambda: not all(agent.is_standby for agent in world.agents.living), within=60)
    next(agent for agent in world.agents.living if not agent.is_standby).fate = Exit.INIT_FAILED
    world.run_until(lambda: over(world), within=120)
    assert present(world).stage == MigrationStage.NEEDS_ATTENTION, world.story()
    assert _called()[-1][0] == "OPEN"


def _started_by_hand(world: World) -> None:
    world.ask(OperationKind.START)
    world.run_until(world.settled)
    assert world.phase is Phase.RUNNING


def test_the_old_configuration_is_started_anew_by_another_try(world: World) -> None:
    start(world, gates=["READY_TO_CUT_OVER"])
    _start_of_the_old_one_fails(world)
    found = present(world)
    migrations.advance(migration=found, named=found.plan_hash, actor=ANA)
    world.run_until(lambda: over(world), within=120)
    assert present(world).stage == MigrationStage.ROLLED_BACK, world.story()
    assert world.phase is Phase.RUNNING


def test_what_is_observed_once_more_is_judged_by_what_comes_from_then_on(world: World) -> None:
    start(world, rules={"window": 20, "crashes": 0, "otherwise": "ask"})
    _moves(world, MigrationStage.VERIFYING)
    world.agent.fate = 1
    world.run_until(lambda: over(world), within=100)
    found = present(world)
    assert (found.stage, found.findings[0]["code"]) == (MigrationStage.NEEDS_ATTENTION, "OBSERVED_ALIVE")
    assert found.findings[0]["message"] == "The new run is alive; at most 0 restarts. Found: 1 restart."
    world.run_until(lambda: world.phase is Phase.RUNNING, within=100)
    migrations.advance(migration=found, named=found.plan_hash, actor=ANA)
    world.run_until(lambda: over(world), within=100)
    assert present(world).stage == MigrationStage.COMMITTED, world.story()


def test_a_new_side_that_was_given_up_is_started_and_observed_by_one_request(world: World) -> None:
    start(world, rules={"window": 20, "crashes": 0, "otherwise": "ask"})
    _moves(world, MigrationStage.VERIFYING)
    world.agent.fate = Exit.PREFLIGHT_BLOCKED
    world.run_until(lambda: over(world), within=100)
    found = present(world)
    assert (found.stage, world.phase) == (MigrationStage.NEEDS_ATTENTION, Phase.BLOCKED), world.story()
    migrations.advance(migration=found, named=found.plan_hash, actor=ANA)
    world.run_until(lambda: over(world), within=100)
    assert present(world).stage == MigrationStage.COMMITTED, world.story()


def test_labels_that_were_set_beside_the_definition_stay(world: World) -> None:
    Pipeline.objects.filter(pk=world.pipeline_id).update(labels={**world.pipeline.labels, "tier": "1"})
    start(world)
    world.run_until(lambda: over(world), within=60)
    assert present(world).stage == MigrationStage.COMMITTED, world.story()
    assert world.pipeline.labels["tier"] == "1"


def test_a_new_side_that_is_being_restarted_when_the_window_ends_is_waited_for(world: World) -> None:
    start(world, rules={"window": 10})
    _moves(world, MigrationStage.VERIFYING)
    (row,) = [step for step in present(world).steps if step["name"] == "observe"]
    ends = datetime.fromisoformat(row["intent_at"]) + timedelta(seconds=9)
    world.run_until(lambda: clock.now() >= ends, within=30, step=0.2)
    world.agent.fate = 1
    world.run_until(lambda: over(world), within=100, step=0.2)
    made = present(world)
    assert made.stage == MigrationStage.COMMITTED, world.story()
    assert world.phase is Phase.RUNNING
    assert made.new_run is not None
    assert world.agent.launch.run > made.new_run.number


def test_what_a_person_has_started_meanwhile_is_ended_before_it_is_taken_back_once_more(world: World) -> None:
    start(world, gates=["READY_TO_CUT_OVER"])
    _start_of_the_old_one_fails(world)
    _started_by_hand(world)
    migrations.rollback(migration=present(world), reason="again", actor=ANA)
    world.run_until(lambda: over(world), within=120)
    assert present(world).stage == MigrationStage.ROLLED_BACK, world.story()
    world.run_until(world.settled)
    assert world.phase is Phase.RUNNING
    world.ask(OperationKind.STOP)
    world.run_until(world.settled)
    world.check_ledger()


def test_one_that_is_closed_leaves_no_standby_behind(world: World) -> None:
    old = world.agent
    start(world, gates=["APPLYING"])
    world.run_until(lambda: selecting.waits(present(world)) == "APPLYING", within=60)
    old.unresponsive = True
    migrations.rollback(migration=present(world), reason="no", actor=ANA)
    world.run_until(lambda: over(world), within=300)
    assert present(world).stage == MigrationStage.NEEDS_ATTENTION, world.story()
    assert len(world.agents.living) == 2
    migrations.abort(migration=present(world), reason="", actor=ANA)
    world.run_until(lambda: world.agents.living == [old], within=60)


class Away:
    """The database's connection is lost at a write, in the middle of whatever that belongs to; nothing else of the
    test's transaction is."""

    def __init__(self, writes: int) -> None:
        self.left = writes

    def __call__(self, execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        if sql.startswith(("INSERT", "UPDATE")):
            self.left -= 1
            if self.left == 0:
                raise OperationalError("server closed the connection unexpectedly")
        return execute(sql, params, many, context)


@pytest.mark.parametrize("write", sweep(100, 25))
def test_it_survives_a_lost_connection_within_a_step_and_then_the_death_of_the_worker(world: World, write: int) -> None:
    start(world)
    away = Away(write + 1)
    with connection.execute_wrapper(away):
        for _ in range(60):
            with suppress(OperationalError):
                world.pass_time(0.2)
            transaction.set_rollback(False)
            if away.left <= 0:
                break
    world.points_left = write % 5
    for _ in range(40):
        world.pass_time(0.2)
        if not world.workers:
            break
    world.kill_worker()
    world.start_worker()
    world.run_until(lambda: over(world), within=120)
    assert present(world).stage == MigrationStage.COMMITTED, world.story()
    world.check()
    world.ask(OperationKind.STOP)
    world.run_until(world.settled)
    world.check_ledger()


class Pair(World):
    """The same with a second host, beta, that has a supervisor and agents of its own."""

    def __post_init__(self) -> None:
        HostFactory.create(name="beta", state_dir="/beta")
        self.beta = SimulatedHost(state_dir=Path("/beta"), next_pid=10_000)
        self.beta_agents = Agents(self.beta)
        self.beta_up = True
        self.beta_supervisor = supervisor(self.beta, [], "beta")
        super().__post_init__()

    def pass_time(self, seconds: float = 1.0, *, worker_first: bool = False) -> None:
        self.beta.advance(seconds)
        self.beta_agents.step()
        if self.beta_up:
            self.beta_supervisor.tick()
        super().pass_time(seconds, worker_first=worker_first)

    @property
    def consuming(self) -> list[Agent]:
        both = [*self.agents.living, *self.beta_agents.living]
        return [agent for agent in both if not agent.is_standby]

    def check(self) -> None:
        super().check()
        assert len(self.consuming) <= 1, self.story()


@pytest.fixture
def pair(db: None) -> Pair:
    pair = Pair()
    pair.ask(OperationKind.START)
    pair.run_until(pair.settled)
    return pair


def move(world: World, **spec: Any) -> Migration:
    """Plan, approve and begin a move to beta."""
    made = migrations.create(
        pipeline=world.pipeline,
        kind=MigrationKind.HOST,
        reason="because",
        actor=ANA,
        spec={"host": "beta", "rules": QUICK_RULES, **spec},
    )
    assert made.stage == MigrationStage.PLANNED, made.findings
    made = migrations.approve(migration=made, named=made.plan_hash, actor=ANA)
    return migrations.advance(migration=made, named=made.plan_hash, actor=ANA)


def test_a_pipeline_moves_to_another_host_without_a_gap_or_an_overlap(pair: Pair) -> None:
    move(pair)
    pair.run_until(lambda: over(pair), within=60)
    made = present(pair)
    assert made.stage == MigrationStage.COMMITTED, pair.story()
    assert (pair.pipeline.host_id, made.runner_host) == ("beta", "beta")
    assert not pair.agents.living
    (agent,) = pair.beta_agents.living
    assert agent.delivered > 0
    found = evidence.document(made)["content"]
    assert (found["gap"], found["overlap"]) == (0, 0)


@pytest.mark.parametrize("stage", some(FORWARD, 4))
def test_a_move_is_taken_back_at_every_stage(pair: Pair, stage: MigrationStage) -> None:
    move(pair, rules={"window": 600})
    _moves(pair, stage)
    migrations.rollback(migration=present(pair), reason="no", actor=ANA)
    pair.run_until(lambda: over(pair), within=120)
    assert present(pair).stage in {MigrationStage.ROLLED_BACK, MigrationStage.ABORTED}, pair.story()
    pair.run_until(pair.settled)
    assert (pair.pipeline.host_id, pair.phase) == ("alpha", Phase.RUNNING)
    assert len(pair.agents.living) == 1
    assert not pair.beta_agents.living


@pytest.mark.parametrize("stage", some(FORWARD[:6], 3))
def test_the_other_host_takes_a_migration_over_whose_runner_is_silent(pair: Pair, stage: MigrationStage) -> None:
    move(pair)
    _moves(pair, stage)
    pair.beta_up = False
    pair.run_until(lambda: present(pair).runner_host == "alpha", within=60, step=3)
    pair.run_until(lambda: over(pair), within=900, step=2)
    pair.check()
    assert present(pair).stage == MigrationStage.NEEDS_ATTENTION, "beta is silent, and an agent may live there"


def test_a_new_side_whose_host_is_lost_is_never_committed(pair: Pair) -> None:
    move(pair, rules={"window": 60})
    _moves(pair, MigrationStage.VERIFYING)
    pair.beta_up = False
    for agent in pair.beta_agents.living:
        kill(agent)
    pair.run_until(lambda: over(pair), within=900, step=2)
    assert present(pair).stage in {MigrationStage.ROLLED_BACK, MigrationStage.NEEDS_ATTENTION}, pair.story()


def test_a_migration_whose_runner_was_removed_is_taken_over_by_a_worker_that_never_heard_of_it(pair: Pair) -> None:
    move(pair)
    _moves(pair, MigrationStage.PREFLIGHT)
    pair.run_until(lambda: present(pair).runner_host == "beta", within=10)
    pair.beta_up = False
    Host.objects.filter(name="beta").update(removed_at=clock.now(), lease_owner=None, lease_until=None)
    pair.kill_worker()
    pair.start_worker()
    pair.run_until(lambda: present(pair).runner_host == "alpha", within=60)
    pair.run_until(lambda: over(pair), within=900)
    pair.check()


class Log(Unhurried):
    """A log that holds [0, 100000) of the one partition."""

    def inspect(self, question: InspectionRequest) -> InspectionResult:
        launch = Launch.model_validate(question.launch)
        (head,) = launch.heads
        topic = launch.definition["sources"]["shop"]["topics"][0]
        at = head.positions[0].offset if head.positions else None
        row = PartitionSurvey(
            source=head.source, channel=head.channel, topic=topic, partition=0, ledger=at, log_start=0, log_end=100_000
        )
        identity = SourceIdentity(source="shop", cluster_id="c", topics={topic: "t"})
        return InspectionResult(survey=Survey(at=1.0, rows=[row], identities=[identity]))


class Counted(World):
    """The same with a surveyor."""

    blind = False

    def pass_time(self, seconds: float = 1.0, *, worker_first: bool = False) -> None:
        super().pass_time(seconds, worker_first=worker_first)
        if self.blind:
            return
        nothing = References(backends({}, None, StoredSecrets(django_settings.HEADGATE.keyring)))
        launcher = Launcher("alpha", self.host.state_dir, nothing, lambda: SparkSettings(classpath=[]))
        due = PositionInspection.objects.filter(state=InspectionState.PENDING, deadline__gt=clock.now())
        for inspection in due.select_related("pipeline"):
            InspectionContext("alpha", launcher, Log()).take(inspection)

    def _check_positions(self) -> None:
        """A decision may move them."""


@pytest.fixture
def counted(db: None, monkeypatch: pytest.MonkeyPatch) -> Counted:
    monkeypatch.setattr(positions, "supervised", lambda *_: True)
    monkeypatch.setattr(migrations, "supervised", lambda *_: True)
    world = Counted()
    world.ask(OperationKind.START)
    world.run_until(world.settled)
    return world


def decide(world: Counted, **spec: Any) -> Migration:
    """Plan and begin to go on at offset 5000."""
    asked = {"to": "offsets=" + f"{world.agent.topic}/0:5000", "rules": QUICK_RULES, **spec}
    made = migrations.create(pipeline=world.pipeline, kind=MigrationKind.POSITION, spec=asked, reason="x", actor=ANA)
    assert [each["code"] for each in made.findings] == ["COUNTING"]
    world.pass_time()
    made = migrations.plan(migration=made, actor=ANA)
    assert (made.stage, made.plan["replay"]) == (MigrationStage.PLANNED, 0)
    assert 0 < made.plan["skip"] < 5000
    made = migrations.approve(migration=made, named=made.plan_hash, actor=ANA)
    return migrations.advance(migration=made, named=made.plan_hash, actor=ANA)


def test_a_look_that_nobody_has_answered_in_time_is_asked_for_once_more(counted: Counted) -> None:
    decide(counted)
    counted.blind = True
    counted.run_until(lambda: PositionInspection.objects.filter(state=InspectionState.PENDING).exists(), within=60)
    PositionInspection.objects.filter(state=InspectionState.PENDING).update(deadline=clock.now() - timedelta(seconds=1))
    counted.blind = False
    counted.run_until(lambda: over(counted), within=60)
    assert present(counted).stage == MigrationStage.COMMITTED, counted.story()


def test_positions_that_were_read_on_since_are_never_put_back(counted: Counted) -> None:
    decide(counted, gates=["READY_TO_CUT_OVER"])
    _start_of_the_old_one_fails(counted)
    _started_by_hand(counted)
    counted.ask(OperationKind.STOP)
    counted.run_until(counted.settled)
    reached = Position.objects.get(pipeline_id=counted.pipeline_id).next_offset
    migrations.rollback(migration=present(counted), reason="again", actor=ANA)
    counted.run_until(lambda: over(counted), within=120)
    assert present(counted).stage == MigrationStage.ROLLED_BACK, counted.story()
    assert Position.objects.get(pipeline_id=counted.pipeline_id).next_offset >= reached
    assert not LedgerBatch.objects.filter(pipeline_id=counted.pipeline_id, overlaps__gt=0).exists()
    starts = [row["start"] for batch in LedgerBatch.objects.order_by("pk") for row in batch.ranges]
    assert starts == sorted(set(starts))


def test_positions_are_decided_under_a_running_pipeline_and_the_counts_are_exact(counted: Counted) -> None:
    world = counted
    decide(world)
    world.run_until(lambda: over(world), within=120)
    made = present(world)
    assert made.stage == MigrationStage.COMMITTED, world.story()
    found = evidence.document(made)["content"]
    assert (found["expected"]["skip"], found["expected"]["replay"]) == (found["gap"], 0)
    (row,) = found["positions"]
    assert row["started_at"] == 5000
    assert (found["gap"], found["overlap"]) == (5000 - row["stopped_at"], 0)
    assert next(s for s in made.steps if s["name"] == "set_positions")["evidence"]["skip"] == found["gap"]
