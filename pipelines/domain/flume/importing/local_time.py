"""`hdfs.useLocalTimeStamp`: directories by the time at which the sink writes, not by the header timestamp.

Here a partition always reads a header, so the sources of the sink's channel set one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pipelines.domain.base.findings import listed
from pipelines.domain.flume.importing import catalogue
from pipelines.domain.flume.reading.agent import Agent
from pipelines.domain.flume.reading.headers import headers_read, takes_local_time
from pipelines.domain.flume.reading.layouts import has_times
from pipelines.domain.imports.conversion import items
from pipelines.domain.imports.properties import Property
from pipelines.domain.imports.report import Report

_USUAL = "timestamp"
_OWN = "sink_time"


@dataclass(frozen=True)
class LocalTime:
    """A sink that writes by its own time, the property that says so, and the sources of its channel, by old names."""

    sink: str
    property_: Property
    sources: tuple[str, ...]


def find_local_times(agent: Agent, report: Report) -> list[LocalTime]:
    """Take the property out of every HDFS sink; those count whose path has times."""
    found: list[LocalTime] = []
    for name in agent.listed["sinks"]:
        section = agent.sections["sinks"][name]
        flume_type = catalogue.find("sink", section.get("type") or "")
        property_ = section.properties.get("hdfs.useLocalTimeStamp")
        if flume_type is None or flume_type.names[0] != "hdfs" or property_ is None:
            continue
        report.used(property_)
        if takes_local_time(section) and has_times(section.get("hdfs.path") or ""):
            found.append(LocalTime(name, property_, _sources(agent, section.get("channel") or "")))
    return found


def _sources(agent: Agent, channel: str) -> tuple[str, ...]:
    sections = agent.sections["sources"]
    return tuple(name for name in agent.listed["sources"] if channel in items(sections[name].get("channels") or ""))


class Clocks:
    """Adds the interceptor timestamp where a sink needs its time."""

    def __init__(self, agent: Agent, report: Report) -> None:
        self.wanted = find_local_times(agent, report)
        self.read = headers_read(agent, [])
        self.report = report
        for wanted in self.wanted:
            agent.sections["sinks"][wanted.sink].take("hdfs.useLocalTimeStamp")

    @property
    def sinks(self) -> set[str]:
        """The sinks, by old names."""
        return {wanted.sink for wanted in self.wanted}

    def add(self, definition: dict[str, Any], sources: Mapping[str, str], sinks: Mapping[str, str]) -> None:
        """Set the header in the sources of each such sink; `sources` and `sinks` have the new names by old ones."""
        for wanted in self.wanted:
            sink = definition["sinks"][sinks[wanted.sink]]
            times = [part for part in sink.get("partition_by", []) if "time" in part]
            names = [sources[name] for name in wanted.sources]
            header = self._header([definition["sources"][name] for name in names])
            added = [name for name in names if _add(definition["sources"][name], header)]
            for part in times:
                part |= {"header": header} if header != _USUAL else {}
            stores = (
                definition["channels"][sink["channel"]]["type"] in ("file", "kafka") if "channel" in sink else False
            )
            self._note(wanted, sinks[wanted.sink], names, added, header, stores=stores)

    def _header(self, sources: list[dict[str, Any]]) -> str:
        """The usual header, unless something else reads it and must find the event's own time there."""
        own_code = any(one["type"] == "python" for source in sources for one in source.get("interceptors", []))
        return _OWN if own_code or self.read is None or _USUAL in self.read else _USUAL

    def _note(
        self, wanted: LocalTime, sink: str, names: list[str], added: list[str], header: str, *, stores: bool
    ) -> None:
        done = (
            f"The interceptor timestamp of {listed(added)} sets the header {header} to the time of processing."
            if added
            else "The interceptor timestamp of its sources gives that time already."
            if names
            else "No source sets it."
        )
        later = " An event that waits in the channel keeps the time at which it was read." if stores else ""
        self.report.note(
            "local_time",
            f"The sink {wanted.sink} writes by the time at which it writes, whatever the header timestamp says.",
            f"{done}{later}",
            about=wanted.property_,
            path=("sinks", sink, "partition_by"),
            suggestion="Remove the interceptor, and set header, if the event's own time is meant.",
        )


def _add(source: dict[str, Any], header: str) -> bool:
    """Add the interceptor, unless the last one that sets the header is such a one."""
    chain = source.get("interceptors", [])
    if any(
        one["type"] == "timestamp"
        and one.get("header_name", _USUAL) == header
        and str(one.get("preserve_existing", False)).lower() == "false"
        for one in chain
    ):
        return False
    added = {"type": "timestamp"} | ({"header_name": header} if header != _USUAL else {})
    selector = source.pop("selector")
    source |= {"interceptors": [*chain, added], "selector": selector}
    return True
