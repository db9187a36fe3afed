"""Standbys are prepared, promoted and discarded while everything fails that can: one agent consumes at most."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import rule, run_state_machine_as_test

from pipelines.domain.base.states import OperationKind, Phase, RunRole, RunState
from pipelines.foundation.errors import Conflict
from pipelines.models import Run
from pipelines.selectors.runs import standby as selectors
from pipelines.services.base.audit import Actor
from pipelines.services.runs import standby
from tests.chaos.extent import EXAMPLES, sweep
from tests.simulation.test_supervisor_survives_everything import Supervision
from tests.simulation.world import World
from workers import crash_points
from workers.supervisor.tick import journals

ANA = Actor("ana")


class WithStandby(Supervision):
    """The same, with somebody who moves the pipeline to standbys."""

    @property
    def waiting(self) -> Run | None:
        return selectors.of_pipeline(self.world.pipeline)

    @rule()
    def a_standby_is_prepared(self) -> None:
        pipeline = self.world.pipeline
        assert pipeline.current_revision is not None
        with suppress(Conflict):
            standby.prepare(pipeline=pipeline, revision=pipeline.current_revision, host="alpha", actor=ANA)

    @rule(twice=st.booleans())
    def the_standby_is_promoted(self, twice: bool) -> None:
        run = self.waiting
        for _ in range(1 + twice):
            with suppress(Conflict):
                if run is not None:
                    standby.promote(run=run, actor=ANA)

    @rule(seconds=st.integers(0, 20))
    def the_pipeline_is_handed_over(self, seconds: int) -> None:
        self.a_standby_is_prepared()
        self.world.ask(OperationKind.STOP)
        for _ in range(seconds):
            self.world.pass_time()
            self.world.check()
        self.the_standby_is_promoted(twice=False)

    @rule()
    def the_standby_is_discarded(self) -> None:
        if (run := self.waiting) is not None:
            standby.discard(run=run, actor=ANA)

    @rule()
    def promote_json_is_lost(self) -> None:
        for directory in self.world.host.directories.values():
            directory.documents.pop("promote.json", None)

    def teardown(self) -> None:
        self.the_standby_is_discarded()
        self.come_right()
        self.world.run_until(lambda: not living(self.world))
        super().teardown()
        runs = Run.objects.filter(pipeline_id=self.world.pipeline_id)
        assert not runs.exclude(state=RunState.ENDED).exists()
        epochs = list(runs.filter(role=RunRole.ACTIVE).order_by("epoch").values_list("epoch", "started_at"))
        assert len({epoch for epoch, _ in epochs}) == len(epochs)


class WithWarmStandby(Supervision):
    """The same with a definition that asks for a warm standby: nobody else does anything about it."""

    def __init__(self) -> None:
        super().__init__()
        ask_for_a_warm_standby(self.world)

    @rule(driver=st.booleans(), keeper=st.booleans())
    def the_run_that_consumes_is_killed(self, driver: bool = True, keeper: bool = True) -> None:
        for agent in self.world.agents.living:
            if not agent.is_standby and driver and agent.driver is not None:
                agent.driver.alive = False
            if not agent.is_standby and keeper:
                agent.keeper.alive = False

    def teardown(self) -> None:
        world = self.world
        self.come_right()
        world.run_until(world.settled)
        world.check()
        if world.phase is Phase.RUNNING:
            world.run_until(lambda: has_a_ready_standby(world), within=600)
        world.ask(OperationKind.STOP)
        world.run_until(lambda: not living(world))
        super().teardown()


def ask_for_a_warm_standby(world: World) -> None:
    revision = world.pipeline.current_revision
    assert revision is not None
    revision.definition["lifecycle"] |= {"standby": "warm"}
    revision.save()


def living(world: World) -> bool:
    return selectors.living().filter(pipeline_id=world.pipeline_id).exists()


def has_a_ready_standby(world: World) -> bool:
    found: dict[str, Any] = next((each for each in world.pipeline.conditions if each["type"] == "Standby"), {})
    return found.get("status") == "True"


def the_worker_dies_and_another_finishes(world: World, points: int) -> None:
    world.points_left = points
    for _ in range(3):
        world.pass_time()
    world.kill_worker()
    world.start_worker()
    world.run_until(lambda: world.phase is Phase.RUNNING)
    world.check()


@pytest.fixture(autouse=True)
def small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    """A journal takes several ticks to be taken in; the host is heard, whatever its wall clock says."""
    monkeypatch.setattr(journals, "JOURNAL_CHUNK", 1000)
    monkeypatch.setattr(crash_points, "reach", crash_points.reach)
    monkeypatch.setattr(standby, "seen_within", lambda *_: True)


@pytest.mark.django_db
@pytest.mark.parametrize("machine", [WithStandby, WithWarmStandby])
def test_whatever_happens_one_agent_consumes_at_most_and_no_record_is_read_twice_or_never(
    machine: type[Supervision],
) -> None:
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=EXAMPLES,
            stateful_step_count=30,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        ),
    )


@pytest.mark.django_db
@pytest.mark.parametrize("points", sweep(14, 5))
def test_a_promotion_survives_the_death_of_the_worker_at_every_point(points: int) -> None:
    stage = WithStandby()
    world = stage.world
    world.ask(OperationKind.START)
    world.run_until(lambda: world.phase is Phase.RUNNING)
    stage.a_standby_is_prepared()
    world.run_until(lambda: (run := stage.waiting) is not None and (run.observed or {}).get("phase") == "STANDBY")
    world.ask(OperationKind.STOP)
    world.run_until(lambda: world.phase is Phase.STOPPED)
    stage.the_standby_is_promoted(twice=False)
    the_worker_dies_and_another_finishes(world, points)
    assert Run.objects.filter(pipeline_id=world.pipeline_id).count() == 2
    stage.teardown()


@pytest.mark.django_db
@pytest.mark.parametrize("points", sweep(14, 5))
def test_a_takeover_survives_the_death_of_the_worker_at_every_point(points: int) -> None:
    stage = WithWarmStandby()
    world = stage.world
    world.ask(OperationKind.START)
    world.run_until(lambda: has_a_ready_standby(world))
    stage.the_run_that_consumes_is_killed()
    the_worker_dies_and_another_finishes(world, points)
    stage.teardown()
