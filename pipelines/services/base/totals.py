"""Adding to the running totals of channels. Call it in the transaction that changes the ledger."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from uuid import UUID

from pipelines.domain.ledger.ledger import CAUSES, Cause
from pipelines.domain.ledger.totals import TOTALS
from pipelines.models import ChannelTotals, ComponentTotals, LedgerBatch
from pipelines.services.base import bulk

Channel = tuple[UUID, str, str]
"""Pipeline, source and channel."""
Component = tuple[UUID, int, str, str, str]
"""Pipeline, revision, source, channel and the component's path."""


def add(changes: Mapping[Channel, Mapping[str, int]]) -> None:
    """Add to the totals of channels, in one statement. Two that add to one channel at once are both counted.

    Rows are written in one order, so that no two writers wait for each other.
    """
    rows = [
        ChannelTotals(pipeline_id=pipeline, source=source, channel=channel, **changes[(pipeline, source, channel)])
        for pipeline, source, channel in sorted(changes)
    ]
    bulk.insert(rows, unique=["pipeline", "source", "channel"], add=TOTALS)


def add_components(changes: Mapping[Component, Mapping[Cause, int]]) -> None:
    """The same for the totals of components."""
    rows = [
        ComponentTotals(
            pipeline_id=key[0],
            revision_id=key[1],
            source=key[2],
            channel=key[3],
            component=key[4],
            **{str(name): number for name, number in changes[key].items()},
        )
        for key in sorted(changes)
    ]
    bulk.insert(rows, unique=["revision", "source", "channel", "component"], add=CAUSES)


def add_abandoned(batches: Iterable[LedgerBatch]) -> None:
    """Count the records of abandoned batches: they are read again, and sinks can hold them twice."""
    changes: dict[Channel, Counter[str]] = defaultdict(Counter)
    for batch in batches:
        changes[(batch.pipeline_id, batch.source, batch.channel)].update(duplicates_max=batch.duplicates_max)
    add(changes)
