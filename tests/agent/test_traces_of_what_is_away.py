"""What a trace needs is away or gone: the answer comes in time, and says what it could not find out."""

from __future__ import annotations

from typing import Any

import pytest
from confluent_kafka.admin import AdminClient
from pyspark.sql import SparkSession

from pipelines.domain.base.states import LedgerState
from pipelines.domain.trace.protocol import TraceResult
from pipelines.models import Pipeline, Position
from pipelines.models import Run as RunRow
from tests.agent.conftest import define
from tests.agent.test_dead_letters import stored
from tests.agent.test_traces_of_records import FILTER, MakeTracer, codes, outcome, produced, tracer
from tests.agent.topics import Topics
from tests.factories import DeadLetterFactory, LedgerBatchFactory, now
from tests.waiting import wait_for
from workers.agent.base.located import Search, Wanted
from workers.agent.components.sink.kafka import Builder as KafkaSinkBuilder

pytestmark = pytest.mark.django_db
__all__ = ["tracer"]
AWAY = "127.0.0.1:9"


def read_by(topics: Topics, times: int = 1, **parts: Any) -> RunRow:
    """A run of a pipeline that has read the first record so often, in batches with several outcomes."""
    row = stored(topics, define(topics, delivery={}, **parts))
    assert row.pipeline.current_revision
    row.revision = row.pipeline.current_revision
    row.save()
    for number in range(times):
        LedgerBatchFactory.create(
            run=row,
            pipeline=row.pipeline,
            source="shop",
            channel="lake",
            state=LedgerState.DONE,
            first_batch=number,
            last_batch=number,
            ranges=[{"topic": topics.source, "partition": 0, "start": 0, "end": 1}],
            read=2,
            delivered=1,
            filtered=1,
            sink="lake",
        )
    return row


def traced(tracer: MakeTracer, row: RunRow, topics: Topics) -> TraceResult:
    return tracer(row).at(topics.source, 0, 0)


def test_the_cluster_of_a_sink_that_is_away_is_asked_once(
    topics: Topics, tracer: MakeTracer, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[float] = []
    locate = KafkaSinkBuilder.locate

    def counted(self: KafkaSinkBuilder, spark: SparkSession, wanted: Wanted, seconds: float) -> Search:
        asked.append(seconds)
        return locate(self, spark, wanted, seconds)

    monkeypatch.setattr(KafkaSinkBuilder, "locate", counted)
    produced(topics, b"1")
    row = read_by(topics, times=12, sink={**topics.as_sink(), "bootstrap_servers": AWAY})
    found = traced(tracer, row, topics)
    assert outcome(found)[:2] == ("delivered", "evaluation")
    searches = found.channels[0].searches
    assert [each.complete for each in searches] == [False] * 12
    assert len({each.unknown and each.unknown.reason for each in searches}) == 1
    assert len(asked) == 1


def test_a_trace_whose_time_is_over_says_so_of_all_that_is_left(
    topics: Topics, tracer: MakeTracer, monkeypatch: pytest.MonkeyPatch
) -> None:
    produced(topics, b"1")
    trace = tracer(read_by(topics))
    monkeypatch.setattr("workers.supervisor.previewing.traces.SECONDS", 1e-9)
    found = trace.at(topics.source, 0, 0)
    assert outcome(found)[:2] == ("unknown", "none")
    assert codes(found) == {"NOT_EVALUATED", "SINK_NOT_SEARCHED"}
    assert all("no time left" in each.reason for each in found.unknown)


def test_a_source_that_is_away_is_said_and_the_sink_is_searched(topics: Topics, tracer: MakeTracer) -> None:
    row = read_by(topics, source={"bootstrap_servers": AWAY, "interceptors": [FILTER]})
    DeadLetterFactory.create(
        pipeline=row.pipeline,
        run=row,
        source="shop",
        channel="lake",
        topic=topics.source,
        partition=0,
        offset=0,
        sending_since=now(),
    )
    found = traced(tracer, row, topics)
    assert outcome(found)[:2] == ("dead_lettered", "ledger")
    assert "RETRY_NOT_FOUND" in codes(found)
    assert [each.complete for each in found.channels[0].searches] == [True]
    assert found.evaluated[0].unknown


def test_a_sink_whose_topic_is_gone_is_said(topics: Topics, tracer: MakeTracer) -> None:
    produced(topics, b"1")
    row = read_by(topics)
    admin = AdminClient({"bootstrap.servers": topics.servers})
    admin.delete_topics([topics.sink])[topics.sink].result(30)
    wait_for(lambda: topics.sink not in admin.list_topics(timeout=10).topics, "the topic to be gone")
    found = traced(tracer, row, topics)
    assert outcome(found)[:2] == ("delivered", "evaluation")
    assert "SINK_NOT_SEARCHED" in codes(found)


def test_a_revision_without_the_source_that_read_the_record_is_said(topics: Topics, tracer: MakeTracer) -> None:
    produced(topics, b"1")
    row = read_by(topics)
    Pipeline.objects.get(pk=row.pipeline_id).batches.update(source="gone")
    Position.objects.all().delete()
    found = traced(tracer, row, topics)
    assert [each.outcome for each in found.channels if each.source == "gone"] == ["unknown"]
    assert found.unknown


def test_a_component_that_fails_on_the_record_is_named_without_what_it_says(topics: Topics, tracer: MakeTracer) -> None:
    produced(topics, b'{"n":"hunter22"}')
    failing = {"type": "sql", "set": {"headers.n": "json:n::INT"}, "on_error": "fail"}
    found = traced(tracer, read_by(topics, source={"interceptors": [failing]}), topics)
    (reason,) = (each.reason for each in found.unknown if each.code == "NOT_EVALUATED")
    assert "sources.shop.interceptors[0] failed on it" in reason
    assert "hunter22" not in found.model_dump_json()
