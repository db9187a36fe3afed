"""Counts events and keeps none."""

from __future__ import annotations

from pipelines.domain.ledger.journal import Planned
from pipelines.domain.ledger.ledger import Counts
from workers.agent.graph.batch import Attempt
from workers.agent.graph.component import Resolution, SinkBuilder


class Builder(SinkBuilder):
    """Takes one channel."""

    def write(self, attempt: Attempt) -> Counts:
        """Evaluate every event."""
        attempt.events.write.format("noop").mode("overwrite").save()
        return attempt.counts

    def resolve(self, planned: Planned) -> Resolution:
        """Nothing is ever there."""
        return Resolution(delivered_before=0)
