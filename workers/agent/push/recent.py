"""Events that were delivered and stay a little longer, for previews: segments that a log has let go of, under another
name. The log does not know of them, and no position is theirs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa

from workers.agent.push import frames, log, reader
from workers.agent.push.reader import IngestBufferReader

MOST_BYTES = 32 << 20
"""Of all segments that are kept."""
_SUFFIX = ".recent"


def keep(segment: Path) -> None:
    """In place of its removal."""
    segment.replace(segment.with_suffix(_SUFFIX))


def prune(directory: Path, most: int) -> None:
    """Keep those segments that hold one of the newest `most` events of the log, as far as there is room for them."""
    kept = _kept(directory)
    if not kept:
        return
    oldest, room = log.end(directory) - most, MOST_BYTES
    after = [first for first, _ in kept[1:]] + [log.first(directory)]
    for (_, path), end in reversed(list(zip(kept, after, strict=True))):
        room -= path.stat().st_size
        if end <= oldest or room < 0:
            path.unlink(missing_ok=True)


def first(directory: Path) -> int:
    """The first event that is there, delivered or not, from which on none is missing."""
    found = segments(directory)
    return found[0][0] if found else log.end(directory)


def segments(directory: Path) -> list[tuple[int, Path]]:
    """First offset and path of every segment, in order. One that is let go of meanwhile is not missed."""
    return sorted({**dict(frames.segments(directory)), **dict(_kept(directory))}.items())


def _kept(directory: Path) -> list[tuple[int, Path]]:
    return sorted((int(path.stem), path) for path in directory.glob(f"*{_SUFFIX}"))


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except FileNotFoundError:  # the log has let go of it meanwhile
        return path.with_suffix(_SUFFIX).read_bytes()


class RecentReader(IngestBufferReader):
    """Reads a log with what it has let go of; configured as `IngestBufferReader` is."""

    def _read(self, start: int, end: int) -> Iterator[tuple[int, pa.RecordBatch]]:
        return reader.read(self._directory, start, end, segments, _content)
