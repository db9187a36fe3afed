"""Replacement texts of Java's `Matcher.appendReplacement`: what it would only refuse at the first match."""

from __future__ import annotations

import re
from typing import NoReturn

from pipelines.domain.base.findings import quote
from pipelines.domain.base.values import refuse
from pipelines.domain.regex import java_regex

_PIECE = re.compile(r"\\(?P<escaped>.)|\$(?P<number>[0-9])|\$\{(?P<name>[A-Za-z][A-Za-z0-9]*)\}|[^\\$]", re.DOTALL)


def check_replacement(replacement: str, pattern: str) -> None:
    """Refuse a replacement that Java cannot carry out for this pattern, which must itself be valid."""
    groups = java_regex.groups(pattern)
    at = 0
    while at < len(replacement):
        piece = _PIECE.match(replacement, at)
        if piece is None:
            _refuse(replacement, r"a $ or \ stands alone", r"Write \$ for a dollar sign and \\ for a backslash.")
        if piece["number"] and int(piece["number"]) > groups.count:
            _refuse(
                replacement, f"the pattern has {groups.count} groups", "Use the number of a group, $0 is the match."
            )
        if piece["name"] and piece["name"] not in groups.names:
            _refuse(replacement, f"no group is named {quote(piece['name'])}", "Name it: (?<name>…).")
        at = piece.end()


def _refuse(replacement: str, reason: str, suggestion: str) -> NoReturn:
    refuse("bad_replacement", f"{quote(replacement)} cannot replace a match: {reason}.", suggestion)
