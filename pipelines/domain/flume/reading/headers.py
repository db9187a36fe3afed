"""Which headers of an event an agent reads."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from pipelines.domain.flume.reading.agent import Agent, Section

_IN_TEXT = re.compile(r"%\{([^}]*)\}")
_TIME_IN_PATH = re.compile(r"%[aAbBcdeDHIjklmMnpsStyYz]")
_NAMES_A_HEADER = re.compile(r"(?i)(header|withName|fromList)$")


def _writes_headers(sink: Section) -> bool:
    if "elasticsearch" in (sink.get("type") or "").lower():
        return True
    if (sink.get("useFlumeEventFormat") or "").lower() == "true":
        return True
    serializer = sink.get("sink.serializer") or sink.get("serializer") or "text"
    return "text" not in serializer.lower() or "header" in serializer.lower()


def headers_read(agent: Agent, interceptors: Iterable[Mapping[str, Any]]) -> frozenset[str] | None:
    """The headers that properties of the agent mention; None where code of its own, or whoever reads what the sinks
    write, can use any."""
    if any(interceptor["type"] == "python" for interceptor in interceptors) or any(
        _writes_headers(sink) for sink in agent.sections["sinks"].values()
    ):
        return None
    read: set[str] = set()
    for property_ in agent.properties:
        read |= set(_IN_TEXT.findall(property_.value))
        if _NAMES_A_HEADER.search(property_.key):
            read |= set(property_.value.replace(",", " ").split())
        if property_.key.endswith("hdfs.path") and _TIME_IN_PATH.search(property_.value):
            read.add("timestamp")
    return frozenset(read)
