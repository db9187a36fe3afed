"""When Flume closes a file: after seconds, bytes or events, whichever comes first. 0 means never by this criterion."""

from __future__ import annotations

from pipelines.domain.definitions.components.sink.file import Roll
from pipelines.domain.flume.importing.draft import Draft
from pipelines.domain.flume.reading.agent import Section
from pipelines.domain.flume.reading.properties import Property

_DEFAULTS = {"hdfs.rollInterval": 30, "hdfs.rollSize": 1024, "hdfs.rollCount": 10}
_FILE_ROLL_AGE = "30s"
_COUNTED = {"hdfs.rollInterval": "seconds", "hdfs.rollSize": "bytes", "hdfs.rollCount": "events"}


def read_hdfs_rolling(section: Section, draft: Draft) -> None:
    """`hdfs.rollInterval`, `rollSize`, `rollCount` and `idleTimeout`."""
    if "size" not in Roll.model_fields:
        return
    written = {name: property_ for name in _DEFAULTS if (property_ := section.take(name)) is not None}
    numbers = {name: int(written[name].value) if name in written else _DEFAULTS[name] for name in _DEFAULTS}
    criteria = [f"{number} {_COUNTED[name]}" for name, number in numbers.items() if number > 0]
    for property_ in written.values():
        draft.report.used(property_)
    seconds = min(numbers["hdfs.rollInterval"] or 300, 3600)
    draft.report.note(
        "small_files",
        f"Flume closes a file after {' or '.join(criteria) or 'nothing but its end'}; Headgate closes one with every "
        "batch, up to ten a second in each directory: a flood of small files.",
        "Nothing was set.",
        about=next(iter(written.values()), f"{section.prefix}hdfs.rollInterval"),
        path=draft.path,
        suggestion=f"Set delivery.trigger_interval_ms: {max(seconds, 1) * 1000}, and delivery.max_events_per_batch to "
        "what arrives in that time.",
        severity="error",
    )


def read_file_rolling(section: Section, draft: Draft) -> None:
    """Seconds after which a file is closed, 30 where nothing is written; 0 means never by time."""
    property_: Property | None = section.take("sink.rollInterval")
    if property_ is None:
        draft.keys["roll"] = {"age": _FILE_ROLL_AGE}
    elif int(property_.value) > 0:
        draft.put("roll", {"age": f"{property_.value}s"}, property_)
    else:
        draft.no_equivalent(property_, "files that never end have none; each batch has files of its own")
