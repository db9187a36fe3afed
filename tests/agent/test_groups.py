"""Sink groups with real sinks: who takes a batch while a broker is dead, and what holds when it is back."""

from __future__ import annotations

import os
import random
import signal
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import KafkaException
from pyspark.sql import SparkSession
from pyspark.sql import functions as f

from controlplane.install.services.child import running
from controlplane.install.services.kafka import bootstrap_servers, kafka_service
from controlplane.install.services.ports import free_port
from pipelines.domain.ledger.journal import Done, SinkSwitched
from pipelines.domain.ledger.ledger import Counts
from pipelines.domain.ledger.sink_groups import Penalty
from pipelines.domain.runs.protocol import LAUNCH, Launch
from tests.agent.conftest import MakePipeline
from tests.agent.harness import Pipeline, Run, holders
from tests.agent.sinks import frame, numbered, planned
from tests.agent.test_channels import numbers_in
from tests.agent.test_deduplication import deliver, unknown
from tests.agent.topics import EVERY_MS, Pacer, Topics
from tests.chaos.data_plane import silent_server
from tests.chaos.extent import SEEDS, whole_only
from tests.chaos.test_data_plane_network import Mortal, mortal_broker
from tests.counts import not_once
from tests.figures import RecordProperty, report_arrival
from tests.waiting import wait_for
from workers.agent.delivery.delivery import Listener, SinkGroup
from workers.agent.delivery.gate import Gate
from workers.agent.graph.batch import Attempt, Batch, Classifier
from workers.agent.graph.component import Place, Resolution, SinkBuilder
from workers.agent.graph.kept import Events
from workers.agent.sink_processors.failover import Failover
from workers.agent.spark import deadline

COUNT = 200_000
ROUNDS = 6
FAILOVER = {"type": "failover", "priorities": {"first": 10, "second": 5}, "max_penalty_ms": 8000}
HASTE = {"write_timeout": "2s", "options": {"request.timeout.ms": 1000}}


def grouped(pipeline: Pipeline, processor: dict[str, Any], **sinks: dict[str, Any]) -> Pipeline:
    """Put a group of these sinks in place of the pipeline's own."""
    pipeline.definition["sinks"] = {name: {**sink, "channel": "lake"} for name, sink in sinks.items()}
    pipeline.definition["sink_groups"] = {"both": {"sinks": list(sinks), "processor": processor}}
    return pipeline


def takers(run: Run) -> list[str]:
    """The sinks that took batches, in turn."""
    found: list[str] = []
    for done in run.of_kind(Done):
        if found[-1:] != [done.sink]:
            found.append(done.sink)
    return found


def penalties(run: Run) -> list[Penalty]:
    """As a supervisor reads them from the journal."""
    found: dict[str, Penalty] = {}
    for each in run.of_kind(SinkSwitched):
        found.pop(each.sink, None)
        if not each.recovered:
            found[each.sink] = Penalty(sink=each.sink, failures=each.failures, until=each.until, cause=each.cause)
    return list(found.values())


def restarted(pipeline: Pipeline, carried: list[Penalty]) -> Run:
    """The next run, with the penalties of the one before."""
    run = pipeline.prepare()
    launch = Launch.load(run.dir / LAUNCH)
    assert launch is not None
    heads = [head.model_copy(update={"penalties": carried}) for head in launch.heads]
    launch.model_copy(update={"heads": heads}).store(run.dir / LAUNCH)
    return run.start()


def test_the_second_broker_takes_over_while_the_first_is_dead_and_gives_back_what_a_restart_remembers(
    topics: Topics, make_pipeline: MakePipeline, tmp_path: Path
) -> None:
    port = free_port()
    service = kafka_service(data_dir=tmp_path / "first", port=port)
    processor = {"type": "failover", "priorities": {"first": 10, "second": 5}, "max_penalty_ms": 16_000}
    pacer = Pacer(topics, 500)
    with running(service, tmp_path / "first.log") as broker:
        first = Topics(bootstrap_servers(port))
        quick = first.as_sink() | {"write_timeout": "2s", "options": {"request.timeout.ms": 1000}}
        base = make_pipeline(max_events_per_batch=2000, trigger_interval_ms=EVERY_MS)
        pipeline = grouped(base, processor, first=quick, second=topics.as_sink())
        pacer.start()
        run = pipeline.start()
        run.wait_delivered(2000)
        wait_for(lambda: takers(run)[-1:] == ["first"], "the first sink to take batches")
        broker.process.kill()
        wait_for(lambda: takers(run)[-1] == "second", "the second sink to take over")
    wait_for(lambda: [each for each in penalties(run) if each.failures >= 2], "a second penalty", 120)
    run.kill("driver")
    run.wait_exit()
    (carried,) = penalties(run)

    run = restarted(pipeline, [carried])
    again = wait_for(lambda: run.of_kind(SinkSwitched), "the first sink to be tried once more", 120)[0]
    assert (again.sink, again.failures, again.to) == ("first", carried.failures + 1, "second")
    wait_for(lambda: takers(run) == ["second"], "the second sink to go on", 60)
    with running(service, tmp_path / "first.log"):
        wait_for(lambda: takers(run)[-1] == "first", "the first sink to take batches again")
        back = next(each for each in run.of_kind(SinkSwitched) if each.recovered)
        assert (back.sink, back.to) == ("first", "first")
        count = pacer.end()
        run.wait_read(topics.ends(topics.source), 120)
        assert run.stop().exit_code == 0
        pipeline.ingest()
        found = first.read().numbers + topics.read().numbers
    assert set(found) == set(range(count))
    assert found.total() - len(found) <= pipeline.possible_duplicates


def test_two_sinks_take_batches_in_turn_and_one_of_them_all_while_the_other_fails(
    topics: Topics, make_pipeline: MakePipeline, tmp_path: Path
) -> None:
    left, right = tmp_path / "left", tmp_path / "right"
    sinks = {
        name: {"type": "file", "path": str(tmp_path / name), "roll": {"interval": 0}} for name in ("left", "right")
    }
    processor = {"type": "load_balance", "selector": "round_robin", "backoff": True, "max_timeout_ms": 2000}
    pipeline = grouped(make_pipeline(max_events_per_batch=500), processor, **sinks)
    topics.produce(4000)
    run = pipeline.start()
    run.wait_delivered(4000)
    assert Counter(done.sink for done in run.of_kind(Done)) == {"left": 4, "right": 4}

    own = right / ".headgate" / topics.name
    own.rename(tmp_path / "away")
    own.write_text("in the way")
    topics.produce(4000)
    run.wait_delivered(8000)
    switch = run.of_kind(SinkSwitched)[0]
    assert (switch.sink, switch.to, switch.failures, switch.group) == ("right", "left", 1, "both")
    assert len(numbers_in(right)) == 2000

    own.unlink()
    (tmp_path / "away").rename(own)

    def more_to_the_right() -> bool:
        topics.produce(100)
        return len(numbers_in(right)) > 2000

    wait_for(more_to_the_right, "the right sink to take batches again", 60)
    run.wait_read(topics.ends(topics.source))
    assert run.stop().exit_code == 0
    assert not not_once(numbers_in(left) + numbers_in(right), range(topics.produced))


class Uninterruptible(SinkBuilder):
    """Its tasks wait for a socket inside the JVM, which nothing interrupts."""

    port = 0
    write_deadline = 2.0

    def write(self, attempt: Attempt) -> Counts:
        """Look up a name at a registry that never answers."""
        name = f.concat(f.lit(f"//127.0.0.1:{self.port}/"), f.col("offset").cast("string"))
        looked_up = f.java_method(f.lit("java.rmi.Naming"), f.lit("lookup"), name)
        attempt.events.select(looked_up).write.format("noop").mode("append").save()
        return attempt.counts

    def resolve(self, planned: object) -> Resolution:
        """Nothing is ever there."""
        return Resolution(delivered_before=0)


def test_abandoned_tasks_are_counted_and_end_the_run_where_they_hold_all_slots_of_a_channel(
    session: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(deadline, "_LETTING_GO", 1.0)
    stuck = Uninterruptible(None, Place("orders", 1, "sinks.stuck"))
    clock = iter(range(1000)).__next__
    processor = Failover(["stuck"], {"stuck": 1}, 1, clock=clock, wall=clock)
    group = SinkGroup("g", "failover", {"stuck": stuck}, processor, Gate(1), share=2)
    batch = Batch(
        Events(frame(session, numbered(10)).coalesce(1)), planned(0, 10), Classifier("lake", "", keeps_bad=True)
    )
    failures: list[str] = []
    with silent_server() as port:
        stuck.port = port
        with pytest.raises(deadline.SlotsLost, match="hold 2 task slots"):
            group.deliver(batch, Listener(lambda failed: failures.append(failed.cause), lambda _: None))
        assert set(failures) == {"the write did not end within 2 s and was canceled"}
        assert deadline.lost_slots(session.sparkContext) == 2
    wait_for(lambda: deadline.lost_slots(session.sparkContext) == 0, "the tasks to end with their server", 30)
    assert session.range(10).count() == 10


@whole_only
@pytest.mark.parametrize("on_unknown", ["deliver", "wait"])
def test_a_member_that_is_frozen_with_a_batch_is_waited_for_or_its_part_is_counted(
    on_unknown: str, topics: Topics, make_pipeline: MakePipeline, tmp_path: Path, record_property: RecordProperty
) -> None:
    """Its attempt may still be alive: what is on the wire arrives when the broker goes on."""
    with mortal_broker(tmp_path / "first") as broker:
        first = Topics(broker.servers)
        base = make_pipeline(max_events_per_batch=COUNT, on_unknown=on_unknown, unknown_timeout="3s")
        pipeline = grouped(base, FAILOVER, first=first.as_sink() | HASTE, second=topics.as_sink())
        topics.produce(COUNT, size=500)
        run = pipeline.start()
        wait_for(lambda: first.delivered() > 1000, "the first member has a part of the batch")
        os.kill(broker.pid, signal.SIGSTOP)
        try:
            if on_unknown == "deliver":
                wait_for(lambda: topics.delivered() >= COUNT, "the second member has all of it", 180)
                run.wait_read(topics.ends(topics.source))
            else:
                run.wait_status(lambda s: any(q.holding for q in s.queries), "the batch to be held")
                time.sleep(10)
                assert topics.delivered() == 0
        finally:
            os.kill(broker.pid, signal.SIGCONT)
        run.wait_read(topics.ends(topics.source))
        assert run.stop().exit_code == 0
        pipeline.ingest()
        time.sleep(3)
        found = first.numbers() + topics.numbers()
    missing, duplicates = report_arrival(record_property, found, range(COUNT), pipeline.possible_duplicates)
    assert (missing, bool(unknown(run))) == (0, on_unknown == "deliver")
    if on_unknown == "wait":
        assert (duplicates, pipeline.possible_duplicates) == (0, 0)
    assert duplicates <= pipeline.possible_duplicates


@whole_only
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("timeout", ["60s", "1s"])
def test_a_jvm_that_is_killed_around_a_switch_of_sinks_leaves_each_record_once(
    timeout: str,
    seed: int,
    topics: Topics,
    make_pipeline: MakePipeline,
    tmp_path: Path,
    record_property: RecordProperty,
) -> None:
    """The first member's broker dies in mid-batch, and may be back before the JVM dies, which then has given the second
    one a part of it."""
    dice = random.Random(f"switch {seed} {timeout}")
    with mortal_broker(tmp_path / "first") as broker:
        first = Topics(broker.servers)
        base = make_pipeline(max_events_per_batch=COUNT, unknown_timeout=timeout)
        pipeline = grouped(base, FAILOVER, first=first.as_sink() | HASTE, second=topics.as_sink())
        runs = [_switch_and_die(pipeline, first, topics, broker, dice) for _ in range(ROUNDS)]
        runs.append(deliver(pipeline, topics))
        found = first.numbers() + topics.numbers()
        shares = first.delivered(), topics.delivered()
    count = topics.produced
    missing, duplicates = report_arrival(record_property, found, range(count), pipeline.possible_duplicates)
    record_property("tries", ROUNDS)
    said = [each.cause for run in runs for each in unknown(run)]
    print(f"{timeout}: {shares}, {duplicates} twice of at most {pipeline.possible_duplicates}, {said}")
    assert missing == 0, not_once(found, range(count))
    assert duplicates <= pipeline.possible_duplicates
    if not said:
        assert (duplicates, pipeline.possible_duplicates) == (0, 0)
    assert timeout == "1s" or not said


def _switch_and_die(pipeline: Pipeline, first: Topics, topics: Topics, broker: Mortal, dice: random.Random) -> Run:
    topics.produce(COUNT, size=100)
    before = wait_for(lambda: _in(first, topics), "both brokers to answer")
    run = pipeline.start()
    wait_for(lambda: _in(first, topics) > before + 1000 or run.exit, "a part of the batch")
    broker.kill()
    time.sleep(dice.uniform(0, 4))
    if back := dice.random() < 0.7:
        broker.start()
        time.sleep(dice.uniform(0, 8))
    run.kill_what_there_is("jvm")
    wait_for(lambda: not holders(run.token), "the others to follow", 60)
    if not back:
        broker.start()
    return run


def _in(first: Topics, second: Topics) -> int:
    """Records in both sinks, and one; 0 while a broker does not answer."""
    with suppress(KafkaException):
        return 1 + first.delivered() + second.delivered()
    return 0
