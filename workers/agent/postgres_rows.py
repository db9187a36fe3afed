"""Rows of PostgreSQL's binary COPY format, made by column expressions: executors only pass the bytes on.

Source: "Binary Format" in the page on COPY of PostgreSQL's manual. A row is a 16-bit number of fields, then for each a
32-bit length, -1 for null, and its bytes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pyspark.sql import Column
from pyspark.sql import functions as f

from pipelines.domain.columns import ValueSource
from workers.agent import event_values

HEADER = b"PGCOPY\n\xff\r\n\0" + bytes(8)
TRAILER = b"\xff\xff"
_INTEGERS = {"int2": ("smallint", 2), "int4": ("int", 4), "int8": ("bigint", 8)}
_NUL = "\x00"


@dataclass(frozen=True)
class TableColumn:
    """A column of the target table: name, type as PostgreSQL calls it inside and in a cast, and where its value comes
    from."""

    name: str
    type: str
    cast: str
    source: ValueSource

    @property
    def staged_type(self) -> str:
        """The type in which the value travels; everything without a plain binary form travels as text."""
        return self.type if self.type in {*_INTEGERS, "bool", "bytea"} else "text"

    def plain(self) -> Column:
        """The value as it is found: bytes where the column takes bytes, else text."""
        if self.staged_type == "bytea" and self.source.kind in ("body", "key"):
            return f.col(self.source.kind)
        if self.source.kind == "field" and self.type in ("json", "jsonb"):
            return f.to_json(event_values.field(self.source, "variant"))
        if self.source.kind in ("body", "key"):
            return f.col(self.source.kind).cast("string")
        return event_values.value(self.source)

    def typed(self) -> Column:
        """The value as a value of Spark's type; null where it cannot be one."""
        if self.staged_type in _INTEGERS:
            return self.plain().try_cast(_INTEGERS[self.staged_type][0])
        if self.staged_type == "bool":
            return self.plain().try_cast("boolean")
        return self.plain()

    def problem(self) -> Column | None:
        """Why the table cannot have an event's value, where that can be told here; null where it can."""
        plain = self.plain()
        if self.staged_type in _INTEGERS or self.staged_type == "bool":
            wrong = plain.isNotNull() & self.typed().isNull()
            start = f.substring(plain, 1, 50)
            return f.when(wrong, f.concat(f.lit(f"The column {self.name} ({self.type}) cannot be "), start, f.lit(".")))
        if self.staged_type == "text":
            wrong = ~f.is_valid_utf8(plain) | plain.contains(_NUL)
            return f.when(wrong, f.lit(f"The column {self.name} ({self.type}) takes UTF-8 without the character 0."))
        return None


def problems(columns: Sequence[TableColumn]) -> Column | None:
    """The first reason why the table can never have an event; null where there is none."""
    causes = []
    if any(column.source.kind == "field" for column in columns):
        causes.append(f.when(~event_values.is_object(), f.lit("The body is not a JSON object.")))
    causes += [cause for column in columns if (cause := column.problem()) is not None]
    return f.coalesce(*causes) if causes else None


def row(columns: Sequence[TableColumn]) -> Column:
    """Origin and columns of an event as one row of the staging table."""
    origin = [
        _field(f.col("topic").cast("binary")),
        _field(_integer(f.col("partition").cast("bigint"), 8)),
        _field(_integer(f.col("offset"), 8)),
    ]
    fields = [_field(_bytes(column)) for column in columns]
    return f.concat(f.lit((len(columns) + len(origin)).to_bytes(2, "big")), *origin, *fields)


def _bytes(column: TableColumn) -> Column:
    if column.staged_type in _INTEGERS:
        return _integer(column.typed(), _INTEGERS[column.staged_type][1])
    if column.staged_type == "bool":
        return f.when(column.typed(), f.lit(b"\x01")).when(~column.typed(), f.lit(b"\x00"))
    return column.plain().cast("binary")


def _field(value: Column) -> Column:
    length = _integer(f.octet_length(value), 4)
    return f.when(value.isNull(), f.lit(b"\xff\xff\xff\xff")).otherwise(f.concat(length, value))


def _integer(value: Column, size: int) -> Column:
    """An integer in network byte order; `hex` of a negative one has 16 digits."""
    return f.unhex(f.right(f.lpad(f.hex(value.cast("bigint")), 16, "0"), f.lit(2 * size)))


def staging_columns(columns: Sequence[TableColumn]) -> Mapping[str, str]:
    """Names and types of the staging table: origin first, then a column for each one of the target."""
    staged = {f"c{number}": column.staged_type for number, column in enumerate(columns)}
    return {"topic": "text", "partition_number": "int8", "record_offset": "int8", **staged}
