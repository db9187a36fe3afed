"""What a previewer is asked for a part of a shadow, and what it answers: two revisions on ranges that an agent has
delivered."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar, Literal

from pydantic import Field

from pipelines.domain.base.positions import Frozen, PartitionRange
from pipelines.domain.ledger.ledger import Counts
from pipelines.domain.preview.comparing import DifferenceKind
from pipelines.domain.preview.protocol import DifferenceRow, HostAnswer, HostRequest, NotCompared, Side

MOST_SAMPLES = 20
"""Events that differ of which a shadow shows both sides."""


class ShadowCounts(Frozen):
    """Records and what becomes of their events. `only_old`, `only_new`: events that one revision alone delivers;
    `different`: all others that differ, in `kinds`, which counts each event once for each way in which it does."""

    records: int = 0
    identical: int = 0
    different: int = 0
    only_old: int = 0
    only_new: int = 0
    kinds: dict[DifferenceKind, int] = {}

    @property
    def events(self) -> int:
        """All that were compared."""
        return self.identical + self.differing

    @property
    def differing(self) -> int:
        """All that are not identical."""
        return self.different + self.only_old + self.only_new

    def __add__(self, other: ShadowCounts) -> ShadowCounts:
        names = ("records", "identical", "different", "only_old", "only_new")
        kinds = {kind: self.kinds.get(kind, 0) + other.kinds.get(kind, 0) for kind in (*self.kinds, *other.kinds)}
        return ShadowCounts(**{name: getattr(self, name) + getattr(other, name) for name in names}, kinds=kinds)


class ShadowPart(Frozen):
    """What was found in some ranges of a source. `old`: what the old revision makes of them, as the ledger counts it in
    the channel; `samples`: some of the events that differ."""

    counts: ShadowCounts
    old: Counts
    not_compared: NotCompared = NotCompared()
    samples: list[DifferenceRow] = []


class ShadowAnswer(HostAnswer):
    """What was found, or the findings that stand in its way."""

    result: ShadowPart | None = None


class ShadowRequest(HostRequest[ShadowAnswer]):
    """Two revisions, and ranges that the agent of the old one has delivered. `channel`: the one whose batches they
    are."""

    noun: ClassVar = "shadow"
    advice: ClassVar = "Compare a shorter time, or correct the interceptor that never ends."
    answer: ClassVar = ShadowAnswer
    kind: Literal["shadow"] = "shadow"
    base: Side
    candidate: Side
    source: str
    channel: str
    ranges: list[PartitionRange]
    samples: int = Field(default=MOST_SAMPLES, ge=0, le=MOST_SAMPLES)


def beginning(ranges: Iterable[PartitionRange], most: int) -> list[PartitionRange]:
    """The first offsets of some ranges, one after the other."""
    found = []
    for each in ranges:
        taken = min(most, each.end - each.start)
        most -= taken
        if taken:
            found.append(each.until(each.start + taken))
    return found
