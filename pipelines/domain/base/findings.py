"""Findings: what is wrong with a piece of input, where, and what to do about it."""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Iterable, Sequence
from typing import Literal

from pipelines.domain.base.positions import Frozen

PathParts = tuple[str | int, ...]

_PLAIN_KEY = re.compile(r"[A-Za-z0-9_-]+")
_LONGEST_COMPARED = 64
_LONGEST_QUOTED = 80


class Finding(Frozen):
    """One problem of a definition.

    `path` is dotted, with indices and unusual keys in brackets: `sources.shop.interceptors[1].regex`; empty for the
    whole text. `code` is stable. `line` and `column` count from 1 and are set where the input was text.
    """

    path: str
    code: str
    message: str
    suggestion: str = ""
    severity: Literal["error", "warning"] = "error"
    line: int | None = None
    column: int | None = None

    @property
    def is_error(self) -> bool:
        """Whether it keeps the definition from being accepted."""
        return self.severity == "error"


def dotted(parts: Sequence[str | int]) -> str:
    """Write a path: `("sources", "shop", "topics", 0)` becomes `sources.shop.topics[0]`."""
    written = ""
    for part in parts:
        if isinstance(part, int):
            written += f"[{part}]"
        elif _PLAIN_KEY.fullmatch(part):
            written += f".{part}" if written else part
        else:
            written += f"[{quote(part)}]"
    return written


def quote(value: object) -> str:
    """Show a piece of input in a message: JSON, shortened, without control characters."""
    try:
        text = json.dumps(value)
    except (TypeError, ValueError):
        text = type(value).__name__
    return text if len(text) <= _LONGEST_QUOTED else text[: _LONGEST_QUOTED - 1] + "…"


def listed(names: Iterable[str]) -> str:
    """Names as part of a sentence, sorted."""
    return ", ".join(sorted(names))


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The known name that was probably meant, or None."""
    if len(name) > _LONGEST_COMPARED:
        return None
    names = list(known)
    by_folded = {re.sub(r"[\W_]", "", candidate).lower(): candidate for candidate in names}
    folded = re.sub(r"[\W_]", "", name).lower()
    if folded in by_folded:
        return by_folded[folded]
    return next(iter(difflib.get_close_matches(name, names, n=1, cutoff=0.6)), None)


def did_you_mean(name: str, known: Iterable[str], *, otherwise: str = "") -> str:
    """A suggestion that names the nearest known name, or all of them where none is near."""
    names = list(known)
    near = nearest(name, names)
    if near is not None:
        return f"Did you mean {quote(near)}?"
    return otherwise or (f"Known here: {listed(names)}." if names else "")
