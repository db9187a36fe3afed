"""Agents of Flume whose properties a test changes, imported."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from pipelines.domain.flume.importing.importer import Imported, import_flume

WHOLE = {
    "a.sources": "s",
    "a.channels": "c",
    "a.sinks": "k",
    "a.sources.s.type": "seq",
    "a.sources.s.channels": "c",
    "a.channels.c.type": "memory",
    "a.sinks.k.type": "null",
    "a.sinks.k.channel": "c",
}
"""An agent that runs."""


def written(properties: Mapping[str, Any]) -> str:
    """A properties file; a property that is None is not in it."""
    return "".join(f"{_key(key)}={_escaped(value)}\n" for key, value in properties.items() if value is not None)


def _key(text: str) -> str:
    return "".join(f"\\{letter}" if letter in "\\ :=" else letter for letter in text)


def _escaped(value: Any) -> str:
    text = str(value).lower() if isinstance(value, bool) else str(value)
    text = text.replace("\\", "\\\\")
    return f"\\{text}" if text.startswith(" ") else text


def imported(properties: Mapping[str, Any]) -> Imported:
    """What becomes of an agent that runs, with these properties."""
    return import_flume(written(WHOLE | dict(properties)), "a")


def below(prefix: str, properties: Mapping[str, Any]) -> dict[str, Any]:
    """The properties of a component at its place."""
    return {f"{prefix}.{name}": value for name, value in properties.items()}


def intercepted(type_name: str, properties: Mapping[str, Any]) -> Imported:
    """An agent with one interceptor."""
    own = below("a.sources.s.interceptors.i", {"type": type_name, **properties})
    return imported({"a.sources.s.interceptors": "i", **own})


def selected(properties: Mapping[str, Any], channels: Iterable[str]) -> Imported:
    """An agent with a selector, and a sink for each channel."""
    names = list(channels)
    made = {f"a.channels.{name}.type": "memory" for name in names}
    for name in names:
        made |= {f"a.sinks.{name}.type": "null", f"a.sinks.{name}.channel": name}
    lists = {"a.channels": names, "a.sources.s.channels": names, "a.sinks": names}
    made |= {key: " ".join(value) for key, value in lists.items()}
    return imported(made | below("a.sources.s.selector", properties))


def kafka_source(properties: Mapping[str, Any]) -> Imported:
    """An agent with a Kafka source."""
    own = {"type": "org.apache.flume.source.kafka.KafkaSource", "kafka.bootstrap.servers": "broker:9092"}
    return imported(below("a.sources.s", {**own, **properties}))


def kafka_sink(properties: Mapping[str, Any]) -> Imported:
    """An agent with a Kafka sink."""
    own = {"type": "org.apache.flume.sink.kafka.KafkaSink", "kafka.bootstrap.servers": "broker:9092"}
    return imported(below("a.sinks.k", {**own, **properties}))


def http_sink(properties: Mapping[str, Any]) -> Imported:
    """An agent with an HTTP sink."""
    return imported(below("a.sinks.k", {"type": "http", "endpoint": "http://server/", **properties}))


def grouped(members: Iterable[str], properties: Mapping[str, Any]) -> Imported:
    """An agent with a group of sinks on one channel."""
    sinks = {f"a.sinks.{name}.{key}": value for name in members for key, value in (("type", "null"), ("channel", "c"))}
    listing = " ".join(members)
    group = {"a.sinkgroups": "g", "a.sinkgroups.g.sinks": listing, "a.sinks": listing}
    return imported(sinks | group | below("a.sinkgroups.g", properties))
