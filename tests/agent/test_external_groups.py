"""Watched groups on a real broker: what its coordinator says, commits that vanish and jump, and the time of records."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

import pytest
from confluent_kafka import Consumer
from confluent_kafka import TopicPartition as ClientPartition
from confluent_kafka.admin import AdminClient

from pipelines.domain.base.positions import TopicPartition
from pipelines.domain.monitoring import watching
from pipelines.domain.monitoring.watching import GroupInspection, Kind, Limits, inspected
from tests.agent.harness import REACH
from tests.agent.topics import Topics
from tests.waiting import wait_for
from workers.adapters.brokers import KafkaBrokers
from workers.ports import Away
from workers.supervisor.background.brokers import ClusterAddress


@dataclass
class Group:
    """A group of somebody else on a topic with 400 numbered records."""

    topics: Topics
    last: GroupInspection | None = None
    brokers: KafkaBrokers = field(default_factory=KafkaBrokers)

    def __post_init__(self) -> None:
        self.name = f"billing-{self.topics.name}"
        self.cluster = ClusterAddress(self.topics.servers, {}, REACH)
        self.key = TopicPartition(self.topics.source, 0)
        self.admin = AdminClient({"bootstrap.servers": self.topics.servers})
        self.topics.produce(400)

    def inspection(self) -> list[Kind]:
        """One look; what happened since the one before."""
        commits = self.brokers.commits(self.cluster, self.name, None)
        wanted = {*commits, *(self.last.partitions if self.last else ())}
        description = self.brokers.describe(self.cluster, self.name)
        after = inspected(self.last, time.time(), description, commits, self.brokers.ranges(self.cluster, wanted))
        before, self.last = self.last, after
        return [each.kind for each in watching.happenings(before, after, Limits())] if before else []

    def alter(self, offset: int) -> None:
        """Commit from outside, as a tool does."""
        self.topics.commit(self.name, {0: offset})


@pytest.fixture
def group(topics: Topics) -> Group:
    return Group(topics)


def test_a_group_with_members_is_seen_with_its_coordinator_members_and_commits(group: Group) -> None:
    consumer = Consumer(
        {
            "bootstrap.servers": group.topics.servers,
            "group.id": group.name,
            "auto.offset.reset": "earliest",
            "client.id": "billing-app",
            "enable.auto.commit": False,
        }
    )
    consumer.subscribe([group.topics.source])
    wait_for(lambda: (seen := consumer.poll(1)) is not None and not seen.error(), "the group has a member that reads")
    consumer.commit(offsets=[ClientPartition(*group.key, 40)], asynchronous=False)
    assert group.inspection() == []
    assert group.last is not None
    description = group.last.description
    assert (description.state, [client for client, _ in description.members]) == ("STABLE", ["billing-app"])
    assert description.coordinator.endswith(group.topics.servers.rpartition(":")[2])
    part = group.last.partitions[group.key]
    assert (part.committed, part.start, part.end, part.lag) == (40, 0, 100, 60)
    consumer.close()


def test_commits_that_vanish_go_back_and_go_on_beyond_the_log_are_seen(group: Group) -> None:
    group.alter(80)
    assert group.inspection() == []
    group.alter(10)
    assert group.inspection() == [Kind.JUMPED_BACK]
    group.alter(101)
    assert group.inspection() == [Kind.JUMPED_FORWARD]
    for future in group.admin.delete_consumer_groups([group.name]).values():
        future.result(30)
    assert group.inspection() == [Kind.COMMIT_VANISHED]
    group.alter(0)
    assert group.inspection() == [Kind.COMMIT_BACK, Kind.JUMPED_BACK]


def test_offsets_by_time_and_ranges_leave_out_what_there_is_not(group: Group) -> None:
    key, start = group.key, time.time()
    group.topics.produce(4)
    later = group.brokers.offsets_at(
        group.cluster, {key: start - 0.001, TopicPartition(group.topics.source, 1): start + 3600}
    )
    assert later == {key: 100}
    group.topics.trim(0, 50)
    found = group.brokers.ranges(
        group.cluster, {key, TopicPartition(group.topics.source, 77), TopicPartition("no-such-topic", 0)}
    )
    assert found == {key: (50, 101)}


def test_a_cluster_that_is_not_there_is_away(group: Group, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("workers.adapters.brokers.TIMEOUT", 1.0)
    with pytest.raises(Away):
        KafkaBrokers().describe(ClusterAddress("127.0.0.1:1", {}, REACH), group.name)
