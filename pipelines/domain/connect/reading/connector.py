"""The configuration of one connector: JSON as the REST API of Kafka Connect takes and gives it, or a properties file of
a standalone worker."""

from __future__ import annotations

import json
from typing import Any

from pipelines.domain.base.findings import listed
from pipelines.domain.base.plain import MAX_CHARACTERS
from pipelines.domain.imports.properties import MalformedError, Property, parse
from pipelines.domain.imports.report import ImportFinding, ImportRefused
from pipelines.domain.imports.section import Section

CLASS = "connector.class"


def read_connector(text: str, name: str | None = None) -> Section:
    """The settings of the connector of this name, or of the only one. ImportRefused where that is not clear."""
    if len(text) > MAX_CHARACTERS:
        raise _refused("too_large", "The configuration is too large.", "Give one connector.")
    return _of_json(text, name) if text.lstrip().startswith(("{", "[")) else _of_properties(text)


def _of_properties(text: str) -> Section:
    try:
        trimmed = [Property(each.key.strip(), each.value.strip(), each.line) for each in parse(text)]
    except MalformedError as error:
        raise _refused("malformed", f"{error}.", "Fix the line.", error.line) from None
    properties = {each.key: each for each in trimmed}
    return _section(properties.get("name", Property("name", "", 0)).value, properties)


def _of_json(text: str, name: str | None) -> Section:
    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as error:
        line = getattr(error, "lineno", None)
        raise _refused("malformed", "The text is not JSON.", "Fix the text here, or just above.", line) from None
    found = _connectors(data)
    if name is not None:
        found = {key: config for key, config in found.items() if key == name}
    if len(found) != 1:
        words = f"The text has several connectors: {listed(found)}." if found else "The text has no such connector."
        raise _refused("choose_connector", words, "Name one of them.")
    (chosen,) = found
    lines = _lines(text)
    return _section(
        chosen, {key: Property(key, _text(value), lines.get(key, 0)) for key, value in found[chosen].items()}
    )


def _connectors(data: Any) -> dict[str, dict[str, Any]]:
    """By name: one configuration, one with its name beside it, a list of them, or what `?expand=info` answers."""
    if isinstance(data, list):
        return {name: config for each in data for name, config in _connectors(each).items()}
    if not isinstance(data, dict):
        return {}
    if CLASS in data:
        return {str(data.get("name", "connector")): data}
    config = data.get("config")
    if isinstance(config, dict) and CLASS in config:
        return {str(data.get("name") or config.get("name", "connector")): config}
    inner = [value.get("info", value) for value in data.values() if isinstance(value, dict)]
    return {name: found for each in inner if each is not data for name, found in _named(each).items()}


def _named(data: Any) -> dict[str, dict[str, Any]]:
    config = data.get("config") if isinstance(data, dict) else None
    return {str(data.get("name", "connector")): config} if isinstance(config, dict) and CLASS in config else {}


def _text(value: Any) -> str:
    return value.strip() if isinstance(value, str) else json.dumps(value)


def _lines(text: str) -> dict[str, int]:
    """The line on which a key of JSON stands first."""
    found: dict[str, int] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        for key in line.split('"')[1::2]:
            found.setdefault(key, number)
    return found


def _section(name: str, properties: dict[str, Property]) -> Section:
    if not properties.get(CLASS, Property(CLASS, "", 0)).value:
        raise _refused("no_connector", "The configuration names no connector.class.", "Give the whole configuration.")
    return Section(name or "connector", "", {key: each for key, each in properties.items() if key != "name"})


def _refused(code: str, message: str, suggestion: str, line: int | None = None) -> ImportRefused:
    finding = ImportFinding(
        path="", code=code, message=message, suggestion=suggestion, line=line, done="Nothing was imported."
    )
    return ImportRefused([finding])
