"""A standby beside the run that works: it consumes nothing, and takes over to the record within a second or two."""

from __future__ import annotations

import time
from contextlib import suppress
from itertools import pairwise

import pytest
from confluent_kafka import Consumer, KafkaException, TopicPartition

from pipelines.domain.base.states import AgentPhase, Command
from pipelines.domain.ledger import journal
from pipelines.domain.runs.protocol import Exit
from tests.agent.conftest import MakePipeline
from tests.agent.harness import Pipeline, Run
from tests.agent.topics import EVERY_MS, Pacer, Topics
from tests.counts import not_once
from tests.waiting import wait_for

RATE = 2_000


def largest_gap(topics: Topics, since: float) -> float:
    """Seconds between two deliveries after `since` (wall seconds), as the sink has seen them, at most."""
    consumer = Consumer({"bootstrap.servers": topics.servers, "group.id": "gap", "enable.auto.commit": False})
    ends = topics.ends(topics.sink)
    consumer.assign([TopicPartition(topic, number, 0) for topic, number in ends])
    at: list[int] = []
    while len(at) < sum(ends.values()):
        at += [message.timestamp()[1] for message in consumer.consume(10_000, timeout=1)]
    consumer.close()
    return max(after - before for before, after in pairwise(sorted(each for each in at if each >= since * 1000))) / 1000


def committed(topics: Topics) -> dict[int, int] | None:
    """The commits of the declared group; None while nobody coordinates it yet."""
    with suppress(KafkaException):
        return topics.mirrored()
    return None


def ready(pipeline: Pipeline) -> Run:
    """A standby that waits."""
    standby = pipeline.prepare_standby().start()
    standby.order(Command.STANDBY)
    standby.wait_status(lambda status: status.phase is AgentPhase.STANDBY, "standby")
    return standby


def test_a_promoted_standby_goes_on_to_the_record(
    make_pipeline: MakePipeline, topics: Topics, capsys: pytest.CaptureFixture[str]
) -> None:
    """Twice in a row: in the lineage of the run before, and in one of its own."""
    pipeline = make_pipeline(trigger_interval_ms=EVERY_MS)
    topics.produce(RATE)
    old = pipeline.start()
    old.order(Command.RUN)
    old.wait_delivered(RATE)
    standby = ready(pipeline)
    pacer = Pacer(topics, RATE)
    pacer.start()
    old.wait_delivered(2 * RATE)
    flowing = time.time()
    reported = [taken_over(pipeline, old, standby, same_lineage=True)]
    reported += [taken_over(pipeline, standby, last := ready(pipeline), same_lineage=False)]
    produced = pacer.end()
    last.wait_read(topics.ends(topics.source))
    assert last.stop().exit_code == Exit.CLEAN
    assert not not_once(topics.read().numbers, range(produced))
    pipeline.ingest()
    assert pipeline.possible_duplicates == 0
    gap = largest_gap(topics, flowing)
    with capsys.disabled():
        print("".join(f"\n{each}" for each in reported) + f"\ndelivery pause (measured) {gap:.2f} s at most")


def taken_over(pipeline: Pipeline, old: Run, standby: Run, *, same_lineage: bool) -> str:
    """Promote the standby and let it deliver; returns what it took. It consumed nothing before."""
    before = sum(query.delivered for query in old.status.queries) if old.status else 0
    standby.obey(Command.STANDBY)
    standby.order(Command.RUN)  # an order that it has no right to obey yet
    old.wait_delivered(before + RATE)
    assert "will be slower" not in standby.log
    status = standby.status
    assert status is not None
    assert status.phase is AgentPhase.STANDBY
    assert sum(query.read for query in status.queries) == 0
    assert {entry.kind for entry in standby.entries()} <= journal.OWN_LIFE
    assert {entry.epoch for entry in standby.entries()} == {0}

    stopping = time.monotonic()
    assert old.stop().exit_code == Exit.CLEAN
    stopped = time.monotonic()
    pipeline.promote(standby, same_lineage=same_lineage)
    first = standby.wait_delivered(1)
    took = time.monotonic() - stopped
    standby.wait_delivered(2 * RATE)
    return (
        f"stop {stopped - stopping:.2f} s, promotion to first delivery {took:.2f} s, "
        f"initialised in {first.initialised_in:.1f} s"
    )


def test_a_standby_that_cannot_initialise_ends_with_its_findings_and_leaves_nothing(
    make_pipeline: MakePipeline, topics: Topics
) -> None:
    pipeline = make_pipeline()
    pipeline.definition["sinks"]["lake"]["topic"] = "no-such-topic"
    pipeline.spark = pipeline.no_jvm
    standby = pipeline.prepare_standby().start()
    standby.order(Command.STANDBY)
    assert standby.wait_exit().exit_code == Exit.INIT_FAILED
    status = standby.status
    assert status is not None
    assert [finding.path for finding in status.findings] == ["sinks.lake"]
    files = [path.relative_to(pipeline.state_dir) for path in pipeline.state_dir.rglob("*") if path.is_file()]
    assert {path.parts[0] for path in files} == {"runs"}
    assert all(offset < 0 for offset in wait_for(lambda: committed(topics), "the group's coordinator").values())
    wait_for(lambda: not (standby.dir / "tmp").exists(), "no temporary files")
