"""Secrets: how they may be named, what may be one, and how a value is kept out of texts."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Any
from urllib.parse import quote, unquote

from pipelines.domain.definitions.document.references import VAULT
from pipelines.domain.definitions.parts.client_options import CONTROL, LONGEST_VALUE

NAME = r"[A-Za-z0-9][A-Za-z0-9._/-]{0,127}"
ELSEWHERE = rf"vault:{VAULT}|(?:env|file):(?=.{{1,120}}$){NAME}"
"""Names of values that are kept elsewhere and bound here, as references write them."""
REDACTED = "[redacted]"
PROSE = frozenset({"cause", "detail", "error", "hint", "message", "reason", "suggestion"})
"""Keys of texts for people, where the words of somebody else's exception may stand."""

_SHORTEST_LINE = 8
_PASSWORD_INSIDE = re.compile(
    r"""\bpassword\s*=\s*(?:'([^']+)'|"([^"]+)"|([^\s;&'"]+))|^[a-z][a-z0-9+.-]*://[^/@:]*:([^/@]+)@""", re.IGNORECASE
)
_SURROGATE = re.compile("[\ud800-\udfff]")


def backend_of(name: str) -> str:
    """Where the value of a bound name is kept: `store`, `vault`, `env` or `file`."""
    kind, colon, _ = name.partition(":")
    return kind if colon else "store"


def value_problem(value: str) -> str:
    """Why a text cannot be the value of a secret; empty where it can."""
    if not value:
        return "The value is empty."
    if len(value) > LONGEST_VALUE:
        return f"The value has {len(value)} characters; {LONGEST_VALUE} are allowed."
    if _SURROGATE.search(value):
        return "The value is not valid Unicode text."
    if CONTROL.search(value):
        return "The value has control characters, which no client option takes."
    return ""


def forms(value: str) -> set[str]:
    """A value as it may turn up in a text: as it is, line by line, and as JSON, Java, Python and URLs write it.

    The same of a password inside of it, where the value is a whole address or a list of settings.
    """
    inside = [part for match in _PASSWORD_INSIDE.finditer(value) for part in match.groups() if part]
    return set().union(*map(_forms, {value, *inside, *map(unquote, inside)}))


def _forms(value: str) -> set[str]:
    lines = [line.strip() for line in value.splitlines()]
    long = [line for line in lines if len(line) >= _SHORTEST_LINE and not line.startswith("-----")]
    texts = {value, *((long or lines) if len(lines) > 1 else [])} - {""}
    written = [[json.dumps(each)[1:-1], json.dumps(each, ensure_ascii=False)[1:-1], repr(each)[1:-1]] for each in texts]
    urls = {quote(each, safe="") for each in texts if len(lines) == 1}
    return texts.union(urls, *written)


class Mask:
    """Replaces the given texts, the longest first, wherever they occur."""

    def __init__(self, texts: Iterable[str] = ()) -> None:
        ordered = sorted(set(texts), key=lambda text: (-len(text), text))
        self._pattern = re.compile("|".join(map(re.escape, ordered))) if ordered else None

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to replace."""
        return self._pattern is None

    def text(self, text: str) -> str:
        """The text without them."""
        return self._pattern.sub(REDACTED, text) if self._pattern else text

    def prose(self, document: Any) -> Any:
        """A copy of JSON-like data whose texts for people are masked; names and figures stay as they are."""
        return self._walk(document, prose=False) if self._pattern else document

    def _walk(self, value: Any, *, prose: bool) -> Any:
        if isinstance(value, dict):
            return {key: self._walk(item, prose=prose or key in PROSE) for key, item in value.items()}
        if isinstance(value, list):
            return [self._walk(item, prose=prose) for item in value]
        return self.text(value) if prose and isinstance(value, str) else value
