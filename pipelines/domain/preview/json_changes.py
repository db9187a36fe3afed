"""What differs between two JSON values, as places (JSON Pointer) with the value before and after. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from typing import Any

Path = tuple[str | int, ...]


class _Missing(Enum):
    MISSING = "missing"


MISSING = _Missing.MISSING
"""The value of a place that is not there."""


@dataclass(frozen=True)
class JsonChange:
    """A place whose value differs; MISSING on the side that does not have it."""

    path: Path
    before: Any
    after: Any

    @property
    def pointer(self) -> str:
        """The place as RFC 6901 writes it."""
        return "".join("/" + str(part).replace("~", "~0").replace("/", "~1") for part in self.path)


def parsed(body: bytes) -> Any:
    """The JSON value of a body; MISSING where it is none."""
    try:
        return json.loads(body.decode())
    except (ValueError, RecursionError):
        return MISSING


def dumped(value: Any) -> str:
    """A value as JSON text."""
    return json.dumps(value, ensure_ascii=False)


def changes(before: Any, after: Any, path: Path = ()) -> Iterator[JsonChange]:
    """The smallest places that differ. Elements of arrays are compared by their index."""
    if isinstance(before, dict) and isinstance(after, dict):
        for key in [*before, *(key for key in after if key not in before)]:
            yield from changes(before.get(key, MISSING), after.get(key, MISSING), (*path, key))
    elif isinstance(before, list) and isinstance(after, list):
        for number in range(max(len(before), len(after))):
            yield from changes(_at(before, number), _at(after, number), (*path, number))
    elif not _same(before, after):
        yield JsonChange(path, before, after)


def _at(values: list[Any], number: int) -> Any:
    return values[number] if number < len(values) else MISSING


def _same(before: Any, after: Any) -> bool:
    """To Python, true is 1 and 1 is 1.0; to JSON they are not."""
    return type(before) is type(after) and bool(before == after)
