"""Running totals of a channel: what finished batches add to them, and the bounds of the histogram of durations.

They are kept beside the ledger, in the same transaction: merged rows of the ledger no longer know the duration of one
batch, and to add up a long ledger with every scrape of metrics would cost more the longer it is.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from pipelines.domain.ledger.journal import Done
from pipelines.domain.ledger.ledger import COUNTERS, Counts

DURATIONS: dict[str, float] = {
    "within_100ms": 0.1,
    "within_250ms": 0.25,
    "within_500ms": 0.5,
    "within_1s": 1.0,
    "within_2500ms": 2.5,
    "within_5s": 5.0,
    "within_10s": 10.0,
    "within_30s": 30.0,
    "within_60s": 60.0,
    "within_300s": 300.0,
    "longer": float("inf"),
}
"""Columns of the histogram with their upper bounds in seconds, in order. Each batch counts in one of them."""

SIZES = ("delivered_bytes", "sized")
"""Bytes of the bodies that were delivered, and of how many delivered records they are: the others are not counted."""

TOTALS = (
    *COUNTERS,
    *SIZES,
    "duplicates_max",
    "gaps",
    "overlaps",
    "unattributed",
    "batches",
    "milliseconds",
    *DURATIONS,
)
"""Everything that is added up."""


def of_batch(done: Done) -> dict[str, int]:
    """What a finished batch adds."""
    counts = {name: getattr(done.counts, name) for name in COUNTERS} | sizes(done.counts)
    spent = {"milliseconds": done.ms, _bucket(done.ms / 1000): 1}
    others = {"duplicates_max": done.duplicates_max, "unattributed": done.counts.unattributed, "batches": 1}
    return counts | others | spent


def sizes(counts: Counts) -> dict[str, int]:
    """The bytes that are delivered, where they are counted."""
    known = counts.bytes_out
    return {"delivered_bytes": known or 0, "sized": 0 if known is None else counts.delivered}


def _bucket(seconds: float) -> str:
    return next(name for name, bound in DURATIONS.items() if seconds <= bound)


def cumulative(counts: Mapping[str, int]) -> Iterator[tuple[float, int]]:
    """Upper bounds with the number of batches that took at most so long, as histograms of Prometheus have them."""
    batches = 0
    for name, bound in DURATIONS.items():
        batches += counts[name]
        yield bound, batches
