"""The outline of a definition: names and what they refer to, read from whatever has the right shape.

Semantic checks look at it, so that they also speak where another part of the definition is wrong.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pipelines.domain.base.findings import Finding, PathParts, dotted


@dataclass(frozen=True)
class Named:
    """A mention of a name at a place."""

    path: PathParts
    name: str


@dataclass(frozen=True)
class Part:
    """A source, channel, sink or group: its place, its name and its keys."""

    path: PathParts
    name: str
    keys: dict[str, Any]

    def text(self, key: str) -> str | None:
        """The value of a key where it is text."""
        value = self.keys.get(key)
        return value if isinstance(value, str) else None

    def names(self, *keys: str) -> list[Named]:
        """The texts in the list at a key, each with its place."""
        value: Any = self.keys
        for key in keys:
            value = value.get(key) if isinstance(value, dict) else None
        if not isinstance(value, list):
            return []
        return [Named((*self.path, *keys, i), item) for i, item in enumerate(value) if isinstance(item, str)]

    def mapping(self, key: str) -> dict[str, Any]:
        """The mapping at a key, or an empty one."""
        value = self.keys.get(key)
        return value if isinstance(value, dict) else {}


@dataclass(frozen=True)
class Outline:
    """The graph by name."""

    data: dict[str, Any]
    sources: list[Part]
    channels: set[str]
    sinks: list[Part]
    groups: list[Part]

    @classmethod
    def of(cls, data: dict[str, Any]) -> Outline:
        """Read it from cleaned data."""
        channels = {part.name for part in parts(data, "channels")}
        return cls(data, parts(data, "sources"), channels, parts(data, "sinks"), parts(data, "sink_groups"))


def parts(data: dict[str, Any], section: str) -> list[Part]:
    """The entries of a section, such as `channels`."""
    entries = data.get(section)
    if not isinstance(entries, dict):
        return []
    return [Part((section, name), name, keys if isinstance(keys, dict) else {}) for name, keys in entries.items()]


def selected(source: Part) -> list[Named]:
    """The channels that a source's selector mentions, each with its place; those listed as optional are left out."""
    mapped = [Named(path, name) for path, name in _listed_in(source, "mapping")]
    return [*source.names("selector", "channels"), *source.names("selector", "default"), *mapped]


def optional(source: Part) -> list[Named]:
    """The channels that a source's selector mentions as optional: in one list, or in lists by value."""
    by_value = [Named(path, name) for path, name in _listed_in(source, "optional")]
    return [*source.names("selector", "optional"), *by_value]


def _listed_in(source: Part, key: str) -> list[tuple[PathParts, str]]:
    lists = source.mapping("selector").get(key)
    values = lists if isinstance(lists, dict) else {}
    return [(mention.path, mention.name) for value in values for mention in source.names("selector", key, str(value))]


def targets(outline: Outline, source: Part) -> set[str]:
    """The channels that a source sends to."""
    if _is_multiplexing(source):
        return {mention.name for mention in (*selected(source), *optional(source))}
    if source.mapping("selector").get("channels") is None:
        return outline.channels
    return {mention.name for mention in source.names("selector", "channels")}


def required(outline: Outline, source: Part) -> set[str]:
    """Those of them that must deliver; required for one value of a header is required."""
    if _is_multiplexing(source):
        return {mention.name for mention in selected(source)}
    return targets(outline, source) - {mention.name for mention in optional(source)}


def _is_multiplexing(source: Part) -> bool:
    return source.mapping("selector").get("type") == "multiplexing"


def error(path: PathParts, code: str, message: str, suggestion: str) -> Finding:
    """A finding that keeps the definition from being accepted."""
    return Finding(path=dotted(path), code=code, message=message, suggestion=suggestion)


def warning(path: PathParts, code: str, message: str, suggestion: str) -> Finding:
    """A finding that a person should know of and may leave as it is."""
    return Finding(path=dotted(path), code=code, message=message, suggestion=suggestion, severity="warning")
