"""Values of properties as the values of our keys, told what to become by the key's JSON Schema."""

from __future__ import annotations

import re
from typing import Any

from pipelines.domain.base.findings import listed
from pipelines.domain.definitions.document.references import REFERENCE

_INTEGER = re.compile(r"[+-]?[0-9]{1,19}")
_TO_MS = {"ms": 1, "s": 1000, "minutes": 60_000}


class Unconvertible(ValueError):
    """The value cannot stand at the key; the text says why, without the value, which could be a secret."""


class OutOfRange(Unconvertible):
    """The value is a number that the key does not allow."""


class NotABoolean(Unconvertible):
    """The value is neither true nor false, and Flume takes it as false."""


class NotANumber(Unconvertible):
    """The value is no number, and the key takes nothing else."""


def convert(text: str, schema: dict[str, Any], *, unit: str = "", separator: str = "") -> Any:
    """The value for a key with this schema (references resolved).

    `unit` is what a number of the property counts, "ms", "s" or "minutes"; `separator` parts a list, blanks by default.
    """
    choices = _choices(schema)
    if choices:
        return _choice(text, choices)
    kinds = _kinds(schema)
    if "array" in kinds and "string" not in kinds:
        return items(text, separator)
    if REFERENCE.search(text) and "string" not in kinds:
        raise Unconvertible("a reference is not allowed here")
    if "boolean" in kinds:
        return _boolean(text)
    if unit and {"number", "string"} <= kinds:
        return f"{_integer(text) * _TO_MS[unit]}ms"
    if "integer" in kinds:
        return _within(_in_unit(_integer(text), unit, schema), schema)
    if "string" in kinds:
        return text
    if "number" in kinds:
        return _number(text)
    raise Unconvertible("it has another form here")


def items(text: str, separator: str = "") -> list[str]:
    """The parts of a list, trimmed, without empty ones."""
    return [part for part in (piece.strip() for piece in text.split(separator or None)) if part]


def _alternatives(schema: dict[str, Any]) -> list[dict[str, Any]]:
    return [schema, *schema.get("anyOf", []), *schema.get("oneOf", [])]


def _kinds(schema: dict[str, Any]) -> set[str]:
    written = [alternative.get("type") for alternative in _alternatives(schema)]
    return {kind for types in written for kind in (types if isinstance(types, list) else [types]) if kind}


def _choices(schema: dict[str, Any]) -> list[Any]:
    return [
        choice
        for alternative in _alternatives(schema)
        for choice in (*alternative.get("enum", []), *([alternative["const"]] if "const" in alternative else []))
    ]


def _choice(text: str, choices: list[Any]) -> Any:
    """The choice that is meant: Flume compares without case."""
    folded = text.lower().replace("-", "_")
    for choice in choices:
        if str(choice).lower().replace("-", "_") == folded:
            return choice
    raise Unconvertible(f"only {listed(map(str, choices))} is allowed here")


def _boolean(text: str) -> bool:
    """As java.lang.Boolean reads it; what it takes as false without being told so is worth a finding."""
    if text.lower() not in ("true", "false"):
        raise NotABoolean("it is neither true nor false, and Flume takes it as false")
    return text.lower() == "true"


def _integer(text: str) -> int:
    if not _INTEGER.fullmatch(text):
        raise NotANumber("it is not a whole number")
    return int(text)


def _within(number: int, schema: dict[str, Any]) -> int:
    limits = [alternative for alternative in _alternatives(schema) if alternative.get("type") == "integer"]
    lowest = min((limit.get("minimum", number) for limit in limits), default=number)
    highest = max((limit.get("maximum", number) for limit in limits), default=number)
    if not lowest <= number <= highest:
        raise OutOfRange(f"only {lowest} to {highest} is allowed here")
    return number


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise NotANumber("it is not a number") from None


def _in_unit(number: int, unit: str, schema: dict[str, Any]) -> int:
    if not unit:
        return number
    wanted = {"ms": 1, "seconds": 1000}.get(schema.get("unit", "ms"), 1)
    return number * _TO_MS[unit] // wanted
