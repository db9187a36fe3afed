"""Records of a source for a preview: a part of its log, by no group, with a bound on their number and bytes."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from pyspark.sql import functions as f

from pipelines.domain.base.positions import TopicPartition
from pipelines.domain.preview.outcomes import Origin
from pipelines.domain.preview.selection import MOST_SCANNED, Extent, PreviewSelection, bounded, newest, of_ranges
from workers.agent.base.event import ORIGIN
from workers.agent.base.findings import refuse
from workers.agent.graph.component import SourceBuilder

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

    from workers.agent.base.event import Event

MOST_BYTES = 24 * 1024 * 1024
"""Of all records together, each counted with no more than MOST_BODY."""
MOST_BODY = 64 * 1024
_MOST_READ = 512 * 1024 * 1024
_SAMPLED = 1_000_000
_WIDER = 3
"""How often a range that holds fewer records than offsets is made longer."""


@dataclass(frozen=True)
class Records:
    """The records of an extent of which `sample` is taken; `number` of them, with `size` bytes."""

    extent: Extent
    sample: float
    number: int
    size: int

    def frame(
        self, spark: SparkSession, source: SourceBuilder, own: Iterable[TopicPartition]
    ) -> tuple[DataFrame, Event]:
        """Those of the partitions that a source reads, as it reads them."""
        ends = {key: end for key, end in self.extent.ends.items() if key in set(own)}
        frame, event = source.past(spark, {key: self.extent.starts[key] for key in ends}, ends)
        return sampled(frame, self.sample), event


def sampled(frame: DataFrame, share: float) -> DataFrame:
    """A share of the records, always the same ones."""
    if share == 1:
        return frame
    return frame.where(f.pmod(f.xxhash64(*map(f.col, ORIGIN)), f.lit(_SAMPLED)) < round(share * _SAMPLED))


def only(frame: DataFrame, origins: Iterable[Origin]) -> DataFrame:
    """The records of these events."""
    by_partition: dict[tuple[str, int], set[int]] = {}
    for each in origins:
        by_partition.setdefault((each.topic, each.partition), set()).add(each.offset)
    wanted: Column = f.lit(False)
    for (topic, partition), offsets in by_partition.items():
        place = (f.col("topic") == topic) & (f.col("partition") == partition)
        wanted = wanted | (place & f.col("offset").isin(*offsets))
    return frame.where(wanted)


def require_readable(source: SourceBuilder) -> None:
    """Raises Refused for a source whose records can be had only by its pipeline."""
    if type(source).past is SourceBuilder.past:
        message = f"Records of a source of the type {source.spec.type} cannot be read beside its pipeline."
        advice = "Use `headgate rehearse` with events of your own."
        raise refuse(source.place.path, "SOURCE_NOT_READABLE", message, advice)


def read(spark: SparkSession, source: SourceBuilder, selection: PreviewSelection) -> Records:
    """What of the log is selected. Raises Refused."""
    log = source.log_ranges()
    starts = {key: held.start for key, held in log.items()}
    ends = {key: max(held.start, held.end) for key, held in log.items()}
    if selection.last is not None and selection.sample == 1:
        return _last(spark, source, selection, Extent(starts, ends))
    extent = bounded(_extent(source, selection, starts, ends), selection)
    return _measured(spark, source, selection, extent)


def _extent(
    source: SourceBuilder,
    selection: PreviewSelection,
    starts: dict[TopicPartition, int],
    ends: dict[TopicPartition, int],
) -> Extent:
    if selection.ranges:
        try:
            return of_ranges(selection.ranges, starts, ends)
        except ValueError as error:
            raise refuse("selection.ranges", "UNKNOWN_RANGE", str(error), "Name partitions of its topics.") from error
    if selection.since is None:
        return newest(starts, ends, round(selection.most / selection.sample))
    found = source.at_time(list(ends), _milliseconds_before(selection.since))
    if found is None:
        message = "The source does not know when its records were written."
        raise refuse("selection.since", "TIME_UNKNOWN", message, "Select the last records instead.")
    from_then = {key: min(max(found.get(key, end), starts[key]), end) for key, end in ends.items()}
    return newest(from_then, ends, sum(end - from_then[key] for key, end in ends.items()))


def _milliseconds_before(seconds: float) -> int:
    return round((time.time() - seconds) * 1000)


def _last(spark: SparkSession, source: SourceBuilder, selection: PreviewSelection, log: Extent) -> Records:
    """A log with gaps, as compaction and transactions leave them, is read from further back."""
    wanted = selection.most
    span, whole = wanted, log.size
    for _ in range(_WIDER):
        found = _measured(spark, source, selection, newest(log.starts, log.ends, span))
        if found.number >= wanted or span >= whole or found.extent.notes:
            return found
        span = min(whole, MOST_SCANNED, span * max(2, -(-wanted // max(1, found.number))))
    words = f"The log has gaps: {found.number} records were found instead of {wanted}."
    return replace(found, extent=replace(found.extent, notes=(*found.extent.notes, words)))


def _measured(spark: SparkSession, source: SourceBuilder, selection: PreviewSelection, extent: Extent) -> Records:
    """The newest of the records that keep the bounds. Their sizes alone leave Spark."""
    if not extent.ends:
        return Records(extent, selection.sample, 0, 0)
    frame, event = source.past(spark, extent.starts, extent.ends)
    size = f.coalesce(f.octet_length(event.body), f.lit(0)) + f.lit(1)
    rows = sampled(frame, selection.sample).select(*map(f.col, ORIGIN), size.alias("size")).collect()
    sizes = sorted(((TopicPartition(row[0], int(row[1])), int(row[2]), int(row[3])) for row in rows), reverse=True)
    return _kept(_in_turn(sizes), selection, extent, len(rows))


def _in_turn(sizes: Sequence[tuple[TopicPartition, int, int]]) -> list[tuple[TopicPartition, int, int]]:
    """Newest first, one of each partition after the other."""
    seen: dict[TopicPartition, int] = {}
    turns = []
    for key, offset, size in sizes:
        seen[key] = seen.get(key, 0) + 1
        turns.append((seen[key], key, offset, size))
    return [(key, offset, size) for _, key, offset, size in sorted(turns, key=lambda turn: turn[:2])]


def _kept(
    records: list[tuple[TopicPartition, int, int]], selection: PreviewSelection, extent: Extent, found: int
) -> Records:
    starts, number, size, held = dict(extent.ends), 0, 0, 0
    for key, offset, own in records:
        if number == selection.most or (
            number and (held + min(own, MOST_BODY) > MOST_BYTES or size + own > _MOST_READ)
        ):
            break
        starts[key], number, size, held = offset, number + 1, size + own, held + min(own, MOST_BODY)
    if number == found:
        return Records(extent, selection.sample, number, size)
    ends = {key: end for key, end in extent.ends.items() if end > starts[key]}
    kept = Extent({key: starts[key] for key in ends}, ends, extent.notes)
    if selection.last is None or number < selection.last:
        words = f"{found} records were selected; the newest {number} of them, {size} bytes, are compared."
        kept = replace(kept, notes=(*kept.notes, words))
    return Records(kept, selection.sample, number, size)
