"""A real agent has read the records; a trace says of each what the agent made of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer
from pyspark.sql import SparkSession

from pipelines.domain.base.positions import TopicPartition
from pipelines.domain.base.states import HostTaskState
from pipelines.domain.ledger.journal import DeadLetters
from pipelines.domain.runs.protocol import AgentUser, SparkSettings
from pipelines.domain.trace.protocol import TraceResult
from pipelines.domain.trace.question import Place, TraceQuestion
from pipelines.models import Host
from pipelines.models import Run as RunRow
from pipelines.services.base.audit import Actor
from pipelines.services.trace import traces
from tests.agent.conftest import MakePipeline
from tests.agent.harness import REACH, Pipeline
from tests.agent.test_dead_letters import NoSecrets, stored, take_in
from tests.agent.topics import Topics
from tests.factories import now
from tests.waiting import wait_for
from workers.adapters.secrets import backends
from workers.agent.evaluation.trace import follow
from workers.ports import Previews
from workers.supervisor.launch.launch import Launcher
from workers.supervisor.launch.references import References
from workers.supervisor.previewing.traces import TraceContext

pytestmark = pytest.mark.django_db
FILTER = {"type": "regex_filter", "regex": "DEBUG", "exclude_events": True}
CHANGE = {"type": "static", "key": "k", "value": "v"}
JSON = {"type": "morph_json", "drop": ["secret"]}


@dataclass
class InThisProcess:
    """`workers.ports.Previews` on the session of the tests."""

    session: SparkSession
    tmp: Path

    def make(self, owner: str, user: AgentUser | None, request: Any) -> Any:
        return request.answer_of(follow(self.session, request, self.tmp).model_dump_json().encode())

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
        Host.objects.update(seen_at=now() + timedelta(hours=1))
        self.row.refresh_from_db()
        question = TraceQuestion(at=Place(topic=topic, partition=partition, offset=offset))
        trace = traces.request(pipeline=self.row.pipeline, question=question, actor=Actor("ana"))
        references = References(backends({}, None, NoSecrets()))
        launcher = Launcher(
            "alpha", Path("/state"), references, lambda: SparkSettings(classpath=[]), reach=lambda _teams: REACH
        )
        TraceContext("alpha", launcher, self.previews).make(trace)
        trace.refresh_from_db()
        assert trace.state == HostTaskState.DONE, trace.error
        return TraceResult.model_validate(trace.result)


MakeTracer = Callable[[RunRow], Tracer]


@pytest.fixture
def tracer(session: SparkSession, tmp_path: Path) -> MakeTracer:
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
    assert outcome(found)[0] == "delivered"
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
