"""What sinks make of an event, as column expressions over the columns key, body, headers, topic, partition, offset.

None of them throws: what cannot be read is null.
"""

from __future__ import annotations

from pyspark.sql import Column
from pyspark.sql import functions as f

from pipelines.domain.definitions.parts.columns import ValueSource


def header(name: str) -> Column:
    """The value of a header as text, the first of that name; null where the event has none.

    Without a lambda: Spark interprets those, and evaluates each mention of one anew.
    """
    place = f.array_position(f.col("headers.key"), f.lit(name)) - 1
    return f.get("headers", place.cast("int"))["value"].cast("string")


def header_map() -> Column:
    """All headers as a map of texts; of two with one name the last counts."""
    entries = f.transform("headers", lambda h: f.struct(h["key"].alias("key"), text(h["value"]).alias("value")))
    return f.map_from_entries(entries)


def text(value: Column) -> Column:
    """Bytes as text, with the replacement character for what is not UTF-8."""
    return f.make_valid_utf8(value.cast("string"))


def body_text() -> Column:
    """The body as text."""
    return text(f.col("body"))


def body_variant() -> Column:
    """The body as JSON; null where it is none."""
    return f.try_parse_json(f.col("body").cast("string"))


def is_json() -> Column:
    """Whether the body is JSON."""
    return body_variant().isNotNull()


def is_object(parsed: Column | None = None) -> Column:
    """Whether the body is a JSON object: it is JSON, and begins like one."""
    known = body_variant() if parsed is None else parsed
    begins = f.expr("trim(LEADING ' \\t\\r\\n' FROM cast(body AS string))").startswith("{")
    return f.coalesce(known.isNotNull() & begins, f.lit(False))


def origin() -> Column:
    """`topic/partition/offset`: what identifies the record that the event was made of."""
    return f.concat_ws("/", "topic", f.col("partition").cast("string"), f.col("offset").cast("string"))


def event_json(*, with_origin: bool) -> Column:
    """Headers, key and body as a JSON object; what is not UTF-8 is base64 under another name. Nulls are left out."""
    body, key = f.col("body").cast("string"), f.col("key").cast("string")
    place = [f.struct("topic", "partition", "offset").alias("origin")] if with_origin else []
    return f.to_json(
        f.struct(
            *place,
            header_map().alias("headers"),
            f.when(f.is_valid_utf8(key), key).alias("key"),
            f.when(~f.is_valid_utf8(key), f.base64("key")).alias("key_base64"),
            f.when(f.is_valid_utf8(body), body).alias("body"),
            f.when(~f.is_valid_utf8(body), f.base64("body")).alias("body_base64"),
        )
    )


def json_path(path: tuple[str, ...]) -> str:
    """A path into a variant."""
    return "$" + "".join(f"['{part}']" for part in path)


def value(source: ValueSource, parsed: Column | None = None) -> Column:
    """The text of a column's value; `parsed` is the body as JSON where fields of it are read."""
    if source.kind == "field":
        return field(source, "string", parsed)
    if source.kind == "header":
        return header(source.name)
    if source.kind == "headers":
        return f.to_json(header_map())
    if source.kind == "origin":
        return f.col(source.name).cast("string")
    return text(f.col(source.kind))


def field(source: ValueSource, type_name: str, parsed: Column | None = None) -> Column:
    """A field of a JSON body as a value of a Spark type; null where it is missing or cannot be one."""
    return f.try_variant_get(body_variant() if parsed is None else parsed, json_path(source.path), type_name)
