"""The tail of a sink's topics: which events of an unfinished batch are there, by the origin that every record tells.

Spark reads it, in slices of so many records, and keeps one bit for each event: a tail of any length fits into memory.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pyspark.sql import Column
from pyspark.sql import functions as f

from pipelines.domain.base.positions import TopicPartition
from pipelines.domain.ledger.journal import Planned
from workers.agent.base import event_values
from workers.agent.base.event import COPY_MARK, ORIGIN_HEADER
from workers.agent.positions.checkpoint import Offsets
from workers.agent.positions.held import BITS, Copies, Held, joined

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_SLICE = 250_000
"""Records in one job: after each of them progress is told."""
WIDEST = 1 << 29
"""Offsets of a partition that a batch without an end may have: what a forged origin says may not fill the memory."""
READER = {
    "failOnDataLoss": "true",
    "includeHeaders": "true",
    "kafkaConsumer.pollTimeoutMs": "10000",
    "fetchOffset.numRetries": "2",
    "kafka.fetch.max.wait.ms": "100",
    "kafka.max.poll.records": "10000",
    # Headgate's producers are idempotent and have no transactions: what they wrote is read at once.
    "kafka.isolation.level": "read_uncommitted",
}
Told = Callable[[int, int], None]
"""Hears of so many records that were looked at, and of how many there are."""


@dataclass(frozen=True)
class Seen:
    """What was found between two positions of a sink. `gaps`: offsets without a record."""

    held: Held
    gaps: int


@dataclass(frozen=True)
class Tail:
    """Reads a sink's topics for records of one batch. `options`: of the connection, as Spark's reader wants them;
    `prefix`: of the origins, before the record's own."""

    options: Mapping[str, str]
    planned: Planned
    prefix: str

    def read(self, spark: SparkSession, starts: Offsets, ends: Offsets, told: Told) -> Seen:
        """Look at every record of [starts, ends). Raises any exception where one cannot be read."""
        total = sum(max(0, ends[key] - starts[key]) for key in ends)
        slices = -(-total // _SLICE)
        bitmaps: list[tuple[Copies, int, bytes]] = []
        records = looked_at = seen = 0
        for number in range(slices):
            part = {key: _part(starts[key], ends[key], number, slices) for key in ends}
            for row in self._rows(spark, part):
                seen += row["records"]
                if row["topic"] is not None:
                    records += row["records"]
                    copies = Copies(TopicPartition(row["topic"], row["partition"]), row["copy"])
                    bitmaps.append((copies, row["number"], row["bits"]))
            looked_at += sum(end - start for start, end in part.values())
            told(looked_at, total)
        return Seen(joined(bitmaps, records), gaps=total - seen)

    def _rows(self, spark: SparkSession, part: Mapping[TopicPartition, tuple[int, int]]) -> list[Any]:
        """A bitmap of offsets for each group of events of the batch, and how many other records there are."""
        events = self._events(spark, {key: each for key, each in part.items() if each[1] > each[0]})
        own = events.withColumn("own", self._is_own()).select(
            *[f.when(f.col("own"), f.col(name)).alias(name) for name in ("topic", "partition", "offset", "copy")]
        )
        grouped = own.groupBy("topic", "partition", "copy", f.expr(f"offset div {BITS}L").alias("number"))
        bits = f.bitmap_construct_agg(f.pmod("offset", f.lit(BITS)))
        return grouped.agg(bits.alias("bits"), f.count(f.lit(1)).alias("records")).collect()

    def _events(self, spark: SparkSession, part: Mapping[TopicPartition, tuple[int, int]]) -> DataFrame:
        """The origin of each record in columns topic, partition, offset and copy; null where it tells none of this
        read."""
        reader = spark.read.format("kafka").options(**{**READER, **self.options})
        reader = reader.option("assign", by_topic(dict.fromkeys(part)))
        reader = reader.option("startingOffsets", by_topic({key: start for key, (start, _) in part.items()}))
        reader = reader.option("endingOffsets", by_topic({key: end for key, (_, end) in part.items()}))
        reader = reader.option("minPartitions", str(spark.sparkContext.defaultParallelism))
        whole, prefix = event_values.header(ORIGIN_HEADER), f"{self.prefix}/"
        own = f.when(whole.startswith(prefix), f.substring(whole, len(prefix) + 1, 1000))
        last, before = f.substring_index("o", "/", -1), f.substring_index("o", "/", -2)
        nth = f.when(f.instr(last, COPY_MARK) > 0, f.substring_index(last, COPY_MARK, -1)).otherwise(f.lit("0"))
        parts = (
            reader.load()
            .select(own.alias("o"))
            .select(
                "o",
                f.substring_index(before, "/", 1).alias("number"),
                f.substring_index(last, COPY_MARK, 1).alias("at"),
                nth.alias("nth"),
                (f.length(before) + 1).alias("taken"),
            )
        )
        return parts.select(
            f.expr("substring(o, 1, length(o) - taken)").alias("topic"),
            f.col("number").try_cast("int").alias("partition"),
            f.col("at").try_cast("bigint").alias("offset"),
            f.col("nth").try_cast("int").alias("copy"),
        )

    def _is_own(self) -> Column:
        """Whether the record is of this batch."""
        own = f.lit(False)
        for item in self.planned.ranges:
            here = (f.col("partition") == item.partition) & (f.col("topic") == item.topic)
            end = item.start + WIDEST if self.planned.open_ended else item.end
            own = own | (here & (f.col("offset") >= item.start) & (f.col("offset") < end))
        return f.coalesce(own, f.lit(False))


def _part(start: int, end: int, number: int, of: int) -> tuple[int, int]:
    length = max(0, end - start)
    return start + length * number // of, start + length * (number + 1) // of


def by_topic(values: Mapping[TopicPartition, int | None]) -> str:
    """As Spark's options want it: partitions by topic, with their offsets where they have any."""
    topics: dict[str, Any] = {}
    for (topic, number), value in sorted(values.items()):
        if value is None:
            topics.setdefault(topic, []).append(number)
        else:
            topics.setdefault(topic, {})[str(number)] = value
    return json.dumps(topics)
