"""The text that a definition was written as, with its comments; and a short one where none is stored.

The definition is what runs. The text stands beside it only while it means the same.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from pipelines.domain.base.findings import Finding
from pipelines.domain.definitions.document.diff import Change, diff
from pipelines.domain.definitions.document.spec import Definition
from pipelines.domain.definitions.document.text import Place, dump, load


@dataclass(frozen=True)
class SourceText:
    """A definition in YAML. `as_written`: its author wrote it so; else it is rendered."""

    text: str
    as_written: bool


def source_text(definition: Mapping[str, Any], written: str) -> SourceText:
    """The text that was written, or a rendering of the definition where none is stored."""
    return SourceText(written, True) if written else SourceText(minimal(definition), False)


def minimal(definition: Mapping[str, Any]) -> str:
    """YAML with the keys alone that differ from their defaults; every key of a definition that is no longer valid."""
    try:
        known = Definition.model_validate(definition)
    except ValidationError:
        return dump(definition) if definition else ""
    return dump(_whole(known.model_dump(mode="json", exclude_defaults=True, exclude_none=True)))


def _whole(value: Any) -> Any:
    """Seconds without their `.0`, as they are written by hand."""
    if isinstance(value, dict):
        return {key: _whole(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_whole(each) for each in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def differing(text: str, definition: Definition) -> list[Finding]:
    """What keeps a text from being stored beside a definition: it has to mean the same. An empty one stores nothing."""
    if not text or _digest_of(text) == definition.digest():
        return []
    return [
        Finding(
            path="",
            code="text_differs",
            message="The text is of another definition than the one to be stored.",
            suggestion="Send the definition as text alone.",
        )
    ]


def carried(text: str, old: Definition, new: Definition) -> str:
    """The text of a definition of which single values have been changed, with the new values; empty where that is more
    than to put one value in the place of another."""
    if not text:
        return ""
    places, lines = load(text).places, text.splitlines(keepends=True)
    changed = [(places.get(change.path), change) for change in diff(old, new) if change.op == "change"]
    for place, change in sorted(((place, change) for place, change in changed if place), reverse=True, key=_placed):
        line, column = place[0] - 1, place[1] - 1
        lines[line] = lines[line][:column] + _replaced(lines[line][column:], change.old, change.new)
    made = "".join(lines)
    return made if _digest_of(made) == new.digest() else ""


def _placed(found: tuple[Place, Change]) -> Place:
    return found[0]


def _replaced(rest: str, old: object, new: object) -> str:
    """A line from a value on, with the value replaced, however it is quoted."""
    for written in (str(old), json.dumps(old), f"'{old}'"):
        if rest.startswith(written):
            return json.dumps(new) + rest[len(written) :]
    return rest


def _digest_of(text: str) -> str | None:
    loaded = load(text)
    try:
        return None if loaded.findings else Definition.model_validate(loaded.data).digest()
    except ValidationError:
        return None


def text_digest(text: str) -> str:
    """SHA-256 of a text in hexadecimal; empty for none."""
    return hashlib.sha256(text.encode()).hexdigest() if text else ""
