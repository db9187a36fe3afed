"""The tick over the real tables: who may tick, what it costs, and what one broken pipeline does to the others."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any
from unittest.mock import patch

import pytest
from django.db import OperationalError, connection
from django.test.utils import CaptureQueriesContext

from pipelines.domain.access.secret_bindings import SecretBinding
from pipelines.domain.base.states import OperationKind, Phase, RunState
from pipelines.domain.runs.protocol import Handover
from pipelines.models import Event, Host, Operation, Pipeline, Run, Sample
from pipelines.services.base.audit import Actor
from pipelines.services.lifecycle import lifecycle
from pipelines.services.runs.observations import Retention, prune
from pipelines.services.runs.runs import NextRun, Overtaken, create_run
from tests.factories import EventFactory, HostFactory, PipelineFactory, PositionFactory, RunFactory, SampleFactory
from workers.adapters.secrets import backends
from workers.ports import SecretValue, Unreadable
from workers.simulated.agents import Agents
from workers.simulated.host import SimulatedHost, SimulatedProcess
from workers.simulated.supervisor import supervisor
from workers.supervisor.launch.references import References
from workers.supervisor.tick.lease import TTL
from workers.supervisor.tick.tick import Supervisor

pytestmark = pytest.mark.django_db


class Stage:
    """A host with a supervisor and agents."""

    def __init__(self) -> None:
        HostFactory.create(name="alpha")
        self.host = SimulatedHost()
        self.locks: list[SimulatedProcess] = []
        self.supervisor: Supervisor = supervisor(self.host, self.locks)
        self.agents = Agents(self.host)

    def ask(self, pipeline: Pipeline, kind: OperationKind) -> Operation:
        return lifecycle.request(pipeline=pipeline, action=kind, actor=Actor("ana"))

    def pass_time(self, seconds: int, step: int = 1) -> None:
        for _ in range(0, seconds, step):
            self.host.advance(step)
            self.agents.step()
            self.supervisor.tick()


@pytest.fixture
def stage() -> Stage:
    return Stage()


def phase(pipeline: Pipeline) -> str:
    return Pipeline.objects.values_list("phase", flat=True).get(id=pipeline.id)


def test_a_start_becomes_a_run_and_a_stop_its_end(stage: Stage) -> None:
    pipeline = PipelineFactory.create()
    started = stage.ask(pipeline, OperationKind.START)
    stage.pass_time(8)
    started.refresh_from_db()
    run = Run.objects.get()
    assert (phase(pipeline), started.state) == ("RUNNING", "SUCCEEDED")
    assert (run.state, run.number, run.lineage) == ("LIVE", 1, 1)
    assert run.first_record_at is not None
    assert started.created_at <= run.first_record_at <= datetime.now(UTC)
    assert run.start_requested_at == started.created_at
    assert Sample.objects.filter(pipeline=pipeline).exists()

    stopped = stage.ask(pipeline, OperationKind.STOP)
    stage.pass_time(5)
    stopped.refresh_from_db()
    run.refresh_from_db()
    assert (phase(pipeline), stopped.state, run.state, run.outcome) == ("STOPPED", "SUCCEEDED", "ENDED", "CLEAN")
    assert run.stop_requested_at is not None
    pipeline.refresh_from_db()
    assert {each["type"]: each["status"] for each in pipeline.conditions} == {
        "Stable": "True",
        "PositionsSafe": "True",
        "LedgerBalanced": "True",
    }


def test_every_tick_is_harmless_when_done_twice(stage: Stage) -> None:
    pipeline = PipelineFactory.create()
    stage.ask(pipeline, OperationKind.START)
    for _ in range(8):
        stage.pass_time(1)
        before = Event.objects.count()
        stage.supervisor.tick()
        stage.supervisor.tick()
        stage.supervisor.tick()
        assert Event.objects.count() - before <= 2  # an operation may reach its end, which the phase before allowed
    assert Run.objects.count() == 1
    assert len(stage.host.holders()) == 1


def test_one_broken_pipeline_leaves_the_others_alone(stage: Stage) -> None:
    broken, sound = PipelineFactory.create(name="a-broken"), PipelineFactory.create(name="b-sound")
    started, _ = (stage.ask(pipeline, OperationKind.START) for pipeline in (broken, sound))
    original = create_run

    def fails(*, pipeline: Pipeline, **rest: Any) -> Run:
        if pipeline.id == broken.id:
            raise ValueError("a defect")
        return original(pipeline=pipeline, **rest)

    with patch("pipelines.services.runs.runs.create_run", side_effect=fails):
        stage.pass_time(8)
        assert phase(sound) == "RUNNING"
        assert Event.objects.filter(kind="supervisor.error", pipeline=broken).count() == 1
        stage.pass_time(400, step=5)
    started.refresh_from_db()
    assert started.error is not None
    assert started.error["code"] == "deadline_passed"


def test_a_definition_that_is_not_valid_any_more_blocks_with_every_finding(stage: Stage) -> None:
    pipeline = PipelineFactory.create()
    assert pipeline.current_revision is not None
    pipeline.current_revision.definition = {"nonsense": True}
    pipeline.current_revision.save()
    stage.ask(pipeline, OperationKind.START)
    stage.pass_time(1)
    pipeline.refresh_from_db()
    assert pipeline.phase == "BLOCKED"
    assert len(pipeline.findings) > 1


def test_a_database_that_is_away_ends_the_tick_and_the_next_one_goes_on(stage: Stage) -> None:
    pipeline = PipelineFactory.create()
    stage.ask(pipeline, OperationKind.START)
    with (
        patch("pipelines.services.runs.runs.create_run", side_effect=OperationalError("away")),
        pytest.raises(OperationalError),
    ):
        stage.pass_time(1)
    stage.pass_time(8)
    assert phase(pipeline) == "RUNNING"


def test_a_database_that_is_away_for_one_pipeline_does_not_starve_the_others(stage: Stage) -> None:
    first, second = PipelineFactory.create(name="a"), PipelineFactory.create(name="b")
    for pipeline in (first, second):
        stage.ask(pipeline, OperationKind.START)
    original = create_run

    def fails_for_the_first(*, pipeline: Pipeline, **rest: Any) -> Run:
        if pipeline.id == first.id:
            raise OperationalError("statement timeout")
        return original(pipeline=pipeline, **rest)

    with patch("pipelines.services.runs.runs.create_run", side_effect=fails_for_the_first):
        for _ in range(12):
            stage.host.advance(1)
            stage.agents.step()
            try:
                stage.supervisor.tick()
            except OperationalError:
                continue
    assert phase(second) == "RUNNING"


def test_a_pipeline_without_a_host_is_claimed(stage: Stage) -> None:
    pipeline = PipelineFactory.create(host=None)
    stage.ask(pipeline, OperationKind.START)
    Pipeline.objects.filter(id=pipeline.id).update(host=None)
    stage.pass_time(1)
    pipeline.refresh_from_db()
    assert pipeline.host_id == "alpha"


def test_pipelines_of_other_hosts_are_none_of_its_business(stage: Stage) -> None:
    other = PipelineFactory.create(host=HostFactory.create(name="beta"))
    stage.ask(other, OperationKind.START)
    stage.pass_time(3)
    assert (phase(other), Run.objects.count()) == ("STOPPED", 0)


def test_an_unresolved_reference_blocks_the_start_before_any_run_exists(stage: Stage) -> None:
    pipeline = PipelineFactory.create()
    assert pipeline.current_revision is not None
    pipeline.current_revision.definition["sources"]["shop"]["options"] = {"sasl.password": "${secret:shop}"}
    pipeline.current_revision.save()
    operation = stage.ask(pipeline, OperationKind.START)
    stage.pass_time(2)
    operation.refresh_from_db()
    pipeline.refresh_from_db()
    assert (pipeline.phase, Run.objects.count(), operation.state) == ("BLOCKED", 0, "FAILED")
    assert pipeline.findings[0]["code"] == "UNRESOLVED_REFERENCE"
    assert "secret" in pipeline.phase_message


def test_values_are_handed_over_and_the_launch_holds_the_references(stage: Stage) -> None:
    pipeline = PipelineFactory.create()
    assert pipeline.current_revision is not None
    pipeline.current_revision.definition["sources"]["shop"]["bootstrap_servers"] = "${env:BROKER}"
    pipeline.current_revision.save()
    launcher = stage.supervisor._actor.launcher
    known = backends({"BROKER": "b:1"}, None, launcher.references.backends["secret"])
    object.__setattr__(launcher, "references", References(known))
    stage.ask(pipeline, OperationKind.START)
    stage.pass_time(1)
    launch = stage.host.launch(stage.host.path(pipeline.name, 1))
    assert launch is not None
    assert launch.handover
    assert launch.definition["sources"]["shop"]["bootstrap_servers"] == "${env:BROKER}"
    handover = stage.host.handovers[stage.host.path(pipeline.name, 1)]
    assert handover == Handover(values={"${env:BROKER}": "b:1"}, masked=[])
    pipeline.current_revision.refresh_from_db()
    assert pipeline.current_revision.definition["sources"]["shop"]["bootstrap_servers"] == "${env:BROKER}"


def test_an_agent_is_told_the_positions_of_the_topics_that_it_reads(stage: Stage) -> None:
    pipeline = PipelineFactory.create(name="orders")
    for topic in ("orders-in", "left-behind"):
        PositionFactory.create(pipeline=pipeline, topic=topic, partition=0)
    stage.ask(pipeline, OperationKind.START)
    stage.pass_time(1)
    launch = stage.host.launch(stage.host.path("orders", 1))
    assert launch is not None
    assert [position.topic for position in launch.heads[0].positions] == ["orders-in"]


def test_run_numbers_never_meet_an_old_directory_or_an_archived_pipeline(stage: Stage) -> None:
    archived = PipelineFactory.create(name="orders", archived_at=stage.host.wall)
    RunFactory.create(pipeline=archived, number=7, state=RunState.ENDED)
    stage.host.directories[stage.host.path("orders", 9)].journal.extend(b"old")
    pipeline = PipelineFactory.create(name="orders")
    stage.ask(pipeline, OperationKind.START)
    stage.pass_time(1)
    assert Run.objects.get(pipeline=pipeline).number == 10


def test_a_start_that_a_person_overtook_writes_nothing(stage: Stage) -> None:
    pipeline = PipelineFactory.create()
    stage.ask(pipeline, OperationKind.START)
    stale = Pipeline.objects.select_related("current_revision").get(id=pipeline.id)
    stage.ask(pipeline, OperationKind.STOP)
    wanted = NextRun("token", "alpha", stage.host.state_dir, None, 0, fresh=True)
    with pytest.raises(Overtaken):
        create_run(pipeline=stale, wanted=wanted, now=stage.host.wall)
    assert (Run.objects.count(), phase(pipeline)) == (0, "STOPPED")


class TestLease:
    def test_the_heartbeat_is_the_hosts_row(self, stage: Stage) -> None:
        stage.supervisor.tick()
        host = Host.objects.get(name="alpha")
        assert (host.seen_at, host.cores, host.state_dir) == (stage.host.wall, 2, "/state")

    def test_another_machine_of_the_same_name_waits_until_the_lease_stands_still(self, stage: Stage) -> None:
        stage.supervisor.tick()
        elsewhere = SimulatedHost(boot_id="another-machine")
        second = supervisor(elsewhere, [])
        assert not second.tick().supervising
        elsewhere.advance(TTL - 1)
        assert not second.tick().supervising
        stage.pass_time(1)
        elsewhere.advance(TTL - 1)
        assert not second.tick().supervising
        elsewhere.advance(TTL)
        assert second.tick().supervising
        assert not stage.supervisor.tick().supervising

    def test_a_released_lease_is_free_at_once(self, stage: Stage) -> None:
        stage.supervisor.tick()
        stage.supervisor.release()
        assert supervisor(SimulatedHost(boot_id="another-machine"), []).tick().supervising

    def test_a_wall_clock_that_jumps_changes_nothing(self, stage: Stage) -> None:
        stage.supervisor.tick()
        stage.host.wall -= timedelta(hours=1)
        assert stage.supervisor.tick().supervising


def test_a_tick_over_many_quiet_pipelines_costs_a_fixed_number_of_queries(stage: Stage) -> None:
    def queries() -> int:
        with CaptureQueriesContext(
            connection,
        ) as captured:
            stage.supervisor.tick()
        return len(captured)

    def settle() -> None:
        """The first looks at new pipelines record their conditions."""
        for _ in range(3):
            stage.supervisor.tick()

    PipelineFactory.create_batch(2)
    settle()
    few = queries()
    PipelineFactory.create_batch(20)
    settle()
    assert queries() == few


def test_statuses_of_many_pipelines_are_stored_by_a_fixed_number_of_queries(stage: Stage) -> None:
    def most() -> int:
        """Of the ticks in which every status is stored once."""
        counts = []
        for _ in range(12):
            with CaptureQueriesContext(connection) as captured:
                stage.pass_time(1)
            counts.append(len(captured))
        return max(counts)

    def start(count: int) -> None:
        for pipeline in PipelineFactory.create_batch(count):
            stage.ask(pipeline, OperationKind.START)
        stage.pass_time(30)

    start(1)
    one = most()
    start(8)
    assert most() == one


def test_a_running_pipeline_whose_status_did_not_change_costs_nothing_more(stage: Stage) -> None:
    pipeline = PipelineFactory.create()
    stage.ask(pipeline, OperationKind.START)
    stage.pass_time(8)
    stage.supervisor.tick()
    with CaptureQueriesContext(connection) as captured:
        stage.supervisor.tick()
    writes = [q["sql"] for q in captured if q["sql"].startswith(("INSERT", "UPDATE"))]
    assert [sql for sql in writes if "pipelines_host" not in sql] == []


def test_old_samples_and_events_are_pruned(stage: Stage) -> None:
    now = datetime.now(UTC)
    pipeline = PipelineFactory.create(phase=Phase.STOPPED)
    SampleFactory.create(pipeline=pipeline, at=now - timedelta(days=3))
    SampleFactory.create(pipeline=pipeline, at=now)
    EventFactory.create(pipeline=pipeline, at=now - timedelta(days=91))
    removed = prune(now=now, retention=Retention())
    assert removed == {
        "samples": 1,
        "events": 1,
        "deliveries": 0,
        "idempotency_keys": 0,
        "supervisions": 0,
        "pending_traces": 0,
        "dead_letters": 0,
    }
    assert Sample.objects.count() == 1


@dataclass
class Vanishing:
    """A store whose secret is deleted after `reads` looks."""

    reads: int

    def read(self, names: Collection[str]) -> dict[str, SecretValue | Unreadable]:
        self.reads -= 1
        gone = Unreadable("there is no secret shop.", "Store it: `headgate secrets set shop`.")
        return dict.fromkeys(names, SecretValue("canary") if self.reads >= 0 else gone)


@pytest.mark.parametrize(("reads", "runs"), [(0, 0), (1, 1)])
def test_a_secret_that_is_not_there_blocks_the_start_whenever_it_vanishes(stage: Stage, reads: int, runs: int) -> None:
    pipeline = PipelineFactory.create()
    assert pipeline.current_revision is not None
    encrypted = {"security.protocol": "SASL_SSL", "sasl.password": "${secret:shop}"}
    pipeline.current_revision.definition["sources"]["shop"]["options"] = encrypted
    pipeline.current_revision.save()
    servers = pipeline.current_revision.definition["sources"]["shop"]["bootstrap_servers"]

    def bound(names: Collection[str]) -> dict[str, SecretBinding]:
        return dict.fromkeys(names, SecretBinding(pipelines=(pipeline.name,), destinations=(servers,)))

    object.__setattr__(
        stage.supervisor._actor.launcher, "references", References(backends({}, None, Vanishing(reads)), bindings=bound)
    )
    stage.ask(pipeline, OperationKind.START)
    stage.pass_time(12)
    pipeline.refresh_from_db()
    (finding,) = pipeline.findings
    assert (pipeline.phase, Run.objects.count()) == ("BLOCKED", runs)
    assert finding["path"] == 'sources.shop.options["sasl.password"]'
    assert "there is no secret shop" in finding["message"]
    assert finding["suggestion"] == "Store it: `headgate secrets set shop`."
    assert Event.objects.filter(kind="run.spawn_failed").count() == runs
