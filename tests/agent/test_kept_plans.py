"""A write that was planned for one small batch and serves the next ones does what a plan of their own does."""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest
from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from pipelines.domain.base.positions import TopicPartition
from pipelines.domain.definitions.parts import registry
from tests.agent.sinks import SCHEMA, planned
from tests.agent.topics import Topics
from tests.counts import is_balanced
from workers.agent.base.event import HEADERS_TYPE
from workers.agent.components.sink.kafka import Builder
from workers.agent.graph import kept
from workers.agent.graph.batch import Attempt, Batch, Classifier
from workers.agent.graph.component import Place
from workers.agent.graph.kept import Events, KeptPlans
from workers.agent.positions.held import Bits, Copies, Held

FILTER = "sources.shop.interceptors[0]"
NOW = "string(unix_micros(current_timestamp()))"


def handed_over(session: SparkSession, bodies: Sequence[bytes], first: int = 0, tasks: int = 2) -> DataFrame:
    """A batch as Spark hands it over: rows that somebody else has planned."""
    rows = [(None, body, [("country", b"CZ")], "in", 0, first + n, 0) for n, body in enumerate(bodies)]
    made = session.createDataFrame(rows, SCHEMA).drop("copy").repartition(tasks)
    rdd = made._jdf.queryExecution().toRdd()
    return DataFrame(session._jsparkSession.internalCreateDataFrame(rdd, made._jdf.schema(), False), session)


class Query:
    """What writes one batch after the other to a topic. `body`: what becomes of the bodies."""

    def __init__(self, session: SparkSession, topics: Topics, body: str = "body", **keys: Any) -> None:
        spec = {"type": "kafka", "channel": "lake", "bootstrap_servers": topics.servers, "topic": topics.sink, **keys}
        self.sink = Builder(
            registry.get("sink", "kafka").model_validate(spec), Place(topics.name, 1, "sinks.lake", Path())
        )
        self.sink.probe()
        self.session, self.topics = session, topics
        self.plans = KeptPlans()
        self._body = body
        self._classifier = Classifier("lake", "", keeps_bad=True, filters={0: FILTER})

    def _events(self, given: DataFrame) -> DataFrame:
        filtered = f.when(f.col("body").startswith(f.lit(b"filtered")), 0)
        return given.coalesce(1).withColumns({"filtered_by": filtered, "body": f.expr(self._body).cast("binary")})

    def attempt(self, given: DataFrame, held: Held | None = None) -> Attempt:
        batch = Batch(Events(given, self._events, self.plans), planned(0, 10), self._classifier)
        return batch.attempt("sinks.lake", self.sink.refuses(), held)

    def write(self, *bodies: bytes, first: int = 0, tasks: int = 2, held: Held | None = None) -> Attempt:
        attempt = self.attempt(handed_over(self.session, bodies, first, tasks), held)
        self.sink.write(attempt)
        assert is_balanced(attempt.counts), attempt.counts
        return attempt

    def written(self) -> Counter[bytes | None]:
        return Counter(each.value() for each in self.topics.messages(self.topics.sink))


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Of each plan that is made, whether it serves."""
    found: list[bool] = []
    plan = kept._plan

    def counted(*given: Any) -> Any:
        one = plan(*given)
        found.append(one is not None)
        return one

    monkeypatch.setattr(kept, "_plan", counted)
    return found


@pytest.mark.usefixtures("compiled")
def test_one_plan_delivers_and_counts_every_batch(session: SparkSession, topics: Topics, made: list[bool]) -> None:
    query, sent = Query(session, topics), 0
    for tasks in (1, 3, 2):
        bodies = [b"%d" % (sent + n) for n in range(tasks * 7)]
        attempt = query.write(*bodies, b"filtered", first=sent, tasks=tasks)
        sent += len(bodies)
        assert (attempt.counts.read, attempt.counts.delivered) == (len(bodies) + 1, len(bodies))
        assert attempt.counts.parts == {FILTER: {"filtered": 1}}
        assert attempt.counts.bytes_out == sum(map(len, bodies))
        assert attempt.written == len(bodies)
    assert query.written() == Counter(b"%d" % n for n in range(sent))
    assert made == [True]


def test_a_batch_without_events_is_counted_too(session: SparkSession, topics: Topics, made: list[bool]) -> None:
    query = Query(session, topics)
    assert query.write().counts.read == query.write(b"filtered").counts.delivered == 0
    assert query.write(b"a").counts.delivered == 1
    assert (query.written(), made) == ({b"a": 1}, [True])


def test_a_sink_that_warms_up_writes_nothing(session: SparkSession, topics: Topics, made: list[bool]) -> None:
    query = Query(session, topics)
    query.sink.warm_up(query.attempt(handed_over(session, [])))
    assert (query.written(), made) == ({}, [True])


def test_any_thread_writes_by_the_plan_of_another(session: SparkSession, topics: Topics, made: list[bool]) -> None:
    """The first of several channels that meets the others writes for all, in a thread that may never have planned."""
    query = Query(session, topics)
    query.write(b"a")
    attempt = query.attempt(handed_over(session, [b"b"], first=1))
    with ThreadPoolExecutor(1) as fresh:
        fresh.submit(query.sink.write, attempt).result(60)
    assert (query.written(), made) == ({b"a": 1, b"b": 1}, [True])


def test_its_records_are_those_of_a_plan_of_their_own(session: SparkSession, topics: Topics) -> None:
    def records() -> list[Any]:
        found = topics.messages(topics.sink)
        return sorted((each.partition(), each.key(), each.value(), each.headers()) for each in found)

    query = Query(session, topics, partition=1)
    query.write(b"a", b"filtered", b"b", first=7)
    by_kept = records()
    topics.make_again(topics.sink)
    query.plans = None  # type: ignore[assignment]
    query.write(b"a", b"filtered", b"b", first=7)
    assert by_kept == records()
    assert [each[2] for each in by_kept] == [b"a", b"b"]


@pytest.mark.parametrize("now", [NOW, f"transform(array({NOW}), each -> concat(each, ''))[0]"])
def test_each_batch_has_a_time_of_its_own(session: SparkSession, topics: Topics, made: list[bool], now: str) -> None:
    """Also in an expression that has no generated code."""
    query = Query(session, topics, now)
    times = []
    for number in range(3):
        before = time.time()
        query.write(b"a", b"b", first=number * 2)
        times.append((before, time.time()))
    found = query.written()
    assert sorted(found.values()) == [2, 2, 2], "and all events of a batch have the same"
    for (before, after), value in zip(times, sorted(int(each or b"0") for each in found), strict=True):
        assert before * 1e6 - 1000 <= value <= after * 1e6 + 1000
    assert made == [True]


@pytest.mark.parametrize("chosen", ["uuid()", "string(rand())", "string(current_date())"])
def test_what_is_chosen_when_a_plan_is_made_is_chosen_for_each_batch(
    session: SparkSession, topics: Topics, made: list[bool], chosen: str
) -> None:
    query = Query(session, topics, chosen)
    for number in range(2):
        assert query.write(b"a", b"b", first=number * 2).counts.delivered == 2
    assert made == [False], "and nobody tries again"
    if "current_date" not in chosen:
        assert len(query.written()) == 4


def test_one_plan_writes_what_several_channels_have(session: SparkSession, topics: Topics, made: list[bool]) -> None:
    """Each counts its own: one of them can take no large events."""
    topics.create(f"{topics.name}-small")
    large = Query(session, topics)
    small = Query(session, topics, topic=f"{topics.name}-small", options={"max.request.size": "2000"})
    small.sink.place = replace(small.sink.place, path="sinks.small")
    for number in range(3):
        given = handed_over(session, [b"%d" % number, b"x" * 5000, b"filtered"], number * 3)
        passes = [(each.sink, each.attempt(given)) for each in (large, small)]
        large.sink.write_together(passes)
        counts = [attempt.counts for _, attempt in passes]
        assert all(is_balanced(each) for each in counts)
        assert [(each.read, each.delivered, each.dead_lettered) for each in counts] == [(3, 2, 0), (3, 1, 1)]
        assert [each.bytes_out for each in counts] == [5001, 1]
    assert made == [True]
    bodies = [b"0", b"1", b"2"]
    assert large.written() == Counter([*bodies, *[b"x" * 5000] * 3])
    assert sorted(each.value() or b"" for each in topics.messages(f"{topics.name}-small")) == bodies


def test_events_that_are_no_records_become_dead_letters(session: SparkSession, topics: Topics) -> None:
    query = Query(session, topics, options={"max.request.size": "2000"})
    for number in range(2):
        attempt = query.write(b"a", b"x" * 5000, first=number * 2)
        assert (attempt.counts.delivered, attempt.counts.dead_lettered) == (1, 1)
        dead = attempt.dead()
        assert dead is not None
        assert [(row["offset"], row["component"]) for row in dead.collect()] == [(number * 2 + 1, "sinks.lake")]
    assert query.written() == {b"a": 2}


def test_a_plan_is_made_anew_where_the_write_is_another(
    session: SparkSession, topics: Topics, made: list[bool]
) -> None:
    query = Query(session, topics)
    query.write(b"a")
    query.sink.abandon(session)
    query.write(b"b", first=1)
    assert made == [True, True], "its producers have another name"
    topics.add_partitions(topics.sink, 6)
    query.sink._check_again()
    query.write(b"c", first=2)
    assert made == [True] * 3, "a record may go to other partitions"
    held = Held({Copies(TopicPartition("in", 0), 0): Bits(3, bytes([0b00000001]))}, records=1)
    assert query.write(b"d", b"e", first=3, held=held).written == 1
    query.write(b"f", first=5)
    assert made == [True] * 3
    assert query.written() == Counter([b"a", b"b", b"c", b"e", b"f"])


def test_a_write_that_fails_leaves_the_plan_as_it_was(session: SparkSession, topics: Topics, made: list[bool]) -> None:
    """By an expression, in a task; by the broker, which hears of it later."""
    query = Query(session, topics, "if(string(body) = 'bad', binary(raise_error('no such event')), body)")
    query.write(b"a")
    with pytest.raises((Py4JJavaError, PySparkException), match="no such event"):
        query.write(b"bad", first=1)
    topics.configure(topics.sink, {"max.message.bytes": "1000"})
    with pytest.raises((Py4JJavaError, PySparkException), match="RecordTooLarge"):
        query.write(random.Random(1).randbytes(5000), first=1)
    assert query.write(b"b", first=1).counts.delivered == 1
    assert (query.written(), made) == ({b"a": 1, b"b": 1}, [True])


def test_what_looks_at_several_events_at_once_has_a_plan_of_its_own(session: SparkSession) -> None:
    given = handed_over(session, [b"a"])
    headers = f.col("headers").cast(HEADERS_TYPE).alias("headers")
    rows = given.select("key", f.col("body").alias("value"), headers).observe("counts", f.count(f.lit(1)).alias("read"))
    options = {"kafka.bootstrap.servers": "127.0.0.1:9", "topic": "t"}
    assert kept._plan(rows, options) is not None
    for other in (
        rows.distinct(),
        rows.limit(1),
        rows.union(rows),
        rows.orderBy("value"),
        rows.where("value = (select first(binary('a')) from range(1))"),
    ):
        assert kept._plan(other, options) is None


def test_a_query_keeps_so_many_plans(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[int] = []
    monkeypatch.setattr(kept, "_plan", lambda *_: made.append(1))
    plans, nothing = KeptPlans(), cast(Any, None)

    def write(number: int) -> int:
        before = len(made)
        plans.write(kept.Write((f"sinks.{number}",), (), {}), nothing, lambda _: nothing)
        return len(made) - before

    assert [write(number) for number in [*range(kept._MOST), *range(kept._MOST)]] == [1] * kept._MOST + [0] * kept._MOST
    assert [write(number) for number in (kept._MOST, 0, 0, kept._MOST)] == [1, 1, 0, 0]
