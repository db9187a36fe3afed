"""Two revisions on ranges that an agent has delivered, compared inside Spark: each event is a few digests there, and
only counts and a few samples leave it."""

from __future__ import annotations

import operator
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from pyspark import StorageLevel
from pyspark.sql import functions as f

from pipelines.domain.base.positions import PartitionRange, TopicPartition
from pipelines.domain.ledger.ledger import Counts
from pipelines.domain.preview.comparing import NEWLY, NO_LONGER, DifferenceKind, Volatile, volatile
from pipelines.domain.preview.masking import Rules
from pipelines.domain.preview.outcomes import EventResult, Origin
from pipelines.domain.preview.protocol import DifferenceRow, NotCompared
from pipelines.domain.preview.selection import Extent
from pipelines.domain.preview.shadowing import ShadowCounts, ShadowPart, ShadowRequest, beginning
from workers.agent.base.event import HEADERS_TYPE, ORIGIN, PROBLEM_TYPE, Event
from workers.agent.base.findings import refuse
from workers.agent.evaluation import reading
from workers.agent.evaluation.outcomes import Evaluation, evaluation, graph_of, verdict
from workers.agent.evaluation.preview import Reader, compared, require_one_log
from workers.agent.evaluation.reading import Records
from workers.agent.graph import compile as compiler
from workers.agent.graph.batch import Classification, counted

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

    from workers.agent.graph.component import SourceBuilder
    from workers.agent.positions.guard import LogRange

_EVENT = (*ORIGIN, "copy")
_COMPARED = ("result", "why", "channels", "key", "headers", "body")
_JUDGED = "topic string, partition int, offset bigint, copy int, verdict string, " + ", ".join(
    f"{name} string" for name in _COMPARED
)
"""Columns of what a side makes of records."""
_TRIED = 500
"""Offsets whose records each side is run on twice, where a component may not be repeatable."""


def shadow(spark: SparkSession, request: ShadowRequest, tmp: Path) -> ShadowPart:
    """Read, run both, compare. Raises Refused."""
    graphs = [graph_of(request, side, tmp) for side in (request.base, request.candidate)]
    old, new = (evaluation(spark, graph, request.source) for graph in graphs)
    for each in (old, new):
        reading.require_readable(each.reader)
    require_one_log(old, new)
    log = old.reader.log_ranges()
    _require_kept(old, log, request.ranges)
    reader = Reader(old, new, _records(request.ranges), frozenset(log), frozenset(new.reader.log_ranges()), spark)
    rules = Rules.of([graph.definition for graph in graphs], request.masked)
    return _Shadow(reader, request).part(rules)


def _require_kept(side: Evaluation, log: Mapping[TopicPartition, LogRange], ranges: Iterable[PartitionRange]) -> None:
    """Raises Refused where retention was faster."""
    for each in ranges:
        held = log.get(each.key)
        if held is None or held.start > each.start:
            words = f"{each.topic}/{each.partition} does not have the records from offset {each.start} on any more."
            advice = "Keep the records of the topic longer, or migrate without a shadow."
            raise refuse(side.reader.place.path, "RECORD_EXPIRED", words, advice)


def _records(ranges: Sequence[PartitionRange]) -> Records:
    """Those of ranges; they are not counted yet."""
    extent = Extent({each.key: each.start for each in ranges}, {each.key: each.end for each in ranges})
    return Records(extent.without_empty(), 1, 0, 0)


def _around(origins: Iterable[Origin]) -> Extent:
    offsets: dict[TopicPartition, list[int]] = {}
    for each in origins:
        offsets.setdefault(TopicPartition(each.topic, each.partition), []).append(each.offset)
    return Extent(
        {key: min(found) for key, found in offsets.items()}, {key: max(found) + 1 for key, found in offsets.items()}
    )


def _origin(row: DifferenceRow) -> Origin:
    return Origin(row.topic, row.partition, row.offset, row.copy_number)


@dataclass(frozen=True)
class _Picked(Records):
    """The records of some events alone. Each source reads them once."""

    origins: tuple[Origin, ...] = ()
    read: dict[SourceBuilder, tuple[DataFrame, Event]] = field(default_factory=dict)

    def frame(
        self, spark: SparkSession, source: SourceBuilder, own: Iterable[TopicPartition]
    ) -> tuple[DataFrame, Event]:
        """Those of them that a source reads."""
        if source not in self.read:
            frame, event = super().frame(spark, source, own)
            self.read[source] = reading.only(frame, self.origins).localCheckpoint(), event
        return self.read[source]


class _Group(NamedTuple):
    """Events that are alike. `verdict`: of the old revision in the channel, as the ledger names it; `was`, `now`: are
    they delivered; `copied`: are they further events of a record."""

    kinds: list[str]
    verdict: str | None
    was: bool
    now: bool
    copied: bool
    number: int


class _Shadow:
    """One comparison."""

    def __init__(self, reader: Reader, request: ShadowRequest) -> None:
        self._reader, self._request = reader, request
        self._ignored = self._volatile()

    def _volatile(self) -> Volatile:
        """What neither of the two repeats. Where one alone does, it differs."""
        one, other = (self._not_repeated(side) for side in (self._reader.old, self._reader.new))
        return Volatile(one.headers & other.headers, one.key and other.key, one.body and other.body)

    def _not_repeated(self, side: Evaluation) -> Volatile:
        declared = frozenset(name for each in side.interceptors for name in each.spec.volatile_headers)
        if all(each.spec.repeatable for each in side.interceptors):
            return Volatile(declared)
        few = replace(self._reader, records=_records(beginning(self._request.ranges, _TRIED)))
        found = volatile(few.outcomes(side), few.outcomes(side))
        return Volatile(declared | found.headers, found.key, found.body)

    def part(self, rules: Rules) -> ShadowPart:
        """Count, and look at some of the events that differ."""
        joined = self._joined().persist(StorageLevel.MEMORY_AND_DISK)
        try:
            keys = ("kinds", "verdict", "was", "now", "copied")
            groups = [_Group(*row) for row in joined.groupBy(*keys).count().collect()]
            picked = _picked(joined, groups, self._request.samples)
        finally:
            joined.unpersist()
        return ShadowPart(
            counts=_counts(groups),
            old=_of_old(groups),
            not_compared=NotCompared.of(self._ignored),
            samples=self._samples(picked, rules),
        )

    def _samples(self, origins: Sequence[Origin], rules: Rules) -> list[DifferenceRow]:
        """Both sides of some events."""
        if not origins:
            return []
        records = _Picked(_around(origins), 1, len(origins), 0, origins=tuple(origins))
        found = compared(replace(self._reader, records=records), rules, self._ignored).differences
        wanted = set(origins)
        return [each for each in found if _origin(each) in wanted]

    def _joined(self) -> DataFrame:
        """A row for each event of either side: how it differs, and what the old one made of it."""
        old, new = (self._judged(side).alias(name) for side, name in ((self._reader.old, "o"), (self._reader.new, "n")))
        both = old.join(new, [*_EVENT], "full_outer")
        delivered = EventResult.DELIVERED.value
        return both.select(
            *_EVENT,
            f.array_compact(f.array(*self._kinds())).alias("kinds"),
            f.col("o.verdict").alias("verdict"),
            f.coalesce(f.col("o.result") == delivered, f.lit(False)).alias("was"),
            f.coalesce(f.col("n.result") == delivered, f.lit(False)).alias("now"),
            (f.col("copy") > 0).alias("copied"),
        )

    def _judged(self, side: Evaluation) -> DataFrame:
        read = self._reader.frame(side)
        if read is None:
            return self._reader.spark.createDataFrame([], _JUDGED)
        made = compiler.intercept(*read, side.interceptors, side.selector)
        found = side.classifications(made)
        verdicts = {name: _verdict(each) for name, each in found.items()}
        counters = {name: f.substring_index(each, "@", 1) for name, each in verdicts.items()}
        filtered = f.coalesce(*(f.when(counters[name] == "filtered", verdicts[name]) for name in found))
        reason = side.reason(found)
        bad = [_when_any([counter == each.value for counter in counters.values()], each.value) for each in NEWLY]
        copy = f.col("copy") if "copy" in made.columns else f.lit(0)
        taken = [f.when(counters[name] == "delivered", f.lit(name)) for name in sorted(found)]
        own = verdicts.get(self._request.channel, f.lit(None).cast("string"))
        return made.select(
            *map(f.col, ORIGIN),
            copy.cast("int").alias("copy"),
            f.coalesce(*bad, f.lit(EventResult.DELIVERED.value)).alias("result"),
            own.alias("verdict"),
            f.coalesce(filtered, f.to_json(reason.cast(PROBLEM_TYPE))).alias("why"),
            f.concat_ws(",", *taken).alias("channels"),
            *self._content(),
        )

    def _content(self) -> Iterator[Column]:
        ignored = self._ignored
        yield (f.lit(None).cast("string") if ignored.key else f.sha2("key", 256)).alias("key")
        yield f.sha2(_headers(f.col("headers"), ignored.headers), 256).alias("headers")
        body = f.coalesce(f.col("body"), f.lit(b""))
        yield (f.lit(None).cast("string") if ignored.body else f.sha2(body, 256)).alias("body")

    @staticmethod
    def _kinds() -> Iterator[Column]:
        """The rules of `domain.preview.comparing`."""
        old, new = ({name: f.col(f"{side}.{name}") for name in _COMPARED} for side in ("o", "n"))
        differs = {name: ~old[name].eqNullSafe(new[name]) for name in _COMPARED}
        both = old["result"].isNotNull() & new["result"].isNotNull()
        moved, delivered = both & differs["result"], both & (old["result"] == EventResult.DELIVERED.value)
        same = both & ~differs["result"]
        yield f.when(old["result"].isNull(), DifferenceKind.ADDED.value)
        yield f.when(new["result"].isNull(), DifferenceKind.GONE.value)
        for result, newly in NEWLY.items():
            yield f.when(moved & (new["result"] == result.value), newly.value)
            yield f.when(moved & (old["result"] == result.value), NO_LONGER[result].value)
        yield f.when(same & ~delivered & differs["why"], DifferenceKind.OTHER_REASON.value)
        yield f.when(same & delivered & differs["channels"], DifferenceKind.ROUTED_ELSEWHERE.value)
        for name in ("key", "headers", "body"):
            yield f.when(same & delivered & differs[name], DifferenceKind(name).value)


def _when_any(conditions: Iterable[Column], value: str) -> Column:
    return f.when(reduce(operator.or_, conditions), f.lit(value))


def _verdict(classification: Classification) -> Column:
    """The verdict as the ledger names it."""
    names = {number: str(each) for number, each in classification.verdicts.items()}
    known = f.create_map(*(f.lit(part) for pair in names.items() for part in pair))
    return f.element_at(known, verdict(classification))


def _headers(headers: Column, ignored: frozenset[str]) -> Column:
    """All headers as one text: by name, those of one name in their order. Of ignored ones it has no value."""

    def placed(header: Column, place: Column) -> Column:
        value = f.coalesce(header["value"], f.lit(b""))
        kept = f.when(header["key"].isin(*sorted(ignored)), f.lit(b"")).otherwise(value) if ignored else value
        return f.struct(header["key"].alias("key"), place.alias("place"), kept.alias("value"))

    there = f.coalesce(headers, f.array().cast(HEADERS_TYPE))
    in_order = f.array_sort(f.transform(there, placed))
    pairs = f.transform(in_order, lambda each: f.concat(f.hex(each["key"]), f.lit("="), f.hex(each["value"])))
    return f.concat_ws(";", pairs)


def _counts(groups: Iterable[_Group]) -> ShadowCounts:
    found: Counter[str] = Counter()
    kinds: Counter[str] = Counter()
    for each in groups:
        found[_outcome(each)] += each.number
        found["records"] += 0 if each.copied else each.number
        kinds.update(dict.fromkeys(each.kinds, each.number))
    return ShadowCounts(**found, kinds={DifferenceKind(name): number for name, number in sorted(kinds.items())})


def _outcome(group: _Group) -> str:
    if not group.kinds:
        return "identical"
    if group.was is group.now:
        return "different"
    return "only_old" if group.was else "only_new"


def _of_old(groups: Iterable[_Group]) -> Counts:
    """What the ledger would have counted."""
    found: Counter[str] = Counter()
    for each in groups:
        if each.verdict is not None:
            found["added" if each.copied else "read"] += each.number
            found[each.verdict] += each.number
    counts, _ = counted(found)
    return counts


def _picked(joined: DataFrame, groups: Sequence[_Group], most: int) -> list[Origin]:
    """The first events of each way to differ, as many of each as there is room for."""
    ways = sorted({tuple(each.kinds) for each in groups if each.kinds})[:most]
    found: list[Origin] = []
    for number, kinds in enumerate(ways):
        room = (most - len(found)) // (len(ways) - number)
        rows = joined.where(f.col("kinds") == f.array(*map(f.lit, kinds))).select(*_EVENT).orderBy(*_EVENT)
        found += [Origin(*row) for row in rows.limit(room).collect()]
    return found
