"""Previews: requested through the API, made once by the worker of the host, shown to those who may see them."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from rest_framework.test import APIClient

from pipelines.domain.access.reach import ReachPolicy
from pipelines.domain.access.scopes import Scope
from pipelines.domain.base.roles import Role
from pipelines.domain.base.states import HostTaskState
from pipelines.domain.preview.comparing import DifferenceKind
from pipelines.domain.preview.outcomes import EventResult
from pipelines.domain.preview.protocol import (
    ChangedValue,
    CountRow,
    DifferenceRow,
    PreviewAnswer,
    PreviewRequest,
    PreviewResult,
    RangeRead,
    ShownSide,
)
from pipelines.domain.runs.protocol import SparkSettings
from pipelines.models import AuditRow, Host, Pipeline, Preview, PreviewDifference
from pipelines.models.host_task import HostTask
from pipelines.selectors.preview.previews import open_previews
from pipelines.services.access import tokens
from pipelines.services.access.teams import bind
from pipelines.services.base import host_tasks
from pipelines.services.preview import previews
from tests.db.conftest import CommandLine
from tests.db.test_positions import NoSecrets
from tests.factories import PipelineFactory, UserFactory, definition_data, now
from tests.fakes.previews import FakePreviews
from workers.adapters.secrets import backends
from workers.ports import PreviewFailed, PreviewInterrupted
from workers.supervisor.launch.launch import Launcher
from workers.supervisor.launch.references import References
from workers.supervisor.previewing.previewer import PreviewContext

pytestmark = pytest.mark.django_db
ORDERS = "/api/v1/pipelines/orders/previews"
BODY = "4111-1111"


def side(result: EventResult, **more: Any) -> ShownSide:
    return ShownSide(result=result, channels=[], event={"key": None, "headers": [["h", BODY]], "body": BODY}, **more)


def row(offset: int, *kinds: DifferenceKind, component: str = "sources.shop.interceptors[0]") -> DifferenceRow:
    return DifferenceRow(
        topic="orders-in",
        partition=0,
        offset=offset,
        kinds=list(kinds),
        components=[component],
        record={"key": None, "headers": [], "body": BODY},
        before=side(EventResult.DELIVERED),
        after=side(EventResult.FILTERED, cause=BODY),
        headers=[ChangedValue(name="h", before=BODY, after=None)],
        body=[ChangedValue(name="/h", before=BODY, after=None)],
    )


def result(*rows: DifferenceRow) -> PreviewResult:
    return PreviewResult(
        source="shop",
        records=len(rows),
        size=10,
        ranges=[RangeRead(topic="orders-in", partition=0, start=0, end=len(rows))],
        counts=[CountRow(result=EventResult.DELIVERED, component="channels.main", before=len(rows), after=0)],
        kinds={DifferenceKind.NEWLY_FILTERED: len(rows)},
        differing=len(rows),
        differences=list(rows),
    )


ROWS = [
    row(0, DifferenceKind.NEWLY_FILTERED),
    row(1, DifferenceKind.HEADERS, DifferenceKind.BODY, component="sources.shop.selector"),
]


def a_launcher(reach: ReachPolicy | None = None) -> Launcher:
    more = {"reach": lambda _teams: reach} if reach else {}
    references = References(backends({}, None, NoSecrets()))
    return Launcher("alpha", Path("/state"), references, lambda: SparkSettings(classpath=[]), **more)  # type: ignore[arg-type]


@pytest.fixture
def made() -> FakePreviews:
    return FakePreviews(lambda _request: PreviewAnswer(result=result(*ROWS)))


@pytest.fixture
def orders() -> Pipeline:
    pipeline: Pipeline = PipelineFactory.create(name="orders")
    Host.objects.update(seen_at=now() + timedelta(hours=1))
    return pipeline


def requested(client: APIClient, status: int = 202, **more: Any) -> Any:
    body = {"definition": definition_data("orders", description="new"), "selection": {"last": 10}, **more}
    answer = client.post(ORDERS, body, format="json")
    assert answer.status_code == status, answer.content
    return answer.json()


def carry_out(made: FakePreviews, launcher: Launcher | None = None) -> None:
    """What the worker of the host does."""
    for preview in open_previews("alpha"):
        PreviewContext("alpha", launcher or a_launcher(), made).make(preview)


def test_a_preview_is_requested_made_and_shown(operator: APIClient, orders: Pipeline, made: FakePreviews) -> None:
    asked = requested(operator)
    assert (asked["state"], asked["base"], asked["selection"]["last"]) == ("PENDING", 1, 10)
    carry_out(made)
    (request,) = made.requests
    assert request.candidate.definition["description"] == "new"
    assert request.base.definition == orders.current_revision.definition  # type: ignore[union-attr]
    assert request.state == f"/state/data/orders/{orders.pk}"
    found = operator.get(f"{ORDERS}/{asked['id']}").json()
    assert (found["state"], found["result"]["differing"], found["result"]["records"]) == ("DONE", 2, 2)
    assert operator.get(ORDERS).json()["results"][0]["id"] == asked["id"]
    audited = AuditRow.objects.get(action="preview.requested")
    assert (audited.pipeline_name, (audited.after or {})["digest"]) == ("orders", asked["digest"])


def test_a_stored_revision_can_be_the_candidate(operator: APIClient, orders: Pipeline) -> None:
    asked = requested(operator, definition=None, revision=1)
    assert asked["digest"] == orders.current_revision.digest  # type: ignore[union-attr]
    requested(operator, 404, definition=None, revision=9)
    requested(operator, 422, revision=1)
    requested(operator, 422, definition=None)


def test_differences_are_paged_and_filtered(operator: APIClient, orders: Pipeline, made: FakePreviews) -> None:
    address = f"{ORDERS}/{requested(operator)['id']}/differences"
    carry_out(made)

    def offsets(**query: Any) -> list[int]:
        return [each["offset"] for each in operator.get(address, query).json()["results"]]

    first = operator.get(address, {"limit": 1}).json()
    assert [each["offset"] for each in first["results"]] == [0]
    assert offsets(cursor=first["next"]) == [1]
    assert offsets(kind="headers") == offsets(kind="body") == [1]
    assert offsets(kind="newly_filtered") == [0]
    assert offsets(component="sources.shop.selector") == [1]
    assert offsets(component="sources.shop") == []
    assert operator.get(address, {"kind": "no"}).status_code == 400


@pytest.mark.parametrize("how", ["viewer", "binding", "token"])
def test_what_events_hold_is_a_right_of_its_own(
    how: str, operator: APIClient, orders: Pipeline, made: FakePreviews
) -> None:
    address = f"{ORDERS}/{requested(operator)['id']}"
    carry_out(made)
    assert BODY in operator.get(f"{address}/differences").content.decode()
    user = UserFactory.create(role=Role.VIEWER if how == "viewer" else Role.ADMIN)
    if how == "binding":
        bind(team=None, user=user, role=Role.ADMIN, sees_records=False)
    text = tokens.create(user=user, name="t", expires=None, scope=Scope(records=how != "token")).text
    client = APIClient(headers={"Authorization": f"Token {text}"})
    answer = client.get(f"{address}/differences")
    assert answer.status_code == 200
    assert BODY not in answer.content.decode()
    assert [(each["offset"], each["kinds"]) for each in answer.json()["results"]] == [
        (0, ["newly_filtered"]),
        (1, ["headers", "body"]),
    ]
    assert client.get(address).json()["shows_records"] is False


def test_a_definition_that_could_not_be_published_is_not_previewed(operator: APIClient, orders: Pipeline) -> None:
    findings = requested(operator, 422, definition={"name": "orders"})["findings"]
    assert len(findings) > 1
    assert requested(operator, 422, definition=definition_data("other"))["findings"][0]["code"] == "name_differs"
    command = definition_data("orders")
    command["sources"]["shop"] = {"type": "exec", "command": "id"}
    assert requested(operator, 403, definition=command)["code"] == "component_needs_role"


@pytest.mark.parametrize("selection", [{}, {"last": 1, "since": 1}, {"last": 10_001}, {"last": 1, "sample": 2}])
def test_selections_without_sense_are_findings(
    operator: APIClient, orders: Pipeline, selection: dict[str, Any]
) -> None:
    assert requested(operator, 422, selection=selection)["findings"]


def test_a_preview_reaches_nothing_that_a_start_does_not(
    operator: APIClient, orders: Pipeline, made: FakePreviews
) -> None:
    asked = requested(operator)
    carry_out(made, a_launcher(ReachPolicy()))
    found = operator.get(f"{ORDERS}/{asked['id']}").json()
    assert not made.requests
    assert (found["state"], found["error"]["code"]) == ("FAILED", "preview_refused")
    assert {each["path"] for each in found["error"]["findings"]} >= {"sources.shop.bootstrap_servers"}


def test_no_host_and_a_silent_one_are_told_at_once(operator: APIClient, orders: Pipeline) -> None:
    Host.objects.update(seen_at=now() - timedelta(hours=1))
    assert requested(operator, 409)["code"] == "host_silent"
    Pipeline.objects.update(host=None)
    assert requested(operator, 409)["code"] == "no_host"


def test_more_than_the_queue_holds_are_asked_to_come_again(operator: APIClient, orders: Pipeline) -> None:
    for _ in range(host_tasks.QUEUED):
        requested(operator)
    refused = operator.post(ORDERS, {"definition": definition_data("orders"), "selection": {"last": 1}}, format="json")
    assert (refused.status_code, refused.json()["code"]) == (429, "previews_waiting")
    assert refused.headers["Retry-After"]


def test_a_failure_says_what_to_do(operator: APIClient, orders: Pipeline) -> None:
    def fail(_request: PreviewRequest) -> PreviewAnswer:
        raise PreviewFailed("preview_timed_out", "It did not end.", "Select fewer records.")

    asked = requested(operator)
    carry_out(FakePreviews(fail))
    error = operator.get(f"{ORDERS}/{asked['id']}").json()["error"]
    assert error == {
        "code": "preview_timed_out",
        "message": "It did not end.",
        "hint": "Select fewer records.",
        "findings": [],
    }


def test_a_preview_whose_worker_dies_is_made_once_more_and_then_fails(operator: APIClient, orders: Pipeline) -> None:
    def die(_request: PreviewRequest) -> PreviewAnswer:
        raise PreviewInterrupted

    asked = requested(operator)
    dying = FakePreviews(die)
    for attempt in (1, 2):
        carry_out(dying)
        assert Preview.objects.get().state == HostTaskState.RUNNING
        assert len(dying.requests) == attempt
    carry_out(dying)
    assert len(dying.requests) == 2
    error = operator.get(f"{ORDERS}/{asked['id']}").json()["error"]
    assert (error["code"], error["hint"]) == ("preview_interrupted", "Ask for fewer records.")


@pytest.mark.parametrize("kind", HostTask.__subclasses__(), ids=lambda kind: str(kind.NOUN))
def test_only_a_preview_that_interrupts_its_worker_is_told_to_read_less(kind: type[HostTask]) -> None:
    assert ("fewer records" in kind.ADVICE) == (kind is Preview)


def test_an_answer_of_an_earlier_attempt_counts_for_nothing(operator: APIClient, orders: Pipeline) -> None:
    requested(operator)
    (first,), (second,) = open_previews("alpha"), open_previews("alpha")
    assert host_tasks.start(first)
    assert not host_tasks.start(second), "another worker has it"
    (again,) = open_previews("alpha")
    assert host_tasks.start(again)
    assert not previews.finish(preview=first, result=result())
    assert previews.finish(preview=again, result=result(*ROWS))
    assert PreviewDifference.objects.count() == 2


def test_what_is_late_fails_and_what_is_old_goes(operator: APIClient, orders: Pipeline, made: FakePreviews) -> None:
    asked = requested(operator)
    carry_out(made)
    late = requested(operator)
    host_tasks.expire(Preview, now=now() + timedelta(seconds=host_tasks.WAITING_SECONDS + 1))
    assert operator.get(f"{ORDERS}/{late['id']}").json()["error"]["code"] == "preview_timed_out"
    host_tasks.expire(Preview, now=now() + host_tasks.KEPT_FOR + timedelta(seconds=1))
    assert operator.get(f"{ORDERS}/{asked['id']}").status_code == 404
    assert not PreviewDifference.objects.exists()


def test_a_key_makes_one_preview(operator: APIClient, orders: Pipeline) -> None:
    body = {"definition": definition_data("orders"), "selection": {"last": 1}}
    answers = [operator.post(ORDERS, body, format="json", headers={"Idempotency-Key": "k"}).json() for _ in range(2)]
    assert answers[0]["id"] == answers[1]["id"]
    assert Preview.objects.count() == 1


@pytest.mark.django_db(transaction=True)
def test_the_command_shows_counts_and_differences(
    command_line: CommandLine, orders: Pipeline, made: FakePreviews, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import yaml

    monkeypatch.setattr("pipelines.services.preview.previews.dispatch.wake", lambda _host: carry_out(made))
    run = command_line("ana", Role.OPERATOR)
    file = tmp_path / "new.yaml"
    file.write_text(yaml.safe_dump(definition_data("orders")))
    shown = run("preview", "orders", "-f", str(file), "--since", "1h", "--sample", "50%")
    assert shown.exit_code == 0, shown.output
    for words in ("channels.main", "orders-in/0:0", "newly_filtered", "2 events differ"):
        assert words in shown.output
    (request,) = made.requests
    assert (request.selection.since, request.selection.sample) == (3600, 0.5)
    ranged = run("preview", "orders", "--revision", "1", "--range", "orders-in/0:5-9", "-o", "json")
    assert ranged.exit_code == 0, ranged.output
    assert made.requests[1].selection.ranges[0].end == 9
    for wrong in (["--last", "1", "--since", "1h"], ["--range", "x"], ["--sample", "0%"], ["--since", "soon"]):
        assert run("preview", "orders", "--revision", "1", *wrong).exit_code == 2
    assert run("preview", "orders").exit_code == 2
