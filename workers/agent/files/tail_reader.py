"""Reading the lines of growing files by the offsets that the scanner has written down."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

import pyarrow as pa

from pipelines.domain.base.positions import TopicPartition
from workers.agent.base import reach
from workers.agent.files import lines
from workers.agent.files.lines import Labels
from workers.agent.files.tail import listing
from workers.agent.files.tracked import Span, Tracked, tracked
from workers.agent.positions.checkpoint import Offsets
from workers.agent.ranges.ranges import RangeLost, RangeReader, Slice, waiting

_PATIENCE = 15.0
"""Seconds in which the scanner finds out that a file was truncated, and where its lines are now."""
_POLL = 0.05


class TailReader(RangeReader):
    """Configuration: `{"registry", "labels", "headers": {group: {name: value}}, "longest", "share"}`."""

    def __init__(self, config: str) -> None:
        options = json.loads(config)
        self._registry = Path(options["registry"])
        self._labels = Labels(**options["labels"])
        self._headers: dict[str, dict[str, str]] = options["headers"]
        self._longest: int = options["longest"]
        self._share: int = options["share"]
        self._reach = reach.of_options(options)
        self._seen: tuple[int, int] = (0, 0)
        self._groups: dict[str, Any] = {}

    def _check(self) -> dict[str, Any]:
        stat = self._registry.stat()
        if (stat.st_ino, stat.st_mtime_ns) != self._seen:
            self._groups = json.loads(self._registry.read_bytes())
            self._seen = stat.st_ino, stat.st_mtime_ns
        return self._groups

    def ends(self) -> Offsets:
        """As the scanner saw them last."""
        return {
            TopicPartition(name, int(inode)): file["end"]
            for name, group in self._check().items()
            for inode, file in group["files"].items()
        }

    def rank(self, key: TopicPartition) -> tuple[Any, ...]:
        """The file that was changed longest ago comes first, then the name; one that nobody knows any more before."""
        group = self._check().get(key.topic, {"files": {}})
        file = group["files"].get(str(key.partition))
        return (file["changed_ns"], file["path"], key) if file else (0, "", key)

    def limit(self, start: Offsets, end: Offsets, max_events: int) -> Offsets:
        """Files take turns, the oldest first: each may use what the ones before it left of an equal share."""
        moving = sorted((key for key in end if end[key] > start.get(key, 0)), key=self.rank)
        left, found = max_events, dict(end)
        for number, key in enumerate(moving):
            share = max(1, left // (len(moving) - number))
            share = min(share, self._share) if self._share else share
            found[key], used = self._limited(key, start.get(key, 0), end[key], share)
            left = max(0, left - used)
        return found

    def newest(self, starts: Offsets, ends: Offsets, most: int) -> Offsets:
        """Where the last `most` lines begin, those of the file that was changed last first."""
        found, left, room = dict(ends), most, lines.MOST_BACK
        for key in sorted(ends, key=self.rank, reverse=True):
            for span in reversed(self._spans(key, starts[key], ends[key])):
                if not left or room <= 0 or not span.inode:
                    break
                first, last = max(starts[key], span.start_at), min(ends[key], span.end)
                with self._opened(key.topic, span) as file:
                    at, count = lines.nth_start(file, first - span.start_at, last - span.start_at, left, room)
                found[key] = span.start_at + at
                left, room = left - count, room - (last - found[key])
                if found[key] > first:
                    break
        return found

    def is_full(self, start: Offsets, end: Offsets, max_events: int) -> bool:
        """Offsets count bytes, and to count lines would take reading them."""
        return waiting(start, end) >= max_events * lines.TYPICAL_LENGTH

    def _limited(self, key: TopicPartition, start: int, end: int, most: int) -> tuple[int, int]:
        used = 0
        for span in self._spans(key, start, end):
            if not span.inode:
                return end, most  # the one who reads it says what is lost
            with self._opened(key.topic, span) as file:
                first = max(start, span.start_at) - span.start_at
                at, count = lines.nth_end(file, first, min(end, span.end) - span.start_at, most - used)
            used += count
            if used >= most:
                return span.start_at + at, used
        return end, used

    def _spans(self, key: TopicPartition, start: int, end: int) -> list[Span]:
        file: Tracked = tracked(self._check()[key.topic]["files"][str(key.partition)])
        spans = [*file.past, Span(file.base, max(end, file.end), key.partition, file.path)]
        return [span for span in spans if span.start_at < end and span.end > start]

    @contextmanager
    def _opened(self, group: str, span: Span) -> Iterator[BinaryIO]:
        with self._open(group, span.inode) as file:
            yield file

    def _open(self, group: str, inode: int) -> BinaryIO:
        """By the path that was seen last, or any other that the inode has in the directory."""
        written = self._check()[group]
        path = written["paths"].get(str(inode))
        for _ in range(2):
            try:
                file = reach.opened_for_reading(path or "", self._reach)
                if os.fstat(file.fileno()).st_ino == inode:
                    return file
                file.close()
            except OSError:
                pass
            found = listing(written["directory"]).get(inode)
            path = found.path if found else None
        raise RangeLost(f"FILE_GONE: the file with inode {inode} is no longer in {written['directory']}")

    def batches(self, part: Slice) -> Iterator[pa.RecordBatch]:
        """Line by line; raises RangeLost where a part of the range was truncated away, with its size.

        A file that is copied and truncated while it is read goes on in the copy, once the scanner has found that.
        """
        reached = part.start
        while reached < part.end:
            span = self._spans(part.key, reached, part.end)[0]
            end = min(part.end, span.end)
            if not span.inode:
                raise RangeLost(
                    f"{span.cause}: {end - reached} bytes of {span.path} were not read before they were deleted"
                )
            try:
                for after, batch in self._lines(part.key, span, reached, end):
                    yield batch
                    reached = after
            except EOFError as error:
                self._await_news(part, span, reached, error)

    def _lines(self, key: TopicPartition, span: Span, start_at: int, end: int) -> Iterator[tuple[int, pa.RecordBatch]]:
        headers = self._headers.get(key.topic, {})
        with self._opened(key.topic, span) as file:
            for some in lines.read(file, start_at - span.start_at, end - span.start_at, self._longest):
                yield (
                    span.start_at + some.end,
                    lines.events(some, key, span.start_at, span.path, self._labels, headers),
                )

    def _await_news(self, part: Slice, span: Span, reached: int, error: EOFError) -> None:
        """Wait until the scanner says that the rest stands elsewhere. Raises RangeLost where it does not."""
        deadline = time.monotonic() + _PATIENCE
        while time.monotonic() < deadline:
            now = self._spans(part.key, reached, part.end)[0]
            if (now.inode, now.start_at) != (span.inode, span.start_at):
                return
            time.sleep(_POLL)
        raise RangeLost(f"TRUNCATED: {error}") from error
