"""A record in a large topic is found near its neighbours, and where these mislead, all the same."""

from __future__ import annotations

import random
import time
from collections.abc import Callable

import pytest
from confluent_kafka import Producer
from pyspark.sql import SparkSession

from pipelines.domain.base.positions import TopicPartition
from tests.agent.topics import Topics
from workers.agent.base.event import ORIGIN_HEADER
from workers.agent.base.located import Search
from workers.agent.kafka import locating, narrowing
from workers.agent.kafka.admin import KafkaCluster
from workers.agent.kafka.locating import Locator

RECORDS = 20_000
SPAN = 3_600_000
"""Milliseconds in which they were written."""
PREFIX = "orders/shop/lake/orders-in"

Find = Callable[..., Search]


@pytest.fixture
def began() -> int:
    """Milliseconds; older records would be the broker's to delete."""
    return round(time.time() * 1000) - SPAN


@pytest.fixture
def find(topics: Topics, session: SparkSession, began: int, monkeypatch: pytest.MonkeyPatch) -> Find:
    """Look for the record of a partition and an offset of the source in a topic that counts as large."""
    monkeypatch.setattr(locating, "WIDE", 1000)
    monkeypatch.setattr(narrowing, "_LOOK", 30.0)
    cluster = KafkaCluster({"bootstrap.servers": topics.servers}, None)
    partitions = [TopicPartition(topics.sink, number) for number in range(4)]

    def search(partition: int, offset: int, *, once: bool = True) -> Search:
        locator = Locator(cluster, cluster.jvm_options({}), f"{PREFIX}/{partition}/{offset}", 120.0, once=once)
        return locator.search(session, partitions, began, began + SPAN)

    return search


def written(topics: Topics, began: int, origins: list[tuple[int, int]], to: Callable[[int], int]) -> None:
    """In this order, spread over the span; `to`: the partition of the sink by the number of a record."""
    producer = Producer({"bootstrap.servers": topics.servers, "linger.ms": 20})
    for number, (partition, offset) in enumerate(origins):
        producer.produce(
            topics.sink,
            b"body",
            partition=to(number),
            headers={ORIGIN_HEADER: f"{PREFIX}/{partition}/{offset}".encode()},
            timestamp=began + SPAN * number // len(origins),
        )
        producer.poll(0)
    assert producer.flush(60) == 0


def in_order() -> list[tuple[int, int]]:
    """Of two partitions by turns."""
    return [(number % 2, 1000 + number // 2) for number in range(RECORDS)]


def test_a_record_is_found_where_its_neighbours_are(topics: Topics, began: int, find: Find) -> None:
    origins = in_order()
    written(topics, began, origins, lambda number: number % 4)
    for number in [0, 1, 77, RECORDS // 3, RECORDS - 1]:
        found = find(*origins[number])
        assert [(each.key.partition, each.offset) for each in found.found] == [(number % 4, number // 4)]
        assert found.searched < RECORDS / 100, number
        assert find(*origins[number], once=False).searched == RECORDS


def test_a_rate_that_changes_and_partitions_without_neighbours_mislead_nobody(
    topics: Topics, began: int, find: Find
) -> None:
    """Nine of ten records are of another partition, and those of this one lie in one partition of the sink, most of
    them at the end."""
    rare = sorted(random.Random(3).sample(range(RECORDS), 200)) + list(range(RECORDS, RECORDS + 1800))
    at = {number: index for index, number in enumerate(rare)}
    origins = [(1, at[number]) if number in at else (0, number) for number in range(RECORDS + 1800)]
    written(topics, began, origins, lambda number: 2 if number in at else number % 2)
    for number in (rare[0], rare[50], rare[199], rare[-1]):
        (found,) = find(1, at[number]).found
        assert (found.key.partition, found.offset) == (2, at[number])


def test_a_record_that_is_not_among_its_neighbours_is_found_by_looking_at_all(
    topics: Topics, began: int, find: Find
) -> None:
    origins = in_order()
    origins[100], origins[15_000] = origins[15_000], origins[100]
    written(topics, began, origins, lambda number: number % 4)
    found = find(*origins[100])
    assert [each.offset for each in found.found] == [25]
    assert find(1, 999_999).found == []
    assert find(1, 999_999).searched == RECORDS


def test_a_topic_without_origins_is_looked_at_whole(topics: Topics, began: int, find: Find) -> None:
    producer = Producer({"bootstrap.servers": topics.servers})
    for number in range(2000):
        producer.produce(topics.sink, b"body", partition=0, timestamp=began + number)
    assert producer.flush(60) == 0
    assert (find(0, 7).found, find(0, 7).searched) == ([], 2000)
