"""Two hosts and one pipeline: they fall silent, freeze, restart and are drained in any order, and never run it both."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test

from pipelines.domain.base.states import DesiredState, OperationKind, Phase, RunState
from pipelines.domain.lifecycle.operations import OnTimeout
from pipelines.domain.monitoring.alert_rules import AlertRule, AlertState
from pipelines.foundation.errors import Conflict, HeadgateError, NotFound
from pipelines.models import Alert, Event, LedgerBatch, Operation, Pipeline, Position, Run
from pipelines.services.base.audit import Actor
from pipelines.services.hosts import hosts as rooms
from pipelines.services.lifecycle import lifecycle
from pipelines.services.runs import ownership
from tests.chaos.extent import WHOLE
from tests.factories import HostFactory, PipelineFactory
from tests.simulation.clean import clean
from workers.simulated.agents import Agents
from workers.simulated.host import SimulatedHost, SimulatedProcess
from workers.simulated.supervisor import supervisor
from workers.supervisor.tick.tick import Supervisor

ANA = Actor("ana")
LIFE = {
    "init_timeout": 20,
    "drain_timeout": 5,
    "cancel_interval": 3,
    "cancel_timeout": 10,
    "stall_timeout": 30,
    "heartbeat_timeout": 6,
    "max_restarts": 1000,
    "lease": 10,
}
HEALED_WITHIN = 600
SITES = st.sampled_from([0, 1])


@dataclass
class Site:
    """One host. `cut`: its worker does not reach the database; `frozen`: none of its processes gets any time."""

    name: str
    host: SimulatedHost
    locks: list[SimulatedProcess] = field(default_factory=list)
    worker: Supervisor | None = None
    cut: bool = False
    frozen: bool = False

    def __post_init__(self) -> None:
        HostFactory.create(name=self.name)
        self.agents = Agents(self.host)
        self.start_worker()

    def start_worker(self) -> None:
        if self.worker is None:
            self.worker = supervisor(self.host, self.locks, self.name)

    def kill_worker(self) -> None:
        if self.worker is not None and self.host.worker is not None:
            self.host.worker.alive, self.worker = False, None

    def reboot(self) -> None:
        self.host.reboot()
        self.worker, self.frozen = None, False

    def step(self, seconds: float) -> None:
        """Its clock goes on whatever happens."""
        self.host.advance(seconds)
        if self.frozen:
            return
        self.agents.step()
        if self.worker is not None and not self.cut:
            self.worker.tick()


class Hosts(RuleBasedStateMachine):
    """People and faults."""

    def __init__(self) -> None:
        super().__init__()
        clean()
        self.sites = [
            Site("alpha", SimulatedHost(Path("/alpha"))),
            Site("beta", SimulatedHost(Path("/beta"), boottime=77_000.0, boot_id="boot-b")),
        ]
        self.positions: dict[int, int] = {}

    @initialize(policy=st.sampled_from(["continue", "fence"]), seconds=st.integers(0, 12))
    def there_is_a_pipeline(self, policy: str, seconds: int) -> None:
        self.policy = policy
        pipeline = PipelineFactory.create()
        revision = pipeline.current_revision
        assert revision is not None
        revision.definition["lifecycle"] |= LIFE | {"on_supervisor_loss": policy}
        revision.save()
        self.ask(OperationKind.START)
        self.pass_time(seconds)

    @property
    def pipeline(self) -> Pipeline:
        return Pipeline.objects.get()

    def ask(self, kind: OperationKind) -> None:
        with suppress(Conflict):
            lifecycle.request(pipeline=self.pipeline, action=kind, actor=ANA)

    def pass_time(self, seconds: int, by: float = 1.0) -> None:
        for _ in range(seconds):
            for site in self.sites:
                site.step(by)
            self.check()

    @rule(seconds=st.sampled_from([1, 3, 10, 45]))
    def time_passes(self, seconds: int) -> None:
        self.pass_time(seconds)

    @rule(kind=st.sampled_from([OperationKind.START, OperationKind.STOP, OperationKind.PAUSE, OperationKind.RESTART]))
    def a_user_asks(self, kind: OperationKind) -> None:
        self.ask(kind)

    @rule(at=SITES, cut=st.booleans())
    def a_host_loses_or_finds_the_database(self, at: int, cut: bool) -> None:
        self.sites[at].cut = cut

    @rule(at=SITES, frozen=st.booleans())
    def a_host_freezes_or_goes_on(self, at: int, frozen: bool) -> None:
        self.sites[at].frozen = frozen

    @rule(at=SITES)
    def a_worker_is_killed(self, at: int) -> None:
        self.sites[at].kill_worker()

    @rule(at=SITES)
    def a_worker_is_started(self, at: int) -> None:
        self.sites[at].start_worker()

    @rule(at=SITES, rarely=st.integers(0, 2))
    def a_host_is_started_anew(self, at: int, rarely: int) -> None:
        if not rarely:
            self.sites[at].reboot()

    @rule(at=SITES, hours=st.sampled_from([-1, 1]))
    def a_wall_clock_jumps(self, at: int, hours: int) -> None:
        self.sites[at].host.wall += timedelta(hours=hours)

    @rule(at=SITES, who=st.sampled_from(["keeper", "driver", "both"]))
    def processes_are_killed(self, at: int, who: str) -> None:
        for agent in self.sites[at].agents.living:
            if who in ("keeper", "both"):
                agent.keeper.alive = False
            if who in ("driver", "both") and agent.driver is not None:
                agent.driver.alive = False

    @rule(at=SITES, on_timeout=st.sampled_from([OnTimeout.ABORT, OnTimeout.STOP, None]))
    def a_host_is_drained_or_undrained(self, at: int, on_timeout: OnTimeout | None) -> None:
        name = self.sites[at].name
        with suppress(NotFound):
            if on_timeout is None:
                rooms.undrain(name=name, actor=ANA)
            else:
                rooms.drain(name=name, actor=ANA, on_timeout=on_timeout)

    @rule(at=SITES, slow=st.booleans())
    def batches_end_late_or_in_time(self, at: int, slow: bool) -> None:
        for agent in self.sites[at].agents.living:
            agent.slow = slow

    @rule(at=SITES)
    def a_silent_host_is_removed(self, at: int) -> None:
        """Only one that is heard of no more: the simulated wall clocks stand in the past."""
        site = self.sites[at]
        if site.frozen or site.cut or site.worker is None:
            with suppress(HeadgateError):
                rooms.remove(name=site.name, actor=ANA)

    @rule()
    def a_dead_host_is_declared_lost(self) -> None:
        """Nobody states what is not so: no process of the run lives."""
        run = Run.objects.exclude(state=RunState.ENDED).first()
        site = next((each for each in self.sites if run is not None and each.name == run.host_id), None)
        if run is None or site is None or run.token in site.host.holders():
            return
        with suppress(HeadgateError):
            ownership.declare_lost(pipeline=self.pipeline, confirm=self.pipeline.name, actor=ANA)

    @invariant()
    def what_must_hold_holds(self) -> None:
        self.check()

    def check(self) -> None:
        """No two agents live that may write; what is signalled is ours; no position goes back."""
        able = [token for site in self.sites if not site.frozen for token in site.host.holders()]
        assert len(able) <= 1, self.story()
        for site in self.sites:
            assert {token for _, token in site.host.signals} <= {a.launch.token for a in site.agents.all.values()}
        assert not Event.objects.filter(kind__in=["supervisor.error", "journal.damaged"]).exists(), self.story()
        assert Run.objects.exclude(state=RunState.ENDED).count() <= 1
        assert not LedgerBatch.objects.filter(gaps__gt=0).exists(), self.story()
        self.check_positions()

    def check_positions(self) -> None:
        for place in Position.objects.all():
            assert place.next_offset >= self.positions.get(place.partition, 0), self.story()
            self.positions[place.partition] = place.next_offset

    def settled(self) -> bool:
        pipeline = self.pipeline
        wanted = {
            DesiredState.RUNNING: Phase.RUNNING,
            DesiredState.PAUSED: Phase.PAUSED,
            DesiredState.STOPPED: Phase.STOPPED,
        }[DesiredState(pipeline.desired_state)]
        waiting = Operation.objects.filter(state__in=["PENDING", "RUNNING"]).exists()
        missed = Alert.objects.filter(rule=AlertRule.HOST_SILENT).exclude(state=AlertState.RESOLVED).exists()
        quiet = not waiting and not missed
        return pipeline.phase == wanted and quiet and pipeline.generation == pipeline.observed_generation

    def run_until_settled(self) -> None:
        for _ in range(HEALED_WITHIN):
            if self.settled():
                return
            self.pass_time(1)
        raise AssertionError(self.story())

    def teardown(self) -> None:
        for site in self.sites:
            site.cut = site.frozen = False
            site.start_worker()
            for agent in site.agents.living:
                agent.slow = False
            with suppress(NotFound):
                rooms.undrain(name=site.name, actor=ANA)
        if Pipeline.objects.exists():
            self.run_until_settled()
            self.ask(OperationKind.STOP)
            self.run_until_settled()
            assert not any(site.agents.living for site in self.sites), self.story()

    def story(self) -> str:
        lines = [f"{event.kind}: {event.message}" for event in Event.objects.order_by("id")]
        pipeline = self.pipeline
        held = {site.name: sorted(site.host.holders()) for site in self.sites}
        return "\n".join(
            [*lines[-40:], f"now {pipeline.phase} on {pipeline.host_id}, wanted {pipeline.desired_state}, {held}"]
        )


@pytest.mark.django_db
def test_whatever_happens_to_two_hosts_one_of_them_at_most_runs_a_pipeline() -> None:
    load = settings(max_examples=40 if WHOLE else 3, stateful_step_count=15, suppress_health_check=list(HealthCheck))
    run_state_machine_as_test(Hosts, settings=load)
