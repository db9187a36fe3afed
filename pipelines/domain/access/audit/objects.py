"""What a row of the audit is about, beside its pipeline."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_NAMES = (
    "name",
    "user",
    "host",
    "group",
    "migration",
    "receiver",
    "silence",
    "label",
    "path",
    "target",
    "token",
    "rule",
    "kind",
)
"""Keys that name an object in what was before and after, the most telling first."""


def object_of(pipeline: str, before: Any, after: Any) -> str:
    """The pipeline, or else the name or number that the content has; empty where it has none."""
    if pipeline:
        return pipeline
    known = {**_mapping(before), **_mapping(after)}
    found = (known[name] for name in _NAMES if isinstance(known.get(name), str | int))
    return str(next(found, ""))


def _mapping(content: Any) -> Mapping[str, Any]:
    return content if isinstance(content, dict) else {}
