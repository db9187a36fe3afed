"""An event on its way through a query, as column expressions: nothing per record happens in Python."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as f

HEADERS_TYPE = "array<struct<key:string,value:binary>>"
ORIGIN_HEADER = "headgate.origin"
"""Tells where a record came from; it belongs to the sink that wrote the record and is not passed on."""

COLUMNS = ("key", "body", "headers", "kept", "topic", "partition", "offset")


def _pair(name: str, value: Column) -> Column:
    return f.struct(f.lit(name).alias("key"), value.cast("binary").alias("value"))


@dataclass(frozen=True)
class Event:
    """Columns of an event.

    `carried`: headers as they were read, or null. `added`: headers set since, a null value means absent.
    `replaced`: names among the carried ones that no longer count. `kept`: whether interceptors let the event pass.
    """

    key: Column
    body: Column
    carried: Column
    added: Mapping[str, Column] = field(default_factory=dict)
    certain: frozenset[str] = frozenset()
    replaced: frozenset[str] = frozenset()
    kept: Column | None = None

    @property
    def text(self) -> Column:
        """The body decoded as UTF-8; empty where there is none."""
        return f.coalesce(self.body.cast("string"), f.lit(""))

    def header(self, name: str) -> Column:
        """The value of a header as text, null where the event has none."""
        carried = f.filter(self.carried, lambda pair: pair["key"] == name)
        first = f.get(carried, 0)["value"].cast("string")
        read = f.lit(None).cast("string") if name in self.replaced else first
        return f.coalesce(self.added[name], read) if name in self.added else read

    def with_header(self, name: str, value: Column, *, preserve_existing: bool) -> Event:
        """Set a header, or only where the event does not have it yet."""
        if preserve_existing and name in self.certain:
            return self
        if preserve_existing:
            absent = f.when(self.header(name).isNull(), value)
            added = f.coalesce(self.added[name], absent) if name in self.added else absent
            return replace(self, added={**self.added, name: added})
        return replace(
            self, added={**self.added, name: value}, certain=self.certain | {name}, replaced=self.replaced | {name}
        )

    def keep_where(self, condition: Column) -> Event:
        """Filter the event out unless `condition` holds; what is filtered out stays so."""
        return replace(self, kept=condition if self.kept is None else self.kept & condition)

    def headers(self) -> Column:
        """All headers as Kafka writes them. The origin of an earlier pipeline is not passed on."""
        dropped = [f.lit(name) for name in sorted(self.replaced | {ORIGIN_HEADER})]
        read = f.filter(self.carried, lambda pair: ~pair["key"].isin(*dropped))
        return f.when(self.carried.isNull(), self._own()).otherwise(f.concat(read, self._own()))

    def _own(self) -> Column:
        pairs = [
            _pair(name, value) if name in self.certain else f.when(value.isNotNull(), _pair(name, value))
            for name, value in self.added.items()
        ]
        own = f.array(*pairs).cast(HEADERS_TYPE)
        return own if self.certain >= set(self.added) else f.array_compact(own)

    def select_from(self, frame: DataFrame) -> DataFrame:
        """The event's columns, and its origin, out of the frame that they refer to."""
        kept = f.lit(True) if self.kept is None else self.kept
        return frame.select(
            self.key.alias("key"), self.body.alias("body"), self.headers().alias("headers"), kept.alias("kept"),
            "topic", "partition", "offset",
        )  # fmt: skip
