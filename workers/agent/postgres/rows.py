"""What a row of PostgreSQL is made of: columns of an event in the types in which they travel, as a line of COPY's text
form. Spark makes the whole line: Python passes on what it gets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pyspark.sql import Column
from pyspark.sql import functions as f

from pipelines.domain.definitions.parts.columns import ValueSource
from workers.agent.base import event_values

ORIGIN = {"topic": "text", "partition_number": "int8", "record_offset": "int8"}
_SPARK_TYPES = {"int2": "smallint", "int4": "int", "int8": "bigint", "bool": "boolean"}
_NUL = "\x00"
_NUL_IN_JSON = "\\u0000"
_NULL = "\\N"


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

    @property
    def _is_json(self) -> bool:
        """Whether a part of a body goes where JSON goes: it is written as such, and has no NUL."""
        return self.source.kind == "field" and self.type in ("json", "jsonb")

    def plain(self, parsed: Column) -> Column:
        """The value as it is found: bytes where the column takes bytes, else text."""
        if self.source.kind in ("body", "key"):
            found = f.col(self.source.kind)
            return found if self.staged_type == "bytea" else found.cast("string")
        if self._is_json:
            return f.to_json(event_values.field(self.source, "variant", parsed))
        return event_values.value(self.source, parsed)

    def typed(self, parsed: Column) -> Column:
        """The value as a value of Spark's type; null where it cannot be one."""
        plain = self.plain(parsed)
        if self.staged_type in _SPARK_TYPES:
            return plain.try_cast(_SPARK_TYPES[self.staged_type])
        return plain.cast("binary") if self.staged_type == "bytea" else plain

    def copied(self, parsed: Column) -> Column:
        """The value as COPY reads it; null where there is none."""
        typed = self.typed(parsed)
        if self.staged_type == "bytea":
            return f.concat(f.lit("\\\\x"), f.hex(typed))
        return _escaped(typed) if self.staged_type == "text" else typed.cast("string")

    def problem(self, parsed: Column) -> Column | None:
        """Why the table cannot have an event's value, where that can be told here; null where it can."""
        plain = self.plain(parsed)
        if self.staged_type in _SPARK_TYPES and self.source.kind != "origin":
            wrong = plain.isNotNull() & self.typed(parsed).isNull()
            start = f.substring(plain, 1, 50)
            return f.when(wrong, f.concat(f.lit(f"The column {self.name} ({self.type}) cannot be "), start, f.lit(".")))
        if self.staged_type == "text" and self.source.kind != "origin" and not self._is_json:
            if self.source.kind == "field":  # it comes out of JSON valid, and is seldom taken out for this check
                wrong = f.col("body").cast("string").contains(_NUL_IN_JSON) & plain.contains(_NUL)
            else:
                wrong = ~f.is_valid_utf8(plain) | plain.contains(_NUL)
            return f.when(wrong, f.lit(f"The column {self.name} ({self.type}) takes UTF-8 without the character 0."))
        return None


def problems(columns: Sequence[TableColumn]) -> Column | None:
    """Every reason why the table can never have an event; null where there is none.

    None of the parts is evaluated under a condition: only then does Spark compile them to parse the body, and to read
    each field, once.
    """
    parsed = event_values.body_variant()
    found = [cause for column in columns if (cause := column.problem(parsed)) is not None]
    if any(column.source.kind == "field" for column in columns):
        found.insert(0, f.when(~event_values.is_object(parsed), f.lit("The body is not a JSON object.")))
    if not found:
        return None
    causes = f.concat_ws(" ", *found)
    return f.when(causes != "", causes)


def line(columns: Sequence[TableColumn]) -> Column:
    """A line for COPY out of an event's columns and `parsed`, its body as JSON: the columns of the staging table."""
    origin = [_escaped(f.col("topic")), f.col("partition").cast("string"), f.col("offset").cast("string")]
    values = [*origin, *(column.copied(f.col("parsed")) for column in columns)]
    return f.concat(f.concat_ws("\t", *(f.coalesce(value, f.lit(_NULL)) for value in values)), f.lit("\n"))


def _escaped(text: Column) -> Column:
    """What COPY reads otherwise than as itself has a backslash before it."""
    return f.call_function("headgate_copy_text", text.cast("string"))


def staging_types(columns: Sequence[TableColumn]) -> Mapping[str, str]:
    """Names and types of the staging table: origin first, then a column for each one of the target."""
    return ORIGIN | {f"c{number}": column.staged_type for number, column in enumerate(columns)}
