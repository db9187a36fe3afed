"""Adding to the running totals of channels. Call it in the transaction that changes the ledger."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from uuid import UUID

from pipelines.domain.ledger.totals import TOTALS
from pipelines.models import ChannelTotals, LedgerBatch
from pipelines.services.base import bulk

Channel = tuple[UUID, str, str]
"""Pipeline, source and channel."""


def add(changes: Mapping[Channel, Mapping[str, int]]) -> None:
    """Add to the totals of channels, in one statement. Two that add to one channel at once are both counted.

    Rows are written in one order, so that no two writers wait for each other.
    """
    rows = [
        ChannelTotals(pipeline_id=pipeline, source=source, channel=channel, **changes[(pipeline, source, channel)])
        for pipeline, source, channel in sorted(changes)
    ]
    bulk.insert(rows, unique=["pipeline", "source", "channel"], add=TOTALS)


def add_abandoned(batches: Iterable[LedgerBatch]) -> None:
    """Count the records of abandoned batches: they are read again, and sinks can hold them twice."""
    changes: dict[Channel, Counter[str]] = defaultdict(Counter)
    for batch in batches:
        changes[(batch.pipeline_id, batch.source, batch.channel)].update(duplicates_max=batch.duplicates_max)
    add(changes)
