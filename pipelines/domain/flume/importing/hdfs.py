"""Flume's HDFS sink: where it writes, by which time, and under which names."""

from __future__ import annotations

import re

from pipelines.domain.flume.importing.draft import Draft, is_secret
from pipelines.domain.flume.reading.layouts import Layout, Rounding, escapes, read_layout
from pipelines.domain.imports.properties import Property
from pipelines.domain.imports.section import Section

_ROUND = "hdfs.round"
_ROUNDING = ("hdfs.roundValue", "hdfs.roundUnit")
_LARGEST = {"second": 60, "minute": 60, "hour": 24}
_OFFSET = re.compile(r"GMT([+-])0?([0-9]{1,2})(?::?00)?")
_LOGIN = ("hdfs.kerberosPrincipal", "hdfs.kerberosKeytab", "hdfs.proxyUser")
_OWN_NAMES = "files have names of Headgate's own, which say what they hold"


def read_place(section: Section, draft: Draft, *, local_time: bool) -> None:
    """`hdfs.path` with its escapes, rounding and time zone, as a path and partitions below it.

    `local_time`: the sink does not take the header timestamp.
    """
    rounding = _rounding(section, draft)
    zone = section.take("hdfs.timeZone")
    property_ = section.take("hdfs.path")
    _leave_names(section, draft)
    _leave_login(section, draft)
    if property_ is None:
        _leave_zone(zone, draft)
        return
    if is_secret(property_):
        draft.leave_secret(property_)
        _leave_zone(zone, draft)
        return
    path = _with_file_system(property_, draft)
    layout = read_layout(path, rounding)
    if layout.partitions:
        draft.keys["partition_by"] = layout.partitions
    if layout.times and any("time" in part for part in layout.partitions):
        _set_zone(layout, zone, section, draft)
    else:
        _leave_zone(zone, draft)
    if layout.problems:
        _refuse(layout, property_, draft)
        return
    draft.put("path", layout.fixed, property_)
    if layout.partitions:
        _note_layout(layout, path, property_, draft, by_header=layout.times and not local_time)


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


def _refuse(layout: Layout, property_: Property, draft: Draft) -> None:
    """A definition that has no path is not accepted, so that other directories than Flume's are a decision."""
    for problem in layout.problems:
        draft.report.note(
            "path_not_expressible",
            f"The file sink cannot make the directories of {problem}.",
            "The path was omitted, so that the definition is refused until you decide.",
            about=property_,
            path=(*draft.path, "path"),
            suggestion=f"Write path: {layout.fixed} with the partition_by that readers of the files can use.",
            severity="error",
        )
    draft.report.used(property_)


def _note_layout(layout: Layout, path: str, property_: Property, draft: Draft, *, by_header: bool) -> None:
    changed = f" {'; '.join(layout.changed)}." if layout.changed else ""
    draft.report.note(
        "path_escapes",
        f"Flume replaces the escapes of {path} for each event.",
        f"They became partition_by: {layout}.{changed} An event without the value goes to `unknown`; Flume "
        f"{'refuses it where the time is missing, and ' if by_header else ''}leaves a header empty.",
        about=property_,
        path=(*draft.path, "partition_by"),
        suggestion="Times are read from the header timestamp; add the interceptor timestamp if nothing sets it."
        if by_header
        else "",
    )


def _set_zone(layout: Layout, zone: Property | None, section: Section, draft: Draft) -> None:
    parts = [(index, part) for index, part in enumerate(layout.partitions) if "time" in part]
    if zone is None:
        draft.report.note(
            "time_zone_chosen",
            "hdfs.timeZone is not written: Flume takes the time zone of its host.",
            "The time zone of the partitions is UTC.",
            about=f"{section.prefix}hdfs.timeZone",
            path=(*draft.path, "partition_by", parts[0][0], "zone"),
            suggestion="Set zone, such as Europe/Prague, if Flume's host has another one.",
        )
        return
    for index, part in parts:
        part["zone"] = _zone_name(zone.value)
        draft.report.mapped(zone, (*draft.path, "partition_by", index, "zone"))


def _zone_name(zone: str) -> str:
    """Java's GMT+8 is Etc/GMT-8 in the database of time zones."""
    offset = _OFFSET.fullmatch(zone)
    if offset is None:
        return zone
    sign = "-" if offset[1] == "+" else "+"
    return f"Etc/GMT{sign}{int(offset[2])}" if int(offset[2]) else "UTC"


def _leave_zone(zone: Property | None, draft: Draft) -> None:
    if zone is not None:
        draft.no_equivalent(zone, "no partition of the sink is a time")


def _rounding(section: Section, draft: Draft) -> Rounding | None:
    """`round`, `roundValue` and `roundUnit`, as HDFSEventSink reads them."""
    switch = section.take(_ROUND)
    value, unit = (section.take(name) for name in _ROUNDING)
    written = [property_ for property_ in (value, unit) if property_]
    if switch is not None:
        draft.report.used(switch)
    if switch is None or switch.value.lower() != "true":
        for property_ in written:
            draft.no_equivalent(property_, "hdfs.round is not true, so that Flume ignores it")
        return None
    name = unit.value.lower() if unit else "second"
    if unit and name not in _LARGEST:
        _note_bad_unit(unit, draft)
        for property_ in filter(None, (value,)):
            draft.no_equivalent(property_, "Flume does not round")
        return None
    for property_ in written:
        draft.report.used(property_)
    number = int(value.value) if value else 1
    if not 0 < number <= _LARGEST[name]:
        draft.bad_value(value, "partition_by", f"Flume rounds to 1 to {_LARGEST[name]} {name}s") if value else None
        return None
    return Rounding(number, name)


def _note_bad_unit(unit: Property, draft: Draft) -> None:
    draft.report.note(
        "bad_value",
        f"{unit.key} is neither second, minute nor hour: Flume warns and does not round.",
        "Times are not rounded.",
        about=unit,
        path=(*draft.path, "partition_by"),
    )


def _leave_names(section: Section, draft: Draft) -> None:
    """Names of files: what is in a directory is the same, unless a name parts it."""
    prefix, suffix = section.take("hdfs.filePrefix"), section.take("hdfs.fileSuffix")
    if prefix and (found := escapes(prefix.value)):
        draft.report.note(
            "file_name_escapes",
            f"{prefix.key} has {', '.join(found)}: Flume has files of their own for each value.",
            "It was omitted: one file has events of all values.",
            about=prefix,
            path=draft.path,
            suggestion="Use partition_by for what readers of the files need to keep apart.",
            severity="error",
        )
    elif prefix:
        draft.no_equivalent(prefix, _OWN_NAMES)
    if suffix:
        draft.no_equivalent(suffix, _OWN_NAMES)


def _leave_login(section: Section, draft: Draft) -> None:
    for property_ in filter(None, map(section.take, _LOGIN)):
        draft.report.note(
            "unsupported_login",
            f"{property_.key} logs Flume in to Hadoop.",
            "It was omitted: Spark logs in as its host is set up for Hadoop.",
            about=property_,
            path=draft.path,
            suggestion="Give the agent's user access to the directory, or a ticket (kinit).",
        )
