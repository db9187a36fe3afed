"""Which series and labels an expression of PromQL names: enough of its grammar for rules and dashboards."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

TOKEN = re.compile(
    r"""(?P<space>\s+|\#[^\n]*)
      | (?P<text>"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*')
      | (?P<range>\[[^\]]*\])
      | (?P<number>[0-9][0-9.]*(?:e[+-]?[0-9]+)?[a-z]*)
      | (?P<name>[a-zA-Z_:][a-zA-Z0-9_:]*)
      | (?P<sign>=~|!~|!=|==|<=|>=|[-+*/%^(){},=<>])""",
    re.VERBOSE,
)
LISTS = frozenset({"by", "without", "on", "ignoring", "group_left", "group_right"})
"""Words before a list of labels in parentheses."""
WORDS = frozenset({"and", "or", "unless", "bool", "offset", "inf", "nan"})
GIVEN = frozenset({"job", "instance"})
"""Labels that Prometheus adds."""


@dataclass(frozen=True)
class Named:
    """`selected`: series with the labels of their matchers; `grouped`: labels that aggregations and joins name."""

    selected: tuple[tuple[str, frozenset[str]], ...]
    grouped: frozenset[str]


def tokens(expression: str) -> Iterator[tuple[str, str]]:
    """Kind and text of each token; raises ValueError for what is none."""
    at = 0
    while at < len(expression):
        found = TOKEN.match(expression, at)
        if found is None:
            raise ValueError(f"no token at {expression[at : at + 20]!r}")
        at = found.end()
        if found.lastgroup != "space":
            yield str(found.lastgroup), found[0]


def named(expression: str) -> Named:
    """What an expression names."""
    parts = list(tokens(expression))
    selected: list[tuple[str, frozenset[str]]] = []
    grouped: set[str] = set()
    at = 0
    while at < len(parts):
        kind, text = parts[at]
        following = parts[at + 1][1] if at + 1 < len(parts) else ""
        at += 1
        if kind != "name" or text.lower() in WORDS:
            continue
        if text in LISTS and following == "(":
            labels, at = _until(parts, at + 1, ")")
            grouped |= labels
        elif following == "{":
            labels, at = _until(parts, at + 1, "}")
            selected.append((text, frozenset(labels)))
        elif following != "(" and not (text in LISTS or following in LISTS):
            selected.append((text, frozenset()))
    return Named(tuple(selected), frozenset(grouped))


def _until(parts: list[tuple[str, str]], at: int, end: str) -> tuple[set[str], int]:
    """The names up to a closing sign, and what follows it."""
    last = next(n for n in range(at, len(parts)) if parts[n][1] == end)
    return {text for kind, text in parts[at:last] if kind == "name"}, last + 1


def unknown(expression: str, series: dict[str, frozenset[str]]) -> list[str]:
    """Series and labels that an expression names and that there are not."""
    found = named(expression)
    wrong = [name for name, _ in found.selected if name not in series]
    known = {name: series.get(name, frozenset()) | GIVEN for name, _ in found.selected}
    wrong += [f"{name}{{{label}}}" for name, labels in found.selected for label in sorted(labels - known[name])]
    shared = frozenset().union(*known.values())
    return wrong + [f"by {label}" for label in sorted(found.grouped - shared)]
