"""Which headers of an event an agent reads."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from pipelines.domain.flume.reading.agent import Agent
from pipelines.domain.imports.section import Section

_IN_TEXT = re.compile(r"%\{([^}]*)\}")
_TIME_IN_PATH = re.compile(r"%[aAbBcdeDHIjklmMnpsStyYz]")
_LOCAL_TIME = "hdfs.useLocalTimeStamp"
_NAMES_A_HEADER = re.compile(r"(?i)(header|withName|fromList)$")


def _writes_headers(sink: Section) -> bool:
    if "elasticsearch" in (sink.get("type") or "").lower():
        return True
    if (sink.get("useFlumeEventFormat") or "").lower() == "true":
        return True
    serializer = sink.get("sink.serializer") or sink.get("serializer") or "text"
    return "text" not in serializer.lower() or "header" in serializer.lower()


def takes_local_time(sink: Section) -> bool:
    """Whether an HDFS sink takes its own time for its path, and not the header timestamp."""
    return (sink.get(_LOCAL_TIME) or "").lower() == "true"


def headers_read(agent: Agent, interceptors: Iterable[Mapping[str, Any]]) -> frozenset[str] | None:
    """The headers that properties of the agent mention; None where code of its own, or whoever reads what the sinks
    write, can use any."""
    if any(interceptor["type"] == "python" for interceptor in interceptors) or any(
        _writes_headers(sink) for sink in agent.sections["sinks"].values()
    ):
        return None
    read: set[str] = set()
    by_own_time = tuple(
        property_.key.removesuffix(_LOCAL_TIME)
        for property_ in agent.properties
        if property_.key.endswith(f".{_LOCAL_TIME}") and property_.value.lower() == "true"
    )
    for property_ in agent.properties:
        read |= set(_IN_TEXT.findall(property_.value))
        if _NAMES_A_HEADER.search(property_.key):
            read |= set(property_.value.replace(",", " ").split())
        is_path = property_.key.endswith(("hdfs.path", "hdfs.filePrefix")) and not property_.key.startswith(by_own_time)
        if is_path and _TIME_IN_PATH.search(property_.value):
            read.add("timestamp")
    return frozenset(read)
