"""Files in Flume: groups that are followed, directories that are written, and how events are written."""

from __future__ import annotations

import re
from typing import Any

from pipelines.domain.flume.importing.draft import Draft, is_secret
from pipelines.domain.flume.reading.agent import Section
from pipelines.domain.flume.reading.conversion import items
from pipelines.domain.flume.reading.names import Names
from pipelines.domain.flume.reading.properties import Property

_ESCAPE = re.compile(r"%(?:\{[^}]*\}|.)")
_HEADER = re.compile(r"%\{([^}]*)\}")
_UNITS = {"Y": "year", "y": "year", "m": "month", "d": "day", "D": "day", "H": "hour", "k": "hour", "M": "minute"}
_ORDER = ("year", "month", "day", "hour", "minute")
_TEXT_SERIALIZERS = ("text", "org.apache.flume.serialization.BodyTextEventSerializer$Builder")
_ROLL_INTERVAL = "30s"
_PLAIN_STREAMS = ("datastream", "compressedstream")


def read_file_groups(section: Section, draft: Draft) -> None:
    """`filegroups = f1 f2`, each with a directory and, as the last part of its path, a pattern of names."""
    listing = section.take("filegroups")
    paths = section.below("filegroups.")
    headers = section.below("headers.")
    if listing is None or draft.accepts("file_groups") is None:
        for property_ in (*([listing] if listing else []), *paths.properties.values(), *headers.properties.values()):
            draft.no_equivalent(property_)
        return
    given = Names()
    groups: dict[str, Any] = {}
    for name in items(listing.value):
        if (path := paths.take(name)) is not None:
            groups[given.give(name)] = _group(given.give(name), path, headers.below(f"{name}."), draft)
        else:
            message = f"The file group {name} is listed and has no path."
            draft.report.note("listed_without_config", message, "It was omitted.", about=listing, path=draft.path)
    draft.put("file_groups", groups, listing)
    for property_ in (*paths.properties.values(), *headers.properties.values()):
        draft.no_equivalent(property_, "no file group of this name is listed")


def _group(name: str, path: Property, headers: Section, draft: Draft) -> dict[str, Any]:
    directory, _, pattern = path.value.rpartition("/")
    place = (*draft.path, "file_groups", name)
    draft.report.mapped(path, (*place, "directory"))
    group: dict[str, Any] = {"directory": directory or "/", "pattern": pattern}
    for property_ in headers.properties.values():
        draft.report.mapped(property_, (*place, "headers"))
    values = {header: property_.value for header, property_ in headers.properties.items()}
    return group | ({"headers": values} if values else {})


def read_directory(section: Section, draft: Draft) -> None:
    """A directory with escapes of Flume (`%Y`, `%{header}`), as a directory and partitions below it."""
    property_ = section.take("hdfs.path")
    if property_ is None:
        _read_rolling(section, draft)
        return
    if is_secret(property_):
        draft.leave_secret(property_)
        return
    path = _with_file_system(property_, draft)
    if "%" not in path or draft.accepts("partition_by") is None:
        draft.put("path", path, property_)
        return
    fixed, partitions, unknown = _partitions(path)
    draft.put("path", fixed, property_)
    if partitions:
        draft.keys["partition_by"] = partitions
    left = f" {', '.join(unknown)} was omitted." if unknown else ""
    draft.report.note(
        "path_escapes",
        "The path has escapes that Flume replaces for each event.",
        f"They became partition_by, whose directories are called NAME=value.{left}",
        about=property_,
        path=(*draft.path, "partition_by"),
        suggestion="Times are read from the header timestamp; add the interceptor timestamp if nothing sets it.",
    )


def _with_file_system(property_: Property, draft: Draft) -> str:
    if not property_.value.startswith("/"):
        return property_.value
    draft.report.note(
        "differs",
        "The path names no file system: Flume takes Hadoop's default one, Headgate the host's own.",
        f"It became hdfs://{property_.value}.",
        about=property_,
        path=(*draft.path, "path"),
    )
    return f"hdfs://{property_.value}"


def _partitions(path: str) -> tuple[str, list[dict[str, str]], list[str]]:
    """The part of a path before its first escape, the partitions, and the escapes that nothing corresponds to."""
    fixed = path[: path.index("%")].rpartition("/")[0] or "/"
    units: set[str] = set()
    headers: list[str] = []
    unknown: list[str] = []
    for escape in _ESCAPE.findall(path):
        header = _HEADER.fullmatch(escape)
        if header:
            headers.append(header[1])
        elif escape[1] in _UNITS:
            units.add(_UNITS[escape[1]])
        else:
            unknown.append(escape)
    finest = max(units, key=_ORDER.index, default="")
    times = [{"time": finest}] if finest else []
    return fixed, [*times, *({"header": header} for header in headers)], unknown


def _read_rolling(section: Section, draft: Draft) -> None:
    """Seconds after which a file is closed, 30 where nothing is written; 0 means never by time."""
    if draft.accepts("roll") is None:
        return
    property_ = section.take("sink.rollInterval")
    if property_ is None:
        draft.keys["roll"] = {"interval": _ROLL_INTERVAL}
    elif not property_.value.isdecimal():
        draft.bad_value(property_, "roll", "it is not a whole number")
    elif int(property_.value):
        draft.put("roll", {"interval": f"{property_.value}s"}, property_)
    else:
        draft.no_equivalent(property_, "files that never end have none; each batch has files of its own")


def read_format(section: Section, draft: Draft) -> None:
    """Bodies as lines are the format text; everything else becomes json, which keeps the headers too."""
    if draft.accepts("format") is None:
        return
    written = section.take("sink.serializer") or section.take("serializer")
    kind = section.properties.get("hdfs.fileType")
    plain = kind is None or kind.value.lower() in _PLAIN_STREAMS
    is_text = (written is None or written.value.lower() == "text" or written.value in _TEXT_SERIALIZERS) and plain
    draft.put("format", "text" if is_text else "json", *([written] if written else []))
    if not is_text:
        draft.report.note(
            "differs",
            "Headgate writes json, text, csv and parquet, not the format of this sink.",
            "It became json, with headers and body.",
            about=(written if plain else kind) or "",
            path=draft.path,
        )
