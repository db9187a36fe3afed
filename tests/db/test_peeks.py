"""Peeks: requested through the API, made by the worker of the host, shown to who asked, and audited."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from rest_framework.test import APIClient

from pipelines.domain.access.reach import ReachPolicy
from pipelines.domain.access.scopes import Scope
from pipelines.domain.base.roles import Role
from pipelines.domain.base.states import LedgerState
from pipelines.domain.peek.protocol import (
    Hole,
    HoleKind,
    PeekAnswer,
    PeekedPartition,
    PeekedRecord,
    PeekRequest,
    PeekResult,
    RecordOrigin,
)
from pipelines.domain.trace.question import Place
from pipelines.models import AuditRow, Host, Peek, Pipeline
from pipelines.selectors.peek.peeks import open_peeks
from pipelines.services.access import tokens
from pipelines.services.access.teams import bind
from pipelines.services.base import host_tasks
from pipelines.services.peek import peeks
from tests.db.conftest import CommandLine
from tests.db.test_previews import a_launcher
from tests.factories import (
    LedgerBatchFactory,
    PipelineFactory,
    RevisionFactory,
    RunFactory,
    TeamFactory,
    UserFactory,
    definition_data,
    now,
)
from tests.fakes.previews import FakePreviews
from workers.ports import PreviewFailed
from workers.supervisor.launch.launch import Launcher
from workers.supervisor.previewing.peeks import PeekContext

pytestmark = pytest.mark.django_db
ORDERS = "/api/v1/pipelines/orders/peeks"
BODY = "4111-1111"
OF = "sources.shop"


def record(offset: int = 7, **more: Any) -> PeekedRecord:
    event = {"key": "k", "headers": [["h", BODY]], "bytes": 9, "body": BODY, "note": ""}
    return PeekedRecord(topic="orders-in", partition=3, offset=offset, timestamp=1000, event=event, **more)


def origin(offset: int, pipeline: str = "orders") -> RecordOrigin:
    place = Place(topic="orders-in", partition=3, offset=offset)
    return RecordOrigin(pipeline=pipeline, source="shop", channel="main", place=place)


def result(*records: PeekedRecord, **more: Any) -> PeekResult:
    holes = [Hole(start=8, end=9, kind=HoleKind.MARKERS)]
    partition = PeekedPartition(
        topic="orders-in", partition=3, start=0, end=9, since=7, until=9, shown=len(records), holes=holes, missing=1
    )
    return PeekResult(topic="orders-in", records=list(records), partitions=[partition], searched=1, **more)


@pytest.fixture
def made() -> FakePreviews:
    return FakePreviews(lambda _request: PeekAnswer(result=result(record())))


@pytest.fixture
def orders() -> Pipeline:
    pipeline: Pipeline = PipelineFactory.create(name="orders")
    Host.objects.update(seen_at=now() + timedelta(hours=1))
    return pipeline


def requested(client: APIClient, status: int = 202, **body: Any) -> Any:
    answer = client.post(ORDERS, {"of": OF, **body}, format="json")
    assert answer.status_code == status, answer.content
    return answer.json()


def carry_out(made: FakePreviews, launcher: Launcher | None = None) -> None:
    for peek in open_peeks("alpha"):
        PeekContext("alpha", launcher or a_launcher(), made).make(peek)


def peeked(client: APIClient, made: FakePreviews, launcher: Launcher | None = None, **body: Any) -> Any:
    asked = requested(client, **body)
    carry_out(made, launcher)
    return client.get(f"{ORDERS}/{asked['id']}").json()


def client_of(role: Role, name: str = "") -> APIClient:
    client = APIClient()
    client.force_authenticate(UserFactory.create(role=role, **({"username": name} if name else {})))
    return client


def test_a_peek_is_requested_made_and_shown(operator: APIClient, orders: Pipeline, made: FakePreviews) -> None:
    found = peeked(operator, made, limit=5, partition=3)
    assert found["state"] == "DONE", found
    (shown,) = found["result"]["records"]
    assert (shown["offset"], shown["event"]["body"]) == (7, BODY)
    assert found["result"]["partitions"][0]["holes"] == [{"start": 8, "end": 9, "kind": "markers"}]
    (request,) = made.requests
    assert (request.kind, request.question.of, request.question.limit) == ("peek", OF, 5)
    assert operator.get(ORDERS).json()["results"][0]["id"] == found["id"]


def test_the_audit_says_who_looked_at_which_records(operator: APIClient, orders: Pipeline, made: FakePreviews) -> None:
    found = peeked(operator, made, contains=BODY)
    asked, shown = AuditRow.objects.filter(action__startswith="peek.").order_by("pk")
    assert (asked.action, (asked.after or {})["question"]["contains"]) == ("peek.requested", "***")
    assert (shown.action, shown.actor) == ("peek.shown", Peek.objects.get().requested_by)
    assert shown.after == {"peek": found["id"], "records": 1, "ranges": ["orders-in/3:7-9"]}


def test_a_peek_is_of_who_asked_for_it(operator: APIClient, orders: Pipeline, made: FakePreviews) -> None:
    found = peeked(operator, made)
    other = client_of(Role.ADMIN)
    assert other.get(f"{ORDERS}/{found['id']}").status_code == 404
    assert other.get(ORDERS).json()["results"] == []
    assert other.delete(f"{ORDERS}/{found['id']}").status_code == 404


@pytest.mark.parametrize("how", ["viewer", "binding", "token"])
def test_who_may_not_see_records_gets_none(how: str, orders: Pipeline) -> None:
    user = UserFactory.create(role=Role.VIEWER if how == "viewer" else Role.ADMIN)
    if how == "binding":
        bind(team=None, user=user, role=Role.ADMIN, sees_records=False)
    text = tokens.create(user=user, name="t", expires=None, scope=Scope(records=how != "token")).text
    client = APIClient(headers={"Authorization": f"Token {text}"})
    for answer in (client.get(ORDERS), client.post(ORDERS, {"of": OF}, format="json")):
        assert answer.status_code == 403
        assert how == "viewer" or answer.json()["code"] == "records_not_shown"
    assert not Peek.objects.exists()


def test_a_pipeline_of_another_team_is_not_there(orders: Pipeline) -> None:
    user = UserFactory.create()
    bind(team=TeamFactory.create(name="bills"), user=user, role=Role.ADMIN)
    client = APIClient()
    client.force_authenticate(user)
    assert client.get(ORDERS).status_code == 404
    assert client.post(ORDERS, {"of": OF}, format="json").status_code == 404


@pytest.mark.parametrize(
    "body",
    [
        {"of": "sources.nope"},
        {"of": "sinks.lake"},
        {"of": "errors.dead_letter"},
        {"topic": "__consumer_offsets"},
        {"of": "sources.shop.interceptors[4]"},
        {"of": "sources.shop", "topic": "payroll"},
    ],
)
def test_only_topics_of_the_definition_are_read(body: dict[str, Any], operator: APIClient, orders: Pipeline) -> None:
    answer = requested(operator, 422, **body)
    assert answer["code"] == "no_such_topic", answer


@pytest.mark.parametrize(
    "body",
    [
        {"limit": 201},
        {"limit": 0},
        {"offset": -1},
        {"offset": 1, "time": "2026-03-01T09:00:00Z"},
        {"of": "placement"},
        {"of": "sources.shop.selector", "offset": 3},
        {"contains": ""},
        {"time": "2026-03-01T09:00:00"},
        {"isolation": "read_uncommitted"},
    ],
)
def test_a_question_of_another_form_is_refused(body: dict[str, Any], operator: APIClient, orders: Pipeline) -> None:
    assert requested(operator, 422, **body)["code"] == "body_invalid"


def test_records_of_a_sink_name_run_and_batch(operator: APIClient, orders: Pipeline) -> None:
    run = RunFactory.create(pipeline=orders)
    for batch, start in ((4, 0), (5, 100)):
        LedgerBatchFactory.create(
            run=run,
            pipeline=orders,
            source="shop",
            channel="main",
            state=LedgerState.DONE,
            first_batch=batch,
            last_batch=batch,
            ranges=[{"topic": "orders-in", "partition": 3, "start": start, "end": start + 100}],
        )
    rows = [record(1, origin=origin(7)), record(2, origin=origin(150)), record(3, origin=origin(500))]
    rows.append(record(4, origin=origin(7, pipeline="other")))
    made = FakePreviews(lambda _request: PeekAnswer(result=result(*rows)))
    shown = peeked(operator, made)["result"]["records"]
    found = [(each["origin"]["run"], each["origin"]["first_batch"]) for each in shown]
    assert found == [(run.number, 4), (run.number, 5), (None, None), (None, None)]


def test_masking_of_the_present_revision_and_of_the_one_that_runs_counts(
    operator: APIClient, orders: Pipeline, made: FakePreviews
) -> None:
    masking = {"fields": ["card"]}
    masked = RevisionFactory.create(pipeline=orders, number=2, definition=definition_data("orders", masking=masking))
    RunFactory.create(pipeline=orders, revision=masked)
    peeked(operator, made)
    (request,) = made.requests
    assert [each.fields for each in request.masking] == [["card"]]


def test_what_a_start_may_not_reach_is_not_peeked_at(operator: APIClient, orders: Pipeline, made: FakePreviews) -> None:
    nothing = a_launcher(ReachPolicy(networks=[]))
    found = peeked(operator, made, nothing)
    assert (found["state"], found["error"]["code"]) == ("FAILED", "peek_refused")
    assert made.requests == []


def test_a_broker_that_is_away_is_said(operator: APIClient, orders: Pipeline) -> None:
    finding = {"path": OF, "code": "BROKER_UNREACHABLE", "message": "It cannot be reached.", "suggestion": "Look."}
    found = peeked(operator, FakePreviews(lambda _request: PeekAnswer(findings=[finding])))
    assert found["error"]["message"] == "It cannot be reached."
    assert not AuditRow.objects.filter(action="peek.shown").exists()


def test_a_cancelled_peek_is_not_read_to_its_end(operator: APIClient, orders: Pipeline) -> None:
    asked = requested(operator)

    def cancelled(_request: PeekRequest) -> PeekAnswer:
        assert operator.delete(f"{ORDERS}/{asked['id']}").status_code == 204
        return PeekAnswer(result=result(record()))

    carry_out(FakePreviews(cancelled))
    found = operator.get(f"{ORDERS}/{asked['id']}").json()
    assert (found["state"], found["error"]["code"], found["result"]) == ("FAILED", "peek_cancelled", None)
    assert not AuditRow.objects.filter(action="peek.shown").exists()
    assert operator.delete(f"{ORDERS}/{asked['id']}").json()["code"] == "peek_ended"


def test_a_previewer_that_fails_fails_the_peek(operator: APIClient, orders: Pipeline) -> None:
    def fails(_request: PeekRequest) -> PeekAnswer:
        raise PreviewFailed("peek_timed_out", "It did not end.", "Ask for fewer.")

    assert peeked(operator, FakePreviews(fails))["error"]["code"] == "peek_timed_out"


def test_contents_are_kept_for_an_hour(operator: APIClient, orders: Pipeline, made: FakePreviews) -> None:
    peeked(operator, made)
    host_tasks.expire(Peek, now=now() + timedelta(minutes=59))
    assert Peek.objects.count() == 1
    host_tasks.expire(Peek, now=now() + peeks.KEPT_FOR + timedelta(minutes=1))
    assert Peek.objects.count() == 0


def test_a_sample_of_what_a_component_takes_runs_records_through_it(
    operator: APIClient, orders: Pipeline, made: FakePreviews
) -> None:
    peeked(operator, made, of="sources.shop.selector")
    (request,) = made.requests
    assert (request.kind, request.seconds) == ("sample", peeks.SAMPLE_SECONDS)


@pytest.mark.django_db(transaction=True)
def test_the_command_shows_records_and_explains_holes(
    command_line: CommandLine, orders: Pipeline, made: FakePreviews, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [record(1, origin=origin(7)), record(2, tombstone=True)]
    made.answer = lambda _request: PeekAnswer(result=result(*rows, more=True, notes=["10 s have passed."]))
    monkeypatch.setattr("pipelines.services.peek.peeks.dispatch.wake", lambda _host: carry_out(made))
    run = command_line("ana", Role.OPERATOR)
    found = run("peek", "orders", "--last", "2", "--search", "x", "--partition", "3")
    assert found.exit_code == 0, found.output
    for words in (
        f"orders-in/3:1  {BODY}",
        "orders-in/3:2  (tombstone: no value)",
        "orders-in/3:8-9: markers of transactions",
        "there are more",
        "10 s have passed.",
        "orders-in/3:7",
    ):
        assert words in found.output, found.output
    question = made.requests[0].question
    assert (question.of, question.limit, question.contains, question.partition) == (OF, 2, "x", 3)
    assert '"tombstone": true' in run("peek", "orders", "--since", "15m", "-o", "json").output
    assert made.requests[1].question.time is not None
    for wrong in (["--source", "a", "--sink", "b"], ["--offset", "1", "--since", "1h"], ["--since", "soon"]):
        assert run("peek", "orders", *wrong).exit_code == 2
