"""Flume's MultiplexingChannelSelector: a table of channels by the value of a header."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from pyspark.sql import Column
from pyspark.sql import functions as f

from workers.agent.base.event import Event
from workers.agent.graph.component import SelectorBuilder


class Builder(SelectorBuilder):
    """Looks the header's value up."""

    def targets(self, event: Event) -> Column:
        """Required and optional channels of the value; a value without required ones has those of `default`."""
        values = sorted({*self.spec.mapping, *self.spec.optional})
        return self._chosen(
            event, {each: [*self.spec.required_for(each), *self.spec.optional.get(each, [])] for each in values}
        )

    def required(self, event: Event) -> Column | None:
        """The required channels of the value; None where a channel is required for all of its values, or for none."""
        if not self.spec.sometimes_optional():
            return None
        return self._chosen(event, dict(sorted(self.spec.mapping.items())))

    def _chosen(self, event: Event, table: Mapping[str, list[str]]) -> Column:
        """The channels of the event's value in a table, or those of `default`."""
        default = _names(self.spec.default)
        if not table:
            return default
        value = event.header(self.spec.header)
        known = f.create_map(*(column for pair in table.items() for column in (f.lit(pair[0]), _names(pair[1]))))
        return f.when(f.trim(value) != "", f.coalesce(f.try_element_at(known, value), default)).otherwise(default)


def _names(names: Iterable[str]) -> Column:
    return f.array(*(f.lit(name) for name in dict.fromkeys(names))).cast("array<string>")
