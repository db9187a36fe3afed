"""Which of two versions is the later one, as each ecosystem has it."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from packaging.version import Version

Key = Callable[[str], Any]
_WORDS = {"alpha": 0, "a": 0, "beta": 1, "b": 1, "milestone": 2, "m": 2, "rc": 3, "cr": 3, "snapshot": 4, "sp": 6}
_RELEASE = (5, 0, "")
_OTHER, _NUMBER = 7, 8
_NOTHING = (_RELEASE, (_NUMBER, 0, ""))
"""Parts that change nothing before a word and at the end: 1, 1.0 and 1.0.Final are one version."""


def _semver(text: str) -> tuple[tuple[int, ...], bool, list[tuple[bool, int, str]]]:
    """Semantic Versioning: a pre-release is earlier than its release, and numbers are earlier than words."""
    release, _, more = text.partition("+")[0].partition("-")
    parts = [(not each.isdigit(), int(each) if each.isdigit() else 0, each) for each in more.split(".") if each]
    numbers = tuple(int(each) for each in release.lstrip("v").split("."))
    return numbers + (0,) * (3 - len(numbers)), not more, parts


def _maven(text: str) -> list[tuple[int, int, str]]:
    """Maven's ComparableVersion: numbers count, known words stand before or after the release, others after it."""
    found: list[tuple[int, int, str]] = []
    for part in [*map(_maven_part, re.findall(r"\d+|[a-z]+", text.lower())), _RELEASE]:
        while part[0] != _NUMBER and found and found[-1] in _NOTHING:
            found.pop()
        found.append(part)
    return found


def _maven_part(text: str) -> tuple[int, int, str]:
    if text.isdigit():
        return _NUMBER, int(text), ""
    if text in ("final", "ga", "release"):
        return _RELEASE
    return (_WORDS[text], 0, "") if text in _WORDS else (_OTHER, 0, text)


KEYS: dict[str, Key] = {"PyPI": Version, "npm": _semver, "Maven": _maven}
"""Orders versions of an ecosystem, by the name that OSV gives it. Raises ValueError for what is no version of it."""
