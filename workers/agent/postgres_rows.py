"""What a row of PostgreSQL is made of: columns of an event in the types in which they travel."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pyspark.sql import Column
from pyspark.sql import functions as f

from pipelines.domain.columns import ValueSource
from workers.agent import event_values

ORIGIN = {"topic": "text", "partition_number": "int8", "record_offset": "int8"}
_SPARK_TYPES = {"int2": "smallint", "int4": "int", "int8": "bigint", "bool": "boolean"}
_NUL = "\x00"


@dataclass(frozen=True)
class TableColumn:
    """A column of the target table: name, type as PostgreSQL calls it inside and in a cast, and where its value comes
    from. `parsed` below is the body as JSON."""

    name: str
    type: str
    cast: str
    source: ValueSource

    @property
    def staged_type(self) -> str:
        """The type in which the value travels; the database makes everything else out of text."""
        return self.type if self.type in {*_SPARK_TYPES, "bytea"} else "text"

    def plain(self, parsed: Column) -> Column:
        """The value as it is found: bytes where the column takes bytes, else text."""
        if self.source.kind in ("body", "key"):
            found = f.col(self.source.kind)
            return found if self.staged_type == "bytea" else found.cast("string")
        if self.source.kind == "field" and self.type in ("json", "jsonb"):
            return f.to_json(event_values.field(self.source, "variant", parsed))
        return event_values.value(self.source, parsed)

    def typed(self, parsed: Column) -> Column:
        """The value as a value of Spark's type; null where it cannot be one."""
        plain = self.plain(parsed)
        if self.staged_type in _SPARK_TYPES:
            return plain.try_cast(_SPARK_TYPES[self.staged_type])
        return plain.cast("binary") if self.staged_type == "bytea" else plain

    def problem(self, parsed: Column) -> Column | None:
        """Why the table cannot have an event's value, where that can be told here; null where it can."""
        plain = self.plain(parsed)
        if self.staged_type in _SPARK_TYPES and self.source.kind != "origin":
            wrong = plain.isNotNull() & self.typed(parsed).isNull()
            start = f.substring(plain, 1, 50)
            return f.when(wrong, f.concat(f.lit(f"The column {self.name} ({self.type}) cannot be "), start, f.lit(".")))
        if self.staged_type == "text" and self.source.kind != "origin":
            wrong = ~f.is_valid_utf8(plain) | plain.contains(_NUL)
            return f.when(wrong, f.lit(f"The column {self.name} ({self.type}) takes UTF-8 without the character 0."))
        return None


def problems(columns: Sequence[TableColumn]) -> Column | None:
    """The first reason why the table can never have an event; null where there is none. The body is parsed once."""
    if not any(column.source.kind == "field" for column in columns):
        found = _each(columns, f.lit(None).cast("variant"))
        return f.coalesce(*found) if found else None
    reasons = f.transform(
        f.array(event_values.body_variant()),
        lambda parsed: f.coalesce(
            f.when(~event_values.is_object(parsed), f.lit("The body is not a JSON object.")), *_each(columns, parsed)
        ),
    )
    return f.get(reasons, f.lit(0))


def _each(columns: Sequence[TableColumn], parsed: Column) -> list[Column]:
    return [cause for column in columns if (cause := column.problem(parsed)) is not None]


def staged(columns: Sequence[TableColumn]) -> list[Column]:
    """The columns of the staging table out of an event's, and `parsed`, its body as JSON."""
    origin = [f.col("topic"), f.col("partition").cast("bigint"), f.col("offset")]
    values = [column.typed(f.col("parsed")) for column in columns]
    return [value.alias(name) for name, value in zip(staging_types(columns), [*origin, *values], strict=True)]


def staging_types(columns: Sequence[TableColumn]) -> Mapping[str, str]:
    """Names and types of the staging table: origin first, then a column for each one of the target."""
    return ORIGIN | {f"c{number}": column.staged_type for number, column in enumerate(columns)}
