"""Dead letters: taken in once, listed page by page, shown to those who may see data, sent back or given up."""

from __future__ import annotations

import base64
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client

from pipelines.domain.base.roles import Role
from pipelines.domain.base.states import DeadLetterState, OperationKind, OperationState
from pipelines.domain.ledger import journal
from pipelines.domain.ledger.journal import Entry, EntryKind
from pipelines.domain.reprocessing.dead_letters import MAX_DEAD_LETTERS
from pipelines.models import AuditRow, DeadLetter, Event, Operation, Pipeline, Run
from pipelines.services.access import access
from pipelines.services.base.audit import Actor
from pipelines.services.ledger.archive import archive, purge
from pipelines.services.ledger.journals import ingest
from pipelines.services.lifecycle import operations
from pipelines.services.reprocessing.dead_letters import prune
from tests.factories import (
    DeadLetterFactory,
    OperationFactory,
    PipelineFactory,
    RevisionFactory,
    RunFactory,
    UserFactory,
    definition,
    now,
)

pytestmark = pytest.mark.django_db


def dead_letter(number: int, **changes: Any) -> journal.DeadLetter:
    body = f"body {number}".encode()
    fields = {
        "id": f"{number:032x}",
        "component": "sinks.out",
        "cause": "too large",
        "topic": "orders-in",
        "partition": 0,
        "offset": number,
        "at": 1000.0 + number,
        "key": base64.b64encode(b"k").decode(),
        "headers": [("h", base64.b64encode(b"v").decode())],
        "body": base64.b64encode(body).decode(),
        "size": len(body),
        "location": f"/dead/day.jsonl:{number}",
        **changes,
    }
    return journal.DeadLetter(**fields)


def take(run: Run, *dead_letters: journal.DeadLetter, batch: int = 0) -> None:
    payload = journal.DeadLetters(source="shop", channel="main", batch=batch, dead_letters=list(dead_letters))
    data = payload.model_dump(mode="json")
    entry = Entry(n=run.journal_seq + 1, epoch=run.number, at=1.0, kind=EntryKind.DEAD_LETTERS, data=data)
    ingest(run=run, entries=[entry], offset=run.journal_offset + 100)
    run.refresh_from_db()


class Api:
    """The REST API as a user of a role."""

    def __init__(self, role: Role) -> None:
        user = UserFactory.create(role=role)
        self.headers = {"Authorization": f"Token {access.create_token(user=user, name='t', expires=None)}"}
        self.client = Client(headers=self.headers)

    def get(self, path: str, status: int = 200, **query: Any) -> Any:
        answer = self.client.get(f"/api/v1/{path}", query)
        assert answer.status_code == status, answer.content
        return answer.json()

    def post(self, path: str, body: Any, status: int = 202) -> Any:
        answer = self.client.post(f"/api/v1/{path}", body, content_type="application/json")
        assert answer.status_code == status, answer.content
        return answer.json()


@pytest.fixture
def operator() -> Api:
    return Api(Role.OPERATOR)


@pytest.fixture
def pipeline() -> Pipeline:
    return PipelineFactory.create(name="orders")


@pytest.fixture
def run(pipeline: Pipeline) -> Run:
    return RunFactory.create(pipeline=pipeline)


def dead_letters_of(run: Run, number: int, **fields: Any) -> list[DeadLetter]:
    return [DeadLetterFactory.create(run=run, **fields) for _ in range(number)]


def test_a_letter_that_comes_again_with_its_batch_is_listed_once(run: Run) -> None:
    take(run, dead_letter(1), dead_letter(2))
    take(run, dead_letter(2), dead_letter(3))
    assert [row.offset for row in DeadLetter.objects.order_by("id")] == [1, 2, 3]
    assert [event.data["dead_letters"] for event in Event.objects.filter(kind="dead_letters.added").order_by("id")] == [
        2,
        1,
    ]


def test_a_later_run_that_repeats_the_batch_adds_nothing(run: Run) -> None:
    take(run, dead_letter(1))
    take(RunFactory.create(pipeline=run.pipeline, state="ENDED"), dead_letter(1))
    assert DeadLetter.objects.count() == 1


def test_a_letter_keeps_all_that_its_journal_tells(run: Run) -> None:
    take(
        run,
        dead_letter(
            7,
            partition=2**40,
            cause="bad\0 \ud800",
            body=base64.b64encode(b"\xff\x00").decode(),
            size=70_000,
            truncated=True,
        ),
    )
    row = DeadLetter.objects.get()
    assert (row.source, row.channel, row.component, row.topic) == ("shop", "main", "sinks.out", "orders-in")
    assert (row.partition, row.offset, row.size, row.truncated) == (2**40, 7, 70_000, True)
    assert (bytes(row.body), bytes(row.key or b""), row.headers) == (b"\xff\x00", b"k", [["h", "dg=="]])
    assert row.cause == "bad\ufffd ?"
    assert row.at.timestamp() == 1007.0


def test_the_list_goes_page_by_page_newest_first_without_content(run: Run, operator: Api) -> None:
    dead_letters_of(run, 5)
    first = operator.get("pipelines/orders/dead-letters", limit=3)
    second = operator.get("pipelines/orders/dead-letters", limit=3, cursor=first["next"])
    offsets = [found["offset"] for found in first["results"] + second["results"]]
    assert offsets == sorted(offsets, reverse=True)
    assert (len(offsets), second["next"]) == (5, None)
    assert "body" not in first["results"][0]


def test_filters_and_counts_agree(run: Run, operator: Api) -> None:
    dead_letters_of(run, 2, component="sinks.out", cause="Too large: 5 MB", at=now() - timedelta(days=2))
    dead_letters_of(run, 3, component="sources.shop", cause="not Avro")
    dead_letters_of(run, 1, component="sources.shop", cause="not Avro", state=DeadLetterState.DISCARDED)

    def offsets(**query: Any) -> int:
        return len(operator.get("pipelines/orders/dead-letters", **query)["results"])

    assert (offsets(component="sinks.out"), offsets(cause="too LARGE"), offsets(state="NEW")) == (2, 2, 5)
    assert (offsets(source="nowhere"), offsets(since=(now() - timedelta(days=1)).isoformat())) == (0, 4)
    summary = operator.get("pipelines/orders/dead-letters/summary")
    assert (summary["new"], summary["retried"], summary["discarded"]) == (5, 0, 1)
    assert [(each["component"], each["dead_letters"]) for each in summary["causes"]] == [
        ("sources.shop", 3),
        ("sinks.out", 2),
    ]
    operator.get("pipelines/orders/dead-letters", 400, since="yesterday")


def test_content_is_text_where_it_is_utf8_and_base64_where_it_is_not(run: Run, operator: Api) -> None:
    (text,) = dead_letters_of(run, 1, body="grün".encode(), headers=[["a", "/w=="]])
    (binary,) = dead_letters_of(run, 1, body=b"\xff\x00", key=None)
    (cut,) = dead_letters_of(run, 1, body="grü".encode()[:-1], truncated=True)
    shown = operator.get(f"pipelines/orders/dead-letters/{text.dead_letter_id}")
    assert (shown["body"], shown["body_base64"], shown["key"]) == ("grün", None, "k")
    assert shown["headers"] == [{"name": "a", "value": None, "value_base64": "/w=="}]
    shown = operator.get(f"pipelines/orders/dead-letters/{binary.dead_letter_id}")
    assert (shown["body"], shown["body_base64"], shown["key"], shown["key_base64"]) == (None, "/wA=", None, None)
    assert operator.get(f"pipelines/orders/dead-letters/{cut.dead_letter_id}")["body"] == "gr"
    operator.get("pipelines/orders/dead-letters/abc", 404)


def test_a_viewer_sees_the_list_and_no_content_and_may_change_nothing(run: Run) -> None:
    (found,) = dead_letters_of(run, 1)
    viewer = Api(Role.VIEWER)
    assert len(viewer.get("pipelines/orders/dead-letters")["results"]) == 1
    viewer.get("pipelines/orders/dead-letters/summary")
    viewer.get(f"pipelines/orders/dead-letters/{found.dead_letter_id}", 403)
    viewer.post("pipelines/orders/dead-letters/retry", {"ids": [found.dead_letter_id]}, 403)
    viewer.post("pipelines/orders/dead-letters/discard", {"ids": [found.dead_letter_id]}, 403)


def test_a_replay_claims_its_letters_and_says_who_asked(run: Run, operator: Api) -> None:
    first, second = dead_letters_of(run, 2)
    body = {"ids": [first.dead_letter_id], "rate": 5, "reason": "mended"}
    operation = operator.post("pipelines/orders/dead-letters/retry", body)
    assert (operation["kind"], operation["state"]) == ("retry", "PENDING")
    assert (operation["progress"]["done"], operation["progress"]["of"]) == (0, 1)
    first.refresh_from_db()
    second.refresh_from_db()
    assert (str(first.operation_id), second.operation_id) == (operation["id"], None)
    row = AuditRow.objects.get(action="dead_letters.retry")
    assert row.after is not None
    assert (row.after["reason"], row.after["ids"], row.after["rate"]) == ("mended", [first.dead_letter_id], 5)


def test_one_replay_goes_on_at_a_time_and_beside_a_start(run: Run, operator: Api) -> None:
    first, second = dead_letters_of(run, 2)
    OperationFactory.create(pipeline=run.pipeline, kind=OperationKind.START)
    operator.post("pipelines/orders/dead-letters/retry", {"ids": [first.dead_letter_id]})
    refused = operator.post("pipelines/orders/dead-letters/retry", {"ids": [second.dead_letter_id]}, 409)
    assert refused["code"] == "replay_under_way"
    assert operator.get("pipelines/orders/status")["operation"]["kind"] == "start"
    assert operator.post("pipelines/orders/stop", {})["kind"] == "stop"
    assert Operation.objects.get(kind=OperationKind.RETRY).state == OperationState.PENDING


def test_a_cancelled_replay_leaves_its_letters_new_and_free(run: Run, operator: Api) -> None:
    (found,) = dead_letters_of(run, 1)
    operation = operator.post("pipelines/orders/dead-letters/retry", {"filter": {}})
    cancelled = operator.client.delete(f"/api/v1/operations/{operation['id']}").json()
    assert cancelled["state"] == "CANCELLED"
    assert Operation.objects.filter(kind=OperationKind.STOP).count() == 0
    assert operator.post("pipelines/orders/dead-letters/retry", {"ids": [found.dead_letter_id]})["state"] == "PENDING"


def test_a_replay_that_nobody_carries_out_ends_at_its_deadline_with_advice(run: Run, operator: Api) -> None:
    dead_letters_of(run, 1)
    operation = operator.post("pipelines/orders/dead-letters/retry", {"filter": {}})
    assert operations.expire(now=now() + timedelta(minutes=4)) == 0
    assert operations.expire(now=now() + timedelta(minutes=6)) == 1
    ended = operator.get(f"operations/{operation['id']}")
    assert (ended["state"], ended["error"]["code"]) == ("FAILED", "deadline_passed")
    assert "worker" in ended["error"]["hint"]


def test_a_filter_takes_the_oldest_matching_new_letters(run: Run, operator: Api) -> None:
    dead_letters_of(run, 2, cause="a")
    dead_letters_of(run, 1, cause="b")
    dead_letters_of(run, 1, cause="a", state=DeadLetterState.DISCARDED)
    body = {"filter": {"cause": "a"}}
    assert operator.post("pipelines/orders/dead-letters/retry", body)["progress"]["of"] == 2
    assert set(DeadLetter.objects.exclude(operation=None).values_list("cause", flat=True)) == {"a"}


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({}, 422),
        ({"ids": []}, 422),
        ({"ids": ["a"], "filter": {}}, 422),
        ({"ids": ["x y"]}, 422),
        ({"filter": {}, "rate": 0}, 422),
        ({"filter": {}, "rate": 1e9}, 422),
        ({"repair": {"id": "a", "body": "x", "body_base64": "eA=="}}, 422),
        ({"repair": {"id": "a", "body_base64": "e"}}, 422),
        ({"filter": {}, "colour": "red"}, 422),
        ({"ids": ["a"] * (MAX_DEAD_LETTERS + 1)}, 422),
        ({"filter": {"source": "nowhere"}}, 409),
        ({"ids": ["abc"]}, 404),
    ],
)
def test_a_replay_that_means_nothing_is_refused(run: Run, operator: Api, body: Any, status: int) -> None:
    dead_letters_of(run, 1)
    operator.post("pipelines/orders/dead-letters/retry", body, status)
    assert not Operation.objects.exists()


def test_a_source_that_takes_no_records_is_refused_with_what_to_do_instead(operator: Api) -> None:
    taildir = {"type": "taildir", "file_groups": {"logs": {"directory": "/var/log/shop", "pattern": ".*"}}}
    kafka = {
        "type": "kafka",
        "bootstrap_servers": "b:9092",
        "topics": ["other"],
        "group_id": "g",
        "start_from": "earliest",
    }
    pipeline = PipelineFactory.create(name="orders")
    plain = definition("orders").plain()
    plain["sources"] = {"files": taildir, "shop": kafka}
    RevisionFactory.create(pipeline=pipeline, number=2, definition=plain)
    pipeline.current_revision = pipeline.revisions.get(number=2)
    pipeline.save()
    run = RunFactory.create(pipeline=pipeline)
    dead_letters_of(run, 1, source="files", topic="logs")
    dead_letters_of(run, 1, source="shop", topic="orders-in")
    dead_letters_of(run, 1, source="gone", topic="orders-in")
    refused = operator.post("pipelines/orders/dead-letters/retry", {"filter": {}}, 409)
    words = {finding["path"]: finding["message"] + finding["suggestion"] for finding in refused["findings"]}
    assert refused["code"] == "not_replayable"
    assert "Append the repaired line" in words["sources.files"]
    assert "no longer reads the topic orders-in" in words["sources.shop"]
    assert "no longer has the source gone" in words["sources.gone"]


def test_letters_that_are_settled_or_taken_cannot_be_chosen(run: Run, operator: Api) -> None:
    (settled,) = dead_letters_of(run, 1, state=DeadLetterState.RETRIED)
    taken, free = dead_letters_of(run, 2)
    operator.post("pipelines/orders/dead-letters/retry", {"ids": [taken.dead_letter_id]})
    for ids, code in (
        ([settled.dead_letter_id], "dead_letter_settled"),
        ([free.dead_letter_id, taken.dead_letter_id], "replay_under_way"),
    ):
        assert operator.post("pipelines/orders/dead-letters/discard", {"ids": ids}, 409)["code"] == code
    free.refresh_from_db()
    assert free.state == DeadLetterState.NEW


def test_discarded_letters_stay_listed_with_who_gave_them_up(run: Run, operator: Api) -> None:
    (found,) = dead_letters_of(run, 1)
    body = {"ids": [found.dead_letter_id], "reason": "a test record"}
    assert operator.post("pipelines/orders/dead-letters/discard", body, 200) == {"discarded": 1}
    shown = operator.get("pipelines/orders/dead-letters", state="DISCARDED")["results"]
    assert [each["id"] for each in shown] == [found.dead_letter_id]
    assert shown[0]["settled_by"]
    row = AuditRow.objects.get(action="dead_letters.discard")
    assert row.after is not None
    assert row.after["reason"] == "a test record"


def test_letters_are_deleted_by_age_and_by_number_but_not_while_they_are_replayed(run: Run, operator: Api) -> None:
    dead_letters_of(run, 2, at=now() - timedelta(days=40))
    kept = dead_letters_of(run, 4)
    old = dead_letters_of(run, 1, at=now() - timedelta(days=40))[0]
    operator.post("pipelines/orders/dead-letters/retry", {"ids": [old.dead_letter_id]})
    assert prune(before=now() - timedelta(days=30), each=100) == 2
    assert prune(before=now() - timedelta(days=30), each=3) == 2
    assert set(DeadLetter.objects.values_list("pk", flat=True)) == {kept[2].pk, kept[3].pk, old.pk}


def test_letters_are_archived_and_purged_with_their_pipeline() -> None:
    pipeline = PipelineFactory.create(name="orders")
    dead_letters_of(RunFactory.create(pipeline=pipeline, state="ENDED"), 1)
    archive(pipeline=pipeline, version=None, actor=Actor("ana"))
    assert DeadLetter.objects.count() == 1
    purge(pipeline=pipeline, confirm="orders", actor=Actor("ana"))
    assert DeadLetter.objects.count() == 0
