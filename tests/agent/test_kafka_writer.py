"""Headgate's writer of Kafka records and Spark's write the same, and both fail where a record is refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import types as t

from tests.agent.topics import Topics
from workers.agent.base.event import HEADERS_TYPE
from workers.agent.graph.batch import IS_DELIVERED
from workers.agent.kafka.records import PROVIDER

FORMATS = {"headgate": PROVIDER, "spark": "kafka"}
FILTERED = IS_DELIVERED + 1
RECORD = "key binary, value binary, headers " + HEADERS_TYPE

Write = Callable[..., None]


@pytest.fixture(params=sorted(FORMATS))
def write(request: pytest.FixtureRequest, topics: Topics) -> Write:
    def to(frame: DataFrame, topic: str | None, **options: str) -> None:
        given = {
            "kafka.bootstrap.servers": topics.servers,
            "kafka.acks": "all",
            "kafka.max.block.ms": "2000",
            "kafka.request.timeout.ms": "2000",
            "kafka.delivery.timeout.ms": "6000",
            "includeHeaders": "true",
            **({"topic": topic} if topic else {}),
            **options,
        }
        frame.write.format(FORMATS[request.param]).mode("append").options(**given).save()

    return to


def written(topics: Topics, topic: str = "") -> list[tuple[Any, ...]]:
    """Partition, key, value and headers of every record."""
    found = [
        (each.partition(), each.key(), each.value(), each.headers() or [])
        for each in topics.messages(topic or topics.sink)
    ]
    return sorted(found, key=repr)


def test_a_record_has_what_its_row_says_and_lacks_what_that_lacks(
    session: SparkSession, topics: Topics, write: Write
) -> None:
    rows: list[Any] = [
        (b"k", b"v", [("a", b"1"), ("a", None), ("ü", b"")], 3),
        (None, b"", [], 0),
        (b"", None, None, 1),
        (b"by its key", b"\x00\xff", [("x", b"y")], None),
    ]
    write(session.createDataFrame(rows, RECORD + ", partition int"), topics.sink)
    found = written(topics)
    chosen = [each for each in found if each[1] != b"by its key"]
    assert chosen == [
        (0, None, b"", []),
        (1, b"", None, []),
        (3, b"k", b"v", [("a", b"1"), ("a", None), ("ü", b"")]),
    ]
    assert [each[2:] for each in found if each not in chosen] == [(b"\x00\xff", [("x", b"y")])]


def test_a_row_names_its_topic_where_there_is_none_for_all(session: SparkSession, topics: Topics, write: Write) -> None:
    rows: list[Any] = [(topics.sink, None, b"1", []), (topics.source, None, b"2", []), (topics.sink, None, b"3", [])]
    write(session.createDataFrame(rows, "topic string, " + RECORD), None)
    assert [each[2] for each in written(topics)] == [b"1", b"3"]
    assert [each[2] for each in written(topics, topics.source)] == [b"2"]


@pytest.mark.parametrize("rows", [0, 1, 5000])
def test_when_it_ends_every_record_is_acknowledged(
    session: SparkSession, topics: Topics, write: Write, rows: int
) -> None:
    frame = session.range(rows, numPartitions=4).selectExpr(
        "cast(null as binary) key",
        "cast(cast(id as string) as binary) value",
        f"cast(array() as {HEADERS_TYPE}) headers",
    )
    write(frame, topics.sink, **{"kafka.linger.ms": "3000", "kafka.batch.size": str(1 << 20)})
    assert topics.delivered() == rows
    assert {int(each[2]) for each in written(topics)} == set(range(rows))


@pytest.mark.parametrize("number", [0, 7, 99])
def test_a_record_that_is_refused_fails_the_write(
    session: SparkSession, topics: Topics, write: Write, number: int
) -> None:
    """By the broker, which the client hears of later."""
    topics.configure(topics.sink, {"max.message.bytes": "1000"})
    rows: list[Any] = [(None, b"x", [], 1)] * 99
    rows.insert(number, (None, b"x" * 5000, [], 0))
    with pytest.raises(Py4JJavaError, match=r"RecordTooLarge|larger than the max"):
        write(session.createDataFrame(rows, RECORD + ", partition int").coalesce(1), topics.sink)


def test_a_topic_that_is_not_there_fails_the_write(session: SparkSession, topics: Topics, write: Write) -> None:
    with pytest.raises(Py4JJavaError, match="not present in metadata"):
        write(session.createDataFrame([(None, b"v", [])], RECORD), "no.such.topic")


def test_rows_that_are_not_to_be_delivered_are_passed_over(session: SparkSession, topics: Topics) -> None:
    """By Headgate's writer alone, which knows verdicts."""
    verdicts = [IS_DELIVERED, FILTERED, -2, IS_DELIVERED, -3]
    rows: list[Any] = [(None, b"%d" % number, [], verdict) for number, verdict in enumerate(verdicts)]
    frame = session.createDataFrame(rows, RECORD + ", verdict int")
    frame.write.format(PROVIDER).mode("append").options(
        **{"kafka.bootstrap.servers": topics.servers, "topic": topics.sink}
    ).save()
    assert sorted(each[2] for each in written(topics)) == [b"0", b"3"]


def test_the_verdict_of_an_event_is_a_number_as_its_writer_reads_it(session: SparkSession) -> None:
    from tests.agent.test_counts_by_component import FILTER, PLANNED, Pipeline, events
    from workers.agent.graph.batch import Batch
    from workers.agent.graph.kept import Events

    pipeline = Pipeline(session, events("a", "b"), [{**FILTER, "regex": "a"}])
    attempt = Batch(Events(pipeline.frame), PLANNED, pipeline.graph.classifier("shop", "lake")).attempt("sinks.lake")
    assert attempt.in_columns([]).schema["verdict"].dataType == t.IntegerType()
