"""The standby of `lifecycle.standby: warm`: kept beside a run that works, and promoted where that run has ended."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import UTC, datetime
from typing import Any

import pytest
from django.db.models import F

from pipelines.domain.base.states import (
    DesiredState,
    MigrationKind,
    MigrationStage,
    OperationKind,
    Phase,
    RunRole,
    RunState,
)
from pipelines.domain.runs.protocol import AgentFinding, Exit, ProcessIdentity
from pipelines.foundation.errors import Conflict
from pipelines.models import Event, Host, Migration, Pipeline, Run
from pipelines.selectors.hosts.capacity import rooms
from pipelines.selectors.lifecycle.situations import live_run
from pipelines.selectors.runs.standby import of_pipeline
from pipelines.services.runs import standby, warm
from tests.db.test_standby import ANA, Stage
from tests.factories import HostFactory
from workers.simulated.supervisor import supervisor

pytestmark = pytest.mark.django_db


class Warm(Stage):
    """A pipeline whose definition asks for a warm standby."""

    def __init__(self) -> None:
        super().__init__()
        self.ask_for("warm")

    def ask_for(self, kind: str, **lifecycle: Any) -> None:
        """Before the first start; a published revision does not change."""
        revision = self.pipeline.current_revision
        assert revision is not None
        revision.definition = {**revision.definition, "lifecycle": {"standby": kind, **lifecycle}}
        revision.save()

    @property
    def active(self) -> Run:
        run = live_run(self.pipeline)
        assert run is not None
        return run

    @property
    def second(self) -> Run:
        run = of_pipeline(self.pipeline)
        assert run is not None
        return run

    @property
    def condition(self) -> Mapping[str, Any] | None:
        return next((each for each in self.pipeline.conditions if each["type"] == "Standby"), None)

    def start_both(self) -> None:
        self.start()
        self.pass_time(8)
        assert self.condition is not None
        assert self.condition["status"] == "True", self.condition

    def want(self, desired: DesiredState) -> None:
        """As a migration asks, which holds the pipeline."""
        Pipeline.objects.update(desired_state=desired, generation=F("generation") + 1)
        self.pass_time(8)

    def kill(self, run: Run) -> None:
        agent = self.agent(run)
        agent.keeper.alive = False
        if agent.driver is not None:
            agent.driver.alive = False


@pytest.fixture
def stage() -> Warm:
    return Warm()


def test_a_standby_is_kept_beside_a_run_that_works_and_shown(stage: Warm) -> None:
    stage.start()
    assert stage.condition is not None
    assert stage.condition["status"] == "False"
    stage.pass_time(8)
    assert (stage.active.number, stage.second.number, stage.second.warm) == (1, 2, True)
    assert stage.condition["reason"] == "ready"
    assert stage.condition["message"] == "Run 2 is initialized and probed, and can take over."
    assert stage.second.revision_id == stage.pipeline.current_revision_id
    stage.pass_time(60)
    assert Run.objects.count() == 2


def test_without_a_wish_there_is_none_and_no_condition(stage: Warm) -> None:
    stage.ask_for("none")
    stage.start()
    stage.pass_time(10)
    assert (Run.objects.count(), stage.condition) == (1, None)


def test_it_takes_over_from_a_killed_run_and_another_one_follows(stage: Warm) -> None:
    stage.start_both()
    old, ready = stage.active, stage.second
    generation = stage.pipeline.generation
    stage.kill(old)
    stage.host.advance(1)
    stage.supervisor.tick()
    assert stage.pipeline.phase == Phase.BACKOFF
    stage.supervisor.tick()
    ready.refresh_from_db()
    assert (ready.role, ready.lineage, ready.epoch) == (RunRole.ACTIVE, old.lineage, 3)
    stage.pass_time(15)
    assert (stage.pipeline.phase, stage.pipeline.generation) == ("RUNNING", generation)
    assert stage.pipeline.restart_count == 1
    assert stage.active == ready
    assert stage.agent(ready).delivered > 0
    assert stage.second.number == 4
    assert not Event.objects.filter(kind__in=["ledger.gap", "ledger.overlap"]).exists()


def test_a_run_that_dies_again_soon_waits_for_its_back_off_and_is_taken_over_then(stage: Warm) -> None:
    stage.ask_for("warm", restart_backoff=20)
    stage.start_both()
    stage.kill(stage.active)
    stage.pass_time(15)
    again, ready = stage.active, stage.second
    stage.kill(again)
    stage.pass_time(10)
    assert (stage.pipeline.phase, live_run(stage.pipeline)) == (Phase.BACKOFF, None)
    ready.refresh_from_db()
    assert ready.role == RunRole.STANDBY
    stage.pass_time(20)
    assert (stage.pipeline.phase, stage.active) == (Phase.RUNNING, ready)


def test_one_that_is_not_ready_yet_is_not_waited_for(stage: Warm) -> None:
    stage.start()
    stage.pass_time(2)
    starting = stage.second
    stage.kill(stage.active)
    stage.kill(starting)
    stage.pass_time(10)
    assert (stage.active.number, stage.pipeline.phase) == (3, "RUNNING")


def test_one_that_is_refused_at_the_takeover_is_ended_and_a_run_is_started(
    stage: Warm, monkeypatch: pytest.MonkeyPatch
) -> None:
    stage.start_both()
    ready = stage.second

    def refuse(**_: object) -> Run:
        raise Conflict("Run 2 cannot be promoted: it has ended.", code="standby_not_ready")

    monkeypatch.setattr(standby, "grant", refuse)
    stage.kill(stage.active)
    stage.host.advance(1)
    for _ in range(3):
        stage.supervisor.tick()
    ready.refresh_from_db()
    assert ready.role == RunRole.STANDBY
    stage.pass_time(10)
    assert (stage.active.number, stage.pipeline.phase) == (3, "RUNNING")


def test_one_that_ends_by_itself_is_replaced_with_growing_delays(stage: Warm) -> None:
    stage.start()
    for _ in range(120):
        stage.pass_time(1)
        if (run := of_pipeline(stage.pipeline)) is not None and run.state == RunState.LIVE:
            agent = stage.agent(run)
            agent.findings = [AgentFinding(path="sinks.lake", code="INIT_FAILED", message="no")]
            agent.fate = Exit.INIT_FAILED
    made = Run.objects.filter(warm=True).count()
    assert 3 <= made <= 6
    assert (stage.pipeline.phase, stage.pipeline.findings, stage.active.number) == ("RUNNING", [], 1)


def test_a_host_without_room_says_so_and_is_asked_again(stage: Warm) -> None:
    stage.start()
    standby.discard(run=stage.second, actor=ANA)
    Host.objects.update(drained_at=datetime.now(UTC))
    stage.pass_time(5)
    assert of_pipeline(stage.pipeline) is None
    assert stage.condition is not None
    assert (stage.condition["status"], stage.condition["reason"]) == ("False", "refused")
    assert "alpha" in stage.condition["message"]
    Host.objects.update(drained_at=None)
    stage.pass_time(60)
    assert stage.condition["reason"] == "ready"


@pytest.mark.parametrize("kind", [OperationKind.STOP, OperationKind.FORCE_STOP])
def test_a_stop_ends_it_too(stage: Warm, kind: OperationKind) -> None:
    stage.start_both()
    second = stage.second
    stage.ask(kind)
    stage.pass_time(5)
    second.refresh_from_db()
    assert (stage.pipeline.phase, second.state, second.outcome) == ("STOPPED", RunState.ENDED, "CLEAN")
    assert stage.host.holders() == {}
    stage.pass_time(30)
    assert Run.objects.count() == 2


def test_a_pause_keeps_it_and_a_run_that_is_killed_while_paused_is_taken_over_paused(stage: Warm) -> None:
    stage.start_both()
    stage.ask(OperationKind.PAUSE)
    ready = stage.second
    stage.kill(stage.active)
    stage.pass_time(10)
    assert (stage.pipeline.phase, stage.active) == ("PAUSED", ready)
    assert stage.agent(ready).delivered == 0


def test_a_restart_starts_a_run_that_knows_what_changed_and_a_new_standby(stage: Warm) -> None:
    stage.start_both()
    second = stage.second
    stage.ask(OperationKind.RESTART)
    stage.pass_time(15)
    second.refresh_from_db()
    assert (second.role, second.state) == (RunRole.STANDBY, RunState.ENDED)
    assert stage.active.number > second.number
    assert stage.condition is not None
    assert stage.condition["reason"] == "ready"


def test_a_blocked_pipeline_has_none(stage: Warm) -> None:
    stage.start_both()
    second = stage.second
    agent = stage.agent(stage.active)
    agent.findings = [AgentFinding(path="sources.shop", code="LEDGER_LOST", message="no")]
    agent.fate = Exit.PREFLIGHT_BLOCKED
    stage.pass_time(10)
    second.refresh_from_db()
    assert (stage.pipeline.phase, second.state) == (Phase.BLOCKED, RunState.ENDED)


def test_it_gives_way_to_the_standby_of_a_migration(stage: Warm) -> None:
    stage.start_both()
    second = stage.second
    migrating(stage, MigrationStage.PREFLIGHT)
    (room,) = rooms([Host.objects.get()], beside=stage.pipeline, ahead=False)
    assert room.agents == 0
    run = stage.prepare()
    second.refresh_from_db()
    assert (run.warm, run.state, second.state) == (False, RunState.LIVE, RunState.ENDED)
    stage.pass_time(30)
    assert of_pipeline(stage.pipeline) == run


def test_while_a_migration_is_verified_it_is_one_of_the_old_revision_and_makes_the_way_back_short(stage: Warm) -> None:
    stage.start_both()
    old = stage.pipeline.current_revision
    assert old is not None
    migration = migrating(stage, MigrationStage.PREFLIGHT)
    new = stage.prepare()
    stage.want(DesiredState.STOPPED)
    stage.promote(new)
    Migration.objects.update(stage=MigrationStage.VERIFYING)
    stage.pass_time(20)
    assert (stage.active, stage.second.revision) == (new, old)
    ready = stage.second
    Migration.objects.update(stage=MigrationStage.NEEDS_ATTENTION)
    stage.want(DesiredState.STOPPED)
    Pipeline.objects.update(current_revision=old)
    stage.want(DesiredState.RUNNING)
    assert (stage.active, stage.pipeline.phase) == (ready, "RUNNING")
    Migration.objects.filter(pk=migration.pk).update(stage=MigrationStage.ROLLED_BACK)
    stage.pass_time(20)
    assert stage.second.revision == old


def test_after_the_commit_it_is_one_of_the_new_revision(stage: Warm) -> None:
    stage.start_both()
    migrating(stage, MigrationStage.PREFLIGHT)
    new = stage.prepare()
    stage.want(DesiredState.STOPPED)
    stage.promote(new)
    Migration.objects.update(stage=MigrationStage.VERIFYING)
    stage.pass_time(20)
    Migration.objects.update(stage=MigrationStage.COMMITTED)
    stage.pass_time(20)
    assert (stage.active, stage.second.revision, stage.second.warm) == (new, new.revision, True)


def test_a_worker_that_is_started_anew_keeps_it(stage: Warm) -> None:
    stage.start_both()
    second = stage.second
    assert stage.host.worker is not None
    stage.host.worker.alive = False
    stage.supervisor = supervisor(stage.host, stage.locks)
    stage.pass_time(30)
    assert stage.second == second
    stage.kill(stage.active)
    stage.pass_time(10)
    assert stage.active == second


def test_only_a_pipeline_that_asks_has_one_kept(stage: Warm) -> None:
    stage.start_both()
    assert warm.keep(pipeline=stage.pipeline) is None
    standby.discard(run=stage.second, actor=ANA)
    stage.ask_for("none")
    assert warm.keep(pipeline=stage.pipeline) is None


def test_one_on_a_host_that_the_pipeline_has_left_is_not_waited_for(stage: Warm) -> None:
    stage.start_both()
    left = stage.second
    beta = HostFactory.create(name="beta", seen_at=None)
    Run.objects.filter(pk=left.pk).update(host=beta)
    made = warm.keep(pipeline=stage.pipeline)
    left.refresh_from_db()
    assert made is not None
    assert (left.state, left.outcome, made.host_id) == (RunState.ENDED, "LOST", "alpha")


class Watched:
    """Whose end the next tick is to begin with."""

    def __init__(self) -> None:
        self.processes: list[ProcessIdentity] = []

    def watch(self, processes: Collection[ProcessIdentity]) -> None:
        self.processes = list(processes)


def test_the_ends_of_keepers_are_watched_and_of_what_outlives_its_keeper(stage: Warm) -> None:
    watched = Watched()
    stage.supervisor = supervisor(stage.host, stage.locks, ends=watched)
    stage.locks.clear()
    stage.start_both()
    agents = [stage.agent(stage.active), stage.agent(stage.second)]
    assert {each.pid for each in watched.processes} == {agent.keeper.identity.pid for agent in agents}
    agents[0].keeper.alive = False
    stage.supervisor.tick()
    assert agents[0].driver is not None
    assert {each.pid for each in watched.processes} >= {agents[0].driver.identity.pid, agents[1].keeper.identity.pid}


def migrating(stage: Warm, reached: MigrationStage) -> Migration:
    """A row that holds the pipeline, whose steps the test does itself."""
    pipeline = stage.pipeline
    return Migration.objects.create(
        pipeline=pipeline,
        kind=MigrationKind.REVISION,
        stage=reached,
        stage_since=datetime.now(UTC),
        created_at=datetime.now(UTC),
        old_revision=pipeline.current_revision,
        old_host_id=pipeline.host_id,
        old_desired=pipeline.desired_state,
        new_revision=pipeline.current_revision,
        new_host_id=pipeline.host_id,
    )
