"""Files in Flume: groups that are followed, and how events are written."""

from __future__ import annotations

from typing import Any

from pipelines.domain.flume.importing.draft import Draft
from pipelines.domain.imports.conversion import items
from pipelines.domain.imports.names import Names
from pipelines.domain.imports.properties import Property
from pipelines.domain.imports.section import Section

_TEXT_SERIALIZERS = ("text", "org.apache.flume.serialization.BodyTextEventSerializer$Builder")
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


def read_format(section: Section, draft: Draft, *, of_hdfs: bool) -> None:
    """Bodies as lines are the format text; everything else becomes json, which keeps the headers too. The HDFS sink
    writes sequence files where nothing is written."""
    if draft.accepts("format") is None:
        return
    written = section.take("sink.serializer") or section.take("serializer")
    kind = section.properties.get("hdfs.fileType")
    plain = not of_hdfs if kind is None else kind.value.lower() in _PLAIN_STREAMS
    is_text = (written is None or written.value.lower() == "text" or written.value in _TEXT_SERIALIZERS) and plain
    draft.put("format", "text" if is_text else "json", *([written] if written else []))
    if not is_text:
        draft.report.note(
            "differs",
            "Headgate writes json, text, csv and parquet, not the format of this sink.",
            "It became json, with headers and body.",
            about=(written if plain else kind) or f"{section.prefix}hdfs.fileType",
            path=draft.path,
        )
