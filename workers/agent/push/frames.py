"""Segments of an ingest buffer: files of frames, each one Arrow record batch with a checksum.

A frame is one transaction: it is there as a whole or not at all.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from workers.agent.ranges.ranges import HEADERS

SCHEMA = pa.schema([("key", pa.binary()), ("body", pa.binary()), ("headers", HEADERS), ("problem", pa.string())])
"""What a log holds of an event."""

_MAGIC = b"HGIL"
_HEADER = struct.Struct("<4sQQQIHI")
"""Magic, first offset, body bytes, payload length, events, key length, CRC-32 of all of it and of key and payload."""
_SUFFIX = ".events"


class LogDamaged(Exception):
    """A frame before the end of the log does not match its checksum: nothing after it may be trusted."""


@dataclass(frozen=True)
class Frame:
    """Where a frame lies: `at` is its first byte, `size` all of its bytes; `key` is what its writer called it."""

    first: int
    events: int
    body_bytes: int
    at: int
    size: int
    key: str

    @property
    def end(self) -> int:
        """The offset after its last event."""
        return self.first + self.events


def encode(first: int, batch: pa.RecordBatch, key: str) -> tuple[bytes, int]:
    """A frame's bytes, and how many of them are bodies."""
    name, payload = key.encode(), batch.serialize()
    body_bytes = _body_bytes(batch)
    fields = (_MAGIC, first, body_bytes, payload.size, batch.num_rows, len(name))
    crc = zlib.crc32(payload, zlib.crc32(_HEADER.pack(*fields, 0) + name))
    return b"".join((_HEADER.pack(*fields, crc), name, memoryview(payload))), body_bytes


def _body_bytes(batch: pa.RecordBatch) -> int:
    return int(pc.sum(pc.binary_length(batch.column("body"))).as_py() or 0)


def segment_path(directory: Path, first: int) -> Path:
    """The file of the segment that begins with this offset."""
    return directory / f"{first:020d}{_SUFFIX}"


def segments(directory: Path) -> list[tuple[int, Path]]:
    """First offset and path of every segment, in order."""
    return sorted((int(path.name[: -len(_SUFFIX)]), path) for path in directory.glob(f"*{_SUFFIX}"))


def frames(data: bytes, *, verify: bool) -> Iterator[Frame]:
    """The whole frames of a segment's bytes; ends before a torn one. `verify`: compare checksums, too."""
    at = 0
    while (frame := _frame_at(data, at, verify=verify)) is not None:
        yield frame
        at += frame.size


def _frame_at(data: bytes, at: int, *, verify: bool) -> Frame | None:
    if at + _HEADER.size > len(data):
        return None
    magic, first, body_bytes, length, events, key_length, _ = _HEADER.unpack_from(data, at)
    total = _HEADER.size + key_length + length
    if magic != _MAGIC or at + total > len(data):
        return None
    key = data[at + _HEADER.size : at + _HEADER.size + key_length]
    frame = Frame(first, events, body_bytes, at, total, key.decode(errors="replace"))
    return None if verify and not _is_whole(data, frame) else frame


def _is_whole(data: bytes, frame: Frame) -> bool:
    *fields, crc = _HEADER.unpack_from(data, frame.at)
    rest = memoryview(data)[frame.at + _HEADER.size : frame.at + frame.size]
    return bool(zlib.crc32(rest, zlib.crc32(_HEADER.pack(*fields, 0))) == crc)


def read(data: bytes, frame: Frame) -> pa.RecordBatch:
    """The events of a frame. Raises LogDamaged where they do not match their checksum."""
    if not _is_whole(data, frame):
        raise LogDamaged(f"the events from {frame.first} do not match their checksum")
    key_length = _HEADER.unpack_from(data, frame.at)[5]
    payload = memoryview(data)[frame.at + _HEADER.size + key_length : frame.at + frame.size]
    return pa.ipc.read_record_batch(pa.py_buffer(payload), SCHEMA)
