"""Reading an ingest buffer by range, in any process, while another one writes to it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path

import pyarrow as pa

from pipelines.domain.base.positions import TopicPartition
from workers.agent.positions.checkpoint import Offsets
from workers.agent.push import frames, log
from workers.agent.push.event import Event
from workers.agent.ranges.ranges import EVENTS, RangeLost, RangeReader, Slice, waiting

_ROWS = 50_000


def read(
    directory: Path,
    start: int,
    end: int,
    segments: Callable[[Path], list[tuple[int, Path]]] = frames.segments,
    content: Callable[[Path], bytes] = Path.read_bytes,
) -> Iterator[tuple[int, pa.RecordBatch]]:
    """The events of [start, end) with the offset of each batch's first one. Raises RangeLost, LogDamaged."""
    reached = start
    found = segments(directory)
    for number, (first, path) in enumerate(found):
        after = found[number + 1][0] if number + 1 < len(found) else end
        if after <= start or first >= end:
            continue
        for frame, batch in _frames_within(path, start, end, content):
            cut = max(start, frame.first)
            if cut != reached:
                raise RangeLost(_lost(directory, reached, cut))
            reached = min(end, frame.end)
            yield cut, batch.slice(cut - frame.first, reached - cut)
    if reached < end:
        raise RangeLost(_lost(directory, reached, end))


def _frames_within(
    path: Path, start: int, end: int, content: Callable[[Path], bytes]
) -> Iterator[tuple[frames.Frame, pa.RecordBatch]]:
    try:
        data = content(path)
    except FileNotFoundError:  # the log has let go of it meanwhile, and the caller sees the hole
        return
    for frame in frames.frames(data, verify=False):
        if frame.first >= end:
            return
        if frame.end > start:
            yield frame, frames.read(data, frame)


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:  # the log has let go of it meanwhile
        return 0


def _lost(directory: Path, start: int, end: int) -> str:
    return f"{directory}: the {end - start} events from {start} on are no longer in the ingest buffer"


def events(directory: Path, start: int, end: int) -> Iterator[Event]:
    """The same, event by event."""
    for _, batch in read(directory, start, end):
        for row in batch.to_pylist():
            headers = {pair["key"]: _text(pair["value"]) for pair in row["headers"] or []}
            yield Event(row["body"], headers, row["problem"])


def _text(value: bytes | None) -> str | None:
    return None if value is None else value.decode(errors="replace")


class IngestBufferReader(RangeReader):
    """One log as one partition. Configuration: `{"directory", "topic", "may_skip", "full_events", "full_bytes"}`.

    `may_skip`: events that the log has let go of are passed over, which is what an optional channel that fell behind
    has to live with; their number is the difference between the range and the rows that were read.
    """

    def __init__(self, config: str) -> None:
        options = json.loads(config)
        self._directory = Path(options["directory"])
        self._key = TopicPartition(options["topic"], 0)
        self._may_skip = bool(options.get("may_skip", False))
        self._full_events: int = options.get("full_events", 0)
        self._full_bytes: int = options.get("full_bytes", 0)

    def ends(self) -> Offsets:
        """The end that the writer last told."""
        return {self._key: log.end(self._directory)}

    def limit(self, start: Offsets, end: Offsets, max_events: int) -> Offsets:
        """Offsets count events."""
        return {self._key: min(end[self._key], start.get(self._key, 0) + max_events)}

    def is_full(self, start: Offsets, end: Offsets, max_events: int) -> bool:
        """What waits takes space from those who append, who are refused where there is none: half of it is enough."""
        events = waiting(start, end)
        if events >= min(max_events, self._full_events):
            return True
        return self._unread_bytes(start.get(self._key, 0), end[self._key]) >= self._full_bytes

    def _unread_bytes(self, start: int, end: int) -> float:
        """Of the segments, in equal parts for their events."""
        found = frames.segments(self._directory)
        unread = 0.0
        for (first, path), (after, _) in pairwise([*found, (end, Path())]):
            if after > max(start, first):
                unread += _size(path) * (after - max(start, first)) / (after - first)
        return unread

    def batches(self, part: Slice) -> Iterator[pa.RecordBatch]:
        """Small transactions are put together, so that they do not cost a transfer each."""
        start_at = max(part.start, min(part.end, log.first(self._directory))) if self._may_skip else part.start
        waiting: list[pa.RecordBatch] = []
        rows = 0
        for offset, batch in self._read(start_at, part.end):
            waiting.append(self._with_origin(offset, batch))
            rows += batch.num_rows
            if rows >= _ROWS:
                yield from _joined(waiting)
                waiting, rows = [], 0
        yield from _joined(waiting)

    def _read(self, start: int, end: int) -> Iterator[tuple[int, pa.RecordBatch]]:
        return read(self._directory, start, end)

    def _with_origin(self, first: int, batch: pa.RecordBatch) -> pa.RecordBatch:
        rows = batch.num_rows
        columns = [
            batch.column("key"),
            batch.column("body"),
            batch.column("headers"),
            pa.repeat(pa.scalar(self._key.topic), rows),
            pa.repeat(pa.scalar(self._key.partition, pa.int64()), rows),
            pa.array(range(first, first + rows), pa.int64()),
            batch.column("problem"),
        ]
        return pa.record_batch(columns, schema=EVENTS)


def _joined(batches: list[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    if batches:
        yield from pa.Table.from_batches(batches).combine_chunks().to_batches()
