"""Traces: requested through the API, made once by the worker of the host, shown to those who may see records."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from rest_framework.test import APIClient

from pipelines.domain.access.reach import ReachPolicy
from pipelines.domain.access.scopes import Scope
from pipelines.domain.base.roles import Role
from pipelines.domain.base.states import DeadLetterState, LedgerState
from pipelines.domain.preview.outcomes import EventResult
from pipelines.domain.trace.protocol import (
    Candidate,
    Effect,
    Evaluated,
    EventRow,
    FollowAnswer,
    FollowRequest,
    Marks,
    RetrySearch,
    SearchAnswer,
    SearchRequest,
    SinkRecord,
    SinkSearch,
    SourceSearch,
    StepRow,
)
from pipelines.domain.trace.question import Place
from pipelines.models import AuditRow, Host, LedgerBatch, Pipeline, Position, RecordTrace
from pipelines.selectors.trace.traces import open_traces
from pipelines.services.access import tokens
from pipelines.services.access.teams import bind
from pipelines.services.base import host_tasks
from tests.db.conftest import CommandLine
from tests.db.test_previews import a_launcher
from tests.factories import (
    DeadLetterFactory,
    LedgerBatchFactory,
    PipelineFactory,
    RevisionFactory,
    RunFactory,
    UserFactory,
    definition_data,
    now,
)
from tests.fakes.previews import FakePreviews
from workers.ports import PreviewFailed
from workers.supervisor.launch.launch import Launcher
from workers.supervisor.previewing.traces import TraceContext

pytestmark = pytest.mark.django_db
ORDERS = "/api/v1/pipelines/orders/traces"
BODY = "4111-1111"
FILTER = {"type": "regex_filter", "regex": "DEBUG", "exclude_events": True}
COMPONENT = "sources.shop.interceptors[0]"


def shown() -> dict[str, Any]:
    return {"key": None, "headers": [["h", BODY]], "body": BODY, "bytes": 9, "note": ""}


def filtered(request: FollowRequest) -> FollowAnswer:
    step = StepRow(component=COMPONENT, type="regex_filter", effect=Effect.FILTERED, headers=[BODY], event=shown())
    event = EventRow(
        copy_number=0,
        result=EventResult.FILTERED,
        verdicts={"main": "filtered"},
        component=COMPONENT,
        steps=[step],
        event=shown(),
    )
    evaluated = [
        Evaluated(revision=each.revision, source=each.source, read=shown(), events=[event]) for each in request.looks
    ]
    return FollowAnswer(evaluated=evaluated)


@pytest.fixture
def made() -> FakePreviews:
    return FakePreviews(filtered)


@pytest.fixture
def orders() -> Pipeline:
    """Has read [0, 100) of its one partition: half of it was filtered."""
    pipeline: Pipeline = PipelineFactory.create(name="orders")
    Host.objects.update(seen_at=now() + timedelta(hours=1))
    LedgerBatchFactory.create(
        run=RunFactory.create(pipeline=pipeline),
        pipeline=pipeline,
        source="shop",
        channel="main",
        state=LedgerState.DONE,
        ranges=[{"topic": "orders-in", "partition": 3, "start": 0, "end": 100}],
        read=100,
        delivered=50,
        filtered=50,
    )
    Position.objects.create(
        pipeline=pipeline, source="shop", channel="main", topic="orders-in", partition=3, next_offset=100, lineage=1
    )
    return pipeline


def requested(client: APIClient, offset: Any = 7, status: int = 202, **more: Any) -> Any:
    body = {"at": {"topic": "orders-in", "partition": 3, "offset": offset}, **more}
    answer = client.post(ORDERS, body, format="json")
    assert answer.status_code == status, answer.content
    return answer.json()


def carry_out(made: FakePreviews, launcher: Launcher | None = None) -> None:
    """What the worker of the host does."""
    for trace in open_traces("alpha"):
        TraceContext("alpha", launcher or a_launcher(), made).make(trace)


def traced(client: APIClient, made: FakePreviews, offset: int = 7, launcher: Launcher | None = None) -> Any:
    asked = requested(client, offset)
    carry_out(made, launcher)
    found = client.get(f"{ORDERS}/{asked['id']}").json()
    assert found["state"] == "DONE", found
    return found


def test_a_trace_is_requested_made_and_shown(operator: APIClient, orders: Pipeline, made: FakePreviews) -> None:
    found = traced(operator, made)
    (request,) = made.requests
    assert [(look.revision, look.source) for look in request.looks] == [(1, "shop")]
    (channel,) = found["result"]["channels"]
    assert (channel["outcome"], channel["evidence"], channel["component"]) == ("filtered", "evaluation", COMPONENT)
    (row,) = channel["ledger"]["rows"]
    assert (row["revision"], row["state"], row["counts"]["filtered"]) == (1, "done", 50)
    assert operator.get(ORDERS).json()["results"][0]["id"] == found["id"]
    audited = AuditRow.objects.get(action="trace.requested")
    assert (audited.pipeline_name, (audited.after or {})["question"]["at"]["offset"]) == ("orders", 7)


def test_what_was_not_read_is_said_without_reading_it(
    operator: APIClient, orders: Pipeline, made: FakePreviews
) -> None:
    result = traced(operator, made, 100)["result"]
    assert not made.requests
    assert [each["outcome"] for each in result["channels"]] == ["not_read"]
    assert result["unknown"][0]["code"] == "NOT_READ_YET"


def test_an_open_batch_is_in_flight(operator: APIClient, orders: Pipeline, made: FakePreviews) -> None:
    LedgerBatch.objects.update(state=LedgerState.PLANNED)
    result = traced(operator, made)["result"]
    assert [each["outcome"] for each in result["channels"]] == ["in_flight"]


def test_a_dead_letter_of_the_record_is_shown(operator: APIClient, orders: Pipeline, made: FakePreviews) -> None:
    run = orders.runs.get()
    place = {"source": "shop", "channel": "main", "topic": "orders-in", "partition": 3}
    for offset in (6, 7):
        DeadLetterFactory.create(pipeline=orders, run=run, component="sinks.out", offset=offset, **place)
    (channel,) = traced(operator, made)["result"]["channels"]
    assert (channel["outcome"], channel["evidence"], channel["component"]) == ("dead_lettered", "ledger", "sinks.out")
    assert len(channel["ledger"]["letters"]) == 1


def retried(orders: Pipeline) -> str:
    """A dead letter of the record at 7 that a retry has sent; returns its id."""
    letter = DeadLetterFactory.create(
        pipeline=orders,
        run=orders.runs.get(),
        source="shop",
        channel="main",
        topic="orders-in",
        partition=3,
        offset=7,
        state=DeadLetterState.RETRIED,
        sending_since=now() - timedelta(minutes=1),
        settled_at=now(),
    )
    return str(letter.dead_letter_id)


def test_the_retry_of_a_dead_letter_is_followed_and_leads_back(operator: APIClient, orders: Pipeline) -> None:
    letter = retried(orders)

    def answer(request: FollowRequest) -> FollowAnswer:
        new = request.place.model_copy(update={"offset": 50})
        sent = [RetrySearch(letter=each.letter, places=[new]) for each in request.retries]
        made = Marks(letter=letter) if request.place == new else Marks()
        return filtered(request).model_copy(update={"retries": sent, "marks": made})

    made = FakePreviews(answer)
    result = traced(operator, made)["result"]
    (onward,) = result["onward"]
    assert (onward["lead"]["kind"], onward["lead"]["of"], onward["lead"]["place"]["offset"]) == ("retry", letter, 50)
    assert [each["outcome"] for each in onward["channels"]] == ["filtered"]
    (window,) = made.requests[0].retries
    assert (window.letter, window.revision, window.source, window.partition) == (letter, 1, "shop", 3)
    assert window.since < window.until
    back = traced(operator, made, 50)["result"]["came_from"]
    assert (back["kind"], back["of"], back["place"]["offset"]) == ("retry", letter, 7)


def test_a_record_that_leads_on_and_on_is_followed_to_a_few_places(operator: APIClient, orders: Pipeline) -> None:
    def answer(request: FollowRequest) -> FollowAnswer:
        next_one = SinkRecord(topic="orders-in", partition=3, offset=request.place.offset + 1)
        store = SinkSearch(row=1, channel="main", sink="main", is_store=True, records=[next_one])
        return FollowAnswer(searches=[store])

    made = FakePreviews(answer)
    result = traced(operator, made)["result"]
    assert [each["lead"]["place"]["offset"] for each in result["onward"]] == [8, 9, 10, 11]
    assert len(made.requests) == 5
    assert "NOT_FOLLOWED" in [each["code"] for each in result["unknown"]]


def test_a_place_to_which_several_ways_lead_is_said_once_and_only_where_it_was_not_followed(
    operator: APIClient, orders: Pipeline
) -> None:
    def answer(request: FollowRequest) -> FollowAnswer:
        next_one = SinkRecord(topic="orders-in", partition=3, offset=request.place.offset + 1)
        stores = [
            SinkSearch(row=row, channel="main", sink="main", is_store=True, records=[next_one]) for row in range(2)
        ]
        return FollowAnswer(searches=stores)

    result = traced(operator, FakePreviews(answer))["result"]
    assert [each["lead"]["place"]["offset"] for each in result["onward"]] == [8, 9, 10, 11]
    (left,) = (each["reason"] for each in result["unknown"] if each["code"] == "NOT_FOLLOWED")
    assert "orders-in/3:12" in left


def test_what_a_producer_writes_into_the_header_of_a_retry_is_not_shown(operator: APIClient, orders: Pipeline) -> None:
    made = FakePreviews(lambda request: filtered(request).model_copy(update={"marks": Marks(letter=BODY + "secret")}))
    result = traced(operator, made)["result"]
    assert result["came_from"] is None
    assert "LETTER_NOT_KEPT" in [each["code"] for each in result["unknown"]]
    assert "secret" not in str(result)


def test_a_revision_that_could_not_be_started_is_not_evaluated(
    operator: APIClient, orders: Pipeline, made: FakePreviews
) -> None:
    result = traced(operator, made, launcher=a_launcher(ReachPolicy()))["result"]
    assert not made.requests
    (channel,) = result["channels"]
    assert (channel["outcome"], channel["evidence"]) == ("unknown", "none")
    assert [row["first_batch"] for row in channel["ledger"]["rows"]], "the ledger is shown all the same"
    assert "could not be started here" in result["unknown"][0]["reason"]


def test_masking_of_the_present_revision_counts_for_earlier_ones(
    operator: APIClient, orders: Pipeline, made: FakePreviews
) -> None:
    masked = definition_data("orders", masking={"fields": ["card"]})
    orders.current_revision = RevisionFactory.create(pipeline=orders, number=2, definition=masked)
    orders.save()
    traced(operator, made)
    assert [look.revision for look in made.requests[0].looks] == [1]
    assert [each.fields for each in made.requests[0].masking] == [["card"]]


@pytest.mark.parametrize("how", ["viewer", "binding", "token"])
def test_what_records_hold_is_a_right_of_its_own(
    how: str, operator: APIClient, orders: Pipeline, made: FakePreviews
) -> None:
    address = f"{ORDERS}/{traced(operator, made)['id']}"
    assert BODY in operator.get(address).content.decode()
    user = UserFactory.create(role=Role.VIEWER if how == "viewer" else Role.ADMIN)
    if how == "binding":
        bind(team=None, user=user, role=Role.ADMIN, sees_records=False)
    text = tokens.create(user=user, name="t", expires=None, scope=Scope(records=how != "token")).text
    client = APIClient(headers={"Authorization": f"Token {text}"})
    for each in (client.get(address), client.get(ORDERS)):
        assert each.status_code == 200
        assert BODY not in each.content.decode()
    found = client.get(address).json()
    assert (found["shows_records"], found["result"]["channels"][0]["outcome"]) == (False, "filtered")


def searching(found: SearchAnswer) -> FakePreviews:
    return FakePreviews(lambda request: found if isinstance(request, SearchRequest) else filtered(request))


def searched(client: APIClient, question: dict[str, Any], found: SearchAnswer) -> Any:
    answer = client.post(ORDERS, question, format="json")
    assert answer.status_code == 202, answer.content
    carry_out(searching(found))
    return client.get(f"{ORDERS}/{answer.json()['id']}").json()


PLACE = Place(topic="orders-in", partition=3, offset=7)
PLACE_OF_RETRY = Place(topic="orders-in", partition=3, offset=50)
CANDIDATE = Candidate(place=PLACE, size=9, event=shown())


def test_a_search_with_one_match_is_followed(operator: APIClient, orders: Pipeline) -> None:
    one = SourceSearch(source="shop", searched=100, matched=1, candidates=[CANDIDATE])
    result = searched(operator, {"key": "o-7"}, SearchAnswer(search=one, place=PLACE))["result"]
    assert (result["place"]["offset"], result["search"]["searched"]) == (7, 100)
    assert [each["outcome"] for each in result["channels"]] == ["filtered"]


def test_several_matches_are_listed_and_shown_to_those_who_may_see_records(
    operator: APIClient, viewer: APIClient, orders: Pipeline
) -> None:
    two = SourceSearch(source="shop", searched=100, matched=2, candidates=[CANDIDATE, CANDIDATE])
    found = searched(operator, {"contains": BODY, "time": "2026-01-01T00:00:00Z"}, SearchAnswer(search=two))
    assert (found["result"]["place"], found["result"]["channels"]) == (None, [])
    assert len(found["result"]["search"]["candidates"]) == 2
    assert BODY in str(found["result"]["search"])
    assert BODY not in viewer.get(ORDERS).content.decode()
    assert BODY not in str(AuditRow.objects.get(action="trace.requested").after)


def test_a_search_that_cannot_be_made_is_refused_with_its_findings(operator: APIClient, orders: Pipeline) -> None:
    finding = {"path": "source", "code": "UNKNOWN_SOURCE", "message": "Name one.", "suggestion": ""}
    found = searched(operator, {"time": "2026-01-01T00:00:00Z"}, SearchAnswer(findings=[finding]))
    assert (found["state"], found["error"]["code"], found["error"]["findings"][0]["code"]) == (
        "FAILED",
        "trace_refused",
        "UNKNOWN_SOURCE",
    )


@pytest.mark.parametrize("question", [{"key": "o-7"}, {"contains": "x"}])
def test_who_may_not_see_records_may_not_search_their_content(question: dict[str, str], orders: Pipeline) -> None:
    user = UserFactory.create(role=Role.OPERATOR)
    text = tokens.create(user=user, name="t", expires=None, scope=Scope(records=False)).text
    client = APIClient(headers={"Authorization": f"Token {text}"})
    answer = client.post(ORDERS, question, format="json")
    assert (answer.status_code, answer.json()["code"]) == (403, "records_not_shown")
    assert client.post(ORDERS, {"time": "2026-01-01T00:00:00Z"}, format="json").status_code == 202


@pytest.mark.parametrize(
    "question",
    [
        {},
        {"source": "shop"},
        {"key": ""},
        {"key": "a\0"},
        {"time": "soon"},
        {"time": "2026-01-01T00:00:00"},
        {"key": "a", "at": {"topic": "t", "partition": 0, "offset": 0}},
    ],
)
def test_questions_without_sense_are_findings(operator: APIClient, orders: Pipeline, question: dict[str, Any]) -> None:
    answer = operator.post(ORDERS, question, format="json")
    assert answer.status_code == 422
    assert answer.json()["findings"]


@pytest.mark.parametrize("offset", [-1, 2**63, "x", None])
def test_places_without_sense_are_findings(operator: APIClient, orders: Pipeline, offset: Any) -> None:
    assert requested(operator, offset, 422)["findings"]


def test_no_host_and_more_than_the_queue_holds_are_told_at_once(operator: APIClient, orders: Pipeline) -> None:
    for _ in range(host_tasks.QUEUED):
        requested(operator)
    assert requested(operator, status=429)["code"] == "traces_waiting"
    Pipeline.objects.update(host=None)
    assert requested(operator, status=409)["code"] == "no_host"


def test_a_failure_says_what_to_do_and_what_is_old_goes(operator: APIClient, orders: Pipeline) -> None:
    def fail(_request: FollowRequest) -> FollowAnswer:
        raise PreviewFailed("trace_timed_out", "It did not end.", "Request it again.")

    asked = requested(operator)
    carry_out(FakePreviews(fail))
    assert operator.get(f"{ORDERS}/{asked['id']}").json()["error"]["code"] == "trace_timed_out"
    late = requested(operator)
    host_tasks.expire(RecordTrace, now=now() + timedelta(seconds=host_tasks.WAITING_SECONDS + 1))
    assert operator.get(f"{ORDERS}/{late['id']}").json()["error"]["code"] == "trace_timed_out"
    host_tasks.expire(RecordTrace, now=now() + host_tasks.KEPT_FOR + timedelta(seconds=1))
    assert operator.get(f"{ORDERS}/{asked['id']}").status_code == 404


@pytest.mark.django_db(transaction=True)
def test_the_command_shows_evidence_by_its_kind(
    command_line: CommandLine, orders: Pipeline, made: FakePreviews, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pipelines.services.trace.traces.dispatch.wake", lambda _host: carry_out(made))
    run = command_line("ana", Role.OPERATOR)
    found = run("trace", "orders", "--at", "orders-in/3:7")
    assert found.exit_code == 0, found.output
    for words in ("shop.main", "filtered", "evaluated again, not recorded", COMPONENT, "revision 1"):
        assert words in found.output
    for_programs = run("trace", "orders", "--at", "orders-in/3:7", "-o", "json")
    assert '"outcome": "filtered"' in for_programs.output
    for wrong in (["--at", "orders-in:7"], [], ["--key", "k", "--at", "orders-in/3:7"]):
        assert run("trace", "orders", *wrong).exit_code == 2
    two = SourceSearch(source="shop", searched=100, matched=2, candidates=[CANDIDATE, CANDIDATE])
    made.answer = lambda _request: SearchAnswer(search=two)
    listed = run("trace", "orders", "--key", "o-7")
    for words in ("100 offsets of sources.shop searched", "2 records match", "orders-in/3:7"):
        assert words in listed.output
    letter = retried(orders)
    made.answer = lambda request: filtered(request).model_copy(
        update={"retries": [RetrySearch(letter=each.letter, places=[PLACE_OF_RETRY]) for each in request.retries]}
    )
    led = run("trace", "orders", "--at", "orders-in/3:7")
    assert f"It continues as orders-in/3:50 by the retry of the dead letter {letter}:" in led.output
