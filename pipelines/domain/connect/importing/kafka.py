"""Kafka in connectors: which servers, client settings, and where the first start begins."""

from __future__ import annotations

from typing import Any, Literal

from pipelines.domain.connect.importing.notes import SINK, SOURCE, mislead
from pipelines.domain.connect.reading.connector import CLASS
from pipelines.domain.flume.importing.draft import Draft
from pipelines.domain.flume.importing.kafka import read_options
from pipelines.domain.imports.report import Report
from pipelines.domain.imports.section import Section

HEADERS = ("topic", "partition", "offset", "key", "timestamp")


def servers(section: Section, key: str, given: str | None, path: tuple[str, ...], report: Report) -> dict[str, str]:
    """The brokers of a setting, or those that were given beside the file: most connectors leave them to the worker."""
    property_ = section.take(key)
    if property_ is not None:
        report.mapped(property_, (*path, "bootstrap_servers"))
        return {"bootstrap_servers": property_.value}
    if given is None:
        message = "The brokers are a setting of the Connect worker, which is not in this configuration."
        mislead(report, key, "worker_setting", message, "Give the bootstrap servers.", path)
        return {}
    return {"bootstrap_servers": given}


def options(
    section: Section, prefix: str, side: Literal["consumer", "producer"], name: str, report: Report
) -> dict[str, Any]:
    """Client settings below a prefix; passwords become references."""
    reads = side == "consumer"
    draft = Draft("source" if reads else "sink", "kafka", SOURCE if reads else SINK, report)
    own = section.below(prefix)
    own.properties = {f"kafka.{side}.{key}": each for key, each in own.properties.items()}
    read_options(draft, own, name)
    found = draft.keys.get("options")
    return {"options": found} if found else {}


def positions(section: Section, path: tuple[str, ...], report: Report) -> dict[str, str]:
    """The connector's own group, whose committed offsets say where it stopped: the first start continues there."""
    reset, named = section.take("consumer.override.auto.offset.reset"), section.take("consumer.override.group.id")
    group = named.value if named else f"connect-{section.name}"
    for each, key in ((named, "group_id"), (reset, "start_from")):
        if each is not None:
            report.mapped(each, (*path, key))
    report.note(
        "start_from_chosen",
        f"The connector has committed its positions to the group {group}.",
        "start_from is group: the first start continues there, and is blocked where there are none.",
        about=reset or named or "consumer.override.group.id",
        path=(*path, "start_from"),
        suggestion="Stop the connector before the first start. For another beginning write earliest, latest or a time.",
    )
    return {"group_id": group, "start_from": "group"}


def anew(name: str, path: tuple[str, ...], report: Report) -> dict[str, str]:
    """A group of its own, for a connector whose positions stay in a topic of Connect."""
    report.note(
        "start_from_chosen",
        "The positions of the connector are in a topic of Kafka Connect, and not in a consumer group.",
        "start_from is earliest: the first start reads all that the topics have, and repeats what was delivered.",
        about=CLASS,
        path=(*path, "start_from"),
        suggestion="Write the offsets where the connector stopped, or a time, before the first start.",
    )
    return {"group_id": f"headgate.{name}", "start_from": "earliest"}
