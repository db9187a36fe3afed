"""What a standby does before its promotion, so that its first batch costs what every batch costs.

The first query of a JVM spends seconds on loading and compiling classes: of the streaming engine, of its checkpoint, of
the way into Python, of the source, of the plan and of the sinks' clients. Each of them is gone through here, and no
event is made: by a query over numbers that nobody needs, by a look at the last record of each partition, by a batch
without rows, and by a query over the source whose batches may hold nothing. Whatever of it does not work only makes the
first batch slower.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from pipelines.domain.base.positions import TopicPartition
from workers.agent.base.batch_limits import BatchLimits
from workers.agent.base.log import say
from workers.agent.delivery.delivery import cause_of
from workers.agent.delivery.query import ReadQuery
from workers.agent.delivery.real_time import Query
from workers.agent.graph import compile as compiler
from workers.agent.graph.kept import Events
from workers.agent.positions.guard import LogRange
from workers.agent.spark.session import without_rows

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import DataFrame, SparkSession

_BATCHES = 3
_TIMEOUT = 30.0
_POLL = 0.02
_IDLE = "Waiting for"
"""How Spark says that a query has looked at its source and found nothing."""
Log = Mapping[TopicPartition, LogRange]


def warm_up(
    spark: SparkSession, graph: compiler.Graph, logs: Mapping[str, Log], queries: list[Query], tmp: Path
) -> None:
    """Go through what the first batch of these queries will need. `logs`: what can be read now of each source that may
    be looked at. Bounded."""
    with _said():
        _run_numbers(spark, tmp)
    for query in queries:
        if (log := logs.get(query.read.source)) is None:
            continue
        with _said():
            _read_the_last(spark, graph, query, log)
        with _said():
            _deliver_nothing(spark, graph, query, log)
        with _said():
            _read_nothing(spark, graph, query, log, tmp)


@contextmanager
def _said() -> Iterator[None]:
    try:
        yield
    except Exception as error:
        say(f"the first batch will be slower: {cause_of(error)}", "WARNING")


def _run_numbers(spark: SparkSession, tmp: Path) -> None:
    """A few batches of a query over numbers."""
    enough = threading.Event()

    def batch(frame: DataFrame, number: int) -> None:
        _evaluate(frame)
        if number + 1 >= _BATCHES:
            enough.set()

    numbers = spark.readStream.format("rate-micro-batch").option("rowsPerBatch", 1).load()
    writer = numbers.writeStream.option("checkpointLocation", str(tmp / "warming")).foreachBatch(batch)
    query = writer.trigger(processingTime="0 seconds").start()
    enough.wait(_TIMEOUT)
    query.stop()


def _read_the_last(spark: SparkSession, graph: compiler.Graph, query: Query, log: Log) -> None:
    """The last record of each partition is fetched, and dropped as the source gives it: no component sees it."""
    starts = {key: max(held.start, held.end - 1) for key, held in log.items()}
    frame, _ = graph.sources[query.read.source].past(spark, starts, _ends(log))
    _evaluate(frame)


def _deliver_nothing(spark: SparkSession, graph: compiler.Graph, query: Query, log: Log) -> None:
    """A batch without rows, as the query is given its batches, up to the sinks."""
    endless = compiler.endless(spark, graph, query.read, _ends(log), BatchLimits(0))
    empty = without_rows(spark, endless.frame)
    if isinstance(query, ReadQuery):
        query.warm_up(empty, endless)
    else:
        for ledger in query.channels:
            ledger.warm_up(Events(empty, endless.events))


def _read_nothing(spark: SparkSession, graph: compiler.Graph, query: Query, log: Log, tmp: Path) -> None:
    """The source's own query, with batches of at most no record: it looks where the log ends, and never begins one."""
    endless = compiler.endless(spark, graph, query.read, _ends(log), BatchLimits(0))
    writer = endless.frame.writeStream.option("checkpointLocation", str(tmp / f"warming-{query.name}"))
    running = writer.foreachBatch(lambda _frame, _number: None).start()
    deadline = time.monotonic() + _TIMEOUT
    while not running.status["message"].startswith(_IDLE) and running.isActive and time.monotonic() < deadline:
        time.sleep(_POLL)
    running.stop()


def _ends(log: Log) -> dict[TopicPartition, int]:
    return {key: held.end for key, held in log.items()}


def _evaluate(frame: DataFrame) -> None:
    frame.write.format("noop").mode("append").save()
