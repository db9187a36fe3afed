"""What the JSON Schema of a part of a definition says of each key, as facts for a page or a terminal."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from pipelines.domain.definitions.parts.component import Spec
from pipelines.domain.definitions.parts.registry import KINDS


@dataclass(frozen=True)
class SettingReference:
    """One key."""

    name: str
    type: str
    required: bool
    default: Any
    unit: str
    example: Any
    description: str


def keys(spec: type[Spec]) -> list[SettingReference]:
    """The keys of a component or another part: its type, then the order of the specification."""
    return sorted(_keys(spec.model_json_schema()), key=lambda key: key.name != "type")


def nested(spec: type[Spec]) -> dict[str, list[SettingReference]]:
    """The keys of the mappings within it, by what each mapping is called, except those with pages of their own."""
    schema = spec.model_json_schema()
    parts = schema.get("$defs", {})
    return {
        name: list(_keys(part | {"$defs": parts}))
        for name, part in parts.items()
        if "properties" in part and not _is_component(part)
    }


def _is_component(part: dict[str, Any]) -> bool:
    return "const" in part["properties"].get("type", {})


def _keys(schema: dict[str, Any]) -> Iterator[SettingReference]:
    required = schema.get("required", [])
    for name, own in schema["properties"].items():
        facts = _resolved(own, schema)
        yield SettingReference(
            name=name,
            type=_type(facts, schema),
            required=name in required,
            default=own.get("default"),
            unit=facts.get("unit", ""),
            example=next(iter(own.get("examples", [])), None),
            description=own.get("description", ""),
        )


def _resolved(own: dict[str, Any], schema: dict[str, Any]) -> dict[str, Any]:
    if "$ref" not in own:
        return own
    part: dict[str, Any] = schema["$defs"][own["$ref"].rpartition("/")[2]]
    return part | own


_WORDS = {
    "string": "text",
    "integer": "whole number",
    "number": "number",
    "boolean": "true or false",
    "null": "nothing",
    "object": "mapping",
}


def _type(own: dict[str, Any], schema: dict[str, Any]) -> str:
    """The type in words: `text`, `list of text`, `a, b or c`."""
    facts = _resolved(own, schema)
    choices = [facts["const"]] if "const" in facts else facts.get("enum")
    if choices:
        return _either([str(choice) for choice in choices])
    if "oneOf" in facts and facts.get("title", "").lower() in KINDS:
        return str(facts["title"]).lower()
    for many in ("anyOf", "oneOf"):
        if many in facts:
            alternatives = [_type(alternative, schema) for alternative in facts[many]]
            return _either([word for word in dict.fromkeys(alternatives) if word != "nothing"])
    written = facts.get("type")
    if isinstance(written, list):
        return _either([_WORDS[word] for word in written])
    if written == "array":
        return f"list of {_type(facts['items'], schema)}" if facts.get("items") else "list"
    if written == "object" and facts.get("title") and "properties" in facts:
        return f"mapping ({facts['title']})"
    return _WORDS.get(written, "anything") if written else "anything"


def _either(words: list[str]) -> str:
    return " or ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)
