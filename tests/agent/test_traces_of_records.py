"""A real agent has read the records; a trace says of each what the agent made of it."""

from __future__ import annotations

import base64
import json
import os
import random
import time
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer
from pyspark.sql import SparkSession

from pipelines.domain.base.positions import TopicPartition
from pipelines.domain.base.states import HostTaskState, LedgerState, OperationKind
from pipelines.domain.ledger.journal import DeadLetters, Done
from pipelines.domain.reprocessing.range_replay import ORDER, Order
from pipelines.domain.runs.protocol import AgentUser, SparkSettings
from pipelines.domain.trace.protocol import SearchRequest, TraceResult
from pipelines.domain.trace.question import Place, TraceQuestion
from pipelines.models import DeadLetter, Host, RecordTrace
from pipelines.models import Run as RunRow
from pipelines.selectors.reprocessing.dead_letters import DeadLetterFilter
from pipelines.services.base.audit import Actor
from pipelines.services.reprocessing import retries
from pipelines.services.reprocessing.retries import Repair, RetryRequest
from pipelines.services.trace import traces
from tests.agent.conftest import MakePipeline
from tests.agent.harness import REACH, Pipeline
from tests.agent.test_dead_letters import NoSecrets, carried_out, replayer, stored, take_in
from tests.agent.test_range_replay import entries, order
from tests.agent.topics import Topics
from tests.chaos.extent import WHOLE, by_turns
from tests.factories import LedgerBatchFactory, OperationFactory, now
from tests.figures import RecordProperty
from tests.waiting import wait_for
from workers.adapters.secrets import backends
from workers.agent.base.findings import Refused
from workers.agent.delivery.range_replay import progress
from workers.agent.evaluation.search import search
from workers.agent.evaluation.trace import follow
from workers.ports import Previews
from workers.supervisor.launch.launch import Launcher
from workers.supervisor.launch.references import References
from workers.supervisor.previewing.traces import TraceContext

pytestmark = pytest.mark.django_db
RECORDS = int(os.environ.get("HEADGATE_TRACED_RECORDS", "20000"))
TRACED = 100 if WHOLE else 12
FILTER = {"type": "regex_filter", "regex": "DEBUG", "exclude_events": True}
CHANGE = {"type": "static", "key": "k", "value": "v"}
JSON = {"type": "morph_json", "drop": ["secret"]}


@dataclass
class InThisProcess:
    """`workers.ports.Previews` on the session of the tests."""

    session: SparkSession
    tmp: Path

    def make(self, owner: str, user: AgentUser | None, request: Any, wanted: Any = None) -> Any:
        try:
            if isinstance(request, SearchRequest):
                return search(self.session, request, self.tmp)
            return request.answer_of(follow(self.session, request, self.tmp).model_dump_json().encode())
        except Refused as refused:
            return request.refused([each.model_dump() for each in refused.findings])

    def tidy(self) -> None:
        """Nothing ends."""

    def close(self) -> None:
        """Nothing is open."""


@dataclass
class Tracer:
    """Traces records of one pipeline."""

    row: RunRow
    previews: Previews

    def at(self, topic: str, partition: int, offset: int) -> TraceResult:
        return self.by(at=Place(topic=topic, partition=partition, offset=offset))

    def by(self, **question: Any) -> TraceResult:
        trace = self.ended(TraceQuestion(**question))
        assert trace.state == HostTaskState.DONE, trace.error
        return TraceResult.model_validate(trace.result)

    def ended(self, question: TraceQuestion) -> RecordTrace:
        Host.objects.update(seen_at=now() + timedelta(hours=1))
        self.row.refresh_from_db()
        trace = traces.request(pipeline=self.row.pipeline, question=question, actor=Actor("ana"))
        references = References(backends({}, None, NoSecrets()))
        launcher = Launcher(
            "alpha", Path("/state"), references, lambda: SparkSettings(classpath=[]), reach=lambda _teams: REACH
        )
        TraceContext("alpha", launcher, self.previews).make(trace)
        trace.refresh_from_db()
        return trace


MakeTracer = Callable[[RunRow], Tracer]


@pytest.fixture
def tracer(session: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> MakeTracer:
    """Nothing of a trace ends before it is done: other tests run beside it."""
    for bound in ("previewing.traces.SECONDS", "previewing.traces.ONWARD_SECONDS"):
        monkeypatch.setattr(f"workers.supervisor.{bound}", 300.0)
    for bound in ("SEARCH_SECONDS", "RETRY_SECONDS"):
        monkeypatch.setattr(f"workers.agent.evaluation.trace.{bound}", 120.0)
    return lambda row: Tracer(row, InThisProcess(session, tmp_path))


def known(topics: Topics, pipeline: Pipeline) -> RunRow:
    """The run as a control plane has it; its revision is the one that it runs."""
    row = stored(topics, pipeline.definition)
    revision = row.pipeline.current_revision
    assert revision
    row.revision = revision
    row.save()
    return row


def produced(topics: Topics, *bodies: bytes) -> None:
    """Into one partition, in this order."""
    producer = Producer({"bootstrap.servers": topics.servers})
    for body in bodies:
        producer.produce(topics.source, body, partition=0)
    assert producer.flush(60) == 0


def outcome(found: TraceResult) -> tuple[str, str, str]:
    (channel,) = found.channels
    return channel.outcome, channel.evidence, channel.component


def places(found: TraceResult) -> list[tuple[str, int, int]]:
    """Where it was found in sinks."""
    searches = [each for channel in found.channels for each in channel.searches]
    return [(each.topic, each.partition, each.offset) for search in searches for each in search.records]


def origins(topics: Topics) -> dict[tuple[int, int], list[tuple[str, int, int]]]:
    """Where the sink has each record, by partition and offset of the source: its topic read back."""
    found = defaultdict(list)
    for message in topics.messages(topics.sink):
        header = dict(message.headers() or [])["headgate.origin"]
        assert isinstance(header, bytes)
        partition, offset = header.decode().split("/")[-2:]
        found[int(partition), int(offset)].append((topics.sink, message.partition() or 0, message.offset() or 0))
    return found


def codes(found: TraceResult) -> set[str]:
    return {each.code for each in found.unknown}


def test_each_record_of_a_batch_is_traced_to_what_became_of_it(
    topics: Topics, make_pipeline: MakePipeline, tracer: MakeTracer
) -> None:
    produced(topics, b'{"n":1,"secret":"x"}', b'{"level":"DEBUG"}', b"no json", b'{"n":4}')
    pipeline = make_pipeline(source={"interceptors": [FILTER, CHANGE, JSON]})
    run = pipeline.start()
    run.wait_read({TopicPartition(topics.source, 0): 4})
    wait_for(lambda: run.of_kind(DeadLetters), "the dead letter")
    row = known(topics, pipeline)
    take_in(run, row)
    trace = tracer(row)

    found = trace.at(topics.source, 0, 0)
    assert outcome(found)[:2] == ("delivered", "sink")
    assert places(found) == origins(topics)[0, 0]
    (event,) = found.evaluated[0].events
    assert [(step.type, step.effect) for step in event.steps] == [
        ("regex_filter", "unchanged"),
        ("static", "changed"),
        ("morph_json", "changed"),
    ]
    assert (event.steps[1].headers, event.steps[2].body) == (["k"], True)
    assert (found.evaluated[0].read or {})["body"] == '{"n":1,"secret":"x"}'
    assert (event.event or {})["body"] == '{"n":1}'
    ledger = found.channels[0].ledger.rows[0]
    assert (ledger.run, ledger.revision, ledger.state) == (1, 2, "done")

    found = trace.at(topics.source, 0, 1)
    assert outcome(found) == ("filtered", "evaluation", "sources.shop.interceptors[0]")
    assert [step.effect for step in found.evaluated[0].events[0].steps] == ["filtered"]

    found = trace.at(topics.source, 0, 2)
    assert outcome(found) == ("dead_lettered", "ledger", "sources.shop.interceptors[2]")
    assert found.channels[0].ledger.letters[0].cause
    assert [step.effect for step in found.evaluated[0].events[0].steps] == ["unchanged", "changed", "failed"]

    assert outcome(trace.at(topics.source, 0, 4))[0] == "not_read"
    assert trace.at("another", 0, 4).channels == []

    topics.trim(0, 2)
    found = trace.at(topics.source, 0, 1)
    assert outcome(found) == ("unknown", "none", "")
    assert "RECORD_EXPIRED" in codes(found)
    topics.trim(0, 3)
    assert outcome(trace.at(topics.source, 0, 2))[:2] == ("dead_lettered", "ledger"), "the ledger knows it all the same"
    run.stop()


def test_a_record_is_found_by_what_it_holds_and_by_its_record_in_the_sink(
    topics: Topics, make_pipeline: MakePipeline, tracer: MakeTracer
) -> None:
    producer = Producer({"bootstrap.servers": topics.servers})
    first = int(time.time()) - 3600  # older records would be the broker's to delete
    for number in range(100):
        body = json.dumps({"n": number, "card": f"4111-{number:04}"}).encode()
        at = 1000 * (first + number)
        producer.produce(topics.source, body, key=b"o-%d" % number, partition=number % 4, timestamp=at)
    assert producer.flush(60) == 0
    pipeline = make_pipeline()
    run = pipeline.start()
    run.wait_read(topics.ends(topics.source))
    row = known(topics, pipeline)
    take_in(run, row)
    trace = tracer(row)
    groups = topics.groups()

    found = trace.by(key="o-42")
    assert (str(found.place), outcome(found)[:2]) == (f"{topics.source}/2:10", ("delivered", "sink"))
    assert found.search
    assert (found.search.searched, found.search.matched, found.search.notes) == (100, 1, [])
    ((_, partition, offset),) = places(found)
    back = trace.by(from_sink=Place(topic=topics.sink, partition=partition, offset=offset))
    assert back.place == found.place

    assert str(trace.by(contains='"card": "4111-0017"').place) == f"{topics.source}/1:4"
    many = trace.by(contains="4111").search
    assert many
    assert (many.matched, len(many.candidates), many.more) == (100, 20, False)
    assert trace.by(key="o-100").search.matched == 0  # type: ignore[union-attr]
    since = trace.by(time=datetime.fromtimestamp(first + 90, UTC)).search
    assert since
    assert [each.timestamp for each in since.candidates] == [1000 * (first + n) for n in range(90, 100)]
    assert trace.ended(TraceQuestion(key="k", source="no")).error["code"] == "trace_refused"  # type: ignore[index]
    for place in (Place(topic=topics.source, partition=0, offset=0), Place(topic=topics.sink, partition=0, offset=999)):
        assert trace.ended(TraceQuestion(from_sink=place)).error["findings"][0]["code"] == "ORIGIN_UNKNOWN"  # type: ignore[index]
    assert topics.groups() == groups
    run.stop()

    revision = row.pipeline.current_revision
    assert revision
    revision.definition = {**revision.definition, "masking": {"fields": ["card"]}}
    revision.save()
    assert trace.by(contains="4111-0017").search.matched == 0  # type: ignore[union-attr]
    masked = trace.by(key="o-17")
    assert str(masked.place) == f"{topics.source}/1:4"
    assert "4111-0017" not in masked.model_dump_json()


def test_a_sink_that_has_deleted_records_is_no_proof(
    topics: Topics, make_pipeline: MakePipeline, tracer: MakeTracer
) -> None:
    produced(topics, b"1", b"DEBUG")
    pipeline = make_pipeline(source={"interceptors": [FILTER]})
    run = pipeline.start()
    run.wait_read({TopicPartition(topics.source, 0): 2})
    row = known(topics, pipeline)
    take_in(run, row)
    ((sink, partition, offset),) = places(tracer(row).at(topics.source, 0, 0))
    topics.trim(partition, offset + 1, sink)
    found = tracer(row).at(topics.source, 0, 0)
    assert outcome(found)[:2] == ("delivered", "evaluation")
    assert "SINK_NOT_SEARCHED" in codes(found)
    run.stop()


def test_a_record_of_an_open_batch_is_in_flight(
    topics: Topics, make_pipeline: MakePipeline, tracer: MakeTracer
) -> None:
    produced(topics, b"1")
    pipeline = make_pipeline()
    run = pipeline.start(crash_at="agent.planned")
    run.wait_exit()
    row = known(topics, pipeline)
    take_in(run, row)
    found = tracer(row).at(topics.source, 0, 0)
    assert outcome(found) == ("in_flight", "ledger", "")
    assert "BATCH_OPEN" in codes(found)


def test_a_record_that_a_sink_has_of_an_open_batch_is_in_flight_and_shown_there(
    topics: Topics, make_pipeline: MakePipeline, tracer: MakeTracer
) -> None:
    produced(topics, b"1")
    run = (pipeline := make_pipeline()).start(crash_at="agent.delivered")
    run.wait_exit()
    row = known(topics, pipeline)
    take_in(run, row)
    found = tracer(row).at(topics.source, 0, 0)
    assert outcome(found) == ("in_flight", "sink", "")
    assert places(found) == origins(topics)[0, 0]
    (reason,) = (each.reason for each in found.unknown if each.code == "BATCH_OPEN")
    assert "not finished" in reason
    assert "has the record" in reason


def test_a_record_is_followed_through_the_store_of_a_channel_and_through_a_retry(
    topics: Topics, make_pipeline: MakePipeline, tracer: MakeTracer
) -> None:
    store = f"{topics.name}-store"
    topics.create(store)
    produced(topics, b'{"n":0}', b"no json")
    pipeline = make_pipeline(source={"interceptors": [JSON]})
    pipeline.definition["channels"]["lake"] = {
        "type": "kafka",
        "bootstrap_servers": topics.servers,
        "topic": store,
    }
    run = pipeline.start()
    wait_for(lambda: run.of_kind(DeadLetters), "the dead letter")
    row = known(topics, pipeline)
    take_in(run, row)
    letter = DeadLetter.objects.get()
    wanted = RetryRequest(
        ids=[letter.dead_letter_id],
        matching=DeadLetterFilter(),
        rate=100,
        repair=Repair(body=base64.b64encode(b'{"n":1}').decode()),
    )
    operation = retries.request(pipeline=row.pipeline, wanted=wanted, actor=Actor("ana"))
    assert carried_out(operation, replayer()).state == "SUCCEEDED"
    wait_for(lambda: len(list(topics.messages(topics.sink))) == 2, "both in the sink")
    run.stop()
    take_in(run, row)
    trace = tracer(row)

    def stores(found: TraceResult) -> list[tuple[str, str, str]]:
        """Each place to which it leads, with what became of it there."""
        return [(each.lead.kind, str(each.lead.place), each.channels[0].outcome) for each in found.onward]

    def in_sink(found: TraceResult) -> list[tuple[str, int, int]]:
        searches = [each for onward in found.onward for channel in onward.channels for each in channel.searches]
        of_sink = [each for search in searches if not search.is_store for each in search.records]
        return [(each.topic, each.partition, each.offset) for each in of_sink]

    bodies = {m.value(): (topics.sink, m.partition() or 0, m.offset() or 0) for m in topics.messages(topics.sink)}
    found = trace.at(topics.source, 0, 0)
    assert outcome(found)[:2] == ("delivered", "sink")
    (stored_at,) = places(found)
    assert stores(found) == [("channel", f"{store}/{stored_at[1]}:{stored_at[2]}", "delivered")]
    assert in_sink(found) == [bodies[b'{"n":0}']]

    found = trace.at(topics.source, 0, 1)
    assert outcome(found)[:2] == ("dead_lettered", "ledger")
    assert stores(found)[0] == ("retry", f"{topics.source}/0:2", "delivered")
    assert found.onward[0].lead.of == letter.dead_letter_id
    assert stores(found)[1][0] == "channel"
    assert in_sink(found) == [bodies[b'{"n":1}']]

    found = trace.at(topics.source, 0, 2)
    assert found.came_from
    assert (found.came_from.kind, str(found.came_from.place)) == ("retry", f"{topics.source}/0:1")
    in_store = trace.at(*places(found)[0])
    assert in_store.came_from
    assert (in_store.came_from.kind, str(in_store.came_from.place)) == ("channel", f"{topics.source}/0:2")
    back = trace.by(from_sink=_place_of(bodies[b'{"n":0}']))
    assert str(back.place) == f"{topics.source}/0:0"
    DeadLetter.objects.all().delete()
    assert "LETTER_NOT_KEPT" in codes(trace.at(topics.source, 0, 2))


def _place_of(record: tuple[str, int, int]) -> Place:
    return Place(topic=record[0], partition=record[1], offset=record[2])


def replayed(row: RunRow, directory: Path) -> Order:
    """The batches of a replay as a control plane has them."""
    ordered = Order.load(directory / ORDER)
    assert ordered
    operation = OperationFactory.create(
        id=ordered.operation, pipeline=row.pipeline, kind=OperationKind.REPLAY_RANGE, generation=2
    )
    for done in entries(directory):
        if isinstance(done, Done):
            LedgerBatchFactory.create(
                run=row,
                source=ordered.source,
                channel=ordered.channel,
                state=LedgerState.REPLAYED,
                operation=operation,
                first_batch=done.batch,
                last_batch=done.batch,
                ranges=[each.model_dump(mode="json") for each in done.ranges],
                sink=done.sink,
            )
    return ordered


def test_a_replay_is_a_second_reading_with_a_record_of_its_own(
    topics: Topics, make_pipeline: MakePipeline, tracer: MakeTracer, tmp_path: Path
) -> None:
    produced(topics, b"0", b"1")
    pipeline = make_pipeline()
    run = pipeline.start()
    run.wait_read({TopicPartition(topics.source, 0): 2})
    directory = order(tmp_path / "state", topics, 1, 2)
    wait_for(lambda: progress(directory).over, "the end of the replay", timeout=240)
    run.stop()
    row = known(topics, pipeline)
    take_in(run, row)
    ordered = replayed(row, directory)
    found = tracer(row).at(topics.source, 0, 1)
    rows = found.channels[0].ledger.rows
    assert [(each.state, each.operation) for each in rows] == [("done", None), ("replayed", ordered.operation)]
    assert outcome(found)[:2] == ("delivered", "sink")
    both = [(m.partition(), m.offset()) for m in topics.messages(topics.sink) if m.value() == b"1"]
    assert sorted(place[1:] for place in places(found)) == sorted(both)
    assert len(both) == 2
    assert len(places(tracer(row).at(topics.source, 0, 0))) == 1


def test_offsets_of_a_topic_that_was_made_again_are_not_read(
    topics: Topics, make_pipeline: MakePipeline, tracer: MakeTracer
) -> None:
    produced(topics, b"1", b"DEBUG")
    pipeline = make_pipeline(source={"interceptors": [FILTER]})
    run = pipeline.start()
    run.wait_read({TopicPartition(topics.source, 0): 2})
    run.stop()
    row = known(topics, pipeline)
    take_in(run, row)
    topics.make_again(topics.source)
    produced(topics, b"DEBUG", b"2")
    found = tracer(row).at(topics.source, 0, 0)
    assert outcome(found)[0] == "unknown"
    assert "TOPIC_RECREATED" in codes(found)


@by_turns(1)
def test_records_of_many_are_traced_to_their_offsets_in_the_sink(
    topics: Topics, make_pipeline: MakePipeline, tracer: MakeTracer, record_property: RecordProperty, tmp_path: Path
) -> None:
    """`HEADGATE_TRACED_RECORDS=1000000` has as many records. Some are delivered once more, by a replay."""
    producer = Producer(
        {"bootstrap.servers": topics.servers, "linger.ms": 20, "queue.buffering.max.messages": 2_000_000}
    )
    for number in range(RECORDS):
        producer.produce(topics.source, _body(number), partition=number % 4)
    assert producer.flush(240) == 0
    pipeline = make_pipeline(source={"interceptors": [FILTER, JSON]}, max_events_per_batch=max(1000, RECORDS // 20))
    run = pipeline.start()
    run.wait_read(topics.ends(topics.source), timeout=600)
    directory = order(tmp_path / "state", topics, 0, 30)
    wait_for(lambda: progress(directory).over, "the end of the replay", timeout=240)
    run.stop()
    row = known(topics, pipeline)
    take_in(run, row)
    replayed(row, directory)
    there, trace = origins(topics), tracer(row)
    numbers = random.Random(7).sample(range(RECORDS), TRACED)
    numbers += [3, 7, 1007, 0, 40, 116]  # of each kind, whatever was drawn; the last three were replayed
    assert len(there[0, 29]) == 2
    took = []
    for number in numbers:
        began = time.monotonic()
        found = trace.at(topics.source, number % 4, number // 4)
        took.append(time.monotonic() - began)
        assert outcome(found)[0] == _outcome(number), number
        assert sorted(places(found)) == sorted(there.get((number % 4, number // 4), [])), number
    took.sort()
    figures = {"records": RECORDS, "median": took[len(took) // 2], "slowest": took[-1]}
    record_property("seconds of a trace", {name: round(value, 2) for name, value in figures.items()})
    print(figures)


def _body(number: int) -> bytes:
    kinds = {"filtered": b'{"level":"DEBUG","n":%d}', "dead_lettered": b"no json %d", "delivered": b'{"n":%d}'}
    return kinds[_outcome(number)] % number


def _outcome(number: int) -> str:
    if number % 10 == 3:
        return "filtered"
    return "dead_lettered" if number % 1000 == 7 else "delivered"
