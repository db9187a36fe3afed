"""Memory channels whose topics are on one cluster: one pass writes all of them, each with books of its own."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import Column, SparkSession
from pyspark.sql import functions as f

from pipelines.domain.definitions.parts import registry
from pipelines.domain.ledger.journal import SinkFailed
from tests.agent.conftest import MakePipeline
from tests.agent.expressions import delivered, whole_plan
from tests.agent.harness import Pipeline as Agent
from tests.agent.test_counts_by_component import BY_HEADER, FILTER, PLANNED, REPLICATING, Pipeline, events, python
from tests.agent.test_generated_code import interpreted
from tests.agent.topics import Topics
from tests.counts import is_balanced, not_once
from workers.agent.components.sink.kafka import Builder
from workers.agent.graph.batch import Attempt, Batch
from workers.agent.graph.component import Place
from workers.agent.graph.kept import Events
from workers.agent.graph.together import together
from workers.agent.kafka import records

COUNT = 30_000
CHANNELS = ("lake", "other")
TO_ONE = {"type": "multiplexing", "header": "country", "mapping": {"CZ": ["lake"]}, "default": ["lake", "other"]}
Case = tuple[Sequence[Mapping[str, Any]], Mapping[str, Any], str | None]
CASES: dict[str, Case] = {
    "all go to both": ([], REPLICATING, None),
    "by a header, and some nowhere": ([], BY_HEADER, None),
    "some to both": ([], TO_ONE, None),
    "filtered on the way": ([{**FILTER, "regex": "b"}, {**FILTER, "regex": "c"}], TO_ONE, None),
    "several of one": ([python(on_error="dead_letter")], TO_ONE, None),
    "refused by the sinks": ([], TO_ONE, "c"),
}


def made_by(pipeline: Pipeline, refused: str | None) -> dict[str, Attempt]:
    reason = None if refused is None else f.when(f.col("body") == f.lit(refused.encode()), f.lit("refused"))
    return {
        name: Batch(Events(pipeline.frame), PLANNED, pipeline.graph.classifier("shop", name)).attempt(
            f"sinks.{name}", reason
        )
        for name in CHANNELS
    }


def columns(name: str) -> list[Column]:
    return [f.lit(f"topic-{name}").alias("topic"), f.col("body").alias("value"), f.col("offset").alias("at")]


@pytest.mark.parametrize("case", sorted(CASES))
def test_a_pass_for_all_delivers_and_counts_what_one_of_each_does(session: SparkSession, case: str) -> None:
    interceptors, selector, refused = CASES[case]
    given = events("a", "b", "unreadable", country="CZ") + events("c", "a") + events("b", "c", country="US")
    pipeline = Pipeline(session, given, interceptors, selector)
    apart = made_by(pipeline, refused)
    expected = Counter(
        tuple(row[each] for each in ("topic", "value", "at"))
        for name, each in apart.items()
        for row in delivered(each.in_columns(columns(name)))
    )
    joint = made_by(pipeline, refused)
    rows = together([(each, columns(name)) for name, each in joint.items()]).collect()
    assert Counter(tuple(row) for row in rows) == expected
    for name, each in joint.items():
        assert is_balanced(each.counts), each.counts
        assert each.counts == apart[name].counts
        assert each.counts.bytes_out == sum(len(row["value"]) for row in rows if row["topic"] == f"topic-{name}")
        assert each.written == sum(row["topic"] == f"topic-{name}" for row in rows)


def test_the_pass_runs_in_generated_code(session: SparkSession) -> None:
    pipeline = Pipeline(session, events("a", "b", country="CZ"), [{**FILTER, "regex": "b"}], TO_ONE)
    spec = {"type": "kafka", "channel": "lake", "bootstrap_servers": "127.0.0.1:9", "topic": "out"}
    sink = registry.get("sink", "kafka").model_validate(spec)
    own = records.columns(sink, "p/s/c", 4, whole=True)
    text = whole_plan(together([(each, own) for each in made_by(pipeline, None).values()]))
    assert interpreted(text) == [], text
    assert re.search(r"\*\(\d+\) Generate inline", text), text


def builder(**keys: Any) -> Builder:
    plain = {"type": "kafka", "channel": "lake", "bootstrap_servers": "127.0.0.1:9", "topic": "out", **keys}
    spec = registry.get("sink", "kafka").model_validate(plain)
    return Builder(spec, Place("p", 1, f"sinks.{keys.get('topic', 'out')}", Path()))


def test_topics_of_one_cluster_with_the_same_options_are_written_together() -> None:
    first = builder().written_with
    assert builder(topic="more", key="body", partition_header="p").written_with == first
    for other in (
        {"bootstrap_servers": "127.0.0.2:9"},
        {"compression": "zstd"},
        {"linger_ms": 77},
        {"write_timeout": 7},
        {"write_deadline": 7},
        {"options": {"batch.size": 1000}},
    ):
        assert builder(**other).written_with != first, other


def fan_out(topics: Topics, pipeline: Agent, names: Sequence[str], **sink: Any) -> None:
    """Each record goes to a topic of each of these memory channels."""
    definition = pipeline.definition
    definition["channels"] = {name: {"type": "memory"} for name in names}
    definition["sinks"] = {
        name: {**topics.as_sink(), **sink, "channel": name, "topic": f"{topics.sink}-{name}"} for name in names
    }
    for name in names:
        topics.create(f"{topics.sink}-{name}")


def wrong(topics: Topics, names: Sequence[str]) -> dict[str, dict[int, int]]:
    """Numbers that are not in a channel's topic exactly once, by channel."""
    found = {name: topics.read(f"{topics.sink}-{name}").numbers for name in names}
    return {name: bad for name, each in found.items() if (bad := not_once(each, range(topics.produced)))}


@pytest.mark.parametrize("crash_at", ["agent.writing", "agent.delivered", "agent.done"])
def test_every_channel_has_each_record_once_when_the_driver_dies(
    topics: Topics, make_pipeline: MakePipeline, crash_at: str
) -> None:
    names = ("audit", "lake", "store")
    pipeline = make_pipeline(max_events_per_batch=10_000)
    fan_out(topics, pipeline, names)
    topics.produce(COUNT)
    run = pipeline.start(crash_at)
    run.wait_exit()
    run = pipeline.start()
    run.wait_read(topics.ends(topics.source))
    run.kill("driver")
    run.wait_exit()
    topics.produce(1000)
    run = pipeline.start()
    run.wait_read(topics.ends(topics.source))
    assert run.stop().exit_code == 0
    pipeline.ingest()
    assert wrong(topics, names) == {}
    for name in names:
        done = pipeline.ledger["shop", name].done
        assert sum(each.counts.delivered for each in done) == topics.produced
    assert pipeline.possible_duplicates == 0


def test_a_topic_that_takes_nothing_keeps_no_batch_from_the_others(topics: Topics, make_pipeline: MakePipeline) -> None:
    names = ("audit", "lake", "store")
    pipeline = make_pipeline(max_events_per_batch=10_000)
    fan_out(topics, pipeline, names, write_timeout=2)
    topics.configure(f"{topics.sink}-lake", {"message.timestamp.before.max.ms": "0"})
    topics.produce(1000)
    run = pipeline.start()
    holding = {"audit": None, "lake": "sinks.lake", "store": None}
    run.wait_status(
        lambda s: (
            {q.channel: q.delivered for q in s.queries} == {"audit": 1000, "lake": 0, "store": 1000}
            and {q.channel: q.holding and q.holding.component for q in s.queries} == holding
        ),
        "the batch of the others, and the cause of the one that waits",
        60,
    )
    topics.configure(f"{topics.sink}-lake", {"message.timestamp.before.max.ms": str(2**62)})
    topics.produce(1000)
    run.wait_read(topics.ends(topics.source))
    assert run.stop().exit_code == 0
    failed = Counter(each.sink for each in run.of_kind(SinkFailed))
    assert failed["audit"] == failed["store"] == 1 <= failed["lake"]
    pipeline.ingest()
    assert wrong(topics, names) == {}
    assert pipeline.possible_duplicates == 0
