"""The writer of an ingest buffer, and Flume's limits (MemoryChannel, FileChannel): full means wait, then refuse.

A directory holds the segments and small files beside them: `end` and `acknowledged` are the offsets that writer and
readers tell each other, `writer.lock` keeps a second writer away, `pin.json` says what holds the log up.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import struct
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Protocol

import pyarrow as pa

from workers.agent.push import frames
from workers.agent.push.frames import LogDamaged

_OFFSET = struct.Struct("<Q")
_SEGMENT_BYTES = 4 << 20
_SPACE_POLL = 0.01
PIN = "pin.json"


class Limits(Protocol):
    """What a log may hold; `pipelines.domain.definitions.sources.push_source.Limits` is one."""

    @property
    def capacity(self) -> int: ...
    @property
    def transaction_capacity(self) -> int: ...
    @property
    def byte_capacity(self) -> int: ...
    @property
    def byte_capacity_buffer_percentage(self) -> int: ...
    @property
    def keep_alive(self) -> float: ...


class LogFull(Exception):
    """The log takes no more; nothing of the transaction is in it. The text says what to do."""


class PutQueueFull(LogFull):
    """One transaction has more events than `transaction_capacity`."""


class BytesFull(LogFull):
    """The bodies in the log leave no room within `keep_alive`."""


class SpaceNotFree(LogFull):
    """The events in the log leave no room within `keep_alive`."""


class LogBusy(Exception):
    """Another process writes to this log."""


class LogUnwritable(Exception):
    """The disk did not take a frame whole; nothing of it is left in the log."""


@dataclass(frozen=True)
class Pin:
    """What keeps a log from letting go: a required channel and, where one is held, its sink."""

    channel: str
    component: str = ""
    cause: str = ""

    def __str__(self) -> str:
        held = f", held by {self.component} ({self.cause})" if self.component else ""
        return f"channel {self.channel}{held}"


def usable_bytes(limits: Limits) -> int:
    """The bytes of bodies that fit: `byte_capacity` less the part that is kept free for headers."""
    return limits.byte_capacity * (100 - limits.byte_capacity_buffer_percentage) // 100


class IngestBuffer:
    """Appends to a log and counts what is in it. For one process; not for several threads at once."""

    def __init__(
        self,
        directory: Path,
        limits: Limits,
        *,
        durable: bool,
        extent: Path | None = None,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        """Open or create the log; a torn last frame is cut off.

        `durable`: every commit is on disk when it returns. `extent`: a file elsewhere that remembers where the log
        ended, so that one that was lost is not begun at 0 again. Raises LogBusy, LogDamaged, OSError.
        """
        self.directory = directory
        self._limits = limits
        self._durable = durable
        self._clock, self._sleep = clock, sleep
        directory.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._lock = _locked(directory / "writer.lock")
        self._unacknowledged: deque[tuple[int, int]] = deque()
        self._bytes = 0
        self.refused = 0
        self.last_key = ""
        self._extent = extent
        self.end = max(_read_offset(extent) if extent else 0, end(directory))
        self._segment = -1
        self._size = 0
        try:
            self._recover()
        except BaseException:
            self.close()
            raise
        self._publish()

    def _recover(self) -> None:
        found = frames.segments(self.directory)
        for number, (first, path) in enumerate(found):
            last = number == len(found) - 1
            if number and first != self.end:
                raise LogDamaged(f"{path}: begins with {first}, and the segment before it ends with {self.end}")
            self._take_in(first, path, last=last)
        if found:
            self._append_to(found[-1][1])
            if self.end < (reported := end(self.directory)):
                raise LogDamaged(f"{self.directory}: events up to {reported} were accepted, and {self.end} can be read")

    def _take_in(self, first: int, path: Path, *, last: bool) -> None:
        self.end, good = first, 0
        data = path.read_bytes()
        for frame in frames.frames(data, verify=last):
            if frame.first != self.end:
                break
            self._count(frame.end, frame.body_bytes)
            self.end, good, self.last_key = frame.end, frame.at + frame.size, frame.key
        if good == len(data):
            return
        if not last:
            raise LogDamaged(f"{path}: byte {good} begins no whole frame")
        os.truncate(path, good)

    def _append_to(self, path: Path) -> None:
        self._close_segment()
        self._segment = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        self._size = path.stat().st_size

    def _close_segment(self) -> None:
        if self._segment >= 0:
            os.close(self._segment)
            self._segment = -1

    def _count(self, end: int, body_bytes: int) -> None:
        self._unacknowledged.append((end, body_bytes))
        self._bytes += body_bytes

    def _publish(self) -> None:
        _write_offset(self.directory / "end", self.end)
        if self._extent:
            _write_offset(self._extent, self.end)

    @property
    def acknowledged(self) -> int:
        """Everything before it has been delivered by every required channel."""
        return max(acknowledged(self.directory), first(self.directory))

    def fill(self) -> tuple[int, int]:
        """Events and bytes of bodies that are not acknowledged."""
        reached = self.acknowledged
        while self._unacknowledged and self._unacknowledged[0][0] <= reached:
            self._bytes -= self._unacknowledged.popleft()[1]
        return self.end - reached, self._bytes

    def append(self, batch: pa.RecordBatch, key: str = "", patience: float | None = None) -> int:
        """Append the events of a batch (columns of `frames.SCHEMA`) as one transaction; returns the first one's offset.

        Waits for space up to `patience` seconds, by default `keep_alive`. `key` names the transaction; `last_key` tells
        after a restart whether it is in the log. Raises PutQueueFull, BytesFull, SpaceNotFree, LogUnwritable.
        """
        if batch.num_rows == 0:
            return self.end
        first = self.end
        frame, body_bytes = frames.encode(first, batch, key)
        self._wait_for_space(batch.num_rows, body_bytes, patience)
        self._write(frame)
        self.end, self.last_key = first + batch.num_rows, key
        self._count(self.end, body_bytes)
        self._publish()
        return first

    def _wait_for_space(self, events: int, body_bytes: int, patience: float | None) -> None:
        limits = self._limits
        if events > limits.transaction_capacity:
            raise self._refusal(
                PutQueueFull,
                f"{events} events are more than transaction_capacity "
                f"({limits.transaction_capacity}). Send fewer at a time, or raise it.",
            )
        room = usable_bytes(limits)
        if body_bytes > room:
            raise self._refusal(
                BytesFull,
                f"{body_bytes} bytes in one transaction are more than the ingest buffer holds "
                f"({room}). Send fewer at a time, or raise byte_capacity.",
            )
        deadline = self._clock() + (limits.keep_alive if patience is None else patience)
        while (problem := self._too_full(events, body_bytes, room)) is not None:
            if self._clock() >= deadline:
                raise self._refusal(*problem)
            self._sleep(_SPACE_POLL)

    def _too_full(self, events: int, body_bytes: int, room: int) -> tuple[type[LogFull], str] | None:
        inside, used = self.fill()
        capacity = self._limits.capacity
        waiting = f"within keep_alive ({self._limits.keep_alive:g} s); {self._held_up_by()}"
        if inside + events > capacity:
            text = (
                f"The ingest buffer holds {inside} of {capacity} events, and no space was free for {events} more "
                f"{waiting}"
            )
            return SpaceNotFree, f"{text} Wait and send again; if this persists, fix that sink or raise capacity."
        if used + body_bytes > room:
            text = (
                f"The ingest buffer holds {used} of {room} bytes, and no space was free for {body_bytes} more {waiting}"
            )
            return BytesFull, f"{text} Wait and send again; if this persists, fix that sink or raise byte_capacity."
        return None

    def _held_up_by(self) -> str:
        pin = read_pin(self.directory)
        return f"it is pinned by {pin}." if pin else "its events have not been delivered yet."

    def _refusal(self, kind: type[LogFull], text: str) -> LogFull:
        self.refused += 1
        return kind(text)

    def _write(self, frame: bytes) -> None:
        if self._segment < 0 or self._size >= _SEGMENT_BYTES:
            self._append_to(frames.segment_path(self.directory, self.end))
            self._sync_directory()
        try:
            written = os.write(self._segment, frame)
            if written != len(frame):
                raise OSError(f"{written} of {len(frame)} bytes were written")
            if self._durable:
                os.fdatasync(self._segment)
        except OSError as error:
            os.ftruncate(self._segment, self._size)
            raise LogUnwritable(f"the ingest buffer cannot be written: {error}") from error
        self._size += len(frame)

    def _sync_directory(self) -> None:
        if self._durable:
            descriptor = os.open(self.directory, os.O_RDONLY)
            try:
                os.fsync(descriptor)
            finally:
                os.close(descriptor)

    def close(self) -> None:
        """Let another writer in."""
        self._close_segment()
        os.close(self._lock)


def _locked(path: Path) -> int:
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        os.close(descriptor)
        raise LogBusy(f"another process writes to {path.parent}") from error
    return descriptor


def _write_offset(path: Path, offset: int) -> None:
    """Eight bytes in one call: a reader in another process sees the old offset or the new one."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        os.pwrite(descriptor, _OFFSET.pack(offset), 0)
    finally:
        os.close(descriptor)


def _read_offset(path: Path) -> int:
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return 0
    return int(_OFFSET.unpack(data)[0]) if len(data) == _OFFSET.size else 0


def end(directory: Path) -> int:
    """The end that the writer last told, for readers; 0 where there is no log."""
    return _read_offset(directory / "end")


def acknowledged(directory: Path) -> int:
    """Everything before it was acknowledged."""
    return _read_offset(directory / "acknowledged")


def first(directory: Path) -> int:
    """The first offset that can still be read; the end where the log is empty."""
    found = frames.segments(directory)
    return found[0][0] if found else end(directory)


def remove(segment: Path) -> None:
    """What becomes of a segment that nobody needs."""
    segment.unlink(missing_ok=True)


def acknowledge(directory: Path, offset: int, let_go: Callable[[Path], None] = remove) -> None:
    """Let go of everything before `offset`: the writer gets its space back, and whole segments are given to `let_go`,
    under whose name for them the log does not find them again.

    The last segment always stays, since it tells where the log ends.
    """
    if offset <= acknowledged(directory):
        return
    _write_offset(directory / "acknowledged", offset)
    found = frames.segments(directory)
    for (_, path), (next_first, _) in pairwise(found):
        if next_first <= offset:
            let_go(path)


def write_pin(directory: Path, pin: Pin | None) -> None:
    """Tell the writer what holds the log up, for its answers."""
    path = directory / PIN
    if pin is None:
        path.unlink(missing_ok=True)
        return
    temporary = path.with_name(f".{PIN}.{os.getpid()}")
    temporary.write_text(json.dumps(pin.__dict__))
    temporary.replace(path)


def read_pin(directory: Path) -> Pin | None:
    """What holds the log up, where the agent has said so."""
    with contextlib.suppress(OSError, ValueError, TypeError):
        return Pin(**json.loads((directory / PIN).read_text()))
    return None
