"""Connectors that write files: FileStreamSink, and those of Confluent for S3 and HDFS."""

from __future__ import annotations

import re
from pathlib import PurePosixPath
from typing import Any

from pipelines.domain.connect.importing.notes import take_text
from pipelines.domain.connect.importing.parts import Part
from pipelines.domain.imports.section import Section

_FORMATS = {"JsonFormat": "json", "ParquetFormat": "parquet", "StringFormat": "text"}
_TIMES = {"YYYY": "year", "YYYY-MM": "month", "YYYY-MM-dd": "day", "YYYY-MM-dd-HH": "hour"}
_NAMED_TIME = re.compile(r"'([A-Za-z0-9_]+)(?:'=|=')([YMdH-]+)")


def file_stream_sink(section: Section, part: Part) -> dict[str, Any]:
    """One growing file becomes a directory of whole ones; without a file the connector prints."""
    file = section.take("file")
    if file is None:
        return {"type": "logger"}
    directory = f"{PurePosixPath(file.value).with_suffix('')}.d"
    part.report.mapped(file, (*part.path, "path"))
    part.note(
        "differs",
        f"The connector appends to the one file {file.value}; the sink makes a directory of files that never change.",
        f"path is {directory}.",
        about=file,
    )
    return {"type": "file", "path": directory, "format": "text"}


def s3_sink(section: Section, part: Part) -> dict[str, Any]:
    """A bucket and a directory in it."""
    bucket = take_text(section, "s3.bucket.name", part.report, (*part.path, "path"))
    compression = take_text(section, "s3.compression.type", part.report, default="none")
    return _stored(section, part, f"s3a://{bucket}") | ({} if compression == "none" else {"compression": compression})


def hdfs_sink(section: Section, part: Part) -> dict[str, Any]:
    """A directory of a Hadoop file system."""
    url = take_text(section, "hdfs.url", part.report) or take_text(section, "store.url", part.report)
    return _stored(section, part, url.rstrip("/"))


def _stored(section: Section, part: Part, root: str) -> dict[str, Any]:
    directory = take_text(section, "topics.dir", part.report, default="topics").strip("/")
    made: dict[str, Any] = {"type": "file", "path": f"{root}/{directory}"}
    if topic := part.topics.only:
        made["path"] += f"/{topic}"
    else:
        part.mislead(
            "one_directory",
            "The connector makes a directory for each topic; one sink has one directory.",
            "Add partition_by: [{header: topic}], and topic_header: topic to the source.",
        )
    if section.get("s3.bucket.name") is None and not root.partition("://")[2]:
        part.mislead("path_unknown", "The place of the files is not in the configuration.", "Write path.")
    made |= _format(section, part) | _rolled(section, part) | _partitioned(section, part)
    return made


def _format(section: Section, part: Part) -> dict[str, Any]:
    property_ = section.take("format.class")
    kind = property_.value.rpartition(".")[2] if property_ else ""
    if property_ is not None:
        part.report.used(property_)
    if kind not in _FORMATS:
        message = f"Files in the format {kind or 'of the default, Avro,'} cannot be written."
        part.mislead("format_not_expressible", message, "Choose json, text, csv or parquet.", about=property_)
        return {}
    if kind == "ParquetFormat":
        message = "The connector makes a column of each field of a record; here columns name theirs."
        part.mislead("columns_needed", message, "Write columns: {id: body.id}.", about=property_)
    if kind == "JsonFormat":
        message = "The connector writes the value alone; the format json writes an object of headers and body."
        part.note("differs", message, "format is text, which writes the body alone.", about=property_ or "format.class")
        return {"format": "text"}
    return {"format": _FORMATS[kind]}


def _rolled(section: Section, part: Part) -> dict[str, Any]:
    for key in ("flush.size", "rotate.schedule.interval.ms"):
        if (property_ := section.take(key)) is not None:
            message = f"{key} has no equivalent: files end by size and by how long events wait."
            part.note("no_equivalent", message, "It was omitted.", about=property_)
    interval = section.take("rotate.interval.ms")
    if interval is None or not interval.value.isdecimal():
        return {}
    part.report.mapped(interval, (*part.path, "roll", "interval"))
    return {"roll": {"interval": int(interval.value) / 1000}}


def _partitioned(section: Section, part: Part) -> dict[str, Any]:
    property_ = section.take("partitioner.class")
    kind = property_.value.rpartition(".")[2] if property_ else "DefaultPartitioner"
    if property_ is not None:
        part.report.used(property_)
    if kind == "DefaultPartitioner":
        message = "The connector makes a directory for each partition of the topic (partition=0)."
        done = "Files of all partitions share a directory; their names say where records come from."
        part.note("differs", message, done, about=property_ or "partitioner.class")
        return {}
    written = section.take("path.format")
    zone = take_text(section, "timezone", part.report, default="UTC")
    found = _NAMED_TIME.fullmatch(written.value) if written and kind == "TimeBasedPartitioner" else None
    if written is None or found is None or found[2] not in _TIMES:
        message = f"The directories of {kind} are none that partition_by makes."
        part.mislead(
            "path_not_expressible", message, "Choose partition_by that readers can use.", about=written or property_
        )
        return {}
    part.report.mapped(written, (*part.path, "partition_by"))
    extractor = section.take("timestamp.extractor")
    if extractor is not None and extractor.value.rpartition(".")[2] == "Record":
        part.report.used(extractor)
        part.headers.add("timestamp")
    else:
        message = "The times of directories come from the record's time; the connector takes another one."
        part.mislead("time_differs", message, "Set the header timestamp in an interceptor.", about=extractor)
        part.headers.add("timestamp")
    return {"partition_by": [{"time": _TIMES[found[2]], "name": found[1]} | ({} if zone == "UTC" else {"zone": zone})]}
