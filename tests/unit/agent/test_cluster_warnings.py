"""What a cluster's settings may do to records is a warning with advice, and so is what could not be read."""

from __future__ import annotations

from typing import Any, cast

import pytest
from confluent_kafka import KafkaException

from workers.agent.kafka.admin import KafkaCluster
from workers.agent.kafka.cluster_warnings import of_sink, of_source

SAFE = {"unclean.leader.election.enable": "false", "min.insync.replicas": "2"}


class Described:
    """A cluster that describes one topic, `t`, and the offsets of groups."""

    def __init__(self, copies: int, settings: dict[str, str] | None, offsets: tuple[int, int] = (3, 3)) -> None:
        self._replicas = {"t": [(copies, copies)], "__consumer_offsets": [offsets]}
        self._settings = settings

    def replicas(self, topics: list[str]) -> dict[str, list[tuple[int, int]]]:
        return {topic: self._replicas[topic] for topic in topics}

    def settings_of(self, topics: list[str]) -> dict[str, dict[str, str]]:
        return {} if self._settings is None else dict.fromkeys(topics, self._settings)


class Away:
    """A cluster that does not answer."""

    def replicas(self, _topics: list[str]) -> Any:
        raise KafkaException("timed out")


def codes(cluster: object, look: Any) -> list[str]:
    found = look(cast(KafkaCluster, cluster), ["t"], "sinks.out")
    assert all(each.path == "sinks.out" and each.message and each.suggestion for each in found)
    return [each.code for each in found]


@pytest.mark.parametrize(
    ("copies", "settings", "source", "sink"),
    [
        (3, SAFE, [], []),
        (1, SAFE | {"min.insync.replicas": "1"}, ["REPLICATION_ONE"], ["REPLICATION_ONE"]),
        (3, SAFE | {"min.insync.replicas": "1"}, [], ["MIN_INSYNC_ONE"]),
        (1, SAFE, ["REPLICATION_ONE"], ["REPLICATION_ONE", "MIN_INSYNC_UNREACHABLE"]),
        (2, SAFE | {"min.insync.replicas": "3"}, [], ["MIN_INSYNC_UNREACHABLE"]),
        (3, SAFE | {"unclean.leader.election.enable": "true"}, ["UNCLEAN_ELECTION"], ["UNCLEAN_ELECTION"]),
        (3, None, ["SETTINGS_NOT_CHECKED"], ["SETTINGS_NOT_CHECKED"]),
    ],
)
def test_the_settings_of_a_topic_are_judged(
    copies: int, settings: dict[str, str] | None, source: list[str], sink: list[str]
) -> None:
    cluster = Described(copies, settings)
    assert (codes(cluster, of_source), codes(cluster, of_sink)) == (source, sink)


def test_offsets_of_groups_concern_a_source_alone() -> None:
    cluster = Described(3, SAFE, offsets=(1, 1))
    assert (codes(cluster, of_source), codes(cluster, of_sink)) == (["OFFSETS_UNDER_REPLICATED"], [])


def test_a_cluster_that_does_not_tell_was_not_checked() -> None:
    assert codes(Away(), of_source) == codes(Away(), of_sink) == ["SETTINGS_NOT_CHECKED"]
