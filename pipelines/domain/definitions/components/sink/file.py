"""Events as files in a directory."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import AfterValidator, Discriminator, Field, Tag, model_validator

from pipelines.domain.base.values import ByteSize, Duration, HeaderName, Syntax, refuse
from pipelines.domain.definitions.parts.columns import ColumnName, Columns
from pipelines.domain.definitions.parts.component import SinkSpec, Spec, field
from pipelines.domain.definitions.parts.registry import TAG_MARK
from pipelines.domain.definitions.parts.time_patterns import time_zone

FilePath = Annotated[
    str,
    Syntax(
        "invalid_path",
        r"(?!.*(?:^|/)\.{1,2}(?:/|$))(?:(?:hdfs|webhdfs|swebhdfs|s3a|abfs|abfss|wasb|wasbs|gs|oss|cosn|o3fs|ofs)://[A-Za-z0-9._-]{0,253}(?::[0-9]{1,5})?)?/[^\x00-\x1f\x7f:]{1,1023}",
        "Use an absolute path on the owning host, or a URL of a Hadoop file system, without . or .. as a part.",
    ),
]


class HeaderPartition(Spec):
    """One directory for each value of a header."""

    header: HeaderName = field("The header.", example="country")
    name: ColumnName | None = field(
        "The directory's name is `NAME=value`; without it, the header's own name.", default=None, example="country"
    )
    missing: Annotated[str, Field(min_length=1, max_length=128)] = field(
        "The value for events without the header.", default="unknown", example="none"
    )


class TimePartition(Spec):
    """One directory for each year, month, day, hour or minute."""

    time: Literal["year", "month", "day", "hour", "minute"] = field(
        "The unit: 2026, 2026-01, 2026-01-31, 2026-01-31-13 or 2026-01-31-13-59.", example="day"
    )
    header: HeaderName = field(
        "The header that has the time in milliseconds since 1970, as the interceptor `timestamp` writes it.",
        default="timestamp",
        example="event_time",
    )
    name: ColumnName | None = field(
        "The directory's name is `NAME=value`; without it, the unit.", default=None, example="dt"
    )
    zone: Annotated[str, AfterValidator(time_zone)] = field("The time zone.", default="UTC", example="Europe/Prague")
    missing: Annotated[str, Field(min_length=1, max_length=128)] = field(
        "The value for events without a time.", default="unknown", example="none"
    )


def _form(value: object) -> str:
    keys = value if isinstance(value, dict) else type(value).model_fields if isinstance(value, Spec) else {}
    return f"{TAG_MARK}time" if "time" in keys else f"{TAG_MARK}header"


Partition = Annotated[
    Annotated[HeaderPartition, Tag(f"{TAG_MARK}header")] | Annotated[TimePartition, Tag(f"{TAG_MARK}time")],
    Discriminator(_form),
]


class Roll(Spec):
    """How large files become, and how long events wait for it. A file is complete when it appears."""

    size: Annotated[ByteSize, Field(ge=1)] = field(
        "The size at which a file ends and the next one begins: about, since it is estimated from the batch before. A "
        "batch has one writer, and another one each time that it reaches twice, three times … this size. While batches "
        "follow one another without a pause, each core has a writer, and files may have a sixteenth of this size.",
        default=128 << 20,
        example="64MiB",
        unit="bytes",
    )
    interval: Annotated[Duration, Field(le=86_400)] = field(
        "The longest that events wait for more, so that they share a file; they wait in the source, and no longer than "
        "until a batch is full (`delivery.max_events_per_batch`). A pause, a drain or a stop waits for nothing. With 0 "
        "every batch has files of its own as soon as there is anything to read.",
        default=30.0,
        example="5m",
        unit="seconds",
    )


class FileSink(SinkSpec):
    """Writes files, exactly once. A file appears under its name when it is complete, and never changes."""

    title: ClassVar[str] = "File"
    once: ClassVar[bool] = True
    condition: ClassVar[str] = "Complete files stay where they are until the batch after them is finished."
    type: Literal["file"] = field("Chooses this sink.", example="file")
    path: FilePath = field(
        "An absolute directory on the owning host, or a directory of a file system that Hadoop knows "
        "(`hdfs://…`, `s3a://…`). It is created where it does not exist.",
        example="/data/orders",
        reach="write",
    )
    format: Literal["json", "text", "csv", "parquet"] = field(
        "How an event is written. `json`: one object with headers and body on each line; `text`: the body and a line "
        "feed; `csv` and `parquet`: `columns`.",
        default="json",
        example="parquet",
    )
    columns: Columns | None = field(
        "The columns of csv and parquet, as text. Without it, parquet has the columns topic, partition, offset, "
        "headers, key and body. csv needs it.",
        default=None,
        example={"id": "body.id", "country": "header.country"},
    )
    header_line: bool = field("Begin each csv file with the columns' names.", default=False, example=True)
    compression: Literal["none", "gzip", "zstd", "snappy"] = field(
        "How files are compressed; snappy for parquet only. `none` leaves the choice to the format.",
        default="none",
        example="gzip",
    )
    partition_by: Annotated[list[Partition], Field(max_length=8)] = field(
        "Directories below the path, from the outermost to the innermost.",
        default=[],
        example=[{"time": "day"}, {"header": "country"}],
    )
    roll: Roll = field(
        "How large files become, and how long events wait for it.",
        default=Roll(),
        example={"size": "64MiB", "interval": "5m"},
    )

    @property
    def is_local(self) -> bool:
        """Whether the path is a directory of the owning host."""
        return self.path.startswith("/")

    @property
    def batch_interval(self) -> float:
        """A batch becomes files, so that small ones flood the directory."""
        return self.roll.interval

    @model_validator(mode="after")
    def _agrees(self) -> FileSink:
        if self.format == "csv" and not self.columns:
            refuse("missing_columns", "A csv file needs columns.", "Add columns, or use json.")
        if self.columns and self.format in ("json", "text"):
            refuse("unused_columns", f"The format {self.format} has no columns.", "Remove them, or use csv or parquet.")
        if self.header_line and self.format != "csv":
            refuse("unused_header_line", "Only csv files have a line of headers.", "Remove header_line.")
        if self.compression == "snappy" and self.format != "parquet":
            refuse("bad_compression", "Only parquet files are compressed with snappy.", "Use gzip or zstd.")
        names = [part.name or getattr(part, "time", None) or getattr(part, "header", "") for part in self.partition_by]
        if len({*names, *(self.columns or {})}) < len(names) + len(self.columns or {}):
            refuse("same_name", "Two partitions, or a partition and a column, have one name.", "Set name.")
        return self
