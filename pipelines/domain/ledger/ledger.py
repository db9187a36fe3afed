"""The books: what was read, and what became of every record.

Law of every finished batch:
read + added = delivered + routed_elsewhere + filtered + unrouted + dead_lettered + dropped_optional.
"""

from __future__ import annotations

from collections.abc import Iterable

from pydantic import Field

from pipelines.domain.base.positions import Frozen

COUNTERS = (
    "read",
    "added",
    "delivered",
    "routed_elsewhere",
    "filtered",
    "unrouted",
    "dead_lettered",
    "dropped_optional",
)


class Counts(Frozen):
    """Row counts of a batch, or of many batches together."""

    read: int = Field(default=0, ge=0)
    added: int = Field(default=0, ge=0)
    delivered: int = Field(default=0, ge=0)
    routed_elsewhere: int = Field(default=0, ge=0)
    filtered: int = Field(default=0, ge=0)
    unrouted: int = Field(default=0, ge=0)
    dead_lettered: int = Field(default=0, ge=0)
    dropped_optional: int = Field(default=0, ge=0)

    @property
    def difference(self) -> int:
        """Records without a verdict: 0 in balanced books; positive where some are missing."""
        verdicts: int = sum(getattr(self, name) for name in COUNTERS[2:])
        return self.read + self.added - verdicts

    @property
    def balanced(self) -> bool:
        """Whether every record has exactly one verdict."""
        return self.difference == 0

    def __add__(self, other: Counts) -> Counts:
        return Counts(**{name: getattr(self, name) + getattr(other, name) for name in COUNTERS})


def total(counts: Iterable[Counts]) -> Counts:
    """Sum counts; nothing gives zeros."""
    result = Counts()
    for each in counts:
        result = result + each
    return result


class LedgerTotals(Frozen):
    """The books of a pipeline in four numbers: finished batches, records skipped or read twice between batches, and
    records without a verdict (negative: with several)."""

    batches: int = 0
    gaps: int = 0
    overlaps: int = 0
    difference: int = 0

    def __add__(self, other: LedgerTotals) -> LedgerTotals:
        return LedgerTotals(
            batches=self.batches + other.batches,
            gaps=self.gaps + other.gaps,
            overlaps=self.overlaps + other.overlaps,
            difference=self.difference + other.difference,
        )
