"""Lines in byte ranges of files: finding their ends, counting and reading them. LF and CRLF end a line, CR does not."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import BinaryIO

import pyarrow as pa

from pipelines.domain.base.positions import TopicPartition
from pipelines.domain.definitions.sources.file_source import FileSourceSpec
from workers.agent.ranges.ranges import EVENTS, HEADERS

_BLOCK = 1 << 20
_BACK = 64 << 10
MOST_BACK = 512 << 20
"""Bytes of all files in which the last lines are looked for."""
TYPICAL_LENGTH = 200
"""Bytes of a line, where a guess is enough."""


def last_end(file: BinaryIO, start: int, size: int) -> int:
    """The byte after the last line that ends in [start, size); `start` where none does."""
    end = size
    while end > start:
        start_at = max(start, end - _BACK)
        found = os.pread(file.fileno(), end - start_at, start_at).rfind(b"\n")
        if found >= 0:
            return start_at + found + 1
        end = start_at
    return start


def nth_end(file: BinaryIO, start: int, end: int, lines: int) -> tuple[int, int]:
    """Where the `lines`-th line from `start` ends, at most `end`; and how many lines lie before that."""
    at, left = start, lines
    while at < end:
        block = os.pread(file.fileno(), min(_BLOCK, end - at), at)
        if not block:
            break
        inside = block.count(b"\n")
        if inside >= left:
            parts = block.split(b"\n", left)
            return at + sum(map(len, parts[:left])) + left, lines
        at, left = at + len(block), left - inside
    unfinished = at > start and os.pread(file.fileno(), 1, at - 1) != b"\n"
    return at, lines - left + unfinished


def nth_start(file: BinaryIO, start: int, end: int, lines: int, most: int) -> tuple[int, int]:
    """Where the last `lines` lines of [start, end) begin, and how many they are: no more of them than begin within the
    last `most` bytes. Both ends are those of lines."""
    at, reached, found, lowest = end, end, 0, max(start, end - most)
    while at > lowest and found < lines:
        first = max(lowest, at - _BACK)
        block = os.pread(file.fileno(), min(at, end - 1) - first, first)
        at, cut = first, len(block)
        while found < lines and (cut := block.rfind(b"\n", 0, cut)) >= 0:
            reached, found = first + cut + 1, found + 1
    if at == start < reached and found < lines:
        return start, found + 1
    return reached, found


@dataclass(frozen=True)
class Lines:
    """Some lines: the byte at which each begins, bodies without their ends, and why one cannot be used. `end`: the byte
    at which the next one begins."""

    end: int
    starts: list[int]
    bodies: list[bytes]
    problems: list[str | None]


def read(file: BinaryIO, start: int, end: int, longest: int) -> Iterator[Lines]:
    """The lines of [start, end); what follows the last line feed counts as a line.

    A line that is longer than `longest` keeps its first bytes, with a problem; it never takes more memory than that.
    """
    rest, cut, start_at, at = b"", 0, start, start
    while at < end:
        block = os.pread(file.fileno(), min(_BLOCK, end - at), at)
        if not block:
            raise EOFError(f"{file.name} ends at byte {at}, before {end}")
        at += len(block)
        *whole, tail = block.split(b"\n")
        if whole:
            first, whole[0] = start_at, rest + whole[0]
            sizes = [len(whole[0]) + cut, *map(len, whole[1:])]
            yield _lines(first, whole, sizes, longest, at - len(tail))
            start_at, rest, cut = at - len(tail), tail, 0
        else:
            rest += tail
        if len(rest) > longest + 1:
            cut, rest = cut + len(rest) - longest - 1, rest[: longest + 1]
    if rest or cut:
        yield _lines(start_at, [rest], [len(rest) + cut], longest, end)


def _lines(first: int, bodies: list[bytes], sizes: list[int], longest: int, end: int) -> Lines:
    starts = list(accumulate((size + 1 for size in sizes[:-1]), initial=first))
    problems: list[str | None] = [None] * len(bodies)
    if max(sizes) > longest:
        for number, size in enumerate(sizes):
            if size - bodies[number].endswith(b"\r") > longest:
                problems[number] = f"The line has {size} bytes; {longest} are allowed."
                bodies[number] = bodies[number][:longest]
    if any(b"\r" in body for body in bodies):
        bodies = [
            body[:-1] if body.endswith(b"\r") and not problem else body
            for body, problem in zip(bodies, problems, strict=True)
        ]
    return Lines(end, starts, bodies, problems)


@dataclass(frozen=True)
class Labels:
    """The headers that tell where a line stood: the names under which path, file name and byte are given, if at all."""

    path: str = ""
    name: str = ""
    byte: str = ""


def events(
    lines: Lines, key: TopicPartition, shift: int, path: str, labels: Labels, headers: Mapping[str, str]
) -> pa.RecordBatch:
    """Lines as EVENTS. `shift`: what is added to a byte to make it an offset; `headers`: of every event."""
    rows = len(lines.bodies)
    fixed = dict(headers)
    if labels.path:
        fixed[labels.path] = path
    if labels.name:
        fixed[labels.name] = Path(path).name
    columns = [
        pa.nulls(rows, pa.binary()),
        pa.array(lines.bodies, pa.binary()),
        _headers(lines, fixed, labels.byte),
        pa.repeat(pa.scalar(key.topic), rows),
        pa.repeat(pa.scalar(key.partition, pa.int64()), rows),
        pa.array([start + shift for start in lines.starts], pa.int64()),
        pa.array(lines.problems, pa.string()),
    ]
    return pa.record_batch(columns, schema=EVENTS)


def _headers(lines: Lines, fixed: Mapping[str, str], byte: str) -> pa.Array:
    rows = len(lines.bodies)
    if not fixed and not byte:
        return pa.nulls(rows, HEADERS)
    names = [*fixed, *([byte] if byte else [])]
    values = [value.encode("utf-8", "surrogateescape") for value in fixed.values()]
    each = values * rows
    if byte:
        each = [value for start in lines.starts for value in (*values, str(start).encode())]
    pairs = pa.StructArray.from_arrays(
        [pa.array(names * rows, pa.string()), pa.array(each, pa.binary())], fields=list(HEADERS.value_type)
    )
    offsets = pa.array(range(0, len(names) * (rows + 1), len(names)), pa.int32())
    return pa.ListArray.from_arrays(offsets, pairs, type=HEADERS)


def of_spec(spec: FileSourceSpec) -> Labels:
    """The headers that a definition asks for."""
    return Labels(
        path=spec.file_header_key if spec.file_header else "",
        name=spec.basename_header_key if spec.basename_header else "",
        byte=spec.byte_offset_header_key if spec.byte_offset_header else "",
    )
