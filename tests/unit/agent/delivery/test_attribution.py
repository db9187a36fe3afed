"""Whose failure it is when a batch cannot be delivered."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipelines.domain.ledger.journal import Done, SinkFailed, SourceFailed
from pipelines.domain.runs.protocol import Holding
from tests.batch_bench import Stage
from workers.agent.delivery.attribution import Side, side_of
from workers.agent.sink_processors.failover import Failover

ABORTED = """An error occurred while calling o99.save.
: org.apache.spark.SparkException: Job aborted due to stage failure: Task 0 in stage 3.0 failed 1 times
Driver stacktrace:
\tat org.apache.spark.scheduler.DAGScheduler.$anonfun$abortStage$2(DAGScheduler.scala:2898)
"""
FETCH = f"""{ABORTED}Caused by: java.util.concurrent.TimeoutException: Cannot get record for offset 7 in 10 ms
\tat org.apache.spark.sql.kafka010.consumer.InternalKafkaConsumer.fetch(KafkaDataConsumer.scala:113)
\tat org.apache.spark.sql.kafka010.KafkaBatchPartitionReader.next(KafkaBatchPartitionReader.scala:99)
\tat org.apache.spark.sql.kafka010.KafkaWriteTask.execute(KafkaWriteTask.scala:47)
"""
POSITION = f"""{ABORTED}Caused by: org.apache.kafka.common.errors.TimeoutException: Timeout of 10000ms expired before \
the position for partition orders-0 could be determined
"""
SEND = f"""{ABORTED}\tat org.apache.spark.sql.kafka010.KafkaRowWriter.checkForErrors(KafkaWriteTask.scala:118)
Caused by: org.apache.kafka.common.errors.TimeoutException: Expiring 3 record(s) for out-1:30002 ms has passed since \
batch creation
"""
POLL = f"""{ABORTED}Caused by: java.util.concurrent.TimeoutException: Cannot get record for offset 7 in 10 ms
\tat org.apache.spark.sql.kafka010.PolledReader.explainNothing(KafkaReader.scala:190)
\tat org.apache.spark.sql.kafka010.RecordWriter.write(KafkaWriter.scala:40)
"""
RECORD = f"""{ABORTED}Caused by: java.lang.IllegalStateException: closed
\tat org.apache.spark.sql.kafka010.RecordWriter.write(KafkaWriter.scala:40)
"""
POST = """Traceback (most recent call last):
  File "/srv/workers/agent/http/chunked_writer.py", line 80, in _send
ConnectionError: refused
"""


@pytest.fixture
def stage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Stage:
    return Stage(tmp_path, monkeypatch)


@pytest.mark.parametrize(
    ("text", "side"),
    [
        (FETCH, Side.SOURCE),
        (POLL, Side.SOURCE),
        (POSITION, Side.SOURCE),
        (SEND, Side.SINK),
        (RECORD, Side.SINK),
        (POST, Side.SINK),
        (ABORTED, None),
    ],
    ids=["fetch", "poll", "position", "send", "record", "post", "nobody"],
)
def test_the_innermost_frame_or_the_words_of_a_client_tell_who_raised_it(text: str, side: Side | None) -> None:
    assert side_of(RuntimeError(text)) is side


def test_a_batch_that_cannot_be_read_is_held_in_the_name_of_its_source(stage: Stage) -> None:
    stage.sink.failing, stage.sink.failure = 2, RuntimeError(FETCH)
    bench = stage.bench()
    reported: list[Holding | None] = []
    bench.ledger.on_change = lambda: reported.append(bench.ledger.progress.holding)
    bench.run(0, 6)
    assert stage.kinds() == ["Planned", "SourceFailed", "SourceFailed", "Done"]
    assert {each.component for each in reported if each} == {"sources.shop"}
    (done,) = stage.disk.of_kind(Done)
    assert (done.attempts, done.duplicates_max) == (3, 6), (
        "what each attempt had written before is counted all the same"
    )


def test_no_member_of_a_group_is_penalized_for_its_source(stage: Stage) -> None:
    stage.sink.failing, stage.sink.failure = 1, RuntimeError(FETCH)
    bench = stage.bench(group=True)
    bench.group.processor = Failover(
        ["lake", "second"], {"lake": 2, "second": 1}, 30_000, clock=lambda: 0.0, wall=lambda: 0.0
    )
    bench.run(0, 6)
    assert bench.group.pools().failed == []
    assert (stage.other.records, stage.disk.of_kind(Done)[0].sink) == ([], "lake")


def test_an_optional_channel_drops_nothing_because_its_source_is_away(stage: Stage) -> None:
    stage.sink.failing, stage.sink.failure = 1, RuntimeError(FETCH)
    stage.bench(optional=True).run(0, 6)
    (done,) = stage.disk.of_kind(Done)
    assert (done.counts.delivered, done.counts.dropped_optional) == (6, 0)


@pytest.mark.parametrize("away", [True, False])
def test_where_the_error_does_not_tell_the_sink_is_to_blame_while_the_source_answers(stage: Stage, away: bool) -> None:
    stage.sink.failing, stage.sink.failure = 1, RuntimeError(ABORTED)
    bench = stage.bench()
    if away:
        bench.query.source_away = Holding(component="sources.shop", cause="away", attempts=2, since=0.0)
    bench.run(0, 6)
    assert (len(stage.disk.of_kind(SourceFailed)), len(stage.disk.of_kind(SinkFailed))) == (away, not away)
