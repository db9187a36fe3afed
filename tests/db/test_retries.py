"""Replays send each letter once, at their pace, and say so where it may have been twice."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest

from pipelines.domain.access.secret_bindings import SecretBinding
from pipelines.domain.base.states import DeadLetterState, OperationState
from pipelines.domain.reprocessing.dead_letters import TopicLocation, flume_event
from pipelines.models import DeadLetter, Operation, Run
from pipelines.selectors.reprocessing.dead_letters import DeadLetterFilter
from pipelines.services.base.audit import Actor
from pipelines.services.lifecycle import lifecycle
from pipelines.services.reprocessing import retries
from pipelines.services.reprocessing.retries import Repair, RetryRequest
from tests.factories import DeadLetterFactory, PipelineFactory, RevisionFactory, RunFactory, definition
from tests.fakes.clusters import FakeClusters, FakePushSources
from workers.adapters.secrets import backends
from workers.ports import Closed, Secrets, SecretValue, Unreadable
from workers.supervisor.background.retry import Replayer, Way
from workers.supervisor.launch.references import References

pytestmark = pytest.mark.django_db
ANA = Actor("ana")


class FakeSecrets:
    """A store with one secret."""

    def read(self, names: Any) -> dict[str, SecretValue | Unreadable]:
        gone = Unreadable("there is none.", "Store it.")
        return {name: SecretValue("hunter2") if name == "shop" else gone for name in names}


class Free:
    """A lock that nobody holds."""

    def acquire(self) -> bool:
        return True

    def release(self) -> None: ...


class Host:
    """The replayer of the host alpha, turned by hand, with a clock of its own."""

    def __init__(self) -> None:
        self.clusters = FakeClusters()
        self.ingest_buffers = FakePushSources(self.clusters)
        self.seconds = 0.0
        self.replayer = self.worker()

    def worker(self) -> Replayer:
        secrets: Secrets = FakeSecrets()
        bound = SecretBinding(pipelines=("orders",), destinations=("127.0.0.1:9092", "source/http", "source/kafka"))
        references = References(backends({}, None, secrets), bindings=lambda names: dict.fromkeys(names, bound))
        way = Way("alpha", self.clusters, self.ingest_buffers, references, lambda: self.seconds)
        return Replayer(way)

    def until_over(self, operation: Operation, turns: int = 1000) -> Operation:
        for _ in range(turns):
            self.seconds += self.replayer.turn()
            operation.refresh_from_db()
            if operation.state not in {OperationState.PENDING, OperationState.RUNNING}:
                return operation
        raise AssertionError(f"not over: {operation.progress}")

    def bodies(self) -> list[bytes]:
        return [record.body for record in self.clusters.sent]


@pytest.fixture
def host() -> Host:
    return Host()


@pytest.fixture
def run() -> Run:
    return RunFactory.create(pipeline=PipelineFactory.create(name="orders"))


def dead_letters_of(run: Run, number: int, **fields: Any) -> list[DeadLetter]:
    return [DeadLetterFactory.create(run=run, **fields) for _ in range(number)]


def replay(run: Run, rate: float = 100.0, ids: list[str] | None = None, repair: Repair | None = None) -> Operation:
    wanted = RetryRequest(ids=ids, matching=DeadLetterFilter(), rate=rate, repair=repair)
    return retries.request(pipeline=run.pipeline, wanted=wanted, actor=ANA)


def states(run: Run) -> list[str]:
    return list(DeadLetter.objects.filter(run=run).order_by("id").values_list("state", flat=True))


def test_letters_go_to_where_they_came_from_without_the_headers_that_headgate_added(run: Run, host: Host) -> None:
    def pair(name: str, value: bytes) -> list[str]:
        return [name, base64.b64encode(value).decode()]

    headers = [pair("h", b"v"), pair("headgate.origin", b"x"), pair("headgate.dead.cause", b"x"), pair("h", b"w")]
    (dead_letter,) = dead_letters_of(run, 1, partition=3, headers=headers, body=b"whole")
    operation = host.until_over(replay(run))
    (sent,) = host.clusters.sent
    assert (sent.topic, sent.partition, sent.key, sent.body) == ("orders-in", 3, b"k", b"whole")
    assert list(sent.headers) == [("h", b"v"), ("h", b"w"), ("headgate.replay", dead_letter.dead_letter_id.encode())]
    assert (operation.state, operation.progress["done"]) == (OperationState.SUCCEEDED, 1)
    dead_letter.refresh_from_db()
    assert (dead_letter.state, dead_letter.settled_by) == (DeadLetterState.RETRIED, "ana")
    assert host.clusters.closed == 1


def test_the_rate_holds_over_the_whole_replay(run: Run, host: Host) -> None:
    dead_letters_of(run, 100)
    host.until_over(replay(run, rate=10))
    assert 9.0 <= host.seconds <= 11.0
    assert host.bodies() == [bytes(row.body) for row in DeadLetter.objects.order_by("id")]


def test_a_slow_rate_sends_one_letter_after_the_other(run: Run, host: Host) -> None:
    dead_letters_of(run, 3)
    operation = replay(run, rate=0.1)
    host.replayer.turn()
    host.seconds += 9.9
    host.replayer.turn()
    assert len(host.clusters.sent) == 1
    host.until_over(operation)
    assert 20.0 <= host.seconds <= 31.0


def test_a_repaired_letter_is_sent_as_it_was_repaired(run: Run, host: Host) -> None:
    (dead_letter,) = dead_letters_of(run, 1, truncated=True, location="")
    repair = Repair(base64.b64encode(b"mended").decode(), [("a", base64.b64encode(b"b").decode())])
    host.until_over(replay(run, ids=[dead_letter.dead_letter_id], repair=repair))
    (sent,) = host.clusters.sent
    assert (sent.body, sent.headers[0]) == (b"mended", ("a", b"b"))


def test_a_worker_that_dies_in_the_middle_is_followed_by_one_that_tells_what_may_be_twice(run: Run, host: Host) -> None:
    dead_letters_of(run, 6)
    operation = replay(run, rate=4)
    host.replayer.turn()
    host.clusters.away, host.clusters.before, host.clusters.acknowledges = 1, 1, False
    host.seconds += 1
    host.replayer.turn()  # one more was sent, and the worker died before it heard so
    host.replayer = host.worker()
    done = host.until_over(operation)
    assert states(run) == [DeadLetterState.RETRIED] * 6
    assert (done.progress["done"], done.progress["possible_duplicates"]) == (6, 2)
    assert "Up to 2 of them are possible duplicates" in done.message
    assert len(host.clusters.sent) == 7


def test_letters_that_were_acknowledged_before_the_broker_went_away_are_not_sent_again(run: Run, host: Host) -> None:
    dead_letters_of(run, 4)
    host.clusters.away, host.clusters.before = 1, 3
    done = host.until_over(replay(run))
    assert (len(host.clusters.sent), done.progress["possible_duplicates"]) == (4, 1)


def test_a_broker_that_stays_away_ends_the_replay_at_its_deadline_and_the_letters_stay_new(
    run: Run, host: Host
) -> None:
    dead_letters_of(run, 2)
    host.clusters.away = 10**9
    operation = replay(run)
    host.replayer.turn()
    operation.refresh_from_db()
    assert "is retried: broker away" in operation.message
    done = host.until_over(operation)
    assert (done.state, (done.error or {})["code"]) == (OperationState.FAILED, "deadline_passed")
    assert states(run) == [DeadLetterState.NEW] * 2
    assert host.seconds < 400


def test_a_letter_that_the_topic_refuses_holds_no_other_back(run: Run, host: Host) -> None:
    dead_letters_of(run, 1)
    (large,) = dead_letters_of(run, 1, body=b"x" * 50)
    dead_letters_of(run, 1)
    host.clusters.limit = 20
    done = host.until_over(replay(run))
    assert states(run) == [DeadLetterState.RETRIED, DeadLetterState.NEW, DeadLetterState.RETRIED]
    assert (done.state, (done.error or {})["code"]) == (OperationState.FAILED, "dead_letters_refused")
    assert done.progress["reasons"] == [{"id": large.dead_letter_id, "reason": "too large"}]
    large.refresh_from_db()
    assert (large.operation, large.sending_since) == (None, None)


def test_a_cluster_that_refuses_us_ends_the_replay_with_advice(run: Run, host: Host) -> None:
    dead_letters_of(run, 2)
    host.clusters.error = Closed("No right to write.", "Grant it.")
    done = host.until_over(replay(run))
    assert (done.error or {})["code"] == "source_closed"
    assert (done.error or {})["hint"] == "Grant it."


def test_a_cancelled_replay_sends_nothing_more(run: Run, host: Host) -> None:
    dead_letters_of(run, 10)
    operation = replay(run, rate=2)
    host.replayer.turn()
    lifecycle.cancel(operation=operation, actor=ANA)
    host.seconds += 100
    host.replayer.turn()
    assert len(host.clusters.sent) == 1
    assert sorted(states(run)) == ["NEW"] * 9 + ["RETRIED"]


def test_replays_of_two_pipelines_take_turns(run: Run, host: Host) -> None:
    other = RunFactory.create(pipeline=PipelineFactory.create(name="bills"))
    dead_letters_of(run, 20)
    dead_letters_of(other, 20, topic="bills-in")
    replay(run, rate=10)
    last = replay(other, rate=10)
    host.until_over(last)
    assert host.seconds < 3
    assert {record.topic for record in host.clusters.sent[:10]} == {"orders-in", "bills-in"}


def test_the_body_of_a_truncated_letter_is_read_from_the_file_that_has_it_whole(
    run: Run, host: Host, tmp_path: Path
) -> None:
    whole = b"0123456789" * 10
    line = json.dumps({"body": base64.b64encode(whole).decode()}) + "\n"
    file = tmp_path / "day.jsonl"
    file.write_text("another line\n" + line + "and more")
    dead_letters_of(run, 1, body=whole[:10], size=100, truncated=True, location=f"{file}:13")
    dead_letters_of(run, 1, body=b"other", size=100, truncated=True, location=f"{file}:13")
    dead_letters_of(run, 1, body=b"other", size=100, truncated=True, location=f"{tmp_path}/gone.jsonl:0")
    done = host.until_over(replay(run))
    assert host.bodies() == [whole]
    reasons = [each["reason"] for each in done.progress["reasons"]]
    assert "is another event" in reasons[0]
    assert "cannot be read" in reasons[1]


def test_the_body_of_a_truncated_letter_is_read_from_the_topic_that_has_it_whole(run: Run, host: Host) -> None:
    host.clusters.stored[TopicLocation("orders.dead", 1, 42)] = b"whole body"
    dead_letters_of(run, 1, body=b"whole", size=10, truncated=True, location="orders.dead/1@42")
    host.until_over(replay(run))
    assert host.bodies() == [b"whole body"]


def test_secrets_of_the_source_are_resolved_on_the_host(host: Host) -> None:
    pipeline = PipelineFactory.create(name="orders")
    plain = definition("orders").plain()
    plain["sources"]["shop"]["options"] = {"security.protocol": "SASL_SSL", "sasl.password": "${secret:shop}"}
    pipeline.current_revision = RevisionFactory.create(pipeline=pipeline, number=2, definition=plain)
    pipeline.save()
    run = RunFactory.create(pipeline=pipeline)
    dead_letters_of(run, 1)
    operation = host.until_over(replay(run))
    assert host.clusters.connections[0][1]["sasl.password"] == "hunter2"
    assert "hunter2" not in json.dumps(operation.progress) + operation.message
    plain["sources"]["shop"]["options"]["sasl.password"] = "${secret:unknown}"
    RevisionFactory._meta.model.objects.filter(pk=pipeline.current_revision.pk).update(definition=plain)
    dead_letters_of(run, 1)
    failed = host.until_over(replay(run))
    assert (failed.error or {})["code"] == "unresolved_reference"


def test_letters_of_a_flume_source_are_flume_events_again_and_only_unread_ones_go_as_they_were(host: Host) -> None:
    pipeline = PipelineFactory.create(name="orders")
    plain = definition("orders").plain()
    plain["sources"]["shop"]["parse_as_flume_event"] = True
    pipeline.current_revision = RevisionFactory.create(pipeline=pipeline, number=2, definition=plain)
    pipeline.save()
    run = RunFactory.create(pipeline=pipeline)
    dead_letters_of(run, 1, body=b"read", component="sinks.out")
    dead_letters_of(run, 1, body=b"\xff raw", component="sources.shop")
    host.until_over(replay(run))
    read, raw = host.clusters.sent
    assert read.body == flume_event([("h", b"v")], b"read")
    assert [name for name, _ in read.headers] == ["headgate.replay"]
    assert raw.body == b"\xff raw"
    assert [name for name, _ in raw.headers] == ["h", "headgate.replay"]


def test_letters_of_an_http_source_are_posted_with_its_token(host: Host) -> None:
    pipeline = PipelineFactory.create(name="orders")
    plain = definition("orders").plain()
    selector = plain["sources"]["shop"]["selector"]
    plain["sources"]["shop"] = {"type": "http", "port": 5140, "token": "${secret:shop}", "selector": selector}
    pipeline.current_revision = RevisionFactory.create(pipeline=pipeline, number=2, definition=plain)
    pipeline.save()
    run = RunFactory.create(pipeline=pipeline)
    dead_letters_of(run, 3, topic="shop")
    host.clusters.away = 1
    operation = host.until_over(replay(run))
    assert operation.state == OperationState.SUCCEEDED
    assert len(set(host.bodies())) == len(host.bodies()) == 3
    assert [(to.port, to.token) for to in host.ingest_buffers.asked] == [(5140, "hunter2")]
    assert all(name != "headgate.origin" for record in host.clusters.sent for name, _ in record.headers)
    assert "hunter2" not in json.dumps(operation.progress) + operation.message
