"""Bounded, JSON-like data out of anything: what the rest of validation may rely on."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pipelines.domain.base.findings import Finding, PathParts, dotted, quote

MAX_DEPTH = 24
MAX_VALUES = 20_000
MAX_CHARACTERS = 256 * 1024
_LARGEST_INTEGER = 2**63 - 1


@dataclass
class Cleaned:
    """JSON-like data (string keys, finite numbers, valid text) and what had to be left out of it."""

    data: Any
    findings: list[Finding]


def clean(value: Any) -> Cleaned:
    """Copy `value`, leaving out what JSON could not hold; each such place is a finding. Never raises."""
    cleaner = _Cleaner()
    data = cleaner.copy(value, ())
    return Cleaned(data if not cleaner.too_large else None, cleaner.findings)


_DROPPED = object()


@dataclass
class _Cleaner:
    findings: list[Finding] = field(default_factory=list)
    values: int = 0
    characters: int = 0
    too_large: bool = False

    def copy(self, value: Any, path: PathParts) -> Any:
        self.values += 1
        if self.too_large or self.values > MAX_VALUES or self.characters > MAX_CHARACTERS:
            return self._too_large()
        if len(path) > MAX_DEPTH:
            return self._drop(
                path,
                "too_deep",
                f"Nested deeper than {MAX_DEPTH} levels.",
                "No key of a definition is nested this deeply.",
            )
        if isinstance(value, Mapping):
            return self._mapping(value, path)
        if isinstance(value, list | tuple):
            copies = [self.copy(item, (*path, index)) for index, item in enumerate(value)]
            return [item for item in copies if item is not _DROPPED]
        return self._scalar(value, path)

    def _mapping(self, value: Mapping[Any, Any], path: PathParts) -> dict[str, Any]:
        copied: dict[str, Any] = {}
        for key, item in value.items():
            name = self._key(key, path)
            if name is None:
                continue
            if name in copied:
                self._drop((*path, name), "duplicate_key", f"The key {quote(name)} occurs twice.", "Keep one of them.")
                continue
            item_copy = self.copy(item, (*path, name))
            if item_copy is not _DROPPED:
                copied[name] = item_copy
        return copied

    def _key(self, key: Any, path: PathParts) -> str | None:
        if isinstance(key, int) and not isinstance(key, bool) and abs(key) <= _LARGEST_INTEGER:
            return str(key)
        if not isinstance(key, str):
            self._drop(path, "bad_key", f"The key {quote(key)} is not text.", "Put the key into quotes.")
            return None
        return None if self._text(key, path) is _DROPPED else str(key)

    def _scalar(self, value: Any, path: PathParts) -> Any:
        if value is None or isinstance(value, bool):
            return value
        if isinstance(value, str):
            return self._text(value, path)
        if isinstance(value, int) and abs(value) <= _LARGEST_INTEGER:
            return int(value)
        if isinstance(value, float) and math.isfinite(value):
            return float(value)
        kind = "number" if isinstance(value, int | float) else "value"
        return self._drop(
            path, "wrong_type", f"This {kind} cannot be written as JSON.", "Use text, a number, true or false."
        )

    def _text(self, value: str, path: PathParts) -> Any:
        self.characters += len(value)
        if "\0" in value or any("\ud800" <= character <= "\udfff" for character in value):
            return self._drop(path, "bad_text", "The text has characters that are not valid.", "Remove them.")
        return str(value)

    def _too_large(self) -> Any:
        if not self.too_large:
            self.too_large = True
            self._drop(
                (),
                "too_large",
                f"The definition is too large: at most {MAX_VALUES} values and {MAX_CHARACTERS // 1024} KiB of text.",
                "Split the pipeline, or remove repetitions.",
            )
        return _DROPPED

    def _drop(self, path: PathParts, code: str, message: str, suggestion: str) -> Any:
        self.findings.append(Finding(path=dotted(path), code=code, message=message, suggestion=suggestion))
        return _DROPPED
