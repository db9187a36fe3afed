"""What is wrong with data of a shape: every problem at once, with its path and what to do about it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from pipelines.domain.base.findings import Finding, PathParts, did_you_mean, dotted


def findings_of(
    error: ValidationError, shape: type[BaseModel], *, at: PathParts = (), example: str = ""
) -> list[Finding]:
    """A finding for each error, in the words of whoever refused it. `at`: where the data stands in the whole;
    `example`: how it is written."""
    return [
        Finding(
            path=dotted((*at, *(part for part in each["loc"] if part != _KEY))),
            code=_CODES.get(each["type"], each["type"]),
            message=_message(each),
            suggestion=_advice(each, shape, example),
        )
        for each in error.errors(include_url=False)
    ]


_CODES = {"extra_forbidden": "unknown_key", "missing": "missing_key"}
"""What has a name in the findings of a definition keeps it here."""
_KEY = "[key]"
"""How Pydantic says that not a value of a mapping is wrong but its key."""


def _message(details: ErrorDetails) -> str:
    context = details.get("ctx", {})
    words = str(context.get("message") or context.get("error") or details["msg"])
    return f"{words.rstrip('.')}."


def _advice(details: ErrorDetails, shape: type[BaseModel], example: str) -> str:
    location, written = details["loc"], f"For example: {example}." if example else ""
    if own := details.get("ctx", {}).get("suggestion"):
        return str(own)
    if details["type"] == "extra_forbidden":
        return did_you_mean(str(location[-1]), _keys_at(shape, location[:-1])) or "Remove it."
    if details["type"] == "missing":
        return written or "Add it."
    if "expected" in (context := details.get("ctx", {})):
        return f"Use one of: {context['expected']}."
    return written


def _keys_at(shape: type[BaseModel], location: Sequence[str | int]) -> list[str]:
    """The keys that are known there."""
    here: Any = shape
    for part in location:
        info = here.model_fields.get(str(part))
        here = info.annotation if info else None
        if not (isinstance(here, type) and issubclass(here, BaseModel)):
            return []
    return list(here.model_fields)
