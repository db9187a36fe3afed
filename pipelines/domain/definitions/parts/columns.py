"""Columns made of an event: where the value of each comes from."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Field

from pipelines.domain.base.values import Syntax

_HEADER = r"header\.[A-Za-z0-9_.:/-]{1,128}"
_BODY = r"body(?:\.[A-Za-z0-9_-]{1,128}){0,16}"
_ORIGIN = r"origin\.(?:topic|partition|offset)"

ColumnName = Annotated[
    str,
    Syntax("invalid_column", r"[A-Za-z_][A-Za-z0-9_]{0,62}", "Use letters, digits and _, at most 63 characters."),
]
ColumnValue = Annotated[
    str,
    Syntax(
        "invalid_column_value",
        rf"{_BODY}|{_HEADER}|{_ORIGIN}|headers|key",
        "Write body, body.FIELD for a field of a JSON body, header.NAME, headers (all of them, as JSON), key, or "
        "origin.topic, origin.partition, origin.offset.",
    ),
]
Columns = Annotated[dict[ColumnName, ColumnValue], Field(min_length=1, max_length=500)]


@dataclass(frozen=True)
class ValueSource:
    """What a column's value is taken from; `name` is that of the header or of the origin's part, `path` into a body."""

    kind: Literal["body", "field", "header", "headers", "origin", "key"]
    name: str = ""
    path: tuple[str, ...] = ()


def value_source(written: str) -> ValueSource:
    """Read a column's value as it stands in a definition: `body.customer.id`, `header.country`, `origin.offset`."""
    first, _, rest = written.partition(".")
    if first == "body" and rest:
        return ValueSource("field", path=tuple(re.split(r"\.", rest)))
    if first == "header":
        return ValueSource("header", name=rest)
    if first == "origin":
        return ValueSource("origin", name=rest)
    if first == "headers":
        return ValueSource("headers")
    return ValueSource("key" if first == "key" else "body")


def reads_fields(columns: dict[str, str]) -> bool:
    """Whether any column needs a JSON body."""
    return any(value_source(value).kind == "field" for value in columns.values())
