"""Between two examples of hypothesis, which share one transaction of the database."""

from __future__ import annotations

from pipelines.models import (
    Alert,
    ChannelTotals,
    Event,
    Host,
    LedgerBatch,
    Migration,
    Operation,
    Pipeline,
    Position,
    PositionInspection,
    Run,
)


def clean() -> None:
    """Remove what an example may have left."""
    for model in (Alert, ChannelTotals, Event, LedgerBatch, Position, PositionInspection, Operation, Migration, Run):
        model.objects.all().delete()
    Pipeline.objects.update(current_revision=None)
    Pipeline.objects.all().delete()
    Host.objects.all().delete()
