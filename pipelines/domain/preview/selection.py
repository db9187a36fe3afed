"""Which records of a source are read for a preview, and how many at most. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated

from pydantic import Field, model_validator

from pipelines.domain.base.positions import Frozen, Offset, TopicPartition

MOST_RECORDS = 10_000
MOST_SCANNED = 1_000_000
"""Offsets that are looked at, where a sample of the records is taken."""
MOST_RANGES = 100

Offsets = Mapping[TopicPartition, int]


class WantedRange(Frozen):
    """The half-open range [start, end) of one partition."""

    topic: str = Field(min_length=1, max_length=249)
    partition: Offset
    start: Offset
    end: Offset

    @model_validator(mode="after")
    def _not_empty(self) -> WantedRange:
        if self.end <= self.start:
            raise ValueError("a range ends after its start")
        return self

    @property
    def key(self) -> TopicPartition:
        """(topic, partition)."""
        return TopicPartition(self.topic, self.partition)

    def __str__(self) -> str:
        return f"{self.topic}/{self.partition}:{self.start}-{self.end}"


class PreviewSelection(Frozen):
    """One of: the `last` records, those of the last `since` seconds, or `ranges`. `sample`: the share of them that is
    taken, always the same records."""

    last: Annotated[int, Field(ge=1, le=MOST_RECORDS)] | None = None
    since: Annotated[float, Field(gt=0, le=366 * 86400)] | None = None
    ranges: list[WantedRange] = Field(default=[], max_length=MOST_RANGES)
    sample: Annotated[float, Field(gt=0, le=1)] = 1.0

    @model_validator(mode="after")
    def _one_way(self) -> PreviewSelection:
        if sum((self.last is not None, self.since is not None, bool(self.ranges))) != 1:
            raise ValueError("give one of last, since and ranges")
        return self

    @property
    def most(self) -> int:
        """The most records that are taken."""
        return self.last or MOST_RECORDS

    @property
    def most_scanned(self) -> int:
        """The most offsets that are looked at."""
        return MOST_RECORDS if self.sample == 1 else MOST_SCANNED


@dataclass(frozen=True)
class Extent:
    """What is read, [start, end) by partition; `notes` say what of the selection is not."""

    starts: dict[TopicPartition, int]
    ends: dict[TopicPartition, int]
    notes: tuple[str, ...] = ()

    @property
    def size(self) -> int:
        """Offsets in all ranges."""
        return sum(end - self.starts[key] for key, end in self.ends.items())

    def without_empty(self) -> Extent:
        """The partitions of which something is read."""
        kept = [key for key in sorted(self.ends) if self.ends[key] > self.starts[key]]
        return Extent({key: self.starts[key] for key in kept}, {key: self.ends[key] for key in kept}, self.notes)


Newest = Callable[[dict[TopicPartition, int], dict[TopicPartition, int], int], Extent]


def newest(starts: Offsets, ends: Offsets, most: int) -> Extent:
    """The last `most` offsets, the same number of each partition as far as it has so many."""
    left, found = most, {}
    by_size = sorted(ends, key=lambda key: (ends[key] - starts[key], key))
    for number, key in enumerate(by_size):
        taken = min(ends[key] - starts[key], -(-left // (len(by_size) - number)))
        left -= taken
        found[key] = ends[key] - taken
    return Extent(found, dict(ends)).without_empty()


def of_ranges(ranges: Sequence[WantedRange], starts: Offsets, ends: Offsets) -> Extent:
    """Ranges as far as they are still there, one for each partition. Raises ValueError for a partition that the source
    does not have, and where two ranges are of one."""
    found, until, notes = {}, {}, []
    for each in ranges:
        if each.key not in ends:
            raise ValueError(f"The source does not read {each.topic}/{each.partition}.")
        if each.key in found:
            raise ValueError(f"There are two ranges of {each.topic}/{each.partition}; give one.")
        first, last = max(each.start, starts[each.key]), min(each.end, ends[each.key])
        if first > each.start:
            notes.append(f"{each}: {min(first, each.end) - each.start} offsets from {each.start} on have expired.")
        if last < each.end:
            notes.append(f"{each}: {each.end - max(last, each.start)} offsets are beyond the end of the log ({last}).")
        found[each.key], until[each.key] = min(first, last), last
    return Extent(found, until, tuple(notes)).without_empty()


def bounded(extent: Extent, selection: PreviewSelection, part_of: Newest = newest) -> Extent:
    """The newest part of it that a preview may look at. `part_of`: the last records of a source."""
    if extent.size <= selection.most_scanned:
        return extent
    part = part_of(extent.starts, extent.ends, selection.most_scanned)
    if part.size == extent.size:
        return extent
    words = f"{extent.size} offsets were selected; the newest {part.size} of them are read."
    advice = " Take a sample to cover more." if selection.sample == 1 else ""
    return Extent(part.starts, part.ends, (*extent.notes, words + advice))
