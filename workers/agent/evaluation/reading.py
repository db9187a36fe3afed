"""Records of a source for a preview: a part of its log, by no group, with a bound on their number and bytes."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from pyspark import StorageLevel
from pyspark.sql import functions as f

from pipelines.domain.base.positions import TopicPartition
from pipelines.domain.preview.outcomes import Origin
from pipelines.domain.preview.selection import MOST_SCANNED, Extent, PreviewSelection, bounded, of_ranges
from workers.agent.base.event import ORIGIN
from workers.agent.base.findings import refuse
from workers.agent.graph.component import SourceBuilder, not_readable, own_keys
from workers.agent.positions.checkpoint import Offsets

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from workers.agent.base.event import Event

MOST_BYTES = 24 * 1024 * 1024
"""Of all records together, each counted with no more than MOST_BODY."""
MOST_BODY = 64 * 1024
MOST_KEPT = 1024 * 1024
_SIZE = "size of value"
_MOST_READ = 512 * 1024 * 1024
_SAMPLED = 1_000_000
_TASKS = 8
"""Parts in which records are read and kept, however many partitions they have."""
_WIDER = 3
"""How often a range that holds fewer records than offsets is made longer."""


class Raw:
    """The records of an extent as one source has them. They are read once: Spark keeps them in its memory, and reads
    those for which there is no room again. Of values longer than `MOST_KEPT`, which would take several times their
    length there, the lengths alone are kept, in the column `_SIZE`."""

    def __init__(self, spark: SparkSession, source: SourceBuilder, extent: Extent, sample: float) -> None:
        self.source = source
        frame = sampled(source.records(spark, extent.starts, extent.ends), sample)
        kept = f.when(f.col(_SIZE) <= MOST_KEPT, f.col("value"))
        frame = frame.withColumn(_SIZE, f.octet_length("value")).withColumn("value", kept)
        self.frame = frame.coalesce(_TASKS).persist(StorageLevel.MEMORY_ONLY)

    def sizes(self) -> list[tuple[TopicPartition, int, int]]:
        """Place and bytes of each; nothing else leaves Spark."""
        size = f.coalesce(f.col(_SIZE), f.lit(0)) + f.lit(1)
        rows = self.frame.select(*map(f.col, ORIGIN), size.alias("size")).collect()
        return [(TopicPartition(row[0], int(row[1])), int(row[2]), int(row[3])) for row in rows]

    def close(self) -> None:
        """Forget them."""
        self.frame.unpersist()


@dataclass(frozen=True)
class Records:
    """The records of an extent of which `sample` is taken; `number` of them, with `size` bytes. `raw`: these and
    others, None where they are too large to be kept, or there are none at all."""

    extent: Extent
    sample: float
    number: int
    size: int
    raw: Raw | None = None

    def frame(
        self, spark: SparkSession, source: SourceBuilder, own: Iterable[TopicPartition]
    ) -> tuple[DataFrame, Event]:
        """Those of the partitions that a source reads, as it reads them."""
        wanted = set(own)
        ends = {key: end for key, end in self.extent.ends.items() if key in wanted}
        starts = {key: self.extent.starts[key] for key in ends}
        if self.raw and own_keys(self.raw.source.spec) == own_keys(source.spec):
            return source.given(_within(self.raw.frame, starts).drop(_SIZE))
        frame, event = source.past(spark, starts, ends)
        return sampled(frame, self.sample), event

    def close(self) -> None:
        """Let go of what is kept of them."""
        if self.raw:
            self.raw.close()


def _within(frame: DataFrame, starts: Offsets) -> DataFrame:
    """The records from these offsets on. One expression, however many partitions there are."""
    known = {f"{number} {topic}": offset for (topic, number), offset in starts.items()}
    by_partition = f.from_json(f.lit(json.dumps(known)), "map<string,bigint>")
    return frame.where(f.col("offset") >= by_partition[f.concat_ws(" ", "partition", "topic")])


def sampled(frame: DataFrame, share: float) -> DataFrame:
    """A share of the records, always the same ones."""
    if share == 1:
        return frame
    return frame.where(f.pmod(f.xxhash64(*map(f.col, ORIGIN)), f.lit(_SAMPLED)) < round(share * _SAMPLED))


def only(frame: DataFrame, origins: Iterable[Origin]) -> DataFrame:
    """The records of these events."""
    wanted = {f"{each.offset} {each.partition} {each.topic}" for each in origins}
    return frame.where(f.concat_ws(" ", "offset", "partition", "topic").isin(*wanted))


def require_readable(source: SourceBuilder) -> None:
    """Raises Refused for a source whose records can be had by their positions only by its pipeline."""
    if not source.reads_past:
        raise not_readable(source)


def read(spark: SparkSession, source: SourceBuilder, selection: PreviewSelection) -> Records:
    """What of the log is selected. Raises Refused."""
    log = source.log_ranges()
    starts = {key: held.start for key, held in log.items()}
    ends = {key: max(held.start, held.end) for key, held in log.items()}
    if selection.last is not None and selection.sample == 1:
        return _last(spark, source, selection, Extent(starts, ends))
    extent = bounded(_extent(source, selection, starts, ends), selection, source.newest)
    return _measured(spark, source, selection, extent)


def _extent(
    source: SourceBuilder,
    selection: PreviewSelection,
    starts: dict[TopicPartition, int],
    ends: dict[TopicPartition, int],
) -> Extent:
    if selection.ranges and source.counts_bytes:
        message = "The offsets of this source count bytes, and a preview numbers them anew."
        raise refuse("selection.ranges", "RANGE_NOT_READABLE", message, "Select the last records instead.")
    if selection.ranges:
        try:
            return of_ranges(selection.ranges, starts, ends)
        except ValueError as error:
            raise refuse("selection.ranges", "UNKNOWN_RANGE", str(error), "Name partitions of its topics.") from error
    if selection.since is None:
        return source.newest(starts, ends, min(MOST_SCANNED, round(selection.most / selection.sample)))
    found = source.at_time(list(ends), _milliseconds_before(selection.since))
    if found is None:
        message = "The source does not know when its records were written."
        raise refuse("selection.since", "TIME_UNKNOWN", message, "Select the last records instead.")
    from_then = {key: min(max(found.get(key, end), starts[key]), end) for key, end in ends.items()}
    return Extent(from_then, ends).without_empty()


def _milliseconds_before(seconds: float) -> int:
    return round((time.time() - seconds) * 1000)


def _last(spark: SparkSession, source: SourceBuilder, selection: PreviewSelection, log: Extent) -> Records:
    """A log with gaps, as compaction and transactions leave them, is read from further back."""
    wanted = selection.most
    span, whole = wanted, log.size
    for turn in range(1, _WIDER + 1):
        extent = source.newest(log.starts, log.ends, span)
        found = _measured(spark, source, selection, extent)
        if found.number >= wanted or extent.size >= whole or found.extent.notes:
            return found
        if turn < _WIDER:
            found.close()
        span = min(whole, MOST_SCANNED, span * max(2, -(-wanted // max(1, found.number))))
    words = f"The log has gaps: {found.number} records were found instead of {wanted}."
    return replace(found, extent=replace(found.extent, notes=(*found.extent.notes, words)))


def _measured(spark: SparkSession, source: SourceBuilder, selection: PreviewSelection, extent: Extent) -> Records:
    """The newest of the records that keep the bounds."""
    if not extent.ends:
        return Records(extent, selection.sample, 0, 0)
    raw = Raw(spark, source, extent, selection.sample)
    try:
        sizes = sorted(raw.sizes(), reverse=True)
        records = _kept(_in_turn(sizes), selection, extent, len(sizes))
    except BaseException:
        raw.close()
        raise
    if any(size > MOST_KEPT for key, offset, size in sizes if offset >= records.extent.starts.get(key, offset + 1)):
        raw.close()
        return records
    return replace(records, raw=raw)


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
