"""Which events of a batch a sink holds already: one bit for each record of the source, however many a batch has."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property, reduce
from typing import NamedTuple

from pyspark.sql import Column
from pyspark.sql import functions as f

from pipelines.domain.base.positions import TopicPartition

BITS = 32_768
"""Of one bitmap, as Spark makes it (`bitmap_construct_agg`)."""


class Copies(NamedTuple):
    """The events of a partition of the source that are the nth of their records; 0 for the first of each."""

    key: TopicPartition
    copy: int


@dataclass(frozen=True)
class Bits:
    """Offsets of one partition: bit n says whether `start` + n is among them. `start` is a multiple of 8."""

    start: int
    data: bytes

    @property
    def count(self) -> int:
        """How many there are."""
        return int.from_bytes(self.data, "little").bit_count()

    def __or__(self, other: Bits) -> Bits:
        start = min(self.start, other.start)
        end = max(each.start + 8 * len(each.data) for each in (self, other))
        joined = self._from(start) | other._from(start)
        return Bits(start, joined.to_bytes((end - start) // 8, "little"))

    def _from(self, start: int) -> int:
        return int.from_bytes(self.data, "little") << (self.start - start)

    def column(self) -> Column:
        """Whether `offset` is among them."""
        at = f.col("offset") - self.start
        byte = f.substring(f.lit(self.data), f.expr(f"cast((offset - {self.start}L) div 8 as int)") + 1, f.lit(1))
        number = f.conv(f.hex(byte), 16, 10).cast("int")
        among = f.getbit(number, f.pmod(at, f.lit(8)).cast("int")) == 1
        return f.when((at >= 0) & (at < 8 * len(self.data)), among).otherwise(f.lit(False))


@dataclass(frozen=True)
class Held:
    """What sinks hold of a batch. `records`: how many they have, events that are there more than once included."""

    offsets: Mapping[Copies, Bits]
    records: int = 0

    @cached_property
    def events(self) -> int:
        """How many different events."""
        return sum(bits.count for bits in self.offsets.values())

    def __or__(self, other: Held) -> Held:
        offsets = dict(self.offsets)
        for key, bits in other.offsets.items():
            offsets[key] = offsets[key] | bits if key in offsets else bits
        return Held(offsets, self.records + other.records)

    def column(self, *, copies: bool) -> Column | None:
        """Whether an event with the columns topic, partition and offset is held; `copies`: and with the column copy.
        None where nothing is."""
        found: Column | None = None
        for (key, copy), bits in self.offsets.items():
            if copy and not copies:
                continue
            here = (f.col("partition") == key.partition) & (f.col("topic") == key.topic)
            if copies:
                here &= f.col("copy") == copy
            found = f.when(here, bits.column()) if found is None else found.when(here, bits.column())
        return None if found is None else found.otherwise(f.lit(False))


def joined(bitmaps: Iterable[tuple[Copies, int, bytes]], records: int) -> Held:
    """What is held, from bitmaps of `BITS` offsets each, given with the number of the bitmap in its partition."""
    offsets: dict[Copies, Bits] = {}
    for copies, number, data in bitmaps:
        bits = Bits(number * BITS, bytes(data))
        offsets[copies] = offsets[copies] | bits if copies in offsets else bits
    return Held(offsets, records)


def union(found: Iterable[Held]) -> Held:
    """What is held in any of several places."""
    return reduce(Held.__or__, found, Held({}))
