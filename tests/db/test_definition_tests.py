"""Tests of definitions: run by the worker of a host, and required before a definition is published."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml
from rest_framework.test import APIClient

from pipelines.domain.base.roles import Role
from pipelines.domain.base.states import DesiredState, HostTaskState, Phase
from pipelines.domain.preview.protocol import CaseFailure, CaseResult, CasesAnswer, CasesRequest, CasesResult
from pipelines.models import AuditRow, CaseRun, Host, Pipeline, Revision
from pipelines.selectors.preview.testing import open_runs
from pipelines.services.base import host_tasks
from pipelines.services.preview import testing
from tests.db.conftest import CommandLine
from tests.db.test_previews import a_launcher
from tests.factories import (
    HostFactory,
    PipelineFactory,
    RunFactory,
    TeamFactory,
    UserFactory,
    definition,
    definition_data,
    now,
)
from tests.fakes.previews import FakePreviews
from workers.ports import PreviewFailed
from workers.supervisor.launch.launch import Launcher
from workers.supervisor.previewing.testing import CasesContext

pytestmark = pytest.mark.django_db
RUNS = "/api/v1/test-runs"
REVISIONS = "/api/v1/pipelines/orders/revisions"
SECOND = "arrives, too"
FAILURE = CaseFailure(path="tests[1].expect[0]", message="Something else.", expected="a", got="b", component="c")


def with_tests(name: str = "orders", **more: Any) -> dict[str, Any]:
    tests = [
        {"name": each, "given": [{"body": "a"}], "expect": [{"channels": ["main"]}]} for each in ("arrives", SECOND)
    ]
    return definition_data(name, tests=tests, **more)


def answering(*failures: CaseFailure) -> FakePreviews:
    """The second of two tests has these failures."""
    found = CasesResult(tests=[CaseResult(name="arrives"), CaseResult(name=SECOND, failures=list(failures))])
    return FakePreviews(lambda _request: CasesAnswer(result=found))


def carry_out(made: FakePreviews, launcher: Launcher | None = None) -> None:
    """What the worker of the host does."""
    for run in open_runs("alpha"):
        CasesContext("alpha", launcher or a_launcher(), made).make(run)


@pytest.fixture
def orders() -> Pipeline:
    pipeline: Pipeline = PipelineFactory.create(name="orders")
    Host.objects.update(seen_at=now() + timedelta(hours=1))
    return pipeline


def requested(client: APIClient, definition: Any = None, status: int = 202, **more: Any) -> Any:
    answer = client.post(RUNS, {"definition": definition or with_tests(), **more}, format="json")
    assert answer.status_code == status, answer.content
    return answer.json()


def published(client: APIClient, definition: Any = None, status: int = 201) -> Any:
    answer = client.post(REVISIONS, {"definition": definition or with_tests()}, format="json")
    assert answer.status_code == status, answer.content
    return answer.json()


def test_tests_are_requested_run_and_shown(operator: APIClient, orders: Pipeline) -> None:
    asked = requested(operator)
    assert (asked["state"], asked["passed"], asked["pipeline"], asked["tests"]) == ("PENDING", None, "orders", [])
    made = answering(FAILURE)
    carry_out(made)
    (request,) = made.requests
    assert (request.kind, request.candidate.definition["tests"][0]["name"]) == ("tests", "arrives")
    found = operator.get(f"{RUNS}/{asked['id']}").json()
    assert (found["state"], found["passed"], found["host"]) == ("DONE", False, "alpha")
    assert [(each["name"], len(each["failures"])) for each in found["tests"]] == [("arrives", 0), (SECOND, 1)]
    audited = AuditRow.objects.get(action="tests.requested")
    assert (audited.pipeline_name, (audited.after or {})["digest"]) == ("orders", asked["digest"])


def test_a_definition_is_published_once_its_tests_have_passed(operator: APIClient, orders: Pipeline) -> None:
    refused = published(operator, status=422)
    assert (refused["code"], [each["code"] for each in refused["findings"]]) == ("tests_not_passed", ["TESTS_NOT_RUN"])
    requested(operator)
    assert published(operator, status=422)["findings"][0]["code"] == "TESTS_NOT_RUN"
    carry_out(answering(FAILURE))
    assert validated(operator, with_tests()) == [("tests[1].expect[0]", "TESTS_FAILED", "warning", None)]
    (finding,) = published(operator, status=422)["findings"]
    assert (finding["path"], finding["code"]) == ("tests[1].expect[0]", "TESTS_FAILED")
    assert finding["message"] == f"{SECOND}: Something else. Expected a, got b."
    requested(operator)
    carry_out(answering())
    assert published(operator)["number"] == 2


def test_a_pass_is_of_one_definition_alone(operator: APIClient, orders: Pipeline) -> None:
    requested(operator)
    carry_out(answering())
    assert published(operator, with_tests(description="other"), 422)["findings"][0]["code"] == "TESTS_NOT_RUN"
    published(operator, definition_data("orders", description="without"))


def test_the_last_run_counts(operator: APIClient, orders: Pipeline) -> None:
    for failures in ((), (FAILURE,)):
        requested(operator)
        carry_out(answering(*failures))
    assert published(operator, status=422)["findings"][0]["code"] == "TESTS_FAILED"


def test_a_pass_does_not_count_for_another_team(operator: APIClient, orders: Pipeline) -> None:
    requested(operator)
    carry_out(answering())
    CaseRun.objects.update(team=TeamFactory.create(name="payments"))
    assert published(operator, status=422)["findings"][0]["code"] == "TESTS_NOT_RUN"


def test_a_definition_that_was_published_before_needs_no_run(operator: APIClient, orders: Pipeline) -> None:
    requested(operator)
    carry_out(answering())
    published(operator)
    CaseRun.objects.all().delete()
    published(operator, definition_data("orders", description="between"))
    assert published(operator)["number"] == 4


def test_a_new_pipeline_is_created_once_its_tests_have_passed(operator: APIClient, orders: Pipeline) -> None:
    new = with_tests("new")
    answer = operator.post("/api/v1/pipelines", {"definition": new}, format="json")
    assert (answer.status_code, answer.json()["findings"][0]["code"]) == (422, "TESTS_NOT_RUN")
    assert not Pipeline.objects.filter(name="new").exists()
    assert requested(operator, new)["team"] == "default"
    assert CaseRun.objects.get().pipeline is None
    carry_out(answering())
    assert operator.post("/api/v1/pipelines", {"definition": new}, format="json").status_code == 201


def test_a_change_request_is_made_once_the_tests_have_passed(operator: APIClient, orders: Pipeline) -> None:
    address = "/api/v1/pipelines/orders/change-requests"
    body = {"kind": "publish", "arguments": {"definition": with_tests()}, "reason": "why"}
    assert operator.post(address, body, format="json").json()["code"] == "tests_not_passed"
    requested(operator)
    carry_out(answering())
    assert operator.post(address, body, format="json").status_code == 201


def plan(client: APIClient, **more: Any) -> Any:
    answer = client.post("/api/v1/migrations", {"pipeline": "orders", "reason": "why", **more}, format="json")
    assert answer.status_code == 201, answer.json()
    found = answer.json()
    client.post(f"/api/v1/migrations/{found['id']}/abort", {}, format="json")
    return found["plan"]


def planned(client: APIClient, **more: Any) -> list[tuple[str, str]]:
    return [(each["path"], each["code"]) for each in plan(client, **more)["blockers"]]


def test_a_migration_to_a_definition_is_planned_once_its_tests_have_passed(
    operator: APIClient, orders: Pipeline
) -> None:
    Pipeline.objects.update(phase=Phase.RUNNING, desired_state=DesiredState.RUNNING)
    RunFactory.create(pipeline=orders)
    asked = {"kind": "revision", "spec": {"definition": with_tests()}}
    refused = plan(operator, **asked)
    assert ([each["code"] for each in refused["blockers"]], refused["passed_tests"]) == (["TESTS_NOT_RUN"], [])
    requested(operator)
    carry_out(answering(FAILURE))
    assert planned(operator, **asked) == [("tests[1].expect[0]", "TESTS_FAILED")]
    requested(operator)
    carry_out(answering())
    found = plan(operator, **asked)
    assert (found["blockers"], found["passed_tests"]) == ([], ["arrives", SECOND])


def test_a_move_to_another_host_runs_no_tests(operator: APIClient, orders: Pipeline) -> None:
    HostFactory.create(name="beta", responding=True)
    Pipeline.objects.update(phase=Phase.RUNNING, desired_state=DesiredState.RUNNING)
    RunFactory.create(pipeline=orders)
    pinned = definition("orders", placement={"host": "alpha"}, tests=with_tests()["tests"])
    Revision.objects.update(definition=pinned.plain(), digest=pinned.digest())
    asked = {"pipeline": "orders", "reason": "why", "kind": "host", "spec": {"host": "beta"}}
    made = operator.post("/api/v1/migrations", asked, format="json").json()
    assert made["plan"]["blockers"] == []
    for action in ("approve", "advance"):
        answer = operator.post(f"/api/v1/migrations/{made['id']}/{action}", {"hash": made["plan_hash"]}, format="json")
        assert answer.status_code < 300, answer.json()
    assert Revision.objects.count() == 2


def test_what_keeps_tests_from_being_run_is_said(operator: APIClient, orders: Pipeline) -> None:
    assert requested(operator, definition_data("orders"), 422)["code"] == "no_tests"
    assert requested(operator, with_tests(labels=3), 422)["code"] == "definition_invalid"
    Host.objects.update(seen_at=now() - timedelta(hours=1))
    refused = requested(operator, status=409)
    assert (refused["code"], "alpha" in refused["detail"], refused["hint"] != "") == ("host_silent", True, True)
    command = with_tests()
    command["sources"]["shop"] = {"type": "exec", "command": "id"}
    assert requested(operator, command, 403)["code"] == "component_needs_role"


def test_tests_run_on_the_host_of_the_pipeline_else_where_it_is_placed(operator: APIClient, orders: Pipeline) -> None:
    HostFactory.create(name="aaa", responding=True)
    assert requested(operator)["host"] == "alpha"
    assert requested(operator, with_tests("new"))["host"] == "aaa"
    assert requested(operator, with_tests("new", placement={"host": "alpha"}))["host"] == "alpha"
    refused = requested(operator, with_tests("new", placement={"host": "beta"}), 409)
    assert "beta" in refused["detail"]


def test_a_run_that_failed_says_why_where_it_is_needed(operator: APIClient, orders: Pipeline) -> None:
    def fail(_request: CasesRequest) -> CasesAnswer:
        raise PreviewFailed("test_timed_out", "It did not end.", "Remove what never ends.")

    asked = requested(operator)
    carry_out(FakePreviews(fail))
    found = operator.get(f"{RUNS}/{asked['id']}").json()
    assert (found["state"], found["passed"], found["error"]["code"]) == ("FAILED", None, "test_timed_out")
    (finding,) = published(operator, status=422)["findings"]
    assert (finding["code"], finding["suggestion"]) == ("TESTS_NOT_RUN", "Remove what never ends.")
    assert "It did not end." in finding["message"]


def test_an_interceptor_that_is_not_allowed_is_a_finding_and_no_process(operator: APIClient, orders: Pipeline) -> None:
    data = with_tests()
    data["sources"]["shop"]["interceptors"] = [{"type": "python", "class": "shop.interceptors:Enrich"}]
    asked = requested(operator, data)
    made = answering()
    carry_out(made)
    error = operator.get(f"{RUNS}/{asked['id']}").json()["error"]
    assert (made.requests, error["code"]) == ([], "test_refused")
    assert error["findings"][0]["path"].startswith("sources.shop.interceptors[0]")


def test_tests_of_pipelines_to_come_share_no_process_with_others(operator: APIClient, orders: Pipeline) -> None:
    for each in (with_tests(), with_tests("new")):
        requested(operator, each)
    users: list[tuple[str, str]] = []
    launcher = a_launcher()
    object.__setattr__(launcher, "user", lambda name, key: users.append((name, key)))
    made = answering()
    carry_out(made, launcher)
    of_team = f"tests of team {orders.team_id}"
    assert made.owners == [str(orders.pk), of_team]
    assert [each for each in users if each[0]] == [
        ("orders", str(orders.pk)),
        (f".tests-{orders.team_id}", of_team),
    ]


def test_no_reference_is_resolved(operator: APIClient, orders: Pipeline) -> None:
    data = with_tests()
    data["sources"]["shop"]["interceptors"] = [{"type": "static", "key": "k", "value": "${env:HOME}"}]
    requested(operator, data)
    made = answering()
    carry_out(made)
    (request,) = made.requests
    assert request.candidate.values == {}
    assert request.candidate.definition["sources"]["shop"]["interceptors"][0]["value"] == "${env:HOME}"


def test_a_run_belongs_to_its_team(operator: APIClient, orders: Pipeline) -> None:
    mine, other = (TeamFactory.create(name=name) for name in ("mine", "other"))
    user = UserFactory.create(in_teams={mine: Role.OPERATOR})
    client = APIClient()
    client.force_login(user)
    asked = requested(operator)
    assert client.get(f"{RUNS}/{asked['id']}").status_code == 404
    assert requested(client, with_tests())["team"] == "mine"
    assert CaseRun.objects.get(team=mine).pipeline is None, "a pipeline of another team lends its process to nobody"
    requested(client, with_tests("new"), 404, team="other")
    viewer = APIClient()
    viewer.force_login(UserFactory.create(in_teams={other: Role.VIEWER}))
    assert viewer.post(RUNS, {"definition": with_tests("new")}, format="json").status_code == 403


def test_more_than_the_queue_holds_are_asked_to_come_again(operator: APIClient, orders: Pipeline) -> None:
    for _ in range(host_tasks.QUEUED):
        requested(operator)
    assert requested(operator, status=429)["code"] == "tests_waiting"


def test_what_is_late_fails_and_what_is_old_goes(operator: APIClient, orders: Pipeline) -> None:
    requested(operator)
    host_tasks.expire(CaseRun, now=now() + timedelta(seconds=host_tasks.WAITING_SECONDS + 1))
    assert CaseRun.objects.get().state == HostTaskState.FAILED
    host_tasks.expire(CaseRun, now=now() + testing.KEPT_FOR + timedelta(seconds=1))
    assert not CaseRun.objects.exists()


@pytest.fixture
def run(command_line: CommandLine, orders: Pipeline) -> Callable[..., Any]:
    return command_line("ana", Role.OPERATOR)


def a_file(tmp_path: Path, definition: dict[str, Any]) -> str:
    file = tmp_path / "new.yaml"
    file.write_text(yaml.safe_dump(definition))
    return str(file)


@pytest.mark.django_db(transaction=True)
def test_the_command_runs_tests_and_prints_what_differs(
    run: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = a_file(tmp_path, with_tests())
    monkeypatch.setattr("pipelines.services.preview.testing.dispatch.wake", lambda _host: carry_out(answering(FAILURE)))
    shown = run("test", "-f", file)
    assert shown.exit_code == 4, shown.output
    for words in (
        "passed  arrives",
        f"FAILED  {SECOND}",
        "tests[1].expect[0]",
        "expected: a",
        "got by c: b",
        "1 failed",
    ):
        assert words in shown.output
    refused = run("apply", "-f", file)
    assert refused.exit_code == 4, refused.output
    assert "tests[1].expect[0]" in refused.output
    assert Revision.objects.count() == 1
    monkeypatch.setattr("pipelines.services.preview.testing.dispatch.wake", lambda _host: carry_out(answering()))
    passed = run("test", "-f", file, "-o", "json")
    assert (passed.exit_code, '"passed": true' in passed.output) == (0, True), passed.output
    assert run("apply", "-f", file).exit_code == 0
    assert run("test", "--pipeline", "orders").exit_code == 0
    runs = CaseRun.objects.count()
    assert run("apply", "-f", file).exit_code == 0
    assert CaseRun.objects.count() == runs, "what is published already needs no tests"
    changed = a_file(tmp_path, with_tests(description="new"))
    plan = run("migrations", "plan", "orders", "--reason", "why", "-f", changed)
    assert CaseRun.objects.count() == runs + 1, plan.output
    monkeypatch.setattr("pipelines.services.preview.testing.dispatch.wake", lambda _host: carry_out(answering(FAILURE)))
    plan = run("migrations", "plan", "orders", "--reason", "why", "-f", changed)
    assert (plan.exit_code, "tests[1].expect[0]" in plan.output) == (4, True), plan.output
    assert run("test").exit_code == run("test", "-f", file, "--pipeline", "orders").exit_code == 2


WRONG = "json.amount >= 'ten' AND"
SPARK_SAYS = {
    "path": "sources.shop.interceptors[0].where",
    "code": "SQL_SYNTAX",
    "message": "Line 1, column 25: Syntax error at or near end of input.",
    "suggestion": "Correct the expression there.",
}


def with_sql(where: str = WRONG, name: str = "orders", **more: Any) -> dict[str, Any]:
    data = definition_data(name, **more)
    data["sources"]["shop"]["interceptors"] = [{"type": "sql", "where": where}]
    return data


def refusing(*findings: dict[str, Any]) -> FakePreviews:
    return FakePreviews(lambda _request: CasesAnswer(findings=list(findings)))


def passing() -> FakePreviews:
    return FakePreviews(lambda _request: CasesAnswer(result=CasesResult(tests=[])))


def validated(client: APIClient, definition: Any) -> list[tuple[str, str, str, int | None]]:
    answer = client.post("/api/v1/pipelines/validate", {"definition": definition}, format="json")
    assert answer.status_code == 200, answer.content
    return [(each["path"], each["code"], each["severity"], each["line"]) for each in answer.json()["findings"]]


NOT_CHECKED = ("sources.shop.interceptors[0]", "SQL_NOT_CHECKED", "warning", None)


def test_sql_that_spark_refuses_is_not_published_and_stands_at_its_place(operator: APIClient, orders: Pipeline) -> None:
    assert validated(operator, with_sql()) == [NOT_CHECKED]
    requested(operator, with_sql())
    assert validated(operator, with_sql()) == [NOT_CHECKED]
    carry_out(refusing(SPARK_SAYS))
    refused = published(operator, with_sql(), 422)
    assert (refused["code"], refused["findings"][0]["message"]) == ("definition_invalid", SPARK_SAYS["message"])
    text = yaml.safe_dump(with_sql())
    line = next(number for number, each in enumerate(text.splitlines(), 1) if "where:" in each)
    assert validated(operator, text) == [(SPARK_SAYS["path"], "SQL_SYNTAX", "error", line)]
    new = operator.post("/api/v1/pipelines", {"definition": with_sql(name="new")}, format="json")
    assert new.status_code == 201, "another definition was not checked"


def test_sql_that_spark_has_not_checked_is_published_with_a_warning(operator: APIClient, orders: Pipeline) -> None:
    right = with_sql("json:amount::BIGINT >= 10")
    assert [each["code"] for each in published(operator, right)["warnings"]] == ["SQL_NOT_CHECKED"]
    new = operator.post("/api/v1/pipelines", {"definition": right | {"name": "new"}}, format="json").json()
    assert [each["code"] for each in new["warnings"]] == ["SQL_NOT_CHECKED"]
    other = with_sql("json:amount::BIGINT >= 11")
    requested(operator, other)
    carry_out(passing())
    assert published(operator, other)["warnings"] == []
    assert validated(operator, other) == []


def test_sql_that_an_agent_has_run_needs_no_check(operator: APIClient, orders: Pipeline) -> None:
    published(operator, with_sql("json:amount::BIGINT >= 10"))
    assert validated(operator, with_sql("json:amount::BIGINT >= 10")) == [NOT_CHECKED]
    revision = Revision.objects.get(pipeline=orders, number=2)
    RunFactory.create(pipeline=orders, revision=revision, first_record_at=now())
    assert validated(operator, with_sql("json:amount::BIGINT >= 10")) == []


def test_what_is_wrong_with_the_host_refuses_no_sql(operator: APIClient, orders: Pipeline) -> None:
    requested(operator, with_sql())
    carry_out(refusing(SPARK_SAYS | {"path": "host", "code": "NOT_PROVISIONED"}))
    assert validated(operator, with_sql()) == [NOT_CHECKED]
    assert published(operator, with_sql())["warnings"][0]["code"] == "SQL_NOT_CHECKED"


def test_what_is_wrong_with_the_host_leaves_sql_that_an_agent_has_run_checked(
    operator: APIClient, orders: Pipeline
) -> None:
    published(operator, with_sql())
    RunFactory.create(pipeline=orders, revision=Revision.objects.get(number=2), first_record_at=now())
    requested(operator, with_sql())
    carry_out(refusing(SPARK_SAYS | {"path": "host", "code": "NOT_PROVISIONED"}))
    assert validated(operator, with_sql()) == []


@pytest.mark.parametrize("more", [{}, {"tests": with_tests()["tests"]}], ids=["alone", "with tests"])
def test_sql_that_spark_has_refused_blocks_a_migration_to_it(
    operator: APIClient, orders: Pipeline, more: dict[str, Any]
) -> None:
    Pipeline.objects.update(phase=Phase.RUNNING, desired_state=DesiredState.RUNNING)
    RunFactory.create(pipeline=orders)
    wrong = with_sql(**more)
    asked = {"kind": "revision", "spec": {"definition": wrong}}
    assert planned(operator, **asked) == [("tests", "TESTS_NOT_RUN") if more else ("sources.shop", "PREDICTING")]
    requested(operator, wrong)
    carry_out(refusing(SPARK_SAYS))
    untested = [("tests", "TESTS_NOT_RUN")] if more else []
    assert planned(operator, **asked) == [*untested, (SPARK_SAYS["path"], "SQL_SYNTAX")]


def test_spark_is_asked_again_after_it_has_refused(operator: APIClient, orders: Pipeline) -> None:
    requested(operator, with_sql())
    carry_out(refusing(SPARK_SAYS))
    requested(operator, with_sql())
    carry_out(passing())
    assert published(operator, with_sql())["number"] == 2


@pytest.mark.django_db(transaction=True)
def test_the_command_has_sql_checked_before_it_publishes(
    run: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, wake = a_file(tmp_path, with_sql()), "pipelines.services.preview.testing.dispatch.wake"
    monkeypatch.setattr(wake, lambda _host: carry_out(refusing(SPARK_SAYS)))
    refused = run("apply", "-f", file)
    assert (refused.exit_code, SPARK_SAYS["path"] in refused.output) == (4, True), refused.output
    assert Revision.objects.count() == 1
    monkeypatch.setattr(wake, lambda _host: carry_out(passing()))
    assert run("apply", "-f", file).exit_code == 0
    Host.objects.update(seen_at=now() - timedelta(hours=1))
    unchecked = run("apply", "-f", a_file(tmp_path, with_sql("json:amount::BIGINT >= 10")))
    assert unchecked.exit_code == 0, unchecked.output
    assert "Spark has not checked the SQL; the preflight check of the start does." in unchecked.output
