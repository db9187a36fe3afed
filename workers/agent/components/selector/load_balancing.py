"""Flume's LoadBalancingChannelSelector, as a function of the event's origin: every query and replay choose alike."""

from __future__ import annotations

from pyspark.sql import Column
from pyspark.sql import functions as f

from workers.agent.base.event import ORIGIN, Event
from workers.agent.graph.component import SelectorBuilder


class Builder(SelectorBuilder):
    """Chooses one channel for each event."""

    def targets(self, event: Event) -> Column:
        """The channel of the event's number among all channels."""
        channels = list(dict.fromkeys(self.spec.targets(list(self.place.channels))))
        number = f.pmod(self._number(event), f.lit(len(channels)))
        return f.array(f.get(f.array(*map(f.lit, channels)), number.cast("int")))

    def _number(self, event: Event) -> Column:
        copy = f.lit(0) if event.copy is None else event.copy
        if self.spec.policy == "random":
            return f.xxhash64(*ORIGIN, copy)
        return f.col("offset").cast("bigint") + copy
