"""Requests of people, and the operations that they make."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from threading import Barrier
from typing import Any

import pytest
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from rest_framework.test import APIClient

from pipelines.domain.base.states import DesiredState, OperationKind, OperationState, Phase, RunState
from pipelines.domain.hosts.capacity import agent_bytes
from pipelines.domain.lifecycle.operations import OnTimeout
from pipelines.foundation.errors import Conflict
from pipelines.models import AuditRow, Event, Host, Operation, Pipeline, Run
from pipelines.selectors.hosts.capacity import rooms
from pipelines.services.base.audit import Actor
from pipelines.services.lifecycle import lifecycle, operations, placement
from tests.factories import HostFactory, OperationFactory, PipelineFactory, RevisionFactory, RunFactory, definition_data

pytestmark = pytest.mark.django_db
ANA = Actor("ana", "10.0.0.1", "r1")


def ask(pipeline: Pipeline, action: str, **more: Any) -> Operation:
    operation = lifecycle.request(pipeline=pipeline, action=action, actor=ANA, **more)
    pipeline.refresh_from_db()
    return operation


def follows(pipeline: Pipeline) -> tuple[str, str]:
    """What follows where the batch in hand does not end in time, and what is wanted again where that is abort."""
    return pipeline.on_timeout, pipeline.desired_before


def running(**more: Any) -> Pipeline:
    pipeline = PipelineFactory.create(phase=Phase.RUNNING, desired_state=DesiredState.RUNNING, **more)
    RunFactory.create(pipeline=pipeline, number=7)
    return pipeline


@pytest.fixture
def woken(monkeypatch: pytest.MonkeyPatch) -> list[str | None]:
    hosts: list[str | None] = []
    monkeypatch.setattr("pipelines.foundation.dispatch.wake", hosts.append)
    return hosts


def test_a_start_writes_what_is_wanted_an_operation_an_audit_row_and_wakes_the_host(woken: list[str | None]) -> None:
    pipeline = PipelineFactory.create()

    operation = ask(pipeline, "start")

    assert (pipeline.desired_state, pipeline.generation) == (DesiredState.RUNNING, 2)
    assert pipeline.phase == Phase.STOPPED
    assert (operation.state, operation.generation) == (OperationState.PENDING, 2)
    assert [step["name"] for step in operation.steps] == ["preflight", "starting", "first_batch_or_idle"]
    assert operation.deadline is not None
    assert operation.deadline > operation.created_at
    row = AuditRow.objects.get()
    assert (row.actor, row.address, row.request_id, row.action) == ("ana", "10.0.0.1", "r1", "pipeline.start")
    assert row.before == {"desired_state": "STOPPED", "generation": 1}
    assert row.after == {"desired_state": "RUNNING", "generation": 2, "drain": True}
    assert [event.kind for event in Event.objects.order_by("id")] == ["desired.changed"]
    assert woken == ["alpha"]


def test_the_same_request_again_returns_the_open_operation() -> None:
    pipeline = PipelineFactory.create()
    first = ask(pipeline, "start")
    again = ask(pipeline, "start")

    assert again.id == first.id
    assert pipeline.generation == 2


@pytest.mark.parametrize(
    ("action", "desired", "phase"),
    [
        ("start", DesiredState.RUNNING, Phase.RUNNING),
        ("start", DesiredState.RUNNING, Phase.DEGRADED),
        ("pause", DesiredState.PAUSED, Phase.PAUSED),
        ("resume", DesiredState.RUNNING, Phase.RUNNING),
        ("stop", DesiredState.STOPPED, Phase.STOPPED),
    ],
)
def test_what_is_so_already_succeeds_at_once_and_changes_nothing(
    action: str, desired: DesiredState, phase: Phase
) -> None:
    pipeline = PipelineFactory.create(desired_state=desired, phase=phase)

    operation = ask(pipeline, action)

    assert operation.state == OperationState.SUCCEEDED
    assert operation.message
    assert operation.ended_at is not None
    assert pipeline.generation == 1


@pytest.mark.parametrize(
    ("action", "desired", "phase", "words"),
    [
        ("pause", DesiredState.STOPPED, Phase.STOPPED, "The pipeline is stopped"),
        ("resume", DesiredState.STOPPED, Phase.STOPPED, "start it"),
        ("restart", DesiredState.STOPPED, Phase.STOPPED, "start it"),
        ("restart", DesiredState.PAUSED, Phase.PAUSED, "resume or stop"),
        ("start", DesiredState.PAUSED, Phase.PAUSED, "resume it"),
        ("pause", DesiredState.RUNNING, Phase.FAILED, "No process exists"),
        ("resume", DesiredState.PAUSED, Phase.BLOCKED, "start it"),
    ],
)
def test_what_makes_no_sense_is_refused_in_words(action: str, desired: DesiredState, phase: Phase, words: str) -> None:
    pipeline = PipelineFactory.create(desired_state=desired, phase=phase)

    with pytest.raises(Conflict) as refusal:
        ask(pipeline, action)

    assert words in refusal.value.detail
    assert not Operation.objects.exists()


def test_a_new_request_supersedes_the_open_operation_and_says_by_what() -> None:
    pipeline = running()
    pause = ask(pipeline, "pause")
    stop = ask(pipeline, "stop")

    pause.refresh_from_db()
    assert (pause.state, pause.message) == (OperationState.SUPERSEDED, "ana requested stop instead.")
    assert (stop.state, pipeline.desired_state) == (OperationState.PENDING, DesiredState.STOPPED)


def test_a_stop_without_drain_overtakes_one_with_drain_and_not_the_other_way_round() -> None:
    pipeline = running()
    gentle = ask(pipeline, "stop")
    hard = ask(pipeline, "stop", drain=False)
    later = ask(pipeline, "stop", drain=True)

    gentle.refresh_from_db()
    assert gentle.state == OperationState.SUPERSEDED
    assert later.id == hard.id
    assert pipeline.drain_on_stop is False


def test_a_drain_that_may_be_given_up_is_overtaken_by_one_that_climbs_and_not_the_other_way_round() -> None:
    pipeline = running()
    soft = ask(pipeline, "stop", on_timeout=OnTimeout.ABORT)
    assert (follows(pipeline), ask(pipeline, "stop", on_timeout=OnTimeout.ABORT).id) == (("abort", "RUNNING"), soft.id)
    escalates = ask(pipeline, "stop")
    assert (pipeline.on_timeout, escalates.id != soft.id) == (OnTimeout.STOP, True)
    assert ask(pipeline, "stop", on_timeout=OnTimeout.ABORT).id == escalates.id
    assert pipeline.on_timeout == OnTimeout.STOP


def test_the_last_word_says_what_becomes_of_a_pause_that_is_not_done_in_time() -> None:
    pipeline = running()
    first = ask(pipeline, "pause")
    assert (follows(pipeline), ask(pipeline, "pause").id) == (("abort", "RUNNING"), first.id)
    second = ask(pipeline, "pause", on_timeout=OnTimeout.STAY)
    assert (pipeline.on_timeout, second.id != first.id) == (OnTimeout.STAY, True)
    assert (AuditRow.objects.latest("id").after or {})["on_timeout"] == "stay"


def test_a_drain_of_a_paused_pipeline_goes_back_to_that() -> None:
    pipeline = running()
    ask(pipeline, "pause")
    ask(pipeline, "stop", on_timeout=OnTimeout.ABORT)
    assert follows(pipeline) == ("abort", "PAUSED")
    ask(pipeline, "start")
    assert pipeline.on_timeout == OnTimeout.STOP


def test_a_restart_gives_up_unless_a_stop_is_asked_for_and_then_takes_its_place() -> None:
    pipeline = running()
    soft = ask(pipeline, "restart")
    assert (follows(pipeline), ask(pipeline, "restart").id) == (("abort", "RUNNING"), soft.id)
    escalates = ask(pipeline, "restart", on_timeout=OnTimeout.STOP)
    assert (pipeline.on_timeout, pipeline.restart_run, escalates.id != soft.id) == (OnTimeout.STOP, 7, True)
    assert ask(pipeline, "restart").id == escalates.id
    assert pipeline.on_timeout == OnTimeout.STOP


def test_a_restart_whose_old_run_has_ended_is_not_begun_again() -> None:
    pipeline = running()
    soft = ask(pipeline, "restart")
    Run.objects.update(state=RunState.ENDED)
    RunFactory.create(pipeline=pipeline, number=8)
    assert ask(pipeline, "restart", on_timeout=OnTimeout.STOP).id == soft.id
    assert pipeline.restart_run == 7


def test_a_restart_names_the_run_that_is_to_end() -> None:
    pipeline = running()
    operation = ask(pipeline, "restart")

    assert pipeline.restart_run == 7
    assert pipeline.desired_state == DesiredState.RUNNING
    assert [step["name"] for step in operation.steps][:2] == ["requested", "draining"]


def test_a_failed_pipeline_is_started_again_by_a_new_generation() -> None:
    pipeline = PipelineFactory.create(phase=Phase.FAILED, desired_state=DesiredState.RUNNING, restart_count=10)
    assert ask(pipeline, "start").state == OperationState.PENDING
    assert pipeline.generation == 2


def test_a_start_after_a_crash_can_be_awaited_without_a_new_generation() -> None:
    pipeline = PipelineFactory.create(phase=Phase.STARTING, desired_state=DesiredState.RUNNING)
    operation = ask(pipeline, "start")

    assert operation.state == OperationState.PENDING
    assert pipeline.generation == operation.generation == 1


def test_a_pipeline_without_a_host_goes_to_the_living_host_with_the_fewest_agents() -> None:
    RunFactory.create(pipeline__host=HostFactory.create(name="busy"))
    HostFactory.create(name="idle")
    HostFactory.create(name="dead", seen_at=timezone.now() - timedelta(minutes=5))
    pipeline = PipelineFactory.create(host=None)

    ask(pipeline, "start")

    assert pipeline.host_id == "idle"


def test_a_pipeline_that_is_pinned_to_a_host_stays_there_even_while_that_is_silent() -> None:
    HostFactory.create(name="idle")
    silent = HostFactory.create(name="silent", seen_at=timezone.now() - timedelta(minutes=5))
    pipeline = PipelineFactory.create(host=silent)
    pipeline.current_revision = RevisionFactory.create(
        pipeline=pipeline, number=2, definition=definition_data(placement={"host": "silent"})
    )
    pipeline.save()
    free = PipelineFactory.create(name="free", host=silent)

    ask(pipeline, "start")
    ask(free, "start")

    assert pipeline.host_id == "silent"
    assert free.host_id == "idle"


@pytest.mark.parametrize(("slots", "chosen"), [(4, "there"), (0, "idle")])
def test_a_choice_locks_all_its_hosts_at_once(slots: int, chosen: str) -> None:
    HostFactory.create(name="idle")
    pipeline = PipelineFactory.create(host=HostFactory.create(name="there", slots=slots))

    with transaction.atomic(), CaptureQueriesContext(connection) as captured:
        assert placement.choose(pipeline) == chosen
    (locked,) = [query["sql"] for query in captured if query["sql"].startswith('SELECT "pipelines_host"')]
    assert 'ORDER BY "pipelines_host"."name" ASC' in locked, "another choice takes the same ones in the same order"


@pytest.mark.parametrize("launcher", [{}, {"driver_memory": "3072m"}])
def test_a_heap_counts_as_the_definition_has_it(launcher: dict[str, str]) -> None:
    definition = definition_data(placement={"launcher": {"type": "local", **launcher}})
    pipeline = PipelineFactory.create(host=HostFactory.create(name="there"))
    pipeline.current_revision = RevisionFactory.create(pipeline=pipeline, number=2, definition=definition)
    pipeline.save()
    Pipeline.objects.update(desired_state=DesiredState.RUNNING)

    (room,) = rooms(Host.objects.all())
    assert (room.agents, room.taken) == (1, agent_bytes(launcher.get("driver_memory")))


def test_without_any_worker_a_start_waits_and_a_stop_takes_it_back() -> None:
    pipeline = PipelineFactory.create(host=None)
    Host.objects.all().delete()

    start = ask(pipeline, "start")
    assert "No worker is running" in start.message

    stop = ask(pipeline, "stop")
    assert stop.state == OperationState.SUCCEEDED
    assert pipeline.observed_generation == pipeline.generation


def test_a_definition_that_names_a_host_that_never_was_cannot_start(operator: APIClient) -> None:
    wanted = definition_data(placement={"host": "nowhere"})
    operator.post("/api/v1/pipelines", {"definition": wanted}, format="json")
    response = operator.post("/api/v1/pipelines/orders/start")

    assert (response.status_code, response.json()["code"]) == (409, "unknown_host")
    assert "HEADGATE_HOST=nowhere" in response.json()["hint"]


@pytest.mark.django_db(transaction=True)
def test_of_many_different_requests_at_once_all_are_answered_and_one_operation_stays_open() -> None:
    pipeline = running()
    actions = ["pause", "stop", "restart", "pause", "stop", "restart"]
    together = Barrier(len(actions))

    def race(action: str) -> str:
        together.wait(timeout=30)
        try:
            return lifecycle.request(pipeline=pipeline, action=action, actor=ANA).state
        except Conflict as conflict:
            return conflict.code
        finally:
            connection.close()

    with ThreadPoolExecutor(len(actions)) as pool:
        answers = list(pool.map(race, actions))

    assert set(answers) <= {OperationState.PENDING.value, "action_not_allowed", "busy"}
    assert Operation.objects.filter(state__in=operations.OPEN).count() == 1
    pipeline.refresh_from_db()
    changes = Event.objects.filter(kind="desired.changed").count()
    assert pipeline.generation == 1 + changes


def test_the_api_answers_202_with_the_operations_address(operator: APIClient) -> None:
    PipelineFactory.create(name="orders")
    response = operator.post("/api/v1/pipelines/orders/start")

    assert response.status_code == 202
    body = response.json()
    assert response.headers["Location"] == f"/api/v1/operations/{body['id']}"
    assert operator.get(response.headers["Location"]).json() == body
    assert (body["pipeline"], body["kind"], body["created_by"]) == ("orders", "start", "operator")


def test_a_refused_action_says_what_is_possible_instead(operator: APIClient) -> None:
    PipelineFactory.create(name="orders")
    problem = operator.post("/api/v1/pipelines/orders/pause").json()

    assert (problem["status"], problem["code"]) == (409, "action_not_allowed")
    allowed = {each["name"]: each for each in problem["allowed_actions"]}
    assert allowed["start"]["allowed"]
    refused = {"name": "pause", "allowed": False, "reason": "The pipeline is stopped.", "consequence": ""}
    assert allowed["pause"] == refused


def test_a_stop_says_whether_to_drain(operator: APIClient) -> None:
    pipeline = running(name="orders")
    response = operator.post("/api/v1/pipelines/orders/stop", {"drain": False}, format="json")
    pipeline.refresh_from_db()

    assert response.status_code == 202
    assert pipeline.drain_on_stop is False
    wrong = operator.post("/api/v1/pipelines/orders/stop", {"drain": "perhaps", "now": 1}, format="json")
    assert {finding["path"] for finding in wrong.json()["findings"]} == {"drain", "now"}


def test_who_asks_says_what_follows_where_a_batch_does_not_end(operator: APIClient) -> None:
    pipeline = running(name="orders")
    for action, body, after in (
        ("pause", {"on_timeout": "stay"}, ("stay", "RUNNING")),
        ("pause", {}, ("abort", "RUNNING")),
        ("stop", {"on_timeout": "abort"}, ("abort", "PAUSED")),
        ("start", {}, ("stop", "STOPPED")),
        ("restart", {}, ("abort", "RUNNING")),
        ("restart", {"on_timeout": "stop"}, ("stop", "RUNNING")),
    ):
        assert operator.post(f"/api/v1/pipelines/orders/{action}", body, format="json").status_code == 202
        pipeline.refresh_from_db()
        assert follows(pipeline) == after
    wrong: dict[str, dict[str, Any]] = {
        "pause": {"on_timeout": "stop"},
        "restart": {"on_timeout": "stay"},
        "stop": {"on_timeout": "abort", "drain": False},
    }
    for action, nonsense in wrong.items():
        assert operator.post(f"/api/v1/pipelines/orders/{action}", nonsense, format="json").status_code == 422


def test_a_cancelled_pause_is_followed_by_a_resume(operator: APIClient) -> None:
    pipeline = running()
    pause = ask(pipeline, "pause")
    response = operator.delete(f"/api/v1/operations/{pause.id}")
    pipeline.refresh_from_db()

    assert (response.status_code, response.json()["state"]) == (200, "CANCELLED")
    assert pipeline.desired_state == DesiredState.RUNNING
    assert Operation.objects.get(state=OperationState.PENDING).kind == OperationKind.RESUME
    assert operator.delete(f"/api/v1/operations/{pause.id}").json()["code"] == "operation_over"


def test_a_stop_cannot_be_cancelled(operator: APIClient) -> None:
    stop = ask(running(), "stop")
    assert operator.delete(f"/api/v1/operations/{stop.id}").json()["code"] == "not_cancellable"


def test_a_step_that_begins_ends_those_before_it_once() -> None:
    operation = OperationFactory.create()
    now = timezone.now()

    def advance(step: str, state: str) -> bool:
        return operations.advance(operation_id=operation.id, step=step, state=state, message="m", now=now)

    assert advance("starting", "running")
    assert not advance("starting", "running")
    operation.refresh_from_db()
    assert [step["state"] for step in operation.steps] == ["done", "running", "pending"]
    assert operation.state == OperationState.RUNNING
    assert not Event.objects.filter(kind="operation.updated").exists()
    with pytest.raises(KeyError):
        advance("no such step", "running")


def test_an_operation_ends_once_and_a_failure_marks_the_step_under_way() -> None:
    operation = OperationFactory.create()
    now = timezone.now()
    error = {"code": "init_failed", "message": "No broker.", "hint": "Start it."}
    operations.advance(operation_id=operation.id, step="preflight", state="running", now=now)

    assert operations.finish(operation_id=operation.id, state=OperationState.FAILED, now=now, error=error)
    assert not operations.finish(operation_id=operation.id, state=OperationState.SUCCEEDED, now=now)
    assert not operations.advance(operation_id=operation.id, step="starting", state="running", now=now)

    operation.refresh_from_db()
    assert (operation.state, operation.error, operation.message) == (OperationState.FAILED, error, "No broker.")
    assert [step["state"] for step in operation.steps] == ["failed", "pending", "pending"]


def test_progress_is_stored_without_an_event() -> None:
    operation = OperationFactory.create()

    assert operations.report(operation_id=operation.id, progress={"remaining": 5})
    assert not operations.report(operation_id=operation.id, progress={"remaining": 5})
    assert not Event.objects.exists()


def test_an_operation_past_its_deadline_fails_and_others_go_on() -> None:
    now = timezone.now()
    late = OperationFactory.create(deadline=now - timedelta(seconds=1))
    OperationFactory.create(deadline=now + timedelta(seconds=60))

    assert operations.expire(now=now) == 1
    assert operations.expire(now=now) == 0

    late.refresh_from_db()
    assert late.state == OperationState.FAILED
    assert late.error is not None
    assert late.error["code"] == "deadline_passed"
    assert late.pipeline.desired_state == DesiredState.STOPPED
