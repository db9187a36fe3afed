"""What a standby does before its promotion, so that its first batch costs what every batch costs.

The first query of a JVM spends seconds on loading and compiling classes: of the streaming engine, of its checkpoint, of
the way into Python, of the source and of the plan. Each of them is gone through here without reading a record: by a
query over numbers that nobody needs, by one over the source whose batches may hold nothing, and by a batch over an
empty range. Whatever of it does not work only makes the first batch slower.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from pipelines.domain.spec import Read
from workers.agent import compile as compiler
from workers.agent.checkpoint import Offsets
from workers.agent.delivery import cause_of
from workers.agent.log import say

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import DataFrame, SparkSession

_BATCHES = 3
_TIMEOUT = 30.0
_POLL = 0.02
_IDLE = "Waiting for"
"""How Spark says that a query has looked at its source and found nothing."""


def warm_up(spark: SparkSession, graph: compiler.Graph, reads: Mapping[Read, Offsets], tmp: Path) -> None:
    """Go through what the first batch of these reads will need. `reads`: where their logs end now. Bounded."""
    with _said():
        _run_numbers(spark, tmp)
    for read, ends in reads.items():
        with _said():
            _plan_nothing(spark, graph, read, ends)
        with _said():
            _read_nothing(spark, graph, read, ends, tmp)


@contextmanager
def _said() -> Iterator[None]:
    try:
        yield
    except Exception as error:
        say(f"the first batch will be slower: {cause_of(error)}")


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


def _plan_nothing(spark: SparkSession, graph: compiler.Graph, read: Read, ends: Offsets) -> None:
    """A batch over an empty range: its plan is compiled and has no task."""
    frame = compiler.past(spark, graph, read, ends, ends)
    for channel in read.channels:
        judgement = graph.judge(read.source, channel).judgement(frame, "", None)
        _evaluate(judgement.delivered(frame, "warming").select(*judgement.own))


def _read_nothing(spark: SparkSession, graph: compiler.Graph, read: Read, ends: Offsets, tmp: Path) -> None:
    """The source's own query, with batches of at most no record: it looks where the log ends, and never begins one."""
    endless = compiler.endless(spark, graph, read, ends, max_events=0)
    writer = endless.frame.writeStream.option("checkpointLocation", str(tmp / f"warming-{read.name}"))
    query = writer.foreachBatch(lambda _frame, _number: None).start()
    deadline = time.monotonic() + _TIMEOUT
    while not query.status["message"].startswith(_IDLE) and query.isActive and time.monotonic() < deadline:
        time.sleep(_POLL)
    query.stop()


def _evaluate(frame: DataFrame) -> None:
    frame.write.format("noop").mode("append").save()
