"""When a record was written to a topic, as nearly as a few looks at its neighbours tell."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from typing import Any

from workers.agent.base.event import COPY_MARK
from workers.agent.kafka.admin import KafkaCluster
from workers.agent.kafka.short_tail import records
from workers.agent.positions.checkpoint import Offsets

MOST_LOOKS = 16
NEAR = 2_000
"""Milliseconds that are not divided any more."""
_OF_ALL, _OF_ONE = 2_000, 20
"""Records that a look reads of all partitions together, and at least of each."""
_LOOK = 2.0
_EDGE = 0.1
"""The share of a span that a look leaves on each side at least, however near the record seems to be."""


@dataclass(frozen=True)
class Neighbours:
    """Records that were made of the same partition as one with `offset`: their origin, in a header, begins with
    `partition`, and the offset behind it rises with the time at which they were written."""

    cluster: KafkaCluster
    header: str
    partition: str
    offset: int

    def around(self, ends: Offsets, since: int, until: int, seconds: float) -> tuple[int, int]:
        """The two instants, in milliseconds, with the record between them, brought together as far as neighbours are
        found. Interpolation search: it is over within MOST_LOOKS looks and about `seconds`. Raises KafkaException."""
        deadline, before, after = time.monotonic() + seconds, math.nan, math.nan
        for _ in range(MOST_LOOKS):
            if until - since <= NEAR or time.monotonic() > deadline:
                break
            at = round(since + (until - since) * self._share(before, after))
            try:
                seen = self._first_since(at, ends)
            except TimeoutError:
                break
            if math.isnan(seen):
                break
            if seen <= self.offset:
                since, before = at, seen
            else:
                until, after = at, seen
        return since, until

    def _share(self, before: float, after: float) -> float:
        """Where to look next between a neighbour before the record and one behind it."""
        share = (self.offset - before) / (after - before)
        return min(max(share, _EDGE), 1 - _EDGE) if math.isfinite(share) and math.isfinite(after) else 0.5

    def _first_since(self, at: int, ends: Offsets) -> float:
        """The offset of a neighbour that was written at an instant or soon after; infinite where nothing was written
        since, NaN where no neighbour was found."""
        starts = {key: start for key, start in self.cluster.at(list(ends), at).items() if start < ends[key]}
        if not starts:
            return math.inf
        most = max(_OF_ONE, _OF_ALL // len(starts))
        stops = {key: min(start + most, ends[key]) for key, start in starts.items()}
        found = records(self.cluster.settings, starts, stops, _LOOK, at_once=most)
        return next((seen for message in found if (seen := self._offset(message)) is not None), math.nan)

    def _offset(self, message: Any) -> int | None:
        value = (dict(message.headers() or []).get(self.header) or b"").decode(errors="replace")
        own, _, at = value.partition(COPY_MARK)[0].rpartition("/")
        return int(at) if own == self.partition and at.isascii() and at.isdecimal() else None


def neighbours(cluster: KafkaCluster, header: str, origin: str) -> Neighbours:
    """Of the record with this origin."""
    partition, _, offset = origin.rpartition("/")
    return Neighbours(cluster, header, partition, int(offset))
