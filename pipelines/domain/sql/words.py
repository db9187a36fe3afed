"""Expressions taken apart into words: as much of Spark's syntax as is needed to know which names they call."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

Kind = Literal["word", "quoted", "string", "number", "symbol"]

_TOKEN = re.compile(
    r"""
    (?P<blank>\s++|--(?:\\\n|[^\r\n])*+)
    |(?P<string>[rR](?:'[^']*+'|"[^"]*+")|'(?:[^'\\]++|\\.|'')*+'|"(?:[^"\\]++|\\.|"")*+")
    |(?P<quoted>`(?:[^`]++|``)*+`)
    |(?P<number>[0-9]++(?:\.[0-9]++)?(?:[eE][+-]?[0-9]++)?[A-Za-z]*+(?!\w)|\.[0-9]++)
    |(?P<word>\w++)
    |(?P<symbol>::|<=>|->|=>|[^'"`])
    """,
    re.VERBOSE | re.DOTALL,
)
_COMMENT = re.compile(r"/\*|\*/")


@dataclass(frozen=True)
class Word:
    """A token. `text`: as it is written, without the quotes of an identifier; `at`: where it begins, from 0."""

    kind: Kind
    text: str
    at: int

    @property
    def name(self) -> str:
        """As Spark compares names."""
        return self.text.lower()


class Unclosed(ValueError):
    """A quotation or comment has no end."""

    def __init__(self, at: int) -> None:
        super().__init__("What begins here has no end.")
        self.at = at


def words(text: str) -> list[Word]:
    """All tokens but blanks and comments. Raises Unclosed."""
    return list(_words(text))


def _words(text: str) -> Iterator[Word]:
    at = 0
    while at < len(text):
        if text.startswith("/*", at):
            at = _after_comment(text, at)
            continue
        match = _TOKEN.match(text, at)
        if match is None:
            raise Unclosed(at)
        kind, written = str(match.lastgroup), match[0]
        if kind == "quoted":
            yield Word("quoted", written[1:-1].replace("``", "`"), at)
        elif kind != "blank":
            yield Word(kind, written, at)  # type: ignore[arg-type]  # one of the groups
        at = match.end()


def _after_comment(text: str, start: int) -> int:
    depth = 0
    for mark in _COMMENT.finditer(text, start):
        depth += 1 if mark[0] == "/*" else -1
        if depth == 0:
            return mark.end()
    raise Unclosed(start)


def line_and_column(text: str, at: int) -> tuple[int, int]:
    """Of a place in a text, both from 1."""
    before = text[:at]
    return before.count("\n") + 1, at - (before.rfind("\n") + 1) + 1
