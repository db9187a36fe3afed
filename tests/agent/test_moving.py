"""Records on their way: delivered and counted."""

from __future__ import annotations

import json
import time
from collections import Counter
from itertools import pairwise
from pathlib import Path

import pytest

from pipelines.domain.base.states import AgentPhase
from pipelines.domain.definitions.document.spec import SHARE_OF_WAITING, WORTH_A_BATCH
from pipelines.domain.ledger.journal import Done, PhaseChanged, Planned, Positions
from pipelines.domain.ledger.ledger import BatchStep
from pipelines.domain.runs.protocol import KafkaReader
from tests.agent.conftest import MakePipeline
from tests.agent.test_channels import add_channel, numbers_in
from tests.agent.topics import Topics
from tests.counts import is_balanced, not_once
from tests.waiting import wait_for

ROUNDED = len(BatchStep)
"""Milliseconds that parts can be more than the whole, since each is rounded."""


@pytest.mark.parametrize("reader", ["headgate", "spark"])
def test_few_events_wait_within_the_target_latency_and_many_do_not(
    topics: Topics, make_pipeline: MakePipeline, reader: KafkaReader
) -> None:
    pipeline = make_pipeline(target_latency="6s")
    run = pipeline.prepare(spark=pipeline.spark.model_copy(update={"kafka_reader": reader})).start()
    for total in (10, 20, 30, 40):
        topics.produce(10)
        run.wait_delivered(total)
    topics.produce(3 * WORTH_A_BATCH)
    run.wait_delivered(40 + 3 * WORTH_A_BATCH)
    assert run.stop().exit_code == 0
    planned = [entry.at for entry in run.entries() if isinstance(entry.payload(), Planned)]
    waited = [later - earlier for earlier, later in pairwise(planned)]
    wanted = SHARE_OF_WAITING * 6
    long = [seconds > wanted - 0.2 for seconds in waited[1:4]]  # the last batch may have left some of the many
    assert long == [True, True, False], "the first batch is a slow one"
    assert max(waited) < 6
    assert not_once(topics.read().numbers, range(40 + 3 * WORTH_A_BATCH)) == {}


def test_every_record_arrives_once_in_each_channel_with_its_origin_and_balanced_books(
    topics: Topics, make_pipeline: MakePipeline, tmp_path: Path
) -> None:
    """A broker, files and the log; and a topic as a channel, whose copies feed more files."""
    topics.produce(2000, key=b"k", headers={"colour": b"\xff\x00", "shade": b"red", "timestamp": b"1"})
    store = f"{topics.name}-store"
    topics.create(store)
    interceptors = [
        {"type": "timestamp"},
        {"type": "static", "key": "datacenter", "value": "prague"},
        {"type": "static", "key": "colour", "value": "never"},
        {"type": "regex_filter", "regex": "7 ", "exclude_events": True},
    ]
    pipeline = make_pipeline(source={"interceptors": interceptors})
    add_channel(
        pipeline,
        "audit",
        {"type": "direct"},
        {"type": "file", "path": str(tmp_path / "audit"), "roll": {"interval": 0}},
    )
    add_channel(pipeline, "eye", {"type": "direct"}, {"type": "logger"})
    kept = {"type": "kafka", "bootstrap_servers": topics.servers, "topic": store}
    add_channel(pipeline, "kept", kept, {"type": "file", "path": str(tmp_path / "kept"), "roll": {"interval": 0}})
    run = pipeline.start()
    run.wait_delivered(5 * 1800)
    idle = run.wait_status(
        lambda s: s.phase is AgentPhase.RUNNING and all(q.lag == 0 for q in s.queries), "idle and running"
    )
    counted = {(q.source, q.channel): (q.read, q.delivered, q.filtered) for q in idle.queries}
    assert counted.pop(("channels.kept", "kept")) == (1800, 1800, 0)
    assert counted == {("shop", name): (2000, 1800, 200) for name in ("lake", "audit", "eye", "kept")}
    assert idle.progress >= 1
    wait_for(lambda: sum(topics.mirrored().values()) == 2000, "the mirror")
    assert run.stop().exit_code == 0

    wanted = [number for number in range(2000) if number % 10 != 7]
    out = topics.read()
    assert not_once(out.numbers, wanted) == {}
    headers = out.headers[5]
    assert headers["headgate.origin"] == f"{topics.name}/shop/lake/{topics.source}/1/1".encode()
    assert headers["datacenter"] == b"prague"
    assert headers["colour"] == b"\xff\x00"
    assert abs(int(headers["timestamp"]) / 1000 - time.time()) < 120
    assert out.keys[5] == b"k"
    assert not_once(numbers_in(tmp_path / "audit"), wanted) == {}
    assert not_once(numbers_in(tmp_path / "kept"), wanted) == {}
    assert not_once(topics.read(store).numbers, wanted) == {}
    line = json.loads(next((tmp_path / "kept").glob("*.json")).read_text().splitlines()[0])
    assert (line["origin"]["topic"], line["key"]) == (store, "k")
    assert line["headers"].keys() == {"colour", "shade", "timestamp", "datacenter"}
    assert (line["headers"]["shade"], line["headers"]["datacenter"]) == ("red", "prague")
    assert 0 < run.log.count("sinks.eye: " + topics.source) < 1800

    done = run.of_kind(Done)
    assert all(is_balanced(batch.counts) for batch in done)
    assert {frozenset(batch.steps) for batch in done} == {frozenset(set(BatchStep) - {BatchStep.OTHER})}
    assert all(0 < batch.steps[BatchStep.DELIVER] <= sum(batch.spent.values()) <= batch.ms + ROUNDED for batch in done)
    read: Counter[tuple[str, str]] = Counter()
    for batch in done:
        read[batch.source, batch.channel] += batch.counts.read
    assert read == {("channels.kept", "kept"): 1800, **dict.fromkeys(counted, 2000)}
    assert {change.new for entry in run.of_kind(Positions) for change in entry.changes} == {0}
    assert [phase.phase for phase in run.of_kind(PhaseChanged)] == [
        "PREFLIGHT",
        "STARTING",
        "RUNNING",
        "STOPPING",
        "STOPPED",
    ]
