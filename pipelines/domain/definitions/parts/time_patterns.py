"""Patterns of Java's DateTimeFormatter for reading times, as far as Spark accepts them."""

from __future__ import annotations

import re
from zoneinfo import available_timezones

from pipelines.domain.base.findings import quote
from pipelines.domain.base.values import refuse

_TOKEN = re.compile(r"'(?:[^']|'')*'|([A-Za-z])\1*|[^A-Za-z']")
_LONGEST = {
    "G": 3,
    "y": 6,
    "u": 6,
    "D": 3,
    "M": 4,
    "L": 4,
    "d": 2,
    "a": 1,
    "h": 2,
    "K": 2,
    "k": 2,
    "H": 2,
    "m": 2,
    "s": 2,
    "S": 9,
    "V": 2,
    "z": 4,
    "O": 4,
    "X": 5,
    "x": 5,
    "Z": 5,
}
_EXACTLY_TWO = frozenset("V")
_ZONES = frozenset("VzOXxZ")
_CHANGE = "Use y, M, d, H, m, s and S, and put other letters between apostrophes: yyyy-MM-dd'T'HH:mm:ss.SSS."


def parsing_pattern(pattern: str) -> str:
    """Return the pattern, or refuse it where Spark could not read times with it."""
    for token, letter in _tokens(pattern):
        longest = _LONGEST.get(letter, 0) if letter else len(token)
        if len(token) > longest or (letter in _EXACTLY_TWO and len(token) != longest):
            refuse("bad_time_pattern", f"{quote(token)} in {quote(pattern)} does not read a part of a time.", _CHANGE)
    return pattern


def has_zone(pattern: str) -> bool:
    """Whether times written so tell their own zone or offset."""
    return any(letter in _ZONES for _, letter in _tokens(pattern) if letter)


def time_zone(name: str) -> str:
    """Return the name of a time zone, or refuse it."""
    if name not in available_timezones() and not re.fullmatch(r"[+-](?:0\d|1[0-7]):[0-5]\d", name):
        refuse("unknown_timezone", f"There is no time zone {quote(name)}.", 'Use "UTC", "Europe/Prague" or "+02:00".')
    return name


def _tokens(pattern: str) -> list[tuple[str, str]]:
    """(text, letter or nothing) of each part."""
    found, at = [], 0
    while at < len(pattern):
        token = _TOKEN.match(pattern, at)
        if token is None:
            refuse("bad_time_pattern", f"An apostrophe in {quote(pattern)} is not closed.", _CHANGE)
        found.append((token[0], token[1] or ""))
        at = token.end()
    if not any(letter for _, letter in found):
        refuse("bad_time_pattern", f"{quote(pattern)} reads no part of a time.", _CHANGE)
    return found
