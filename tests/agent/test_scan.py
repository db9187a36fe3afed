"""A batch as its reader gives it has the rows of the batch that Spark hands over."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from tests.agent.topics import Topics
from workers.agent.components.source.kafka import _FORMATS
from workers.agent.delivery.scan import as_read
from workers.agent.spark.session import generate_code

COUNT = 2000


def first_batch(
    stream: DataFrame, tmp_path: Path, look: Callable[[DataFrame, DataFrame], Any], *, before: bool = False
) -> Any:
    """What `look` makes of the first batch, as Spark hands it over and as it is read."""
    found: list[Any] = []
    started = threading.Event()

    def batch(frame: DataFrame, _number: int) -> None:
        assert started.wait(30)
        if not found:
            found.append(look(frame, as_read(None if before else query, frame)))

    query = stream.writeStream.option("checkpointLocation", str(tmp_path)).foreachBatch(batch).start()
    try:
        started.set()
        query.processAllAvailable()
    finally:
        query.stop()
    return found[0]


def of_topic(session: SparkSession, topics: Topics, reader: str = "headgate") -> DataFrame:
    options = {
        "kafka.bootstrap.servers": topics.servers,
        "subscribe": topics.source,
        "startingOffsets": "earliest",
        "includeHeaders": "true",
    }
    return session.readStream.format(_FORMATS[reader]).options(**options).load()


@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.parametrize("reader", sorted(_FORMATS))
def test_it_has_the_same_rows_however_it_is_evaluated(
    session: SparkSession, topics: Topics, tmp_path: Path, reader: str, compiled: bool
) -> None:
    """Each row of the reader is the same object: what keeps several of them has to copy them."""
    topics.produce(COUNT, headers=[("a", b"1")], key=b"k")

    def look(frame: DataFrame, read: DataFrame) -> None:
        assert read is not frame
        generate_code(read.sparkSession, compiled)
        wanted = sorted(frame.collect())
        assert len({bytes(row["value"]) for row in wanted}) == COUNT
        assert sorted(read.collect()) == wanted
        assert sorted(read.coalesce(1).collect()) == wanted
        kept = read.where(f.length("value") > 0).persist()
        assert sorted(kept.collect()) == wanted
        assert sorted(kept.collect()) == wanted
        kept.unpersist()
        assert read.orderBy("partition", "offset").collect() == frame.orderBy("partition", "offset").collect()
        assert read.groupBy("partition").count().count() == frame.groupBy("partition").count().count()

    first_batch(of_topic(session, topics, reader), tmp_path, look)


def test_fewer_steps_lead_to_it(session: SparkSession, topics: Topics, tmp_path: Path) -> None:
    topics.produce(10)
    stream = of_topic(session, topics)
    ways = first_batch(
        stream, tmp_path, lambda *both: [each._jdf.queryExecution().toRdd().toDebugString() for each in both]
    )
    behind, read = (len(way.splitlines()) for way in ways)
    assert read < behind, ways


def test_a_stream_that_does_more_than_read_is_taken_as_it_is(
    session: SparkSession, topics: Topics, tmp_path: Path
) -> None:
    topics.produce(10)
    for stream in (
        of_topic(session, topics).where("offset >= 1"),
        of_topic(session, topics).select("value"),
        of_topic(session, topics).withColumn("more", f.lit(1)),
    ):
        assert first_batch(stream, tmp_path / str(id(stream)), lambda frame, read: read is frame)


def test_so_is_a_batch_that_comes_before_its_query_is_known(
    session: SparkSession, topics: Topics, tmp_path: Path
) -> None:
    topics.produce(10)
    assert first_batch(of_topic(session, topics), tmp_path, lambda frame, read: read is frame, before=True)
