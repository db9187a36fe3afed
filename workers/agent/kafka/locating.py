"""One record in the topics of a cluster, by a header that says where it came from."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyspark.sql import functions as f

from pipelines.domain.base.positions import TopicPartition
from workers.agent.base import event_values
from workers.agent.base.event import COPY_MARK, ORIGIN_HEADER
from workers.agent.base.located import Located, Search, within
from workers.agent.kafka.narrowing import neighbours
from workers.agent.kafka.short_tail import SHORT, records
from workers.agent.kafka.tail import READER, by_topic
from workers.agent.positions.checkpoint import Offsets

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from workers.agent.kafka.admin import KafkaCluster

MOST = 3_000_000
"""Records that one search looks at."""
WIDE = 200_000
"""Records that are all looked at sooner than neighbours of the one that is looked for."""
_NARROWING = 0.25
"""The share of the time in which neighbours are looked for."""
_ONE_RECORD = 10.0
MARGIN = 5_000
"""Milliseconds that clocks of hosts and brokers often differ by at most: so much more is looked at before the rest."""


@dataclass(frozen=True)
class Locator:
    """Looks for the records with one `value` of a header, or with a copy of it. `options`: of Spark's reader.
    `once`: the value is an origin, each of which was written once and in the order of offsets, so that neighbours tell
    where it is."""

    cluster: KafkaCluster
    options: dict[str, str]
    value: str
    seconds: float
    header: str = ORIGIN_HEADER
    once: bool = False

    def search(
        self, spark: SparkSession, partitions: list[TopicPartition], since: int | None, until: int | None
    ) -> Search:
        """What was written between two instants comes first, where that is much what neighbours point to, then what was
        written shortly before and behind, then the rest. It ends with the part in which something was found.

        Raises KafkaException."""
        deadline, searched = time.monotonic() + self.seconds, 0
        firsts, ends = self.cluster.earliest(partitions), self.cluster.latest(partitions)
        starts, early = (self._since(firsts, ends, since, margin) for margin in (0, MARGIN))
        stops, late = (self._until(starts, ends, until, margin) for margin in (0, MARGIN))
        around = self._around(starts, stops, since, until)
        for first, last in [*around, (early, starts), (stops, late), (late, ends), (firsts, early)]:
            size = sum(end - first[key] for key, end in last.items())
            if searched + size > MOST:
                return Search([], searched, f"{size} more records would have to be searched")
            try:
                found = self._looked_at(spark, first, last, size, deadline)
            except TimeoutError:
                return Search([], searched, f"the search ended after {self.seconds:g} s")
            searched += size
            if found:
                return Search(sorted(found, key=lambda each: (each.copy, each.key, each.offset)), searched)
        return Search([], searched, self._deleted(firsts, early))

    def _deleted(self, firsts: Offsets, starts: Offsets) -> str:
        """What retention or compaction may have taken of the part in which the record was written."""
        if any(first and starts[key] <= first for key, first in firsts.items()):
            return "the topic has deleted records of that time"
        settings = self.cluster.settings_of(sorted({topic for topic, _ in firsts}))
        compacted = any("compact" in each.get("cleanup.policy", "") for each in settings.values())
        return "the topic is compacted" if compacted else ""

    def _around(
        self, starts: Offsets, stops: Offsets, since: int | None, until: int | None
    ) -> list[tuple[Offsets, Offsets]]:
        """What lies between two offsets of each partition, in parts: first that to which neighbours point."""
        size = sum(stop - starts[key] for key, stop in stops.items())
        if not self.once or since is None or size <= WIDE:
            return [(starts, stops)]
        known = neighbours(self.cluster, self.header, self.value)
        now = round(time.time() * 1000)
        low, high = known.around(stops, since, until or now, self.seconds * _NARROWING)
        first = self._between(starts, stops, low - MARGIN)
        last = self._between(starts, stops, high + MARGIN)
        return [(first, last), (starts, first), (last, stops)]

    def _between(self, starts: Offsets, stops: Offsets, at: int) -> Offsets:
        found = {**stops, **self.cluster.at(list(stops), at)}
        return {key: min(max(starts[key], offset), stops[key]) for key, offset in found.items()}

    def _since(self, firsts: Offsets, ends: Offsets, since: int | None, margin: int) -> Offsets:
        return firsts if since is None else {**ends, **self.cluster.at(list(ends), since - margin)}

    def _until(self, starts: Offsets, ends: Offsets, until: int | None, margin: int) -> Offsets:
        found = ends if until is None else {**ends, **self.cluster.at(list(ends), until + margin)}
        return {key: max(starts[key], end) for key, end in found.items()}

    def _looked_at(
        self, spark: SparkSession, starts: Offsets, ends: Offsets, size: int, deadline: float
    ) -> list[Located]:
        if not size:
            return []
        left = deadline - time.monotonic()
        if left <= 0:
            raise TimeoutError
        if size <= SHORT:
            return list(self._by_client(starts, ends, left))
        with within(spark, left):
            return list(self._by_spark(spark, starts, ends))

    def _by_client(self, starts: Offsets, ends: Offsets, seconds: float) -> Iterator[Located]:
        for message in records(self.cluster.settings, starts, ends, seconds):
            copy = self.copy_of(dict(message.headers() or []).get(self.header) or b"")
            if copy is not None:
                key = TopicPartition(message.topic(), message.partition())
                yield Located(key, message.offset(), message.timestamp()[1], copy)

    def _by_spark(self, spark: SparkSession, starts: Offsets, ends: Offsets) -> Iterator[Located]:
        own = {key: end for key, end in ends.items() if end > starts[key]}
        reader = spark.read.format("kafka").options(
            **READER,
            **self.options,
            assign=by_topic(dict.fromkeys(own)),
            startingOffsets=by_topic({key: starts[key] for key in own}),
            endingOffsets=by_topic(dict(own)),
            minPartitions=str(spark.sparkContext.defaultParallelism),
        )
        header = event_values.header(self.header)
        mine = reader.load().where((header == self.value) | header.startswith(f"{self.value}{COPY_MARK}"))
        at = f.unix_millis("timestamp").alias("at")
        for row in mine.select("topic", "partition", "offset", at, header.alias("header")).collect():
            copy = self.copy_of(row["header"].encode())
            if copy is not None:
                yield Located(TopicPartition(row["topic"], row["partition"]), row["offset"], row["at"], copy)

    def copy_of(self, header: bytes) -> int | None:
        """Which event of the record this is; None where it is of another one."""
        own, mark, number = header.partition(COPY_MARK.encode())
        if own != self.value.encode() or (mark and not number.isdigit()):
            return None
        return int(number or 0)


def headers_at(cluster: KafkaCluster, key: TopicPartition, offset: int) -> dict[str, bytes] | None:
    """The headers of one record, of each name the last; None where there is no such record. Raises KafkaException, and
    TimeoutError."""
    if not cluster.earliest([key])[key] <= offset < cluster.latest([key])[key]:
        return None
    found = records(cluster.settings, {key: offset}, {key: offset + 1}, _ONE_RECORD)
    return next((dict(message.headers() or []) for message in found), None)
