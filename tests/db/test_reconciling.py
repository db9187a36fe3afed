"""A database that is older than its host: noticed before anything is done, and led on by a decision."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from rest_framework.test import APIClient

from controlplane.backup import backup, restore
from pipelines.domain.base.states import OperationKind, Phase
from pipelines.models import AuditRow, Event, Host, LedgerBatch, Pipeline, Position, Reconciliation, Run
from tests.db.test_supervisor import Stage, phase
from tests.factories import PipelineFactory
from workers.supervisor.tick.memory import Memory
from workers.supervisor.tick.reconciling import Reconciler

pytestmark = pytest.mark.django_db


class Installation(Stage):
    """A stage whose database can be set back."""

    def __init__(self, file: Path) -> None:
        super().__init__()
        self.file = file
        self.pipeline = PipelineFactory.create(name="orders")

    def remember(self) -> None:
        """Make a backup."""
        backup(self.file)

    def forget(self) -> None:
        """Restore it; a worker that starts then remembers nothing of what came after."""
        Host.objects.update(lease_owner=None)
        restore(self.file, replace=True)
        self.supervisor._observer.memory.__dict__.update(Memory().__dict__)
        self.pipeline = Pipeline.objects.get(name="orders")

    def until(self, condition: Callable[[], object]) -> None:
        for _ in range(100):
            if condition():
                return
            self.pass_time(1)
        raise AssertionError(phase(self.pipeline))

    def start(self) -> None:
        self.ask(self.pipeline, OperationKind.START)
        self.until(lambda: phase(self.pipeline) == Phase.RUNNING)
        self.pass_time(5)

    def stop(self) -> None:
        self.ask(Pipeline.objects.get(id=self.pipeline.id), OperationKind.STOP)
        self.until(lambda: phase(self.pipeline) == Phase.STOPPED)

    def reconciler(self) -> Reconciler:
        return Reconciler(self.host, self.host)

    def codes(self) -> list[str]:
        self.pipeline.refresh_from_db()
        return [finding["code"] for finding in self.pipeline.findings]

    def delivered(self) -> int:
        """Records that agents have delivered, as they count themselves."""
        return sum(agent.delivered for agent in self.agents.all.values())

    def booked(self) -> int:
        return sum(LedgerBatch.objects.filter(state="done").values_list("delivered", flat=True))


@pytest.fixture
def installation(tmp_path: Path) -> Installation:
    return Installation(tmp_path / "state.backup")


def source_of_truth(client: APIClient, whom: str) -> int:
    answer = client.post("/api/v1/pipelines/orders/reconcile", {"source_of_truth": whom, "reason": "x"}, format="json")
    return answer.status_code


def test_runs_that_the_database_forgot_are_asked_about_and_nothing_is_started(installation: Installation) -> None:
    installation.remember()
    installation.start()
    installation.stop()
    installation.forget()
    installation.ask(installation.pipeline, OperationKind.START)
    installation.pass_time(10)
    assert phase(installation.pipeline) == Phase.BLOCKED
    assert installation.codes() == ["DATABASE_BEHIND"]
    assert "run 1 that the database does not have" in installation.pipeline.findings[0]["message"]
    assert not installation.agents.living
    assert not Run.objects.exists()


def test_believing_the_host_takes_its_journals_in_and_goes_on_without_a_gap(
    installation: Installation, admin: APIClient
) -> None:
    installation.remember()
    installation.start()
    installation.stop()
    installation.start()
    installation.stop()
    delivered = installation.delivered()
    installation.forget()
    installation.ask(installation.pipeline, OperationKind.START)
    installation.until(lambda: phase(installation.pipeline) == Phase.BLOCKED)
    assert source_of_truth(admin, "host") == 202
    installation.until(lambda: phase(installation.pipeline) == Phase.RUNNING)
    assert [run.number for run in Run.objects.order_by("number")] == [1, 2, 3]
    assert {run.outcome for run in Run.objects.exclude(number=3)} == {"CLEAN"}
    assert installation.booked() >= delivered
    assert not Event.objects.filter(kind__in=["ledger.gap", "ledger.overlap"]).exists()
    assert installation.booked() == installation.delivered()
    assert not Reconciliation.objects.exists()
    assert installation.codes() == []
    assert "host" in str(AuditRow.objects.get(action="pipeline.reconcile").after)


def test_an_agent_that_lives_is_taken_over_and_not_doubled(installation: Installation, admin: APIClient) -> None:
    installation.remember()
    installation.start()
    (agent,) = installation.agents.living
    installation.forget()
    installation.ask(installation.pipeline, OperationKind.START)
    installation.until(lambda: phase(installation.pipeline) == Phase.BLOCKED)
    assert "the agent of run 1 lives" in Pipeline.objects.get().findings[0]["message"]
    assert source_of_truth(admin, "host") == 202
    installation.until(lambda: phase(installation.pipeline) == Phase.RUNNING)
    assert installation.agents.living == [agent]
    assert Run.objects.get().number == 1
    installation.stop()
    assert installation.booked() == agent.delivered


def test_believing_the_database_sets_the_runs_aside_and_begins_at_its_own_position(
    installation: Installation, admin: APIClient
) -> None:
    installation.start()
    installation.stop()
    at = Position.objects.get().next_offset
    installation.remember()
    installation.start()
    installation.stop()
    installation.forget()
    installation.ask(installation.pipeline, OperationKind.START)
    installation.until(lambda: phase(installation.pipeline) == Phase.BLOCKED)
    assert source_of_truth(admin, "database") == 202
    installation.until(lambda: phase(installation.pipeline) == Phase.RUNNING)
    assert [run.number for run in Run.objects.order_by("number")] == [1, 3]
    launch = installation.host.launch(Path(Run.objects.get(number=3).run_dir))
    assert launch is not None
    assert launch.heads[0].positions[0].offset == at


def test_a_database_is_not_believed_while_a_forgotten_agent_lives(installation: Installation, admin: APIClient) -> None:
    installation.remember()
    installation.start()
    installation.forget()
    installation.ask(installation.pipeline, OperationKind.START)
    installation.until(lambda: phase(installation.pipeline) == Phase.BLOCKED)
    assert source_of_truth(admin, "database") == 202
    installation.pass_time(5)
    assert phase(installation.pipeline) == Phase.BLOCKED
    assert "lives" in Pipeline.objects.get().findings[0]["message"]
    assert len(installation.agents.living) == 1


def test_a_stop_that_the_database_forgot_is_not_undone(installation: Installation, admin: APIClient) -> None:
    installation.start()
    installation.remember()
    installation.stop()
    installation.forget()
    installation.pass_time(10)
    assert not installation.agents.living
    assert phase(installation.pipeline) == Phase.BLOCKED
    assert "has the request" in Pipeline.objects.get().findings[0]["message"]
    assert source_of_truth(admin, "database") == 202
    installation.until(lambda: phase(installation.pipeline) == Phase.RUNNING)
    assert Run.objects.count() == 2


def test_a_living_agent_gets_no_command_from_a_database_that_forgot_the_last_request(
    installation: Installation, admin: APIClient
) -> None:
    installation.start()
    installation.remember()
    installation.ask(Pipeline.objects.get(), OperationKind.PAUSE)
    installation.until(lambda: phase(installation.pipeline) == Phase.PAUSED)
    installation.forget()
    (agent,) = installation.agents.living
    seq = agent.control.seq
    installation.pass_time(5)
    assert agent.control.seq == seq
    pipeline = Pipeline.objects.get()
    assert (pipeline.phase, pipeline.phase_reason) == (Phase.UNKNOWN, "database_behind")
    assert source_of_truth(admin, "database") == 202
    installation.until(lambda: phase(installation.pipeline) == Phase.RUNNING)


def test_what_is_known_of_a_stopped_pipeline_on_disk_alone_is_shown_once(installation: Installation) -> None:
    installation.remember()
    installation.start()
    installation.stop()
    installation.forget()
    for _ in range(2):
        installation.reconciler().notice_all("alpha")
    assert installation.codes() == ["DATABASE_BEHIND"]
    assert Event.objects.filter(kind="database.behind").count() == 1


def test_nothing_is_in_question_without_a_finding_and_only_an_administrator_decides(
    installation: Installation, admin: APIClient, operator: APIClient
) -> None:
    assert source_of_truth(operator, "host") == 403
    assert source_of_truth(admin, "host") == 409


def test_directories_of_another_pipeline_of_the_name_are_nothing_to_ask_about(installation: Installation) -> None:
    installation.start()
    installation.stop()
    Run.objects.all().delete()
    Pipeline.objects.update(current_revision=None)
    Pipeline.objects.all().delete()
    installation.pipeline = PipelineFactory.create(name="orders")
    installation.start()
    assert Run.objects.get().number == 2
