"""When Flume closes a file: after seconds, bytes or events, whichever comes first. 0 means never by this criterion.

A file here ends with its batch: `roll.interval` is how long events wait for it, `roll.size` divides it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pipelines.domain.definitions.components.sink.file import Roll
from pipelines.domain.definitions.parts import registry
from pipelines.domain.flume.importing.draft import Draft
from pipelines.domain.imports.properties import Property
from pipelines.domain.imports.report import Report
from pipelines.domain.imports.section import Section

_LONGEST = 86_400
_NEVER = 3600
_FLUMES = {"hdfs.rollSize": "1024 bytes", "hdfs.rollCount": "10 events"}
_ANY_COUNT = "no file ends by its number of events, as 0 says"


def read_hdfs_rolling(section: Section, draft: Draft) -> None:
    """`hdfs.rollInterval`, `rollSize`, `rollCount` and `idleTimeout` as roll."""
    roll: dict[str, Any] = {}
    idle = section.take("hdfs.idleTimeout")
    _interval(section.take("hdfs.rollInterval"), idle, roll, draft)
    _size(section.take("hdfs.rollSize"), section, roll, draft)
    _count(section.take("hdfs.rollCount"), section, draft)
    if roll:
        draft.keys["roll"] = roll


def read_file_rolling(section: Section, draft: Draft) -> None:
    """`sink.rollInterval` of the sink file_roll; 30 s where nothing is written, as here."""
    roll: dict[str, Any] = {}
    _interval(section.take("sink.rollInterval"), None, roll, draft)
    if roll:
        draft.keys["roll"] = roll


def _interval(written: Property | None, idle: Property | None, roll: dict[str, Any], draft: Draft) -> None:
    seconds = int(written.value) if written else Roll.model_fields["interval"].default
    idle_seconds = int(idle.value) if idle else 0
    if seconds <= 0 < idle_seconds and idle:
        roll["interval"] = min(idle_seconds, _LONGEST)
        draft.report.mapped(idle, (*draft.path, "roll", "interval"))
    elif idle:
        draft.no_equivalent(idle, "a file ends after roll.interval at the latest")
    if written is None:
        return
    draft.report.mapped(written, (*draft.path, "roll", "interval"))
    if seconds <= 0:
        roll.setdefault("interval", _NEVER)
        _note_never(written, roll["interval"], draft)
        return
    roll["interval"] = min(seconds, _LONGEST)
    if seconds > _LONGEST:
        draft.report.note(
            "roll_limited",
            f"Flume closes a file after {seconds} s; here events wait for {_LONGEST} s at the most.",
            f"roll.interval is {_LONGEST} s.",
            about=written,
            path=(*draft.path, "roll", "interval"),
        )


def _note_never(written: Property, seconds: int, draft: Draft) -> None:
    draft.report.note(
        "roll_never",
        f"{written.key} is {written.value}: Flume never closes a file because of its age. Here events wait in the "
        "source until their file is complete, so that they have to have a limit.",
        f"roll.interval is {seconds} s.",
        about=written,
        path=(*draft.path, "roll", "interval"),
        suggestion="Lower it if readers need events sooner, up to 24 h for fewer files.",
    )


def _size(written: Property | None, section: Section, roll: dict[str, Any], draft: Draft) -> None:
    if written is None:
        _note_default("hdfs.rollSize", section, "roll.size is 128 MiB, its default.", draft)
    elif int(written.value) > 0:
        roll["size"] = int(written.value)
        draft.report.mapped(written, (*draft.path, "roll", "size"))
    else:
        draft.report.note(
            "roll_never",
            f"{written.key} is {written.value}: Flume never closes a file because of its size.",
            "A file still ends at 128 MiB, the default of roll.size.",
            about=written,
            path=(*draft.path, "roll", "size"),
            suggestion="Raise roll.size if one file for each interval is needed.",
        )


def _count(written: Property | None, section: Section, draft: Draft) -> None:
    if written is None:
        _note_default("hdfs.rollCount", section, "No file ends by its number of events.", draft)
    elif int(written.value) > 0:
        draft.report.note(
            "roll_count",
            f"Flume closes a file after {int(written.value)} events; no file here ends by their number.",
            "It was omitted: files end by roll.size and roll.interval.",
            about=written,
            path=(*draft.path, "roll"),
            suggestion="Lower roll.size if readers need smaller files.",
        )
    else:
        draft.no_equivalent(written, _ANY_COUNT)


def _note_default(name: str, section: Section, done: str, draft: Draft) -> None:
    draft.report.note(
        "roll_default",
        f"{name} is not written: Flume closes a file after {_FLUMES[name]}, which is a flood of small files.",
        done,
        about=f"{section.prefix}{name}",
        path=(*draft.path, "roll"),
        suggestion="Set roll.size if readers need small files.",
    )


def widen_batches(definition: dict[str, Any], channels: Mapping[str, str], report: Report) -> None:
    """A batch is no larger than a transaction of its channel, and a file no larger than its batch: transactions of 100
    events, as Flume has them, would make files of 100 events. `channels` has the new names by old ones."""
    filed = {sink["channel"] for sink in definition["sinks"].values() if sink["type"] == "file" and "channel" in sink}
    for old, new in channels.items():
        channel = definition["channels"][new]
        if new in filed and channel["type"] in ("memory", "file"):
            _widen(channel, old, new, report)


def _widen(channel: dict[str, Any], old: str, new: str, report: Report) -> None:
    fields = registry.get("channel", channel["type"]).model_fields
    keys = ("capacity", "transaction_capacity") if channel["type"] == "memory" else ("transaction_capacity",)
    small = {key: channel[key] for key in keys if channel.get(key, fields[key].default) < fields[key].default}
    if not small:
        return
    written = report.places.get(f"channels.{new}.{next(reversed(small))}")
    for key in small:
        del channel[key]
    capacity = channel.get("capacity", fields["capacity"].default)
    if capacity < fields["transaction_capacity"].default:
        channel["transaction_capacity"] = capacity
    report.note(
        "batch_widened",
        f"A batch is no larger than the channel {old}, and a file no larger than its batch: files would have "
        f"{min(small.values())} events.",
        f"{' and '.join(small)} of the channel became as large as possible.",
        about=written or old,
        path=("channels", new),
        suggestion="delivery.max_events_per_batch limits all batches.",
    )
