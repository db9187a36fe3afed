"""Who may write: leases with epochs, workers that were stopped past theirs, runs of silent hosts, stray processes."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from inspect import isfunction
from itertools import count
from types import ModuleType
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from pipelines.domain.base.states import OperationKind, Phase, RunOutcome, RunState
from pipelines.models import Event, Host, LedgerBatch, Operation, Pipeline, Position, Run
from pipelines.services.base import fencing
from pipelines.services.base.audit import Actor
from pipelines.services.base.fencing import Fenced, Lease
from pipelines.services.ledger import journals
from pipelines.services.lifecycle import lifecycle, operations, placement, transitions
from pipelines.services.runs import observations, ownership, runs
from tests.chaos.extent import WHOLE
from tests.factories import HostFactory, PipelineFactory, RunFactory
from tests.fakes.freezing import Freezer
from workers.simulated.agents import Agents
from workers.simulated.host import SimulatedHost, SimulatedProcess
from workers.simulated.supervisor import supervisor
from workers.supervisor.tick.lease import TTL
from workers.supervisor.tick.tick import Supervisor

pytestmark = pytest.mark.django_db

LIFE = {"init_timeout": 60, "drain_timeout": 5, "cancel_interval": 3, "cancel_timeout": 10}


class Shift:
    """One host with two worker processes, of which the second one waits for the first one's lease."""

    def __init__(self) -> None:
        HostFactory.create(name="alpha")
        self.host = SimulatedHost()
        self.locks: list[SimulatedProcess] = []
        self.first, self.second = supervisor(self.host, self.locks), supervisor(self.host, self.locks)
        self.agents = Agents(self.host)
        self.pipeline = PipelineFactory.create()
        revision = self.pipeline.current_revision
        assert revision is not None
        revision.definition["lifecycle"] |= LIFE
        revision.save()

    def ask(self, kind: OperationKind, **how: Any) -> None:
        lifecycle.request(pipeline=Pipeline.objects.get(), action=kind, actor=Actor("ana"), **how)

    def go_on(self, worker: Supervisor, seconds: int) -> None:
        for _ in range(seconds):
            self.host.advance(1)
            self.agents.step()
            worker.tick()

    def take_over(self) -> None:
        """The second worker waits until the lease has stood still, and does what is wanted."""
        self.second.tick()
        self.host.advance(TTL)
        self.go_on(self.second, 10)

    @property
    def phase(self) -> str:
        return Pipeline.objects.values_list("phase", flat=True).get()


def public(module: ModuleType) -> list[Callable[..., Any]]:
    """Every function that a module offers."""
    own = [each for each in vars(module).values() if isfunction(each) and each.__module__ == module.__name__]
    return [each for each in own if not each.__name__.startswith("_")]


OTHER_WRITES: list[Callable[..., Any]] = [
    ownership.mark_unknown,
    ownership.take_over,
    ownership.move,
    ownership.evacuate,
    observations.record_statuses,
    journals.ingest_all,
    transitions.set_phase,
    operations.advance,
    operations.report,
    operations.finish,
    placement.claim,
]
"""What a supervisor writes by other modules than `runs`, all of which is its own."""


def everything() -> dict[str, list[dict[str, Any]]]:
    """Every row that a supervisor could write."""
    models: tuple[Any, ...] = (Pipeline, Run, Operation, Event, LedgerBatch, Position, Host)
    return {model.__name__: list(model.objects.order_by("pk").values()) for model in models}


def starting(shift: Shift) -> None:
    shift.ask(OperationKind.START)


def stopping(shift: Shift) -> None:
    shift.ask(OperationKind.START)
    shift.go_on(shift.first, 8)
    shift.ask(OperationKind.STOP)


def crashing(shift: Shift) -> None:
    shift.ask(OperationKind.START)
    shift.go_on(shift.first, 8)
    (agent,) = shift.agents.living
    agent.fate = 1
    for _ in range(3):
        shift.agents.step()


def withdrawing(shift: Shift) -> None:
    """A start whose intent is recorded, and that is taken back while the worker is stopped."""
    shift.ask(OperationKind.START)


SCENES = {starting: "RUNNING", stopping: "STOPPED", crashing: "RUNNING", withdrawing: "STOPPED"}


@pytest.mark.parametrize("scene", SCENES, ids=lambda scene: scene.__name__)
def test_a_worker_stopped_past_its_lease_at_any_instant_and_continued_changes_nothing(scene: Any) -> None:
    instants, reached = count(0 if WHOLE else list(SCENES).index(scene) % 3, 1 if WHOLE else 3), True
    while reached:
        instant = next(instants)
        reached = _stop_and_continue(scene, instant)
        for model in (Event, LedgerBatch, Position, Operation, Run):
            model.objects.all().delete()
        Pipeline.objects.update(current_revision=None)
        Pipeline.objects.all().delete()
        Host.objects.all().delete()
    assert instant > 10


def _stop_and_continue(scene: Any, instant: int) -> bool:
    shift = Shift()
    shift.first.tick()
    scene(shift)
    seen: dict[str, Any] = {}

    def meanwhile() -> None:
        if scene is withdrawing:
            shift.ask(OperationKind.STOP)
        shift.take_over()
        seen["rows"] = everything()

    freezer = Freezer(shift.host, instant, meanwhile)
    shift.host.advance(1)
    with freezer.watching():
        shift.first.tick()
    if not freezer.happened:
        return False
    assert everything() == seen["rows"], f"the stale worker wrote something after instant {instant}"
    assert not shift.first.tick().supervising
    for _ in range(5):
        shift.go_on(shift.second, 1)
        assert len(shift.host.holders()) <= 1
    assert shift.phase == SCENES[scene], f"instant {instant}"
    wanted = 1 if SCENES[scene] == "RUNNING" else 0
    assert len(shift.agents.living) == wanted, f"instant {instant}"
    return True


class TestLease:
    def test_a_frozen_owner_is_not_waited_for_beyond_its_lease(self) -> None:
        shift = Shift()
        assert shift.first.tick().supervising
        assert not shift.second.tick().supervising
        shift.host.advance(TTL)
        assert shift.second.tick().supervising
        assert not shift.first.tick().supervising
        assert Host.objects.get().lease_epoch == 2

    def test_the_one_who_lost_it_waits_for_it_again(self) -> None:
        shift = Shift()
        shift.first.tick()
        shift.second.tick()
        shift.host.advance(TTL)
        shift.second.tick()
        shift.first.tick()
        shift.second.release()
        assert shift.first.tick().supervising
        assert Host.objects.get().lease_epoch == 3

    def test_a_state_directory_of_another_host_is_not_taken(self) -> None:
        shift = Shift()
        shift.first.tick()
        other = supervisor(shift.host, shift.locks, "beta")
        shift.host.advance(10 * TTL)
        assert not other.tick().supervising

    def test_a_lease_that_expired_and_that_nobody_took_is_renewed(self) -> None:
        shift = Shift()
        shift.first.tick()
        shift.host.advance(10 * TTL)
        assert shift.first.tick().supervising
        assert Host.objects.get().lease_epoch == 1

    @pytest.mark.parametrize("hours", [-1, 1])
    def test_clocks_that_jump_decide_nothing(self, hours: int) -> None:
        shift = Shift()
        shift.first.tick()
        assert not shift.second.tick().supervising
        shift.host.wall += timedelta(hours=hours)
        assert not shift.second.tick().supervising
        assert shift.first.tick().supervising


class TestFence:
    @pytest.mark.parametrize("write", [*public(runs), *OTHER_WRITES], ids=lambda write: str(write.__qualname__))
    def test_no_write_of_a_supervisor_is_so_much_as_begun_once_its_lease_is_anothers(self, write: Any) -> None:
        HostFactory.create(lease_epoch=5)
        with fencing.holding(Lease("alpha", 4, expires=100.0), lambda: 0.0), pytest.raises(Fenced):
            write()

    def test_a_refused_write_changes_nothing(self) -> None:
        host = HostFactory.create(lease_epoch=5)
        run = RunFactory.create(host=host)
        stale = Lease("alpha", 4, expires=100.0)
        before, now = everything(), host.seen_at
        assert now is not None
        writes: tuple[Callable[[], object], ...] = (
            lambda: runs.reset_restarts(pipeline=run.pipeline),
            lambda: runs.set_conditions(pipeline_id=run.pipeline_id, conditions=[]),
            lambda: runs.observe_generation(pipeline_id=run.pipeline_id, generation=9),
            lambda: runs.record_stop_request(run=run, now=now),
            lambda: runs.add_findings(pipeline=run.pipeline, findings=[{"code": "X"}]),
        )
        for write in writes:
            with fencing.holding(stale, lambda: 0.0), pytest.raises(Fenced):
                write()
        assert everything() == before

    def test_the_present_lease_writes(self) -> None:
        run = RunFactory.create(host=HostFactory.create(lease_epoch=5))
        with fencing.holding(Lease("alpha", 5, expires=100.0), lambda: 0.0):
            runs.observe_generation(pipeline_id=run.pipeline_id, generation=9)
        assert Pipeline.objects.get().observed_generation == 9

    def test_people_are_not_fenced(self) -> None:
        run = RunFactory.create(host=HostFactory.create(lease_epoch=5))
        runs.observe_generation(pipeline_id=run.pipeline_id, generation=9)
        assert Pipeline.objects.get().observed_generation == 9

    def test_an_expired_lease_touches_no_process_and_no_file(self) -> None:
        with fencing.holding(Lease("alpha", 5, expires=100.0), lambda: 100.0), pytest.raises(Fenced):
            fencing.require_time()


class TestStrays:
    def test_what_lives_of_a_run_that_was_given_away_is_killed(self) -> None:
        shift = Shift()
        shift.ask(OperationKind.START)
        shift.go_on(shift.first, 8)
        (agent,) = shift.agents.living
        Run.objects.update(state=RunState.ENDED, outcome=RunOutcome.LOST)
        Pipeline.objects.update(host=HostFactory.create(name="beta"))
        shift.first.tick()
        assert agent.over
        assert Event.objects.filter(kind="run.killed").count() == 1

    def test_tokens_of_others_are_left_alone_and_asked_about_once(self) -> None:
        shift = Shift()
        shift.first.tick()
        token = "a token of another installation"
        stranger = shift.host.start(token)
        with CaptureQueriesContext(connection) as queries:
            for _ in range(3):
                shift.first.tick()
        assert sum(token in query["sql"] for query in queries) == 1
        assert stranger.alive
        assert shift.host.signals == []


def test_an_order_of_an_older_supervisor_is_not_obeyed() -> None:
    shift = Shift()
    shift.ask(OperationKind.START)
    shift.go_on(shift.first, 8)
    stale = shift.host.control(next(iter(shift.agents.living)).run_dir)
    shift.second.tick()
    shift.go_on(shift.second, int(TTL) + 1)
    assert stale is not None
    (agent,) = shift.agents.living
    shift.host.write_control(agent.run_dir, replace_control(stale, seq=stale.seq + 5, command="stop"))
    shift.go_on(shift.second, 3)
    assert (shift.phase, len(shift.agents.living)) == (Phase.RUNNING, 1)
    present = shift.host.control(agent.run_dir)
    assert present is not None
    assert (present.owner, present.command) == (2, "run")


def replace_control(control: Any, **changes: Any) -> Any:
    return control.model_copy(update=changes)
