"""The guard on a real broker: what happens to topics, groups and checkpoints behind an agent's back."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient

from controlplane.install.services.kafka import running_kafka
from pipelines.domain.base.positions import SourceIdentity, TopicPartition
from pipelines.domain.base.states import Command
from pipelines.domain.ledger.journal import Done, Identified, Noticed, Planned, Positions, Repaired
from pipelines.domain.positions.plan import Goal, Target, plan
from pipelines.domain.runs.protocol import AgentFinding, Exit, SparkSettings
from tests.agent.conftest import MakePipeline, define
from tests.agent.harness import Pipeline, Run
from tests.agent.topics import Topics
from tests.counts import not_once
from tests.waiting import wait_for
from workers.agent.kafka.admin import KafkaCluster

LONG = 240.0
"""Seconds that a start may take on a machine with other things to do."""


def blocked(run: Run) -> dict[str, AgentFinding]:
    """The run must end for a decision; returns its findings by code."""
    assert run.wait_exit(LONG).exit_code == Exit.PREFLIGHT_BLOCKED
    assert run.status is not None
    return {finding.code: finding for finding in run.status.findings}


def noticed(run: Run) -> set[str]:
    """What it has told that is no reason to stop."""
    return {notice.code for notice in run.of_kind(Noticed) if not notice.over}


def decide(pipeline: Pipeline, run: Run, goal: Goal, **where: Any) -> tuple[int, int]:
    """Plan a choice against what the run has found, and do what it says; returns skips and replays."""
    assert run.status is not None
    assert run.status.survey is not None
    survey = run.status.survey
    made = plan(survey, Target(goal=goal, **where))
    assert not made.impossible
    pipeline.decide(survey, made)
    return made.skip, made.replay


def lose_group(topics: Topics) -> None:
    """What the expiry of an empty group does."""
    admin = AdminClient({"bootstrap.servers": topics.servers})
    for future in admin.delete_consumer_groups([f"headgate.{topics.name}"]).values():
        future.result(30)


def produce_to_new_partition(topics: Topics, count: int) -> None:
    """Numbered records for the partition that was added."""
    producer = Producer({"bootstrap.servers": topics.servers})
    for number in range(topics.produced, topics.produced + count):
        producer.produce(topics.source, b"%010d new" % number, partition=4)
    topics.produced += count
    assert producer.flush(30) == 0


def test_a_group_that_is_lost_or_moved_is_told_and_written_again_and_a_topic_made_again_ends_the_run(
    topics: Topics, make_pipeline: MakePipeline
) -> None:
    topics.produce(400)
    pipeline = make_pipeline()
    pipeline.definition["lifecycle"] = {"guard_interval": "500ms"}
    run = pipeline.start()
    run.wait_delivered(400, LONG)
    mirrored = dict.fromkeys(range(4), 100)
    wait_for(lambda: topics.mirrored() == mirrored, "the mirror is written", LONG)

    lose_group(topics)
    wait_for(lambda: "GROUP_LOST" in noticed(run), "the loss is noticed", LONG)
    wait_for(lambda: topics.mirrored() == mirrored, "the mirror is written again", LONG)
    topics.commit_everywhere(7)
    wait_for(lambda: "GROUP_MOVED" in noticed(run), "the move is noticed", LONG)
    wait_for(lambda: topics.mirrored() == mirrored, "the mirror is written again", LONG)
    assert sum(done.counts.read for done in run.of_kind(Done)) == 400

    topics.make_again(topics.source)
    topics.produce(800)
    findings = blocked(run)
    assert findings.keys() == {"TOPIC_RECREATED"}
    (known,) = run.of_kind(Identified)
    assert known.topics[topics.source] in findings["TOPIC_RECREATED"].message
    assert sum(planned.bound for planned in run.of_kind(Planned)) == 400

    pipeline.ingest()
    second = pipeline.start_refused()
    assert "800 records, none of which was read" in blocked(second)["TOPIC_RECREATED"].message
    assert second.of_kind(Planned) == []
    assert decide(pipeline, second, Goal.EARLIEST) == (0, 0)
    third = pipeline.start()
    third.wait_delivered(800, LONG)
    assert third.stop().exit_code == 0
    assert not_once(topics.read().numbers, range(1200)) == {}


@pytest.fixture
def moved(topics: Topics, make_pipeline: MakePipeline) -> Pipeline:
    """A pipeline that has moved 400 records and was stopped."""
    topics.produce(400)
    pipeline = make_pipeline()
    run = pipeline.start()
    run.wait_delivered(400, LONG)
    wait_for(lambda: topics.mirrored() == dict.fromkeys(range(4), 100), "the mirror is written", LONG)
    assert run.stop().exit_code == 0
    pipeline.ingest()
    return pipeline


def refused(pipeline: Pipeline) -> tuple[Run, dict[str, AgentFinding]]:
    """Start; nothing may be read."""
    run = pipeline.start_refused()
    findings = blocked(run)
    assert run.of_kind(Planned) == []
    return run, findings


def test_what_happens_while_it_is_stopped_is_found_before_a_record_is_read_and_each_decision_does_what_it_said(
    topics: Topics, moved: Pipeline
) -> None:
    ledger = moved.ledger["shop", "lake"]
    _checkpoint_and_ledger_have_to_agree(moved)

    kept = dict(ledger.positions), list(ledger.done)
    ledger.positions, ledger.done = {}, []
    _, findings = refused(moved)
    assert findings.keys() == {"LEDGER_LOST"}
    assert topics.mirrored() == dict.fromkeys(range(4), 100)
    ledger.positions, ledger.done = kept

    topics.commit_everywhere(130)
    topics.produce(400)
    run, findings = refused(moved)
    assert findings.keys() == {"LEDGER_BEHIND"}
    assert decide(moved, run, Goal.LEDGER) == (0, 120)

    topics.trim(partition=2, before=130)
    run, findings = refused(moved)
    assert findings.keys() == {"BELOW_LOG_START"}
    assert "30 records" in findings["BELOW_LOG_START"].message
    assert decide(moved, run, Goal.LEDGER) == (30, 0)
    ledger.positions[TopicPartition(topics.source, 0)] = 260
    run, findings = refused(moved)
    assert findings.keys() == {"BEYOND_LOG_END"}
    ledger.positions[TopicPartition(topics.source, 0)] = 100

    lose_group(topics)
    topics.add_partitions(topics.source, 5)
    produce_to_new_partition(topics, 50)
    run = moved.start()
    run.wait_delivered(370 + 50, LONG)
    assert noticed(run) == {"GROUP_LOST"}
    added = [change for entry in run.of_kind(Positions) for change in entry.changes if change.partition == 4]
    assert [(change.old, change.new) for change in added] == [(None, 0)]
    assert run.obey(Command.PAUSE).pause_proof is not None
    assert run.stop().exit_code == 0
    skipped = set(range(400 + 2, 400 + 2 + 4 * 30, 4))
    assert not_once(topics.read().numbers, set(range(850)) - skipped) == {}

    moved.ingest()
    log = moved.checkpoint("shop", "lake")
    newest = max((log / "offsets").iterdir(), key=lambda path: int(path.name) if path.name.isdigit() else -1)
    newest.write_bytes(newest.read_bytes()[:-5])
    topics.produce(40)
    run = moved.start()
    run.wait_delivered(40, LONG)
    (mended,) = run.of_kind(Repaired)
    assert mended.file == f"offsets/{newest.name}"
    assert run.stop().exit_code == 0
    moved.ingest()
    assert not_once(topics.read().numbers, set(range(890)) - skipped) == {}

    _damage_the_middle(log)
    run, findings = refused(moved)
    assert findings.keys() == {"CHECKPOINT_DISAGREES"}
    shutil.rmtree(log)
    run, findings = refused(moved)
    assert findings.keys() == {"CHECKPOINT_LOST"}
    assert decide(moved, run, Goal.LEDGER) == (0, 0)
    topics.produce(40)
    run = moved.start()
    run.wait_delivered(40, LONG)
    assert run.stop().exit_code == 0
    assert not_once(topics.read().numbers, set(range(930)) - skipped) == {}


def _checkpoint_and_ledger_have_to_agree(moved: Pipeline) -> None:
    """Each is taken away, or damaged, and put back."""
    ledger, log = moved.ledger["shop", "lake"], moved.checkpoint("shop", "lake")
    kept = log.rename(log.with_name("kept"))
    assert "CHECKPOINT_LOST" in refused(moved)[1]
    shutil.rmtree(log, ignore_errors=True)
    kept.rename(log)

    last = ledger.done.pop()
    assert "LEDGER_BEHIND" in refused(moved)[1]
    ledger.done.append(last)

    metadata = (log / "metadata").read_bytes()
    (log / "metadata").write_text("")
    assert "CHECKPOINT_DISAGREES" in refused(moved)[1]
    (log / "metadata").write_bytes(metadata)


def _damage_the_middle(log: Path) -> None:
    oldest = min(int(path.name) for path in (log / "commits").iterdir() if path.name.isdigit())
    (log / "commits" / str(oldest)).write_text("")


def numbers(base: int, start: int, end: int, partitions: range = range(4)) -> set[int]:
    """The records of these offsets, where the first record of the topic has the number `base`."""
    return {base + 4 * offset + partition for offset in range(start, end) for partition in partitions}


def test_what_is_wrong_with_each_source_is_found_at_once_and_one_decision_leads_all_on_to_the_record(
    topics: Topics, make_pipeline: MakePipeline
) -> None:
    """The position of one source is beyond the end, the topic of another was made again with fewer records than were
    read, and the ledger of the third is lost while its group is not."""
    cluster, again, lost = KafkaCluster.of(topics.servers, {}, None), Topics(topics.servers), Topics(topics.servers)
    pipeline = make_pipeline()
    pipeline.definition["sources"] |= {"again": again.as_source(), "lost": lost.as_source()}
    topics.produce(400)
    pipeline.ledger["shop", "lake"].positions = {
        TopicPartition(topics.source, n): 160 if n == 0 else 40 for n in range(4)
    }
    pipeline.ledger["again", "lake"].positions = {TopicPartition(again.source, n): 100 for n in range(4)}
    old = SourceIdentity(source="again", cluster_id=cluster.cluster_id(), topics=cluster.topic_ids([again.source]))
    pipeline.identities = {"again": old}
    again.make_again(again.source)
    again.produced, lost.produced = 1000, 2000
    again.produce(4 * 20)
    lost.produce(4 * 50)
    lost.commit_everywhere(30, "headgate 1")

    run, findings = refused(pipeline)
    assert {code: finding.path for code, finding in findings.items()} == {
        "BEYOND_LOG_END": "sources.shop",
        "TOPIC_RECREATED": "sources.again",
        "LEDGER_LOST": "sources.lost",
    }
    five, thirty = dict.fromkeys(range(4), 5), dict.fromkeys(range(4), 30)
    where = {again.source: five, lost.source: thirty}
    assert decide(pipeline, run, Goal.OFFSETS, offsets=where) == (4 * 5, 0)
    topics.produce(4)

    expected = numbers(0, 40, 100, range(1, 4)) | numbers(0, 100, 101)
    expected |= numbers(1000, 5, 20) | numbers(2000, 30, 50)
    run = pipeline.start()
    run.wait_delivered(len(expected), LONG)
    assert run.stop().exit_code == 0
    assert not_once(topics.read().numbers, expected) == {}


def test_a_cluster_that_is_replaced_behind_its_address_is_another_log(
    tmp_path: Path, spark_settings: SparkSettings
) -> None:
    with running_kafka(tmp_path / "old") as servers:
        old, cluster = Topics(servers), KafkaCluster.of(servers, {}, None)
        pipeline = Pipeline(tmp_path / "state", define(old, delivery={}), spark_settings)
        pipeline.ledger["shop", "lake"].positions = {TopicPartition(old.source, number): 10 for number in range(4)}
        known = SourceIdentity(source="shop", cluster_id=cluster.cluster_id(), topics=cluster.topic_ids([old.source]))
        pipeline.identities = {"shop": known}
    with running_kafka(tmp_path / "new", port=int(servers.rpartition(":")[2])):
        new = Topics(servers, name=old.name)
        new.produce(120)
        refusal, findings = refused(pipeline)
        assert findings.keys() == {"CLUSTER_CHANGED"}
        assert "120 records, none of which was read" in findings["CLUSTER_CHANGED"].message
        assert decide(pipeline, refusal, Goal.EARLIEST) == (0, 0)
        run = pipeline.start()
        run.wait_delivered(120, LONG)
        assert run.stop().exit_code == 0
        assert not_once(new.read().numbers, range(120)) == {}
