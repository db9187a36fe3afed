"""Flume's Avro event: `AvroFlumeEvent {map<string> headers; bytes body}` without a schema in front.

Source: flume-ng-sdk's flume.avdl and the binary encoding of the Avro specification. Column expressions write it;
reading needs a loop over bytes, which they do not have, so it runs in Python on the executors.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.sql import Column
from pyspark.sql import functions as f

from workers.agent.base.arrow import map_in_arrow

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_READ = (
    "key binary, value binary, headers array<struct<key:string,value:binary>>, topic string, partition int, "
    "offset bigint, timestamp timestamp, undecodable string"
)
_SHIFT = 7
_LONGEST_VARINT = 10


def encoded() -> Column:
    """The event of the columns `headers` and `body`; a header without a value is left out."""
    pairs = f.filter("headers", lambda pair: pair["value"].isNotNull())
    entries = f.transform(pairs, lambda pair: f.concat(_bytes(pair["key"].cast("binary")), _bytes(pair["value"])))
    joined = f.aggregate(entries, f.lit(b""), lambda before, entry: f.concat(before, entry))
    block = f.when(f.size(pairs) > 0, f.concat(_long(f.size(pairs)), joined)).otherwise(f.lit(b""))
    return f.concat(block, f.lit(b"\x00"), _bytes(f.coalesce("body", f.lit(b""))))


def _bytes(value: Column) -> Column:
    return f.concat(_long(f.octet_length(value)), value)


def _long(value: Column) -> Column:
    """A number that is not negative as a zigzag variable-length integer; five bytes are enough for an Int."""
    zigzag = value.cast("bigint") * 2
    sizes = [_varint(zigzag, size) for size in range(1, 6)]
    expression = sizes[-1]
    for size in range(4, 0, -1):
        expression = f.when(zigzag < 1 << (_SHIFT * size), sizes[size - 1]).otherwise(expression)
    return expression


def _varint(value: Column, size: int) -> Column:
    digits = []
    for place in range(size):
        part = f.shiftright(value, _SHIFT * place).bitwiseAND(f.lit(0x7F))
        digits.append(part if place == size - 1 else part.bitwiseOR(f.lit(0x80)))
    return f.unhex(f.concat(*[f.lpad(f.hex(digit), 2, "0") for digit in digits]))


class Undecodable(ValueError):
    """The bytes are not a Flume event."""


def decoded(data: bytes) -> tuple[list[tuple[str, bytes]], bytes]:
    """Headers and body. Raises Undecodable."""
    reader = _Reader(data)
    headers: list[tuple[str, bytes]] = []
    while count := reader.long():
        if count < 0:
            reader.long()  # the size of the block, for those who skip it
        for _ in range(abs(count)):
            name = reader.bytes()
            headers.append((_text(name), _text(reader.bytes()).encode()))
    body = reader.bytes()
    if reader.left:
        raise Undecodable(f"{reader.left} bytes are left over")
    return headers, body


def _text(data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise Undecodable("a header is not UTF-8") from error


class _Reader:
    def __init__(self, data: bytes) -> None:
        self._data, self._at = data, 0

    @property
    def left(self) -> int:
        return len(self._data) - self._at

    def long(self) -> int:
        value = 0
        for place in range(_LONGEST_VARINT):
            if not self.left:
                break
            byte = self._data[self._at]
            self._at += 1
            value |= (byte & 0x7F) << (_SHIFT * place)
            if byte < 0x80:
                return (value >> 1) ^ -(value & 1)
        raise Undecodable("a number is cut off")

    def bytes(self) -> bytes:
        size = self.long()
        if not 0 <= size <= self.left:
            raise Undecodable(f"{size} bytes are declared and {self.left} are left")
        self._at += size
        return self._data[self._at - size : self._at]


def parse(frame: DataFrame, set_by_source: Collection[str] = ()) -> DataFrame:
    """The records of Spark's Kafka source with the headers and the body of their Flume events.

    A header of the event takes the place of a record's own header of that name, as one that the source sets does. What
    cannot be read keeps its value and has a cause in `undecodable`.
    """
    columns = ["key", "value", "headers", "topic", "partition", "offset", "timestamp"]
    return map_in_arrow(frame.select(*columns), partial(_parse, frozenset(set_by_source)), _READ)


def _parse(set_by_source: frozenset[str], batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        values: list[bytes | None] = []
        headers: list[Any] = []
        causes: list[str | None] = []
        rows = zip(batch.column("value").to_pylist(), batch.column("headers").to_pylist(), strict=True)
        for value, carried in rows:
            try:
                found, body = decoded(value or b"")
                cause = None
            except Undecodable as error:
                found, body = [], value
                cause = f"The body is not a Flume event: {error}."
            values.append(body)
            headers.append(_merged(dict(found), carried, set_by_source))
            causes.append(cause)
        yield _batch(batch, values, headers, causes)


def _merged(
    own: Mapping[str, bytes], carried: list[dict[str, Any]] | None, set_by_source: frozenset[str]
) -> list[dict[str, Any]]:
    """The event's headers, and those of the record that neither the event has nor the source sets."""
    read = [{"key": name, "value": text} for name, text in own.items()]
    return [*read, *(pair for pair in carried or [] if pair["key"] not in own and pair["key"] not in set_by_source)]


def _batch(
    batch: pa.RecordBatch, values: list[bytes | None], headers: list[Any], causes: list[str | None]
) -> pa.RecordBatch:
    pairs = pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))
    return pa.RecordBatch.from_arrays(
        [
            batch.column("key"),
            pa.array(values, pa.binary()),
            pa.array(headers, pairs),
            *(batch.column(name) for name in ("topic", "partition", "offset", "timestamp")),
            pa.array(causes, pa.string()),
        ],
        names=["key", "value", "headers", "topic", "partition", "offset", "timestamp", "undecodable"],
    )
