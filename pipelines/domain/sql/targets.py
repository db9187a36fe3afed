"""What an interceptor may set or drop of an event."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from pydantic import TypeAdapter, ValidationError

from pipelines.domain.base.values import HeaderName

DEEPEST_PATH = 5
_FIELD = re.compile(r"[^.\x00-\x1f\x7f]{1,256}")
_header: TypeAdapter[str] = TypeAdapter(HeaderName)


@dataclass(frozen=True)
class Target:
    """A header, the body, a field of a JSON body, or the key. `parts`: the kind, and what it is called."""

    name: str
    parts: tuple[str, ...]

    @property
    def kind(self) -> Literal["header", "body", "field", "key"]:
        """What of an event it is."""
        if self.parts[0] == "headers":
            return "header"
        if self.parts == ("key",):
            return "key"
        return "body" if self.parts == ("body",) else "field"

    def contains(self, other: Target) -> bool:
        """Whether it is the same, or what the other is a part of."""
        return other.parts[: len(self.parts)] == self.parts


def target(name: str) -> Target | None:
    """What `headers.NAME`, `body`, `body.FIELD.FIELD` or `key` means; None where it means nothing."""
    if name in ("body", "key"):
        return Target(name, (name,))
    kind, _, rest = name.partition(".")
    if kind == "headers" and _is_header(rest):
        return Target(name, (kind, rest))
    fields = rest.split(".")
    if kind == "body" and len(fields) <= DEEPEST_PATH and all(map(_FIELD.fullmatch, fields)):
        return Target(name, (kind, *fields))
    return None


def _is_header(name: str) -> bool:
    try:
        return bool(_header.validate_python(name))
    except ValidationError:
        return False
