"""Standby runs over the real tables: prepared, promoted, discarded, and of no consequence for their pipeline."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from django.db import IntegrityError, transaction

from pipelines.domain.base.states import Command, OperationKind, Phase, RunRole, RunState
from pipelines.domain.ledger import journal
from pipelines.domain.ledger.journal import EntryKind
from pipelines.domain.runs.protocol import AgentFinding, Exit
from pipelines.foundation.errors import Conflict
from pipelines.models import Event, Host, Pipeline, Revision, Run, Sample
from pipelines.selectors.hosts.capacity import rooms
from pipelines.selectors.lifecycle.situations import live_run
from pipelines.selectors.monitoring.lag import monitored
from pipelines.selectors.runs.runs import next_number
from pipelines.services.base.audit import Actor
from pipelines.services.lifecycle import lifecycle
from pipelines.services.runs import ownership, standby
from pipelines.services.runs.ownership import Lapsed
from tests.factories import HostFactory, PipelineFactory, RevisionFactory, RunFactory
from workers.simulated.agents import Agent, Agents
from workers.simulated.host import SimulatedHost, SimulatedProcess
from workers.simulated.supervisor import supervisor
from workers.supervisor.background.pruning import Known, KnownRun
from workers.supervisor.tick.tick import Supervisor

pytestmark = pytest.mark.django_db

ANA = Actor("ana")


class Stage:
    """One machine with the host alpha, a pipeline, and what people and migrations ask of it."""

    def __init__(self) -> None:
        HostFactory.create(name="alpha")
        self.host = SimulatedHost(wall=datetime.now(UTC))
        self.locks: list[SimulatedProcess] = []
        self.supervisor: Supervisor = supervisor(self.host, self.locks)
        self.agents = Agents(self.host)
        self.made = PipelineFactory.create()

    @property
    def pipeline(self) -> Pipeline:
        return Pipeline.objects.select_related("current_revision").get(id=self.made.id)

    def ask(self, kind: OperationKind) -> None:
        lifecycle.request(pipeline=self.pipeline, action=kind, actor=ANA)
        self.pass_time(8)

    def pass_time(self, seconds: int) -> None:
        for _ in range(seconds):
            self.host.advance(1)
            self.agents.step()
            self.supervisor.tick()

    def start(self) -> None:
        self.ask(OperationKind.START)
        assert self.pipeline.phase == Phase.RUNNING

    def revision(self) -> Revision:
        """The next revision, which is not the pipeline's."""
        last = self.made.revisions.latest("number")
        return RevisionFactory.create(pipeline=self.made, number=last.number + 1, definition=last.definition)

    def prepare(self, seconds: int = 6, host: str = "alpha") -> Run:
        run = standby.prepare(pipeline=self.pipeline, revision=self.revision(), host=host, actor=ANA)
        self.pass_time(seconds)
        run.refresh_from_db()
        return run

    def agent(self, run: Run) -> Agent:
        return next(agent for agent in self.agents.all.values() if str(agent.run_dir) == run.run_dir)

    def promote(self, run: Run, seconds: int = 8) -> Run:
        promoted = standby.promote(run=run, actor=ANA)
        self.pass_time(seconds)
        promoted.refresh_from_db()
        return promoted


@pytest.fixture
def stage() -> Stage:
    return Stage()


def _path(host: SimulatedHost, run: Run) -> Path:
    return host.path(run.pipeline_name, run.number)


def test_a_standby_is_ready_beside_the_active_run_and_nothing_of_the_pipeline_shows_it(stage: Stage) -> None:
    stage.start()
    before = stage.pipeline
    samples = Sample.objects.count()
    run = stage.prepare()
    after = stage.pipeline
    assert (run.role, run.state, run.epoch, run.lineage) == (RunRole.STANDBY, RunState.LIVE, None, 0)
    assert run.observed is not None
    assert run.observed["phase"] == "STANDBY"
    for name in ("phase", "generation", "current_revision_id", "host_id", "restart_count", "findings", "conditions"):
        assert getattr(after, name) == getattr(before, name), name
    active = live_run(after)
    assert active is not None
    assert active.role == RunRole.ACTIVE
    (seen,) = monitored("alpha")
    assert seen.revision == active.revision_id
    assert Sample.objects.count() - samples <= 3  # those of the ACTIVE run alone
    (room,) = rooms([Host.objects.get(name="alpha")])
    assert room.agents == 2


def test_a_standby_has_neither_epoch_nor_lineage_nor_lease_in_its_directory(stage: Stage) -> None:
    stage.start()
    run = stage.prepare()
    launch, control = stage.host.launch(_path(stage.host, run)), stage.host.control(_path(stage.host, run))
    assert launch is not None
    assert control is not None
    assert (launch.role, launch.epoch, launch.lineage) == (RunRole.STANDBY, 0, 0)
    assert (control.command, control.lease_until) == (Command.STANDBY, None)
    assert stage.host.last_holder[_path(stage.host, run).parent][0] == 1


def test_promotion_is_refused_while_the_old_run_is_not_proven_over(stage: Stage) -> None:
    stage.start()
    run = stage.prepare()
    with pytest.raises(Conflict) as refused:
        standby.promote(run=run, actor=ANA)
    assert refused.value.code == "old_run_lives"
    run.refresh_from_db()
    assert (run.role, run.epoch) == (RunRole.STANDBY, None)


def test_promotion_is_refused_where_the_old_journal_was_not_taken_in_whole(stage: Stage) -> None:
    stage.start()
    run = stage.prepare()
    old = live_run(stage.pipeline)
    assert old is not None
    Host.objects.update(seen_at=datetime.now(UTC) - timedelta(minutes=5))
    ownership.declare_lost(pipeline=stage.pipeline, confirm=stage.pipeline.name, actor=ANA)
    with pytest.raises(Conflict) as refused:
        standby.promote(run=run, actor=ANA)
    assert refused.value.code == "journal_not_whole"


def test_promotion_grants_role_epoch_lineage_and_generation_at_once_and_records_move(stage: Stage) -> None:
    stage.start()
    run = stage.prepare()
    stage.ask(OperationKind.STOP)
    reached = stage.agent(run).position
    generation = stage.pipeline.generation
    promoted = stage.promote(run)
    pipeline = stage.pipeline
    assert (promoted.role, promoted.epoch, promoted.lineage) == (RunRole.ACTIVE, 3, 1)
    assert (pipeline.phase, pipeline.desired_state, pipeline.generation) == ("RUNNING", "RUNNING", generation + 1)
    assert (pipeline.current_revision_id, promoted.generation) == (promoted.revision_id, generation + 1)
    assert live_run(pipeline) == promoted
    assert reached == 0  # it read nothing before
    assert stage.agent(run).delivered > 0
    assert not Event.objects.filter(kind__in=["ledger.gap", "ledger.overlap"]).exists()


def test_promotion_done_twice_is_harmless(stage: Stage) -> None:
    stage.start()
    run = stage.prepare()
    stage.ask(OperationKind.STOP)
    first, second = standby.promote(run=run, actor=ANA), standby.promote(run=run, actor=ANA)
    assert first.epoch == second.epoch
    assert Event.objects.filter(kind="standby.promoted").count() == 1
    stage.pass_time(8)
    assert stage.pipeline.phase == Phase.RUNNING


def test_a_promotion_that_was_lost_is_written_again(stage: Stage) -> None:
    stage.start()
    run = stage.prepare()
    stage.ask(OperationKind.STOP)
    standby.promote(run=run, actor=ANA)
    stage.supervisor.tick()
    documents = stage.host.directories[_path(stage.host, run)].documents
    assert documents.pop("promote.json")
    stage.supervisor = supervisor(stage.host, stage.locks)
    stage.locks.clear()
    stage.pass_time(30)
    assert stage.pipeline.phase == Phase.RUNNING
    assert "promote.json" in documents


def test_a_promoted_run_has_a_newer_epoch_than_every_restart_of_the_old_one(stage: Stage) -> None:
    stage.start()
    run = stage.prepare()
    for _ in range(2):
        stage.ask(OperationKind.RESTART)
        stage.pass_time(8)
    stage.ask(OperationKind.STOP)
    promoted = stage.promote(run)
    epochs = list(Run.objects.exclude(pk=run.pk).values_list("epoch", flat=True))
    assert epochs == [4, 3, 1]
    assert (promoted.number, promoted.epoch) == (2, 5)
    assert stage.pipeline.phase == Phase.RUNNING  # a restart that was asked for of an older run is not this one's
    assert next_number(run.pipeline_name) == 6
    stage.ask(OperationKind.RESTART)
    stage.pass_time(8)
    newest = live_run(stage.pipeline)
    assert newest is not None
    assert (newest.number, newest.lineage, stage.pipeline.phase) == (6, 1, "RUNNING")


def test_a_discarded_standby_ends_and_its_pipeline_never_notices(stage: Stage) -> None:
    stage.start()
    run = stage.prepare()
    before = stage.pipeline.generation
    for _ in range(2):
        standby.discard(run=run, actor=ANA)
    stage.pass_time(6)
    run.refresh_from_db()
    assert (run.state, run.outcome) == (RunState.ENDED, "CLEAN")
    assert (stage.pipeline.phase, stage.pipeline.generation) == ("RUNNING", before)
    assert len(stage.host.holders()) == 1
    assert Event.objects.filter(kind="standby.discarded").count() == 1
    with pytest.raises(Conflict) as refused:
        standby.promote(run=run, actor=ANA)
    assert refused.value.code == "standby_not_ready"
    assert stage.prepare().number == 3


def test_a_standby_discarded_before_its_process_exists_is_revoked(stage: Stage) -> None:
    stage.start()
    run = stage.prepare(seconds=0)
    standby.discard(run=run, actor=ANA)
    stage.pass_time(3)
    run.refresh_from_db()
    assert (run.state, run.outcome) == (RunState.ENDED, "CLEAN")
    assert stage.host.exit_record(_path(stage.host, run)) is not None


def test_a_promoted_run_is_not_discarded(stage: Stage) -> None:
    stage.start()
    run = stage.prepare()
    stage.ask(OperationKind.STOP)
    stage.promote(run)
    with pytest.raises(Conflict) as refused:
        standby.discard(run=run, actor=ANA)
    assert refused.value.code == "not_a_standby"


def test_a_standby_on_a_silent_host_counts_as_over_when_it_is_discarded(stage: Stage) -> None:
    stage.start()
    run = stage.prepare()
    Host.objects.update(seen_at=datetime.now(UTC) - timedelta(minutes=5))
    run = standby.discard(run=run, actor=ANA)
    assert (run.state, run.outcome) == (RunState.ENDED, "LOST")
    stage.pass_time(3)
    assert run.token not in stage.host.holders()  # its host kills what was left of it


def test_a_standby_whose_initialisation_fails_ends_with_its_findings_and_the_old_run_goes_on(stage: Stage) -> None:
    stage.start()
    run = stage.prepare(seconds=2)
    agent = stage.agent(run)
    agent.findings = [AgentFinding(path="sources.shop.interceptors[0]", code="INIT_FAILED", message="not allowed here")]
    agent.fate = Exit.INIT_FAILED
    stage.pass_time(6)
    run.refresh_from_db()
    assert (run.state, run.outcome, run.exit_code) == (RunState.ENDED, "BLOCKED", 11)
    assert run.observed is not None
    assert run.observed["findings"][0]["code"] == "INIT_FAILED"
    pipeline = stage.pipeline
    assert (pipeline.phase, pipeline.findings, pipeline.restart_count) == ("RUNNING", [], 0)


def test_a_standby_that_its_host_cannot_start_at_all_ends_with_the_findings(stage: Stage) -> None:
    stage.start()
    revision = stage.revision()
    revision.definition = {**revision.definition, "sources": {}}
    revision.save()
    run = standby.prepare(pipeline=stage.pipeline, revision=revision, host="alpha", actor=ANA)
    stage.pass_time(2)
    run.refresh_from_db()
    assert (run.state, run.outcome) == (RunState.ENDED, "BLOCKED")
    assert run.observed is not None
    assert run.observed["findings"]
    assert stage.pipeline.phase == Phase.RUNNING


def test_a_worker_that_is_started_anew_adopts_the_standby(stage: Stage) -> None:
    stage.start()
    run = stage.prepare()
    assert stage.host.worker is not None
    stage.host.worker.alive = False
    stage.supervisor = supervisor(stage.host, stage.locks)
    stage.pass_time(20)
    run.refresh_from_db()
    assert run.state == RunState.LIVE
    assert len(stage.host.holders()) == 2
    stage.ask(OperationKind.STOP)
    stage.promote(run)
    assert stage.pipeline.phase == Phase.RUNNING


@pytest.mark.parametrize("victim", ["keeper", "driver"])
def test_a_standby_whose_processes_die_has_ended_and_is_not_started_again(stage: Stage, victim: str) -> None:
    stage.start()
    run = stage.prepare()
    process = getattr(stage.agent(run), victim)
    process.alive = False
    stage.pass_time(40)
    run.refresh_from_db()
    assert run.state == RunState.ENDED
    assert stage.pipeline.phase == Phase.RUNNING
    assert Run.objects.count() == 2


def test_a_promoted_run_that_died_in_that_instant_is_restarted_like_any_other(stage: Stage) -> None:
    stage.start()
    run = stage.prepare()
    stage.ask(OperationKind.STOP)
    agent = stage.agent(run)
    standby.promote(run=run, actor=ANA)
    assert agent.driver is not None
    agent.driver.alive = agent.keeper.alive = False
    stage.pass_time(20)
    newest = live_run(stage.pipeline)
    assert newest is not None
    assert (newest.number, newest.epoch, stage.pipeline.phase) == (4, 4, "RUNNING")


def test_a_stop_of_the_pipeline_leaves_the_standby_alone(stage: Stage) -> None:
    stage.start()
    run = stage.prepare()
    stage.ask(OperationKind.STOP)
    run.refresh_from_db()
    assert (stage.pipeline.phase, run.state) == ("STOPPED", "LIVE")


def test_a_standby_that_nothing_waits_for_is_ended(stage: Stage) -> None:
    stage.start()
    run = stage.prepare()
    assert standby.discard_orphans(host="alpha") == 0
    Run.objects.filter(pk=run.pk).update(start_requested_at=datetime.now(UTC) - timedelta(hours=1))
    assert standby.discard_orphans(host="beta") == 0
    assert standby.discard_orphans(host="alpha") == 1
    stage.pass_time(5)
    run.refresh_from_db()
    assert run.state == RunState.ENDED


def test_a_deleted_pipeline_has_no_standby_for_long(stage: Stage) -> None:
    run = stage.prepare()
    Pipeline.objects.update(archived_at=datetime.now(UTC))
    stage.pass_time(5)
    run.refresh_from_db()
    assert run.state == RunState.ENDED


def test_there_is_one_standby_at_most_and_the_host_must_have_room(stage: Stage) -> None:
    stage.start()
    run = stage.prepare()
    with pytest.raises(Conflict) as refused:
        stage.prepare()
    assert refused.value.code == "standby_exists"
    Host.objects.update(slots=2)
    other = PipelineFactory.create(name="other")
    its_own = Revision.objects.get(pipeline=other)
    with pytest.raises(Conflict) as refused:
        standby.prepare(pipeline=other, revision=its_own, host="alpha", actor=ANA)
    assert refused.value.code == "no_capacity"
    with pytest.raises(Conflict) as refused:
        standby.prepare(pipeline=other, revision=its_own, host="nowhere", actor=ANA)
    assert refused.value.code == "unknown_host"
    with pytest.raises(Conflict) as refused:
        standby.prepare(pipeline=other, revision=run.revision, host="alpha", actor=ANA)
    assert refused.value.code == "wrong_revision"


def test_a_standby_that_writes_to_the_ledger_is_not_believed(stage: Stage) -> None:
    stage.start()
    run = stage.prepare()
    agent = stage.agent(run)
    planned = journal.Planned(source="shop", channel="main", batch=7, ranges=[])
    agent.append(EntryKind.PLANNED, planned)
    stage.pass_time(3)
    assert Event.objects.filter(kind="journal.damaged", run=run).exists()
    assert (stage.pipeline.phase, stage.pipeline.findings) == ("RUNNING", [])


def test_a_silent_host_of_a_standby_does_not_make_its_pipeline_unknown(stage: Stage) -> None:
    stage.start()
    beta = HostFactory.create(name="beta", lease_epoch=3, lease_until=datetime.now(UTC))
    run = RunFactory.create(pipeline=stage.pipeline, role=RunRole.STANDBY, number=2, lineage=0, host=beta)
    stage.pass_time(70)
    run.refresh_from_db()
    assert (stage.pipeline.phase, run.state) == ("RUNNING", "LIVE")
    assert not ownership.mark_unknown(run=run, lapsed=Lapsed("gamma", 0, None))


def test_no_database_takes_an_active_run_without_an_epoch_or_a_standby_with_one() -> None:
    run = RunFactory.create()
    for role, epoch in ((RunRole.ACTIVE, None), (RunRole.STANDBY, 9)):
        with pytest.raises(IntegrityError), transaction.atomic():
            Run.objects.filter(pk=run.pk).update(role=role, epoch=epoch)


def test_the_checkpoint_of_a_promoted_run_is_that_of_the_newest_one_whatever_its_number() -> None:
    old = KnownRun(name="p", number=3, lineage=9, over=True, ended_at=None, taken_in=0, epoch=3)
    promoted = KnownRun(name="p", number=2, lineage=1, over=True, ended_at=None, taken_in=0, epoch=4)
    unused = KnownRun(name="p", number=5, lineage=0, over=True, ended_at=None, taken_in=0, epoch=0)
    known = Known({(run.name, run.number): run for run in (old, promoted, unused)})
    assert known.newest["p"] is promoted
    assert known.forgotten("p", 4)
