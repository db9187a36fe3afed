"""Two logs as they are looked at before a source moves: a copy with other offsets, written in transactions."""

from __future__ import annotations

import struct
from typing import Any

import pytest
from confluent_kafka import Consumer, Message, Producer, TopicPartition

from pipelines.domain.access.reach import AllowedNetwork, ReachPolicy
from pipelines.domain.base.positions import PartitionPosition, SourceIdentity
from pipelines.domain.positions.cluster_move import By, ClusterMove, PartitionTranslation, Translate, pairs_back
from pipelines.domain.positions.plan import InspectionRequest, InspectionResult
from pipelines.domain.runs.protocol import Launch, QueryHead, SparkSettings
from tests.agent.topics import Topics
from workers.agent.kafka import translating
from workers.agent.kafka.admin import KafkaCluster

PARTITIONS = 4
COUNT = 100
AT = 95
BLOCK = 10
"""Records of one time in each partition."""
TIME = 1_700_000_000_000


class Copied:
    """A source of 100 records a partition, and a copy of it behind other records; `offsets`: where each one lies."""

    def __init__(self, topics: Topics) -> None:
        self.topics = topics
        self.there, self.syncs = f"{topics.name}-there", f"{topics.name}-syncs"
        for block in range(COUNT // BLOCK):
            topics.produce(PARTITIONS * BLOCK, timestamp=TIME + block)
        topics.create(self.there)
        topics.create(self.syncs, partitions=1)
        self.offsets: dict[int, dict[int, int]] = {number: {} for number in range(PARTITIONS)}
        self._copy()

    def _copy(self) -> None:
        settings = {"bootstrap.servers": self.topics.servers, "transactional.id": self.there}
        producer = Producer(settings)
        producer.init_transactions(30)
        for first in range(0, COUNT, COUNT // 2):
            producer.begin_transaction()
            for partition in range(PARTITIONS):
                for _ in range(0 if first else 7 * (partition + 1)):
                    producer.produce(self.there, b"junk", partition=partition, timestamp=TIME - 1)
            for message in self._messages(first, first + COUNT // 2):
                self._append(producer, message)
            producer.commit_transaction(30)

    def _messages(self, start: int, end: int) -> list[Message]:
        consumer = Consumer({"bootstrap.servers": self.topics.servers, "group.id": "copy", "enable.auto.commit": False})
        consumer.assign([TopicPartition(self.topics.source, number, start) for number in range(PARTITIONS)])
        found: list[Message] = []
        while len(found) < PARTITIONS * (end - start):
            found += [each for each in consumer.consume(1000, 0.2) if start <= (each.offset() or 0) < end]
        consumer.close()
        return found

    def _append(self, producer: Producer, message: Message) -> None:
        place, offset = int(message.partition() or 0), int(message.offset() or 0)

        def copied(_error: Any, copy: Message) -> None:
            self.offsets[place][offset] = int(copy.offset() or 0)

        producer.produce(
            self.there,
            message.value(),
            message.key(),
            partition=place,
            timestamp=message.timestamp()[1],
            on_delivery=copied,
        )

    def sync(self, *upstream: int) -> None:
        """Write pairs as MirrorMaker 2 does."""
        producer, name = Producer({"bootstrap.servers": self.topics.servers}), self.topics.source.encode()
        for partition in range(PARTITIONS):
            key = struct.pack(">h", len(name)) + name + struct.pack(">i", partition)
            for offset in upstream:
                producer.produce(self.syncs, struct.pack(">qq", offset, self.offsets[partition][offset]), key)
        assert producer.flush(30) == 0

    def ask(self, how: dict[str, Any] | None, *, cluster_id: str | None = None, **more: Any) -> InspectionResult:
        """What becomes of a source that stands at the 95th record of each partition."""
        topics = self.topics
        to = {**topics.as_source(), "topics": [self.there], "group_id": f"headgate.{self.there}"}
        move = ClusterMove(
            **{
                "source": "shop",
                "to": to,
                "topics": {topics.source: self.there},
                "positions": Translate.model_validate(how) if how else None,
                **more,
            }
        )
        return translating.inspected(
            InspectionRequest(launch=self._launch(cluster_id).model_dump(mode="json"), move=move)
        )

    def _launch(self, cluster_id: str | None) -> Launch:
        topics, cluster = self.topics, KafkaCluster.of(self.topics.servers, {}, None)
        at = [PartitionPosition(topic=topics.source, partition=number, offset=AT) for number in range(PARTITIONS)]
        definition = {
            "api_version": "headgate/v1",
            "name": "orders",
            "sources": {"shop": topics.as_source()},
            "channels": {"lake": {"type": "direct"}},
            "sinks": {"lake": topics.as_sink()},
        }
        known = SourceIdentity(
            source="shop", cluster_id=cluster_id or cluster.cluster_id(), topics=cluster.topic_ids([topics.source])
        )
        return Launch(
            reach=ReachPolicy(networks=(AllowedNetwork(target="127.0.0.0/8"),)),
            pipeline="orders",
            pipeline_id="1",
            run=1,
            epoch=1,
            token="look",
            host="alpha",
            revision=1,
            lineage=1,
            revision_digest="d",
            definition=definition,
            checkpoint_root="/nowhere/a/b/c",
            identities=[known],
            heads=[QueryHead(source="shop", channel="lake", positions=at)],
            spark=SparkSettings(classpath=[]),
        )

    def rows(self, how: dict[str, Any] | None, **more: Any) -> list[PartitionTranslation]:
        """The same, where it can be asked."""
        answer = self.ask(how, **more)
        assert answer.translation is not None, answer.findings
        return answer.translation.rows


@pytest.fixture(scope="module")
def copied(broker: str) -> Copied:
    found = Copied(Topics(broker))
    found.sync(0, 30)
    return found


def codes(answer: InspectionResult) -> set[str]:
    assert answer.translation is None
    return {str(each["code"]) for each in answer.findings}


def test_each_way_goes_on_behind_the_last_record_or_says_what_comes_again(copied: Copied) -> None:
    mapping = {"by": "mapping", "topic": copied.syncs}
    exact = copied.rows(mapping)
    assert [(row.new, row.exact, row.replay) for row in exact] == [
        (copied.offsets[number][AT], True, 0) for number in range(PARTITIONS)
    ]
    assert {row.evidence["proof"] for row in exact} == {"records"}
    assert [row.evidence["expected"] for row in exact] == [row.new - 1 for row in exact if row.new]

    by_time = copied.rows({"by": "timestamp"})
    assert [row.code for row in by_time] == [""] * PARTITIONS, [row.evidence for row in by_time]
    assert [(row.new, row.exact, row.replay, row.skip) for row in by_time] == [
        (copied.offsets[number][AT - AT % BLOCK], False, AT % BLOCK, 0) for number in range(PARTITIONS)
    ]
    assert {row.evidence["candidates"] for row in by_time} == {BLOCK}

    offsets = {copied.there: {number: copied.offsets[number][AT + number] for number in range(PARTITIONS)}}
    given = copied.rows({"by": "given", "offsets": offsets})
    assert [(row.exact, row.skip, row.replay) for row in given] == [
        (number == 0, number, 0) for number in range(PARTITIONS)
    ]

    cut = pairs_back(exact)
    assert [(each.pair[0], each.pair[1]) for each in cut] == [(row.new, AT) for row in exact]
    same = copied.rows(None, cut=cut, to=copied.topics.as_source(), topics={})
    assert [(row.new, row.by) for row in same] == [(AT, By.SAME_LOG)] * PARTITIONS


def test_what_stands_in_the_way_is_told_before_anything_is_touched(copied: Copied) -> None:
    mapping = {"by": "mapping", "topic": copied.syncs}
    topics = copied.topics
    assert codes(copied.ask({"by": "mapping", "topic": topics.source})) == {"NOT_OFFSET_SYNCS"}
    assert codes(copied.ask({"by": "mapping", "topic": "no-such-syncs"})) == {"TOPIC_MISSING"}
    assert codes(copied.ask(mapping, topics={topics.source: "nowhere"})) == {"TOPIC_MISSING"}
    assert codes(copied.ask(mapping, cluster_id="another")) == {"CLUSTER_CHANGED"}
    assert {row.code for row in copied.rows(mapping, topics={topics.source: copied.syncs})} == {"PARTITIONS_DIFFER"}
    assert {row.code for row in copied.rows(mapping, topics={topics.source: topics.sink})} == {""}
    assert {row.behind > 0 for row in copied.rows(mapping, topics={topics.source: topics.sink})} == {True}

    group = f"headgate.{copied.there}"
    ahead = PartitionPosition(topic=copied.there, partition=1, offset=copied.offsets[1][AT] + 1)
    KafkaCluster.of(topics.servers, {}, None).commit(group, [ahead])
    assert [row.code for row in copied.rows(mapping)] == ["", "GROUP_AHEAD", "", ""]

    ends = copied.ask(None, source="", sink="lake", to=topics.as_sink(), topics={}).translation
    assert ends is not None
    assert [(each.topic, each.partition, each.end) for each in ends.ends] == [
        (topics.sink, number, 0) for number in range(PARTITIONS)
    ]

    topics.trim(partition=2, before=AT)
    assert [row.code for row in copied.rows({"by": "timestamp"})][2] == "LAST_RECORD_GONE"
