"""What a run had in hand when it ended by itself, and when that names the records that make a pipeline crash.

A crash at the same position three times in a row is no accident: another restart would only repeat it.
"""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import Field

from pipelines.domain.base.positions import Frozen, Offset, PartitionPosition, PartitionRange

SAME_CRASHES = 3
"""So many runs in a row that crash with the same batch in hand are a crash loop."""
CRASH_LOOP = "CRASH_LOOP"
QUARANTINE = "quarantine"
"""The component that is named as the cause of dead letters out of quarantined ranges."""


class InFlightBatch(Frozen):
    """A batch that was planned and not done. `suspects`: records that an interceptor was looking at when its process
    ended, as far as that was traced."""

    source: str
    channel: str
    ranges: list[PartitionRange]
    suspects: list[PartitionPosition] = []

    @property
    def place(self) -> tuple[object, ...]:
        """What is the same when the same batch is in hand again, whatever its length."""
        return self.source, self.channel, frozenset((r.topic, r.partition, r.start) for r in self.ranges)


Crash = tuple[InFlightBatch, ...]
"""What one run had in hand when it ended."""


class Suspect(Frozen):
    """Records that a pipeline may be crashing at: the half-open range [start, end) of one partition and channel."""

    source: str
    channel: str
    topic: str
    partition: Offset
    start: Offset
    end: Offset = Field(gt=0)

    @property
    def records(self) -> int:
        """How many offsets it has."""
        return self.end - self.start

    def __str__(self) -> str:
        what = f"{self.source}.{self.channel} {self.topic}/{self.partition}"
        if self.records == 1:
            return f"{what} offset {self.start}"
        return f"{what} offsets {self.start} to {self.end - 1} ({self.records} records)"


class Quarantined(Suspect):
    """Records that go to the dead letters before any interceptor or sink sees them. `cause` is told with each."""

    cause: str


def recognised(crashes: Sequence[Crash]) -> list[Suspect]:
    """The records that SAME_CRASHES runs in a row had in hand when they crashed, from what each had, newest first.

    Empty where they crashed at different positions, or there are too few. A channel that stood still because its
    neighbour crashed is named with it.
    """
    last = crashes[:SAME_CRASHES]
    if len(last) < SAME_CRASHES:
        return []
    common = set.intersection(*({each.place for each in crash} for crash in last))
    found = [(each, _seen_again(each, last)) for each in last[0] if each.place in common]
    traced = [(each, records) for each, records in found if records]
    return [suspect for each, records in traced or found for suspect in _suspects(each, records)]


def in_flight(batches: Crash) -> list[Suspect]:
    """The records that one run had in hand when it ended."""
    return [suspect for each in batches for suspect in _suspects(each, set(_within(each)))]


def _within(batch: InFlightBatch) -> list[PartitionPosition]:
    ranges = {r.key: r for r in batch.ranges}
    return [s for s in batch.suspects if s.key in ranges and ranges[s.key].start <= s.offset < ranges[s.key].end]


def _seen_again(batch: InFlightBatch, crashes: Sequence[Crash]) -> set[PartitionPosition]:
    """The traced records of a batch that every crash has traced which has traced any: its process was at them."""
    traces = [set(_within(each)) for crash in crashes for each in crash if each.place == batch.place]
    known = [trace for trace in traces if trace]
    return set.intersection(*known) if known else set()


def _suspects(batch: InFlightBatch, records: set[PartitionPosition]) -> list[Suspect]:
    if records:
        spans = [(r.topic, r.partition, r.offset, r.offset + 1) for r in records]
    else:
        spans = [(r.topic, r.partition, r.start, r.end) for r in batch.ranges if r.end > r.start]
    return [
        Suspect(source=batch.source, channel=batch.channel, topic=topic, partition=number, start=start, end=end)
        for topic, number, start, end in sorted(spans)
    ]
