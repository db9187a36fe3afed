"""Two hosts over one database: where pipelines go, what a silent host's runs are, and what brings them back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from rest_framework.test import APIClient

from pipelines.domain.access.teams import EVERYTHING
from pipelines.domain.base.roles import Role
from pipelines.domain.base.states import OperationKind, Phase
from pipelines.domain.definitions.parts.leases import TAKEOVER_MARGIN
from pipelines.domain.lifecycle.operations import OnTimeout
from pipelines.domain.monitoring.alert_rules import AlertRule, AlertState
from pipelines.foundation import clock
from pipelines.foundation.errors import Conflict, Invalid, NotFound
from pipelines.models import Alert, AuditRow, Event, Host, LedgerBatch, Operation, Pipeline, Position, Run
from pipelines.selectors.hosts import capacity
from pipelines.services.base.audit import Actor
from pipelines.services.hosts import hosts
from pipelines.services.lifecycle import lifecycle
from pipelines.services.monitoring import alerts
from pipelines.services.runs import ownership
from tests.factories import PipelineFactory, UserFactory
from workers.simulated.agents import Agents
from workers.simulated.host import SimulatedHost, SimulatedProcess
from workers.simulated.supervisor import supervisor
from workers.supervisor.tick.peers import (
    ABANDONED_AFTER,
    CARE_EVERY,
    EVACUATED_AGAIN_AFTER,
    MOVED_AT_A_TIME,
    SILENT_AFTER,
)
from workers.supervisor.tick.tick import Supervisor

pytestmark = pytest.mark.django_db

ANA = Actor("ana")
FENCED: dict[str, Any] = {"on_supervisor_loss": "fence", "lease": 60.0}
GRACE = 300.0
"""The default write_deadline of sinks."""


@dataclass
class Machine:
    """A machine of its own: boot id, clocks, processes; `cut`: its worker reaches the database no more."""

    name: str
    host: SimulatedHost
    cut: bool = False
    locks: list[SimulatedProcess] = field(default_factory=list)
    worker: Supervisor = field(init=False)
    agents: Agents = field(init=False)

    def __post_init__(self) -> None:
        self.worker, self.agents = supervisor(self.host, self.locks, self.name), Agents(self.host)


class Site:
    """Machines a and b; time passes for both alike."""

    def __init__(self, *names: str) -> None:
        self.machines = {name: self._machine(name) for name in names or ("a", "b")}
        self.pass_time(2)
        self.in_the_eyes_of_the_api()

    @staticmethod
    def _machine(name: str) -> Machine:
        return Machine(name, SimulatedHost(state_dir=Path(f"/state-{name}"), boot_id=f"boot-{name}"))

    def pass_time(self, seconds: float, step: float = 1.0, until: Callable[[], bool] = lambda: False) -> None:
        """`step`: larger where nothing is to happen, since everybody works once a step."""
        for _ in range(int(seconds / step)):
            if until():
                return
            for machine in self.machines.values():
                machine.host.advance(step)
                machine.agents.step()
                if not machine.cut:
                    machine.worker.tick()

    def fall_silent(self) -> None:
        """Long enough for whoever was cut off to count as silent, and to be cared for."""
        self.pass_time(SILENT_AFTER + 2 * CARE_EVERY, step=CARE_EVERY)

    def in_the_eyes_of_the_api(self) -> None:
        """The simulated wall clocks stand in the past; the API compares with its own."""
        names = [name for name, machine in self.machines.items() if not machine.cut]
        Host.objects.filter(name__in=names).update(seen_at=clock.now())

    def pipeline(self, name: str = "orders", on: str | None = "a", **lifecycle_changes: Any) -> Pipeline:
        pipeline = PipelineFactory.create(name=name, host=Host.objects.get(name=on) if on else None)
        revision = pipeline.current_revision
        assert revision is not None
        revision.definition["lifecycle"] |= {"cancel_interval": 3.0, "cancel_timeout": 10.0, **lifecycle_changes}
        revision.save()
        return pipeline

    def running(self, **how: Any) -> Pipeline:
        pipeline = self.pipeline(**how)
        self.ask(pipeline, OperationKind.START)
        self.pass_time(8)
        assert self.phase(pipeline) == "RUNNING"
        return pipeline

    def ask(self, pipeline: Pipeline, kind: OperationKind) -> Operation:
        self.in_the_eyes_of_the_api()
        return lifecycle.request(pipeline=pipeline, action=kind, actor=ANA)

    @staticmethod
    def phase(pipeline: Pipeline) -> str:
        return Pipeline.objects.values_list("phase", flat=True).get(id=pipeline.id)

    @staticmethod
    def where(pipeline: Pipeline) -> str | None:
        return Pipeline.objects.values_list("host_id", flat=True).get(id=pipeline.id)

    def living(self) -> dict[str, int]:
        return {name: len(machine.agents.living) for name, machine in self.machines.items()}

    def cut(self, name: str) -> None:
        self.machines[name].cut = True

    def heal(self, name: str) -> None:
        self.machines[name].cut = False


def tied_to_a(site: Site, name: str, **keys: Any) -> Pipeline:
    """A pipeline that names its host."""
    pipeline = site.pipeline(name, **keys)
    assert pipeline.current_revision is not None
    pipeline.current_revision.definition["placement"]["host"] = "a"
    pipeline.current_revision.save()
    return pipeline


@pytest.fixture
def site() -> Site:
    return Site()


class TestContinue:
    """`on_supervisor_loss: continue`."""

    def test_a_silent_hosts_run_is_unknown_and_never_started_elsewhere(self, site: Site) -> None:
        pipeline = site.running()
        site.cut("a")
        site.pass_time(SILENT_AFTER - 2, step=4)
        assert site.phase(pipeline) == "RUNNING"
        site.pass_time(2 + CARE_EVERY)
        assert site.phase(pipeline) == "UNKNOWN"
        assert "headgate runs declare-lost orders" in Pipeline.objects.get().phase_message
        site.pass_time(400, step=10)
        assert (site.living(), site.where(pipeline)) == ({"a": 1, "b": 0}, "a")

    def test_a_host_that_is_heard_again_goes_on_where_it_was(self, site: Site) -> None:
        pipeline = site.running()
        site.cut("a")
        site.fall_silent()
        site.heal("a")
        site.pass_time(3)
        assert (site.phase(pipeline), Run.objects.count()) == ("RUNNING", 1)

    def test_a_persons_word_starts_it_elsewhere_and_the_old_agent_is_ended_when_its_host_is_heard(
        self, site: Site
    ) -> None:
        pipeline = site.running()
        site.cut("a")
        site.fall_silent()
        run = ownership.declare_lost(pipeline=pipeline, confirm="orders", actor=ANA)
        assert (run.state, run.outcome) == ("ENDED", "LOST")
        site.pass_time(10)
        assert (site.phase(pipeline), site.where(pipeline), site.living()) == ("RUNNING", "b", {"a": 1, "b": 1})
        site.heal("a")
        site.pass_time(2)
        assert site.living() == {"a": 0, "b": 1}
        assert AuditRow.objects.filter(action="pipeline.declare_lost", actor="ana").count() == 1

    def test_the_next_run_begins_where_the_ledger_stands_and_says_what_may_come_twice(self, site: Site) -> None:
        pipeline = site.running()
        agent = site.machines["a"].agents.living[0]
        while not agent.in_flight:
            site.pass_time(1)
        site.cut("a")
        site.machines["a"].worker.tick()
        taken_in = Position.objects.get().next_offset
        site.fall_silent()
        assert agent.position > taken_in, "it goes on without a supervisor"
        ownership.declare_lost(pipeline=pipeline, confirm="orders", actor=ANA)
        site.pass_time(2)
        launch = site.machines["b"].agents.living[0].launch
        assert launch.heads[0].positions[0].offset == taken_in
        assert launch.lineage == launch.run
        assert not LedgerBatch.objects.filter(state="planned", run__host_id="a").exists()
        (abandoned,) = Event.objects.filter(kind="batch.abandoned")
        assert abandoned.data["duplicates_max"] == 10

    def test_a_host_that_is_heard_is_not_declared_lost(self, site: Site) -> None:
        pipeline = site.running()
        site.in_the_eyes_of_the_api()
        with pytest.raises(Conflict) as refused:
            ownership.declare_lost(pipeline=pipeline, confirm="orders", actor=ANA)
        assert refused.value.code == "host_is_up"

    def test_a_pipeline_without_a_run_is_not_declared_lost(self, site: Site) -> None:
        with pytest.raises(Conflict) as refused:
            ownership.declare_lost(pipeline=site.pipeline(), confirm="orders", actor=ANA)
        assert refused.value.code == "no_live_run"

    def test_the_consequence_is_said_before_it_is_done(self, site: Site) -> None:
        pipeline = site.running()
        site.cut("a")
        site.fall_silent()
        with pytest.raises(Invalid) as asked:
            ownership.declare_lost(pipeline=pipeline, confirm="", actor=ANA)
        assert "delivered again" in asked.value.detail
        assert site.phase(pipeline) == "UNKNOWN"

    def test_a_lost_run_that_was_to_stop_is_stopped(self, site: Site) -> None:
        pipeline = site.running()
        site.cut("a")
        stop = site.ask(pipeline, OperationKind.STOP)
        site.fall_silent()
        ownership.declare_lost(pipeline=pipeline, confirm="orders", actor=ANA)
        stop.refresh_from_db()
        assert (site.phase(pipeline), stop.state) == ("STOPPED", "SUCCEEDED")
        site.pass_time(5)
        assert site.living()["b"] == 0


class TestFence:
    """`on_supervisor_loss: fence`."""

    def test_a_renewed_lease_never_ends(self, site: Site) -> None:
        pipeline = site.running(**FENCED)
        site.pass_time(200, step=5)
        assert (site.phase(pipeline), Run.objects.count()) == ("RUNNING", 1)

    def test_an_agent_that_nobody_looks_after_stops_itself_at_the_end_of_its_lease(self, site: Site) -> None:
        site.running(**FENCED)
        site.cut("a")
        site.pass_time(55, step=5)
        site.pass_time(3)
        assert site.living()["a"] == 1
        site.pass_time(5)
        assert site.living()["a"] == 0

    def test_an_agent_that_does_not_stop_is_killed_after_the_grace(self, site: Site) -> None:
        site.running(**FENCED)
        site.machines["a"].agents.living[0].unresponsive = True
        site.cut("a")
        site.pass_time(60 + GRACE - 10, step=10)
        site.pass_time(5, step=5)
        assert site.living()["a"] == 1
        site.pass_time(15)
        assert site.living()["a"] == 0

    def test_another_host_takes_over_by_time_alone_and_never_before_nothing_lives(self, site: Site) -> None:
        pipeline = site.running(**FENCED)
        site.machines["a"].agents.living[0].unresponsive = True
        site.cut("a")
        for seconds, step in ((60 + GRACE - 10, 10), (10 + TAKEOVER_MARGIN + CARE_EVERY + 35, 1)):
            for _ in range(int(seconds / step)):
                site.pass_time(step, step)
                assert sum(site.living().values()) <= 1
        assert (site.phase(pipeline), site.where(pipeline), site.living()) == ("RUNNING", "b", {"a": 0, "b": 1})
        assert [run.outcome for run in Run.objects.order_by("number")] == ["LOST", None]

    def test_a_host_that_returns_before_that_keeps_its_pipeline(self, site: Site) -> None:
        pipeline = site.running(**FENCED)
        site.cut("a")
        site.pass_time(100, step=5)
        site.heal("a")
        site.pass_time(10)
        assert (site.phase(pipeline), site.where(pipeline), site.living()) == ("RUNNING", "a", {"a": 1, "b": 0})
        assert Run.objects.get(number=1).exit_code == 16

    def test_a_pipeline_that_is_tied_to_its_host_waits_for_it(self, site: Site) -> None:
        pipeline = tied_to_a(site, "orders", **FENCED)
        site.ask(pipeline, OperationKind.START)
        site.pass_time(8)
        site.cut("a")
        site.pass_time(480, step=10)
        assert (site.phase(pipeline), site.where(pipeline)) == ("UNKNOWN", "a")

    def test_many_pipelines_of_a_lost_host_move_a_few_in_a_tick_and_those_that_cannot_hold_up_nobody(
        self, site: Site
    ) -> None:
        """Its own agents wait while a supervisor finds hosts for others."""
        tied = [tied_to_a(site, f"a-{number:02}", **FENCED) for number in range(MOVED_AT_A_TIME + 3)]
        moving = [site.pipeline(f"b-{number:02}", **FENCED) for number in range(2 * MOVED_AT_A_TIME + 3)]
        Host.objects.update(slots=100, memory_limit=1 << 40, memory_bytes=1 << 40)
        for pipeline in [*tied, *moving]:
            site.ask(pipeline, OperationKind.START)
        site.pass_time(12)
        assert site.living()["a"] == len(tied) + len(moving)
        site.cut("a")
        site.pass_time(60 + GRACE + TAKEOVER_MARGIN - 10, step=CARE_EVERY)
        assert {site.phase(pipeline) for pipeline in [*tied, *moving]} == {"UNKNOWN"}
        seen = [0]
        for _ in range(90):
            site.pass_time(1)
            seen.append(sum(site.where(pipeline) == "b" for pipeline in moving))
        assert seen[-1] == len(moving)
        assert max(after - before for before, after in pairwise(seen)) <= MOVED_AT_A_TIME
        assert {site.where(pipeline) for pipeline in tied} == {"a"}
        assert {site.phase(pipeline) for pipeline in tied} == {"UNKNOWN"}

    def test_a_wall_clock_that_jumps_ends_no_lease(self, site: Site) -> None:
        pipeline = site.running(**FENCED)
        for hours in (-1, 2, -1):
            site.machines["a"].host.wall += timedelta(hours=hours)
            site.pass_time(3)
        assert (site.phase(pipeline), Run.objects.count()) == ("RUNNING", 1)

    def test_a_restarted_host_finds_its_run_dead_by_the_boot_id(self, site: Site) -> None:
        pipeline = site.running()
        machine = site.machines["a"]
        machine.host.reboot()
        machine.worker = supervisor(machine.host, machine.locks, "a")
        site.pass_time(30)
        assert (site.phase(pipeline), site.where(pipeline)) == ("RUNNING", "a")
        first = Run.objects.get(number=1)
        assert (first.outcome, first.exit_reason) == ("LOST", "The host was restarted.")


class TestAlert:
    """One for each host that is silent, whoever sees it and whatever ran there."""

    @staticmethod
    def standing() -> list[tuple[str, str]]:
        return list(Alert.objects.exclude(state="RESOLVED").order_by("key").values_list("rule", "key"))

    @staticmethod
    def reported() -> list[str]:
        return list(Event.objects.filter(kind__startswith="alert.").order_by("id").values_list("kind", flat=True))

    def test_a_silent_host_is_one_alert_until_it_is_heard_again(self) -> None:
        site = Site("a", "b", "c")
        site.running(name="orders")
        site.running(name="bills")
        site.cut("a")
        site.pass_time(SILENT_AFTER - 3, step=3)
        assert self.standing() == []
        site.pass_time(3 + 2 * CARE_EVERY)
        site.pass_time(120, step=5)
        assert (self.standing(), self.reported()) == ([("host_silent", "a")], ["alert.opened"])
        assert "headgate hosts drain a" in Alert.objects.get().message
        site.heal("a")
        site.pass_time(2 * CARE_EVERY)
        assert (self.standing(), self.reported()) == ([], ["alert.opened", "alert.resolved"])

    def test_a_host_that_comes_back_alone_ends_its_own_alert(self, site: Site) -> None:
        site.cut("a")
        site.fall_silent()
        site.cut("b")
        site.heal("a")
        site.pass_time(2 * CARE_EVERY)
        assert ("host_silent", "a") not in self.standing()

    def test_a_supervisor_that_has_just_begun_ends_no_alert_of_a_host_that_is_still_silent(self, site: Site) -> None:
        site.cut("a")
        site.fall_silent()
        machine = site.machines["b"]
        machine.worker.release()
        machine.worker = supervisor(machine.host, machine.locks, "b")
        site.fall_silent()
        assert (self.standing(), self.reported()) == ([("host_silent", "a")], ["alert.opened"])

    def test_a_host_that_was_drained_is_missed_only_while_something_on_it_may_live(self, site: Site) -> None:
        pipeline = site.running()
        site.cut("a")
        hosts.drain(name="a", actor=ANA)
        site.fall_silent()
        assert self.standing() == [("host_silent", "a")]
        ownership.declare_lost(pipeline=pipeline, confirm="orders", actor=ANA)
        site.pass_time(2 * CARE_EVERY)
        assert self.standing() == []
        hosts.undrain(name="a", actor=ANA)
        site.pass_time(2 * CARE_EVERY)
        assert self.standing() == [("host_silent", "a")]

    def test_the_rule_waits_for_as_long_as_people_want_and_can_be_switched_off(self, site: Site) -> None:
        everywhere: dict[str, Any] = {"rule": AlertRule.HOST_SILENT, "label": "", "pipeline_name": "", "actor": ANA}
        alerts.configure(values={"enabled": False}, **everywhere)
        site.cut("a")
        site.fall_silent()
        assert self.standing() == []
        alerts.configure(values={"for_seconds": 100.0}, **everywhere)
        site.pass_time(95 - SILENT_AFTER - 2 * CARE_EVERY, step=CARE_EVERY)
        site.pass_time(4)
        assert self.standing() == []
        site.pass_time(2 * CARE_EVERY)
        assert self.standing() == [("host_silent", "a")]

    def test_it_costs_nothing_while_every_host_is_heard_and_one_query_in_a_round_while_one_is_not(
        self, site: Site
    ) -> None:
        def asked(seconds: float) -> int:
            with CaptureQueriesContext(connection) as captured:
                site.pass_time(seconds)
            return sum("pipelines_alert" in query["sql"] for query in captured.captured_queries)

        assert asked(SILENT_AFTER) == 0
        site.cut("a")
        site.fall_silent()
        assert asked(4 * CARE_EVERY) == 4
        site.heal("a")
        site.pass_time(3 * CARE_EVERY)
        assert asked(SILENT_AFTER) == 0


class TestPlacement:
    def limit(self, **limits: dict[str, int]) -> None:
        for name, fields in limits.items():
            Host.objects.filter(name=name).update(memory_bytes=64 << 30, **fields)

    def test_any_goes_to_the_host_with_the_most_room(self, site: Site) -> None:
        self.limit(a={"slots": 4}, b={"slots": 8})
        homes = []
        for number in range(6):
            pipeline = site.pipeline(f"p{number}", on=None)
            site.ask(pipeline, OperationKind.START)
            homes.append(site.where(pipeline))
        assert (homes.count("a"), homes.count("b")) == (2, 4)

    def test_memory_counts_where_it_is_scarcer_than_slots(self, site: Site) -> None:
        self.limit(a={"slots": 2, "memory_limit": 100 << 30}, b={"slots": 100, "memory_limit": 1 << 30})
        first, second = (site.pipeline(name, on=None) for name in ("p", "q"))
        site.ask(first, OperationKind.START)
        site.ask(second, OperationKind.START)
        assert {site.where(first), site.where(second)} == {"a", "b"}

    def test_a_start_without_room_is_refused_and_says_what_is_free(self, site: Site) -> None:
        self.limit(a={"slots": 1}, b={"memory_limit": 100 << 20})
        site.ask(site.pipeline("p", on=None), OperationKind.START)
        with pytest.raises(Conflict) as refused:
            site.ask(site.pipeline("q", on=None), OperationKind.START)
        assert refused.value.code == "no_capacity"
        assert "a has 1 of 1 slots used" in refused.value.detail
        assert "b has 100 MiB of 100 MiB free" in refused.value.detail
        assert [finding.code for finding in refused.value.findings] == ["NO_CAPACITY"]
        assert Operation.objects.count() == 1

    def test_a_restart_keeps_its_place(self, site: Site) -> None:
        pipeline = site.running(name="p")
        self.limit(a={"slots": 1})
        for _ in range(3):
            site.ask(pipeline, OperationKind.RESTART)
            site.pass_time(12)
        assert (site.phase(pipeline), site.where(pipeline)) == ("RUNNING", "a")

    def test_a_pipeline_that_has_no_host_waits_until_one_has_room(self, site: Site) -> None:
        running = site.running(name="p")
        for machine in site.machines.values():
            actor = machine.worker._lease._facts
            object.__setattr__(actor, "slots", 1 if machine.name == "a" else 0)
        waiting = site.pipeline("q", on=None)
        Pipeline.objects.filter(id=waiting.id).update(desired_state="RUNNING", generation=2)
        site.pass_time(5)
        assert site.where(waiting) is None
        site.ask(running, OperationKind.STOP)
        site.pass_time(12)
        assert (site.phase(waiting), site.where(waiting)) == ("RUNNING", "a")


class TestDrain:
    def test_what_can_move_moves_without_loss_and_what_cannot_stays(self, site: Site) -> None:
        moving, tied = site.running(name="moving"), site.pipeline("tied")
        assert tied.current_revision is not None
        tied.current_revision.definition["placement"]["host"] = "a"
        tied.current_revision.save()
        site.ask(tied, OperationKind.START)
        site.pass_time(8)
        assert hosts.drain(name="a", actor=ANA)
        assert not hosts.drain(name="a", actor=ANA)
        site.pass_time(30)
        assert (site.where(moving), site.phase(moving)) == ("b", "RUNNING")
        assert (site.where(tied), site.phase(tied)) == ("a", "RUNNING")
        totals = LedgerBatch.objects.filter(pipeline=moving, state="done")
        assert not totals.exclude(gaps=0, overlaps=0).exists()
        assert [run.outcome for run in Run.objects.filter(pipeline=moving).order_by("number")] == ["CLEAN", None]

    def test_many_that_cannot_move_hold_up_neither_a_tick_nor_one_that_can(
        self, site: Site, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        names = [f"a-{number:02}" for number in range(2 * MOVED_AT_A_TIME + 3)]
        tied, moving = [tied_to_a(site, name) for name in names], site.pipeline("b")
        Host.objects.update(slots=100, memory_limit=1 << 40, memory_bytes=1 << 40)
        for pipeline in [*tied, moving]:
            site.ask(pipeline, OperationKind.START)
        site.pass_time(12)
        asked: list[str] = []
        evacuate = ownership.evacuate

        def counted(*, run: Run, **given: Any) -> bool:
            asked.append(run.pipeline.name)
            return evacuate(run=run, **given)

        monkeypatch.setattr(ownership, "evacuate", counted)
        hosts.drain(name="a", actor=ANA)
        seen = [0]
        for _ in range(40):
            site.pass_time(1)
            seen.append(len(asked))
        assert (site.where(moving), site.phase(moving)) == ("b", "RUNNING")
        assert set(asked) == {*names, "b"}
        assert max(after - before for before, after in pairwise(seen)) <= MOVED_AT_A_TIME
        assert {site.where(pipeline) for pipeline in tied} == {"a"}

    def test_an_agent_that_does_not_end_its_batch_goes_on_is_never_signalled_and_holds_up_nobody(
        self, site: Site
    ) -> None:
        slow, quick = (site.running(name=name, drain_timeout=5.0) for name in ("slow", "quick"))
        agents = site.machines["a"].agents
        (held,) = (each for each in agents.living if each.launch.pipeline == "slow")
        held.slow = True
        site.pass_time(5)
        hosts.drain(name="a", actor=ANA)
        site.pass_time(60)
        assert (site.where(slow), site.phase(slow)) == ("a", "RUNNING")
        assert (site.where(quick), site.phase(quick)) == ("b", "RUNNING")
        assert site.machines["a"].host.signals == []
        said = Event.objects.filter(kind="host.drain", pipeline=slow).values_list("message", flat=True)
        assert [each for each in said if "the pipeline continues running" in each] != []
        held.slow = False
        site.pass_time(EVACUATED_AGAIN_AFTER - 70, step=10)
        assert site.where(slow) == "a", "it is not asked for again before its time"
        site.pass_time(130, until=lambda: (site.where(slow), site.phase(slow)) == ("b", "RUNNING"))
        assert (site.where(slow), site.phase(slow)) == ("b", "RUNNING")
        assert [run.outcome for run in Run.objects.filter(pipeline=slow).order_by("number")] == ["CLEAN", None]

    def test_an_agent_that_does_not_end_its_batch_is_stopped_where_that_was_asked_for(self, site: Site) -> None:
        pipeline = site.running(drain_timeout=5.0)
        site.machines["a"].agents.living[0].slow = True
        site.pass_time(5)
        assert hosts.drain(name="a", actor=ANA)
        site.pass_time(30)
        assert site.where(pipeline) == "a"
        assert hosts.drain(name="a", actor=ANA, on_timeout=OnTimeout.STOP)
        site.pass_time(60)
        assert (site.where(pipeline), Run.objects.get(number=1).stop_stage) == ("b", "INTERRUPT")

    def test_nothing_is_stopped_while_there_is_no_room_elsewhere(self, site: Site) -> None:
        pipeline = site.running()
        facts = site.machines["b"].worker._lease._facts
        object.__setattr__(facts, "memory_limit", 1)
        site.pass_time(2)
        hosts.drain(name="a", actor=ANA)
        site.pass_time(30)
        assert (site.phase(pipeline), site.where(pipeline), Run.objects.count()) == ("RUNNING", "a", 1)

    def test_a_drained_host_takes_no_new_agents_until_it_is_taken_back(self, site: Site) -> None:
        hosts.drain(name="a", actor=ANA)
        pipeline = site.pipeline(on=None)
        site.ask(pipeline, OperationKind.START)
        assert site.where(pipeline) == "b"
        named = site.pipeline("named", on=None)
        assert named.current_revision is not None
        named.current_revision.definition["placement"]["host"] = "a"
        named.current_revision.save()
        with pytest.raises(Conflict) as refused:
            site.ask(named, OperationKind.START)
        assert refused.value.code == "host_drained"
        hosts.undrain(name="a", actor=ANA)
        site.ask(named, OperationKind.START)
        assert site.where(named) == "a"

    def test_pipelines_that_wait_on_a_silent_host_do_not_wait_for_ever(self, site: Site) -> None:
        pipeline = site.running()
        site.machines["a"].agents.living[0].fate = 1
        Pipeline.objects.update(restart_count=3)
        site.pass_time(4)
        assert site.phase(pipeline) == "BACKOFF"
        site.cut("a")
        site.pass_time(ABANDONED_AFTER, step=CARE_EVERY)
        site.pass_time(2 * CARE_EVERY + 10)
        assert (site.phase(pipeline), site.where(pipeline)) == ("RUNNING", "b")


class TestRemoval:
    def gone(self, site: Site) -> None:
        site.cut("a")
        site.fall_silent()
        Host.objects.filter(name="a").update(seen_at=clock.now() - timedelta(minutes=1))

    def test_a_silent_host_that_nothing_is_assigned_to_is_missed_no_more_until_it_speaks_up(self, site: Site) -> None:
        stopped = site.pipeline("stopped")
        self.gone(site)
        assert Alert.objects.get().state == AlertState.OPEN
        hosts.remove(name="a", actor=ANA)
        site.pass_time(2 * SILENT_AFTER, step=CARE_EVERY)
        assert Alert.objects.get().state == AlertState.RESOLVED
        assert ([each.name for each in capacity.hosts(EVERYTHING)], site.where(stopped)) == (["b"], None)
        assert AuditRow.objects.get().action == "host.remove"
        with pytest.raises(NotFound):
            hosts.drain(name="a", actor=ANA)
        site.ask(stopped, OperationKind.START)
        assert site.where(stopped) == "b"
        site.heal("a")
        site.pass_time(3)
        assert [each.name for each in capacity.hosts(EVERYTHING)] == ["a", "b"]

    def test_a_host_that_is_heard_is_not_removed(self, site: Site) -> None:
        with pytest.raises(Conflict) as refused:
            hosts.remove(name="a", actor=ANA)
        assert (refused.value.code, Host.objects.get(name="a").removed_at) == ("host_responding", None)

    def test_a_host_is_not_removed_while_a_run_of_it_may_live_or_a_pipeline_is_tied_to_it(self, site: Site) -> None:
        running, tied = site.running(name="running"), site.pipeline("tied")
        assert tied.current_revision is not None
        tied.current_revision.definition["placement"]["host"] = "a"
        tied.current_revision.save()
        self.gone(site)
        with pytest.raises(Conflict) as refused:
            hosts.remove(name="a", actor=ANA)
        assert (refused.value.code, "running, tied" in refused.value.detail) == ("host_in_use", True)
        ownership.declare_lost(pipeline=running, confirm="running", actor=ANA)
        with pytest.raises(Conflict) as refused:
            hosts.remove(name="a", actor=ANA)
        assert "Assigned to a: tied." in refused.value.detail
        tied.current_revision.definition["placement"]["host"] = "any"
        tied.current_revision.save()
        hosts.remove(name="a", actor=ANA)
        assert Run.objects.get(pipeline=running, number=1).host_id == "a"


class TestApi:
    def client(self, role: Role) -> APIClient:
        made = APIClient()
        made.force_authenticate(UserFactory.create(role=role))
        return made

    def test_hosts_show_what_they_have_room_for(self, site: Site) -> None:
        site.running()
        Host.objects.filter(name="a").update(slots=4, memory_limit=2 << 30)
        first, second = self.client(Role.VIEWER).get("/api/v1/hosts").json()
        assert (first["name"], first["promised"], first["slots"]) == ("a", 1, 4)
        assert first["memory_promised"] == (512 + 256) << 20
        assert (second["promised"], second["slots"], second["memory_limit"]) == (0, None, None)

    def test_a_drain_answers_with_what_stays_and_why(self, site: Site) -> None:
        pipeline = site.running()
        assert pipeline.current_revision is not None
        pipeline.current_revision.definition["placement"]["host"] = "a"
        pipeline.current_revision.save()
        admin = self.client(Role.ADMIN)
        assert admin.post("/api/v1/hosts/a/drain", {"on_timeout": "stay"}, format="json").status_code == 422
        answer = admin.post("/api/v1/hosts/a/drain", {}, format="json")
        assert (answer.status_code, answer.json()["on_timeout"]) == (200, "abort"), answer.content
        (guest,) = answer.json()["pipelines"]
        assert (guest["name"], guest["live_run"], guest["tied"]) == ("orders", 1, ["placement.host is a"])
        assert answer.json()["drained_by"]

    def test_only_an_admin_drains_a_host_or_declares_a_run_lost(self, site: Site) -> None:
        PipelineFactory.create(name="orders")
        operator = self.client(Role.OPERATOR)
        for path in ("hosts/a/drain", "hosts/a/undrain", "pipelines/orders/declare-lost"):
            assert operator.post(f"/api/v1/{path}", {}, format="json").status_code == 403, path

    def test_a_host_that_is_not_there_is_not_found(self, site: Site) -> None:
        admin = self.client(Role.ADMIN)
        assert admin.get("/api/v1/hosts/nowhere").status_code == 404
        assert admin.post("/api/v1/hosts/nowhere/drain", {}, format="json").status_code == 404
        assert admin.delete("/api/v1/hosts/nowhere").status_code == 404

    def test_a_host_is_removed_by_an_admin_alone(self, site: Site) -> None:
        assert self.client(Role.OPERATOR).delete("/api/v1/hosts/a").status_code == 403
        admin = self.client(Role.ADMIN)
        refused = admin.delete("/api/v1/hosts/a")
        assert (refused.status_code, refused.json()["code"]) == (409, "host_responding")
        site.cut("a")
        Host.objects.filter(name="a").update(seen_at=clock.now() - timedelta(minutes=1))
        assert admin.delete("/api/v1/hosts/a").status_code == 204
        assert admin.get("/api/v1/hosts/a").status_code == 404

    def test_a_run_is_declared_lost_by_repeating_the_name(self, site: Site) -> None:
        site.running()
        site.cut("a")
        site.fall_silent()
        admin = self.client(Role.ADMIN)
        assert admin.post("/api/v1/pipelines/orders/declare-lost", {}, format="json").status_code == 422
        answer = admin.post("/api/v1/pipelines/orders/declare-lost", {"confirm": "orders"}, format="json")
        assert (answer.status_code, answer.json()["outcome"]) == (200, "LOST")
        assert Pipeline.objects.get().phase == Phase.BACKOFF
