"""Stops at awkward moments, stops by force, and the stacks, over the real tables."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from django.test import override_settings
from rest_framework.test import APIClient

from pipelines.domain.base.roles import Role
from pipelines.domain.base.states import OperationKind, OperationState, Phase, RunState
from pipelines.domain.lifecycle.actions import CONSEQUENCES, Action
from pipelines.domain.runs import protocol
from pipelines.domain.runs.protocol import Dump, DumpOrder, Dumps
from pipelines.foundation.errors import Conflict
from pipelines.models import AuditRow, Event, Pipeline, Run
from pipelines.services.runs import runs
from tests.db.test_supervisor import Stage
from tests.factories import PipelineFactory, RunFactory, UserFactory

pytestmark = pytest.mark.django_db

QUICK = {"cancel_interval": 2, "cancel_timeout": 6, "drain_timeout": 3, "init_timeout": 30}


@pytest.fixture
def stage() -> Stage:
    return Stage()


@pytest.fixture
def pipeline() -> Pipeline:
    made = PipelineFactory.create()
    assert made.current_revision is not None
    made.current_revision.definition["lifecycle"] |= QUICK
    made.current_revision.save()
    return made


def client(role: Role) -> APIClient:
    made = APIClient()
    made.force_authenticate(UserFactory.create(role=role))
    return made


def ended(pipeline: Pipeline) -> Run:
    run = Run.objects.get(pipeline=pipeline)
    assert run.state == RunState.ENDED
    pipeline.refresh_from_db()
    assert pipeline.phase == Phase.STOPPED
    return run


class TestForce:
    def test_a_deaf_agent_is_killed_at_once_and_the_operation_says_what_that_means(
        self, stage: Stage, pipeline: Pipeline
    ) -> None:
        stage.ask(pipeline, OperationKind.START)
        stage.pass_time(6)
        stage.agents.living[0].unresponsive = True
        operation = stage.ask(pipeline, OperationKind.FORCE_STOP)
        assert operation.message == CONSEQUENCES[Action.FORCE_STOP]
        stage.pass_time(5)
        run = ended(pipeline)
        assert (run.outcome, run.stop_stage, pipeline.stop_reason) == ("KILLED", "KILL", "USER")
        operation.refresh_from_db()
        assert operation.state == OperationState.SUCCEEDED

    def test_it_overtakes_a_stop_that_is_not_obeyed(self, stage: Stage, pipeline: Pipeline) -> None:
        stage.ask(pipeline, OperationKind.START)
        stage.pass_time(6)
        stage.agents.living[0].unresponsive = True
        waiting = stage.ask(pipeline, OperationKind.STOP)
        stage.pass_time(2)
        assert stage.agents.living
        stage.ask(pipeline, OperationKind.FORCE_STOP)
        stage.pass_time(3)
        assert ended(pipeline).outcome == "KILLED"
        waiting.refresh_from_db()
        assert waiting.state == OperationState.SUPERSEDED

    def test_the_next_start_is_not_by_force(self, stage: Stage, pipeline: Pipeline) -> None:
        stage.ask(pipeline, OperationKind.START)
        stage.pass_time(6)
        stage.ask(pipeline, OperationKind.FORCE_STOP)
        stage.pass_time(3)
        stage.ask(pipeline, OperationKind.START)
        stage.pass_time(6)
        pipeline.refresh_from_db()
        assert (pipeline.phase, pipeline.force_stop) == (Phase.RUNNING, False)

    def test_without_a_process_it_is_refused_in_words(self, stage: Stage, pipeline: Pipeline) -> None:
        pipeline.phase, pipeline.desired_state = Phase.BLOCKED, "RUNNING"
        pipeline.save()
        with pytest.raises(Conflict, match="No process exists"):
            stage.ask(pipeline, OperationKind.FORCE_STOP)

    def test_the_api_offers_it_with_its_consequence(self, stage: Stage, pipeline: Pipeline) -> None:
        stage.ask(pipeline, OperationKind.START)
        stage.pass_time(6)
        shown = client(Role.VIEWER).get(f"/api/v1/pipelines/{pipeline.name}").json()["allowed_actions"]
        (offer,) = [action for action in shown if action["name"] == "force-stop"]
        assert (offer["allowed"], offer["consequence"]) == (False, CONSEQUENCES[Action.FORCE_STOP])
        assert "operator" in offer["reason"]
        answer = client(Role.OPERATOR).post(f"/api/v1/pipelines/{pipeline.name}/force-stop", {}, format="json")
        assert (answer.status_code, answer.json()["kind"]) == (202, "force-stop")
        assert client(Role.VIEWER).post(f"/api/v1/pipelines/{pipeline.name}/force-stop").status_code == 403


@pytest.mark.parametrize("unresponsive", [False, True])
@pytest.mark.parametrize("moment", ["intent", "preflight", "batch", "pausing", "paused", "draining", "backoff"])
def test_a_stop_works_at_every_moment(stage: Stage, pipeline: Pipeline, moment: str, unresponsive: bool) -> None:
    stage.ask(pipeline, OperationKind.START)
    if moment != "intent":
        stage.pass_time(2 if moment == "preflight" else 6)
        (agent,) = stage.agents.living
        agent.slow = moment in {"pausing", "draining"}
        if moment in {"pausing", "paused"}:
            stage.ask(pipeline, OperationKind.PAUSE)
            stage.pass_time(2)
        if moment == "draining":
            stage.ask(pipeline, OperationKind.STOP)
            stage.pass_time(1)
        if moment == "backoff":
            agent.fate = 12
            stage.pass_time(2)
        agent.unresponsive = unresponsive
    operation = stage.ask(pipeline, OperationKind.STOP)
    stage.pass_time(16)
    pipeline.refresh_from_db()
    operation.refresh_from_db()
    assert (pipeline.phase, operation.state) == (Phase.STOPPED, OperationState.SUCCEEDED)
    assert not stage.agents.living
    assert set(Run.objects.values_list("state", flat=True)) <= {RunState.ENDED}


class TestDumps:
    def dumped(self, stage: Stage, *numbers: int) -> None:
        directory = next(iter(stage.host.directories.values()))
        taken = [
            Dump(stop_stage="INTERRUPT", number=n, at=float(n), stuck=["sinks.lake"], files=[f"{n}.txt"])
            for n in numbers
        ]
        directory.documents[protocol.DUMPS] = Dumps(token=Run.objects.get().token, taken=taken)

    def test_a_dump_of_an_agent_that_goes_on_is_known_at_once(self, stage: Stage, pipeline: Pipeline) -> None:
        stage.ask(pipeline, OperationKind.START)
        stage.pass_time(6)
        directory = next(iter(stage.host.directories.values()))
        dump = Dump(stop_stage="drain", asked="m1", at=1.0, stuck=["sinks.lake"])
        directory.documents[protocol.DUMPS] = Dumps(token=Run.objects.get().token, taken=[dump])
        stage.pass_time(2)
        assert [each["asked"] for each in Run.objects.get().dumps] == ["m1"]
        (event,) = Event.objects.filter(kind="run.dumped")
        assert event.message == "The stacks of run 1 were dumped (drain); at work: sinks.lake."

    def test_the_dump_that_a_migration_quotes_outlives_many_others(self, stage: Stage, pipeline: Pipeline) -> None:
        stage.ask(pipeline, OperationKind.START)
        stage.pass_time(6)
        run = Run.objects.get()
        for number in range(runs.MOST_DUMPS + 5):
            dump = Dump(stop_stage="live" if number else "drain", asked=str(number), at=float(number + 1))
            runs.record_dumps(pipeline=pipeline, run=run, dumps=[dump])
        kept = [each["asked"] for each in Run.objects.get().dumps]
        assert (len(kept), kept[:2]) == (runs.MOST_DUMPS + 1, ["0", "5"])

    def test_every_interrupt_is_one_event_and_stays_with_the_run(self, stage: Stage, pipeline: Pipeline) -> None:
        stage.ask(pipeline, OperationKind.START)
        stage.pass_time(6)
        stage.agents.living[0].unresponsive = True
        operation = stage.ask(pipeline, OperationKind.STOP)
        stage.pass_time(2)
        self.dumped(stage, 1)
        stage.pass_time(2)
        self.dumped(stage, 1, 2)
        stage.pass_time(2)
        operation.refresh_from_db()
        assert "Interrupted 2 times; at work: sinks.lake" in str(operation.steps)
        stage.pass_time(10)
        found = Event.objects.filter(kind="run.interrupted").order_by("id")
        assert [event.data["number"] for event in found] == [1, 2]
        assert "sinks.lake" in found[0].message
        run = ended(pipeline)
        assert "sinks.lake" in run.exit_reason
        shown = client(Role.VIEWER).get(f"/api/v1/runs/{run.pk}").json()
        assert (shown["stuck"], shown["dumps"]) == (["sinks.lake"], ["1.txt", "2.txt"])


class TestStacks:
    @pytest.fixture
    def here(self, tmp_path: Path, pipeline: Pipeline) -> Any:
        from django.conf import settings

        run = RunFactory.create(pipeline=pipeline, run_dir=str(tmp_path / "runs" / pipeline.name / "1"))
        directory = Path(run.run_dir)
        (directory / protocol.STACKS).mkdir(parents=True)
        (directory / protocol.STACKS / "a-driver.txt").write_text("in sinks.lake")
        (tmp_path / "secret").write_text("secret")
        dump = Dump(
            stop_stage="live", asked="ab", at=5.0, stuck=["sinks.lake"], files=["a-driver.txt", "../../../../secret"]
        )
        older = Dump(stop_stage="INTERRUPT", number=1, at=4.0, files=[])
        Dumps(token=run.token, taken=[older, dump]).store(directory / protocol.DUMPS)
        where = settings.HEADGATE.model_copy(update={"state": tmp_path, "host": run.host_id})
        with override_settings(HEADGATE=where):
            yield run

    def test_the_dumps_are_shown_newest_first_and_nothing_else_is(self, here: Run) -> None:
        shown = client(Role.VIEWER).get(f"/api/v1/runs/{here.pk}/stacks").json()
        assert [dump["stop_stage"] for dump in shown["dumps"]] == ["live", "INTERRUPT"]
        text, foreign = shown["dumps"][0]["files"]
        assert (text["process"], text["text"], foreign["text"]) == ("driver", "in sinks.lake", "")
        only = client(Role.VIEWER).get(f"/api/v1/runs/{here.pk}/stacks?asked=ab").json()["dumps"]
        assert [dump["asked"] for dump in only] == ["ab"]
        assert client(Role.VIEWER).get("/api/v1/runs/999999/stacks").status_code == 404

    def test_a_dump_is_asked_for_by_a_file_that_the_keeper_looks_at(self, here: Run) -> None:
        url = f"/api/v1/runs/{here.pk}/stacks"
        assert client(Role.VIEWER).post(url, {}, format="json").status_code == 403
        answer = client(Role.OPERATOR).post(url, {}, format="json")
        order = DumpOrder.load(Path(here.run_dir) / protocol.DUMP_ORDER)
        assert (answer.status_code, order) == (202, DumpOrder(id=answer.json()["asked"]))
        assert answer["Location"].endswith(answer.json()["asked"])
        assert AuditRow.objects.filter(action="run.stacks").count() == 1
        here.state = RunState.ENDED
        here.save()
        assert client(Role.OPERATOR).post(url, {}, format="json").json()["code"] == "run_ended"

    def test_of_a_run_elsewhere_what_is_recorded_is_shown(self, pipeline: Pipeline) -> None:
        dump = Dump(stop_stage="INTERRUPT", number=1, at=4.0, stuck=["sinks.lake"], files=["x-driver.txt"])
        run = RunFactory.create(pipeline=pipeline, dumps=[dump.model_dump(mode="json")])
        shown = client(Role.VIEWER).get(f"/api/v1/runs/{run.pk}/stacks").json()
        assert shown["elsewhere"] == f"{run.host_id}:{run.run_dir}/stacks"
        assert (shown["dumps"][0]["stuck"], shown["dumps"][0]["files"][0]["text"]) == (["sinks.lake"], "")
        answer = client(Role.OPERATOR).post(f"/api/v1/runs/{run.pk}/stacks", {}, format="json")
        assert answer.json()["code"] == "run_on_other_host"
