"""Flume's MultiplexingChannelSelector: a table of channels by the value of a header."""

from __future__ import annotations

from collections.abc import Iterable

from pyspark.sql import Column
from pyspark.sql import functions as f

from workers.agent.base.event import Event
from workers.agent.graph.component import SelectorBuilder


class Builder(SelectorBuilder):
    """Looks the header's value up."""

    def targets(self, event: Event) -> Column:
        """Required and optional channels of the value; a value without required ones has those of `default`."""
        default = _names(self.spec.default)
        table = {value: self._channels(value) for value in sorted({*self.spec.mapping, *self.spec.optional})}
        if not table:
            return default
        value = event.header(self.spec.header)
        known = f.create_map(*(column for pair in table.items() for column in (f.lit(pair[0]), _names(pair[1]))))
        return f.when(f.trim(value) != "", f.coalesce(f.try_element_at(known, value), default)).otherwise(default)

    def _channels(self, value: str) -> list[str]:
        required = self.spec.mapping.get(value, self.spec.default)
        return [*required, *self.spec.optional.get(value, [])]


def _names(names: Iterable[str]) -> Column:
    return f.array(*(f.lit(name) for name in dict.fromkeys(names))).cast("array<string>")
