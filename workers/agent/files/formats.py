"""How the file sink writes a frame of events: format, columns, and the directories that partition it."""

from __future__ import annotations

from functools import reduce
from operator import add
from typing import TYPE_CHECKING, Any

from pyspark.sql import Column
from pyspark.sql import functions as f

from pipelines.domain.definitions.parts.columns import value_source
from workers.agent.base import event_values
from workers.agent.files.sizes import Layout

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_SUFFIXES = {"json": ".json", "text": ".txt", "csv": ".csv", "parquet": ".parquet"}
_PACKED = {"gzip": ".gz", "zstd": ".zst"}
_TIMES = {
    "year": "yyyy",
    "month": "yyyy-MM",
    "day": "yyyy-MM-dd",
    "hour": "yyyy-MM-dd-HH",
    "minute": "yyyy-MM-dd-HH-mm",
}
_FIRST_MS, _LAST_MS = -62_135_596_800_000, 253_402_300_799_999
"""The years 1 to 9999."""
_ROW_GROUP = 32 << 20
"""Bytes of a row group of parquet: readers skip and divide by groups, and a writer holds one of them in memory."""
_LONGEST_VALUE = 80
"""Escaped, a byte of a directory's name may become three, and a name has at most 255."""


def suffix(spec: Any) -> str:
    """The end of a file's name."""
    packed = "" if spec.format == "parquet" else _PACKED.get(spec.compression, "")
    return _SUFFIXES[spec.format] + packed


def partition_names(spec: Any) -> list[str]:
    """The names of the directories, from the outermost."""
    return [part.name or getattr(part, "time", None) or part.header for part in spec.partition_by]


def refuses(spec: Any) -> Column | None:
    """A value that is too long for the name of a directory."""
    causes = [
        f.when(
            f.octet_length(event_values.header(part.header)) > _LONGEST_VALUE,
            f.lit(f"The header {part.header} is longer than {_LONGEST_VALUE} bytes and cannot name a directory."),
        )
        for part in spec.partition_by
        if not hasattr(part, "time")
    ]
    return f.coalesce(*causes) if causes else None


def write(spec: Any, events: DataFrame, url: str, layout: Layout) -> None:
    """Write the events below a directory, in one action. They keep their order: writers take partitions one after the
    other."""
    frame = events.select(*_content(spec), *_partitions(spec)).coalesce(layout.writers)
    writer = frame.write.mode("overwrite").partitionBy(*partition_names(spec)).option("compression", _codec(spec))
    writer = writer.option("maxRecordsPerFile", layout.events_per_file)
    if spec.format == "parquet":
        writer.option("parquet.block.size", _ROW_GROUP).parquet(url)
    elif spec.format == "csv":
        writer.csv(url, header=spec.header_line, quote='"', escape='"', emptyValue='""', lineSep="\n")
    else:
        writer.text(url)


def mean_size(spec: Any, events: DataFrame) -> float:
    """Bytes that one of these events has in a file, before compression; 0 where there are none."""
    values = [f.coalesce(f.octet_length(column.cast("string")), f.lit(0)) for column in _content(spec)]
    size = reduce(add, values) + f.lit(len(values))
    return float(events.select(f.avg(size).alias("size")).head()["size"] or 0)  # type: ignore[index]


def _codec(spec: Any) -> str:
    return "snappy" if spec.format == "parquet" and spec.compression == "none" else str(spec.compression)


def _content(spec: Any) -> list[Column]:
    if spec.format == "json":
        return [event_values.event_json(with_origin=True).alias("value")]
    if spec.format == "text":
        return [f.coalesce(f.col("body").cast("string"), f.lit("")).alias("value")]
    if spec.columns:
        return [event_values.value(value_source(value)).alias(name) for name, value in spec.columns.items()]
    return [f.col(name) for name in ("topic", "partition", "offset", "key", "body")] + [
        event_values.header_map().alias("headers")
    ]


def _partitions(spec: Any) -> list[Column]:
    values = [_time(part) if hasattr(part, "time") else _header(part) for part in spec.partition_by]
    return [value.alias(name) for value, name in zip(values, partition_names(spec), strict=True)]


def _header(part: Any) -> Column:
    found = event_values.header(part.header)
    return f.coalesce(f.when(f.length(found) > 0, found), f.lit(part.missing))


def _time(part: Any) -> Column:
    milliseconds = event_values.header(part.header).try_cast("bigint")
    known = f.when(milliseconds.between(_FIRST_MS, _LAST_MS), f.timestamp_millis(milliseconds))
    local = f.from_utc_timestamp(known, part.zone)
    return f.coalesce(f.date_format(local, _TIMES[part.time]), f.lit(part.missing))
