"""An event on its way through a query, as column expressions: nothing per record happens in Python."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import reduce
from operator import or_
from typing import Any, Literal, NamedTuple, cast

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as f

HEADERS_TYPE = "array<struct<key:string,value:binary>>"
HEADER_MAP_TYPE = "map<string,string>"
PROBLEM_TYPE = "struct<component:string,cause:string>"
ORIGIN_HEADER = "headgate.origin"
"""Tells where a record came from; it belongs to the sink that wrote the record and is not passed on."""

COPY_MARK = "+"
"""Between the offset in an origin and the number of the event, where a record has become several."""

_DECIDED: tuple[Literal["filtered_by", "problem"], ...] = ("filtered_by", "problem")

ORIGIN = ("topic", "partition", "offset")
"""Columns that every frame of a source has, beside what its event refers to."""

OPTIONAL = ("filtered_by", "problem", "copy", "added_by")
"""What an event has only where components can decide it."""


def _pair(name: str, value: Column) -> Column:
    return f.struct(f.lit(name).alias("key"), value.cast("binary").alias("value"))


class Decision(NamedTuple):
    """What becomes of the events for which `condition` holds: the value of the column `kind`. `event`: as it was."""

    condition: Column
    kind: Literal["filtered_by", "problem"]
    value: Column
    event: Event


@dataclass(frozen=True)
class Event:
    """Columns of an event.

    `carried`: headers as they were read, or null. `added`: headers set since, a null value means absent.
    `replaced`: names among the carried ones that no longer count. `copy`: 0 for the first event made of a record, then
    1, 2, …, and `added_by`: the number of the interceptor that added it, null for the first; None where each record is
    one event.

    `decisions`: which events are filtered and which are dead letters. The first whose condition holds counts; from then
    on the event is left alone, and a dead letter is what was refused.
    """

    key: Column
    body: Column
    carried: Column
    added: Mapping[str, Column] = field(default_factory=dict)
    certain: frozenset[str] = frozenset()
    replaced: frozenset[str] = frozenset()
    decisions: tuple[Decision, ...] = ()
    copy: Column | None = None
    added_by: Column | None = None

    @classmethod
    def of(cls, frame: DataFrame) -> Event:
        """The event in a frame that `columns` or a Python interceptor has made."""
        there = {name: f.col(name) for name in OPTIONAL if name in frame.columns}
        event = cls(key=f.col("key"), body=f.col("body"), carried=f.col("headers"))
        decisions = [Decision(there[kind].isNotNull(), kind, there[kind], event) for kind in _DECIDED if kind in there]
        copy, added_by = there.get("copy"), there.get("added_by")
        return replace(event, decisions=tuple(decisions), copy=copy, added_by=added_by)

    @property
    def filtered_by(self) -> Column | None:
        """The number of the interceptor that filtered it out, null where none did; None where none can."""
        return self._made("filtered_by")

    @property
    def problem(self) -> Column | None:
        """Component and cause that make it a dead letter, null where it is fine; None where nothing can."""
        return self._made("problem")

    @property
    def undecided(self) -> Column:
        """Whether it is neither filtered nor a dead letter. Never null."""
        decided = (f.coalesce(each.condition, f.lit(False)) for each in self.decisions)
        return ~reduce(or_, decided, f.lit(False))

    def _made(self, kind: str) -> Column | None:
        return self._where(kind, lambda each: each.value, f.lit(None)) if self._can_be(kind) else None

    def _can_be(self, kind: str) -> bool:
        return any(each.kind == kind for each in self.decisions)

    def _where(self, kind: str, value: Callable[[Decision], Column], otherwise: Column) -> Column:
        """A value of the decision that counts where it is of this kind, of which there is one."""
        last = max(number for number, each in enumerate(self.decisions, 1) if each.kind == kind)
        found: Any = f
        for each in self.decisions[:last]:
            found = found.when(each.condition, value(each) if each.kind == kind else otherwise)
        return cast("Column", found.otherwise(otherwise))

    def _settled(self, part: Callable[[Event], Column], *fields: str) -> Column:
        """The part that is made of these fields, of a dead letter as it was when it was refused."""
        now = part(self)
        refused = [each.event for each in self.decisions if each.kind == "problem"]
        if all(getattr(each, name) is getattr(self, name) for each in refused for name in fields):
            return now
        return self._where("problem", lambda each: part(each.event), now)

    @property
    def text(self) -> Column:
        """The body decoded as UTF-8; empty where there is none."""
        return f.coalesce(self.body.cast("string"), f.lit(""))

    def header(self, name: str) -> Column:
        """The value of a header as text, null where the event has none. Without a lambda: Spark interprets those."""
        place = f.array_position(self.carried["key"], f.lit(name)) - 1
        first = f.get(self.carried, place.cast("int"))["value"].cast("string")
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

    def with_header_where(self, name: str, value: Column) -> Event:
        """Set a header where `value` is not null; elsewhere it stays as it is."""
        kept = f.coalesce(value, self.header(name))
        return replace(
            self, added={**self.added, name: kept}, certain=self.certain - {name}, replaced=self.replaced | {name}
        )

    def with_header_if(self, condition: Column, name: str, value: Column) -> Event:
        """Set a header where `condition` holds; there, null removes it."""
        made = f.when(condition, value).otherwise(self.header(name))
        return replace(
            self, added={**self.added, name: made}, certain=self.certain - {name}, replaced=self.replaced | {name}
        )

    def without_headers(self, names: list[str]) -> Event:
        """Remove headers by name."""
        gone = frozenset(names)
        added = {name: value for name, value in self.added.items() if name not in gone}
        return replace(self, added=added, certain=self.certain - gone, replaced=self.replaced | gone)

    def without_headers_matching(self, pattern: str) -> Event:
        """Remove the headers in whose name the pattern of Java finds something."""
        left = f.call_function("headgate_headers_not_matching", self.headers(), f.lit(pattern))
        return replace(self, carried=left, added={}, certain=frozenset(), replaced=frozenset())

    def with_body(self, body: Column) -> Event:
        """Replace the body; `body` is binary."""
        return replace(self, body=body)

    def with_key(self, key: Column) -> Event:
        """Replace the key; `key` is binary."""
        return replace(self, key=key)

    def keep_where(self, condition: Column, interceptor: int) -> Event:
        """Filter the event out unless `condition` holds, or is null."""
        return self._with(Decision(~condition, "filtered_by", f.lit(interceptor), self))

    def failed_where(self, condition: Column, component: str, cause: Column) -> Event:
        """Make a dead letter of the event where `condition` holds."""
        problem = f.struct(f.lit(component).alias("component"), cause.cast("string").alias("cause"))
        return self._with(Decision(condition, "problem", problem, self))

    def _with(self, decision: Decision) -> Event:
        return replace(self, decisions=(*self.decisions, decision))

    def headers(self) -> Column:
        """All headers as Kafka writes them. The origin of an earlier pipeline is not passed on."""
        dropped = [f.lit(name) for name in sorted(self.replaced | {ORIGIN_HEADER})]
        read = f.call_function("headgate_headers_without", self.carried, *dropped)
        read = f.coalesce(read, f.array().cast(HEADERS_TYPE))
        return f.concat(read, self._own()) if self.added else read

    def header_map(self) -> Column:
        """All headers as a map of texts, the first of each name; empty where there are none."""
        pairs = f.reverse(self.headers() if self.added or self.replaced else self.carried)  # the last of a name counts
        entries = f.map_from_arrays(pairs["key"], pairs["value"]).cast(HEADER_MAP_TYPE)
        return f.coalesce(entries, f.create_map().cast(HEADER_MAP_TYPE))

    def _own(self) -> Column:
        pairs = [
            _pair(name, value) if name in self.certain else f.when(value.isNotNull(), _pair(name, value))
            for name, value in self.added.items()
        ]
        own = f.array(*pairs).cast(HEADERS_TYPE)
        return own if self.certain >= set(self.added) else f.call_function("headgate_headers_without", own)

    def columns(self, targets: Column | None = None, required: Column | None = None) -> list[Column]:
        """The event's columns, its origin, and its channels where a selector chooses, to be selected from the frame
        that they refer to. What is None is no column."""
        optional = {name: getattr(self, name) for name in OPTIONAL} | {"targets": targets, "required": required}
        return [
            self._settled(lambda event: event.key, "key").alias("key"),
            self._settled(lambda event: event.body, "body").alias("body"),
            self._settled(Event.headers, "carried", "added", "replaced").alias("headers"),
            *map(f.col, ORIGIN),
            *[column.alias(name) for name, column in optional.items() if column is not None],
        ]
