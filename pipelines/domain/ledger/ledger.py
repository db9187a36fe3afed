"""The books: what was read, and what became of every record.

Law of every finished batch:
read + added = delivered + routed_elsewhere + filtered + unrouted + dead_lettered + dropped_optional.
What components decide has parts, one for each component; they add up to their sum.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Annotated, Literal, get_args

from pydantic import Field

from pipelines.domain.base.positions import Frozen

Counter = Literal[
    "read",
    "added",
    "delivered",
    "routed_elsewhere",
    "filtered",
    "unrouted",
    "dead_lettered",
    "dropped_optional",
]
COUNTERS: tuple[str, ...] = get_args(Counter)
IN_ORDER = (
    "read",
    "added",
    "filtered",
    "unrouted",
    "routed_elsewhere",
    "dropped_optional",
    "dead_lettered",
    "delivered",
)
"""The counters in the order in which records meet them."""
Cause = Literal["added", "routed_elsewhere", "filtered", "unrouted", "dead_lettered"]
CAUSES: tuple[Cause, ...] = ("added", "routed_elsewhere", "filtered", "unrouted", "dead_lettered")
"""Counters of which each record has a component that decided it."""

Parts = Mapping[str, Mapping[Cause, Annotated[int, Field(ge=0)]]]
"""What each component has counted, by its path in the definition; what it has counted nothing of is left out."""


class BatchStep(StrEnum):
    """What the time of a batch goes into. `plan`: where the sinks end, and the plan on disk; `wait`: attempts that
    failed, pauses after them, and the look for what a sink holds already; `deliver`: the attempt that worked, from the
    read to the acknowledgement; `dead_letters`: keeping them; `other`: everything else."""

    PLAN = "plan"
    WAIT = "wait"
    DELIVER = "deliver"
    DEAD_LETTERS = "dead_letters"
    OTHER = "other"


_DELIVERY = ("sinks.", "channels.")


def is_delivery(path: str) -> bool:
    """Whether events are delivered to the component at a path: to a sink, or to the store of a channel."""
    return path.startswith(_DELIVERY)


def added_up(one: Parts, other: Parts) -> Parts:
    """Both together."""
    return {path: sums for path in {**one, **other} if (sums := _sum_of(one.get(path, {}), other.get(path, {})))}


def _sum_of(one: Mapping[Cause, int], other: Mapping[Cause, int]) -> dict[Cause, int]:
    return {name: number for name in CAUSES if (number := one.get(name, 0) + other.get(name, 0))}


class Counts(Frozen):
    """Row counts of a batch, or of many batches together. `components`: the parts of each component, None where nobody
    has counted by component. `delivered_bytes`: of the bodies that were delivered, None where nobody has counted
    them."""

    read: int = Field(default=0, ge=0)
    added: int = Field(default=0, ge=0)
    delivered: int = Field(default=0, ge=0)
    routed_elsewhere: int = Field(default=0, ge=0)
    filtered: int = Field(default=0, ge=0)
    unrouted: int = Field(default=0, ge=0)
    dead_lettered: int = Field(default=0, ge=0)
    dropped_optional: int = Field(default=0, ge=0)
    components: Parts | None = None
    delivered_bytes: int | None = Field(default=None, ge=0)

    @property
    def bytes_out(self) -> int | None:
        """Bytes of the bodies that were delivered: none where nothing was, None where nobody has counted them."""
        return self.delivered_bytes if self.delivered else 0

    @property
    def parts(self) -> Parts | None:
        """The parts of each component; none are missing where there is nothing that components decide."""
        if self.components is None and not any(getattr(self, name) for name in CAUSES):
            return {}
        return self.components

    @property
    def refused_in_delivery(self) -> int:
        """Records that are dead letters because a sink or the store of a channel has refused them."""
        parts = self.parts or {}
        return sum(each.get("dead_lettered", 0) for path, each in parts.items() if is_delivery(path))

    @property
    def unattributed(self) -> int:
        """By how many records parts and sums differ: 0 in balanced books, and where nobody has counted parts."""
        parts = self.parts
        if parts is None:
            return 0
        counted = {name: sum(each.get(name, 0) for each in parts.values()) for name in CAUSES}
        return sum(abs(getattr(self, name) - counted[name]) for name in CAUSES)

    @property
    def difference(self) -> int:
        """Records without a verdict: 0 in balanced books; positive where some are missing."""
        verdicts: int = sum(getattr(self, name) for name in COUNTERS[2:])
        return self.read + self.added - verdicts

    @property
    def balanced(self) -> bool:
        """Whether every record has exactly one verdict, and the parts of every sum add up to it."""
        return self.difference == 0 and self.unattributed == 0

    def refused(self, sink: str, records: int) -> Counts:
        """The same where so many of the delivered records were refused, by the sink at this path."""
        if not records:
            return self
        moved = {"delivered": self.delivered - records, "dead_lettered": self.dead_lettered + records}
        parts = None if self.parts is None else added_up(self.parts, {sink: {"dead_lettered": records}})
        return self.model_copy(update={**moved, "components": parts})

    def with_bytes(self, size: int | None) -> Counts:
        """The same, with so many bytes delivered."""
        return self if size == self.bytes_out else self.model_copy(update={"delivered_bytes": size})

    def __add__(self, other: Counts) -> Counts:
        own, more = self.parts, other.parts
        sums = Counts(**{name: getattr(self, name) + getattr(other, name) for name in COUNTERS})
        if self.bytes_out is not None and other.bytes_out is not None:
            sums = sums.with_bytes(self.bytes_out + other.bytes_out)
        return sums if own is None or more is None else sums.with_parts(added_up(own, more))

    def with_parts(self, parts: Parts) -> Counts:
        """The same, counted by component."""
        return self if parts == self.parts else self.model_copy(update={"components": parts})


def total(counts: Iterable[Counts]) -> Counts:
    """Sum counts; nothing gives zeros."""
    result = Counts()
    for each in counts:
        result = result + each
    return result


class LedgerTotals(Frozen):
    """The books of a pipeline in five numbers: finished batches, records skipped or read twice between batches, records
    without a verdict (negative: with several), and records that are not counted by the component which decided."""

    batches: int = 0
    gaps: int = 0
    overlaps: int = 0
    difference: int = 0
    unattributed: int = 0

    def __add__(self, other: LedgerTotals) -> LedgerTotals:
        return LedgerTotals(
            batches=self.batches + other.batches,
            gaps=self.gaps + other.gaps,
            overlaps=self.overlaps + other.overlaps,
            difference=self.difference + other.difference,
            unattributed=self.unattributed + other.unattributed,
        )
