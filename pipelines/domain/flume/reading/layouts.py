"""Directories that Flume makes out of escapes (`%Y`, `%{header}`), as partitions of a file sink.

BucketPath of Flume replaces each escape with text. A file sink has directories `NAME=value` below a fixed path, and
writes a time as 2026, 2026-01, 2026-01-31, 2026-01-31-13 or 2026-01-31-13-59.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

UNITS = ("year", "month", "day", "hour", "minute", "second")
_ESCAPE = re.compile(r"%(?:\{([^}]*)\}|\[(\w*)\]|(.?))")
_HEADER = re.compile(r"[\w.-]{1,128}", re.ASCII)
_NAMED = re.compile(r"([^=%/]+)=(.+)")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,62}")
_UNIT_OF = {
    "Y": "year",
    "y": "year",
    "m": "month",
    "n": "month",
    "b": "month",
    "B": "month",
    "d": "day",
    "e": "day",
    "H": "hour",
    "k": "hour",
    "M": "minute",
    "S": "second",
    "s": "second",
    "t": "second",
}
_WRITTEN = {
    "year": "%Y",
    "month": "%Y-%m",
    "day": "%Y-%m-%d",
    "hour": "%Y-%m-%d-%H",
    "minute": "%Y-%m-%d-%H-%M",
}
_ABSOLUTE = "st"
"""Escapes that name an instant by themselves."""


@dataclass(frozen=True)
class Rounding:
    """Times are rounded down to a multiple of a unit."""

    value: int
    unit: str

    @property
    def step(self) -> Rounding:
        """60 seconds are a minute, 60 minutes an hour, 24 hours a day."""
        full = {("second", 60): "minute", ("minute", 60): "hour", ("hour", 24): "day"}
        larger = full.get((self.unit, self.value))
        return Rounding(1, larger) if larger else self

    def __str__(self) -> str:
        return f"{self.value} {self.unit}{'s' if self.value > 1 else ''}"


@dataclass
class Layout:
    """A fixed path, the partitions below it, what directories are called other than in Flume, and what cannot be."""

    fixed: str
    partitions: list[dict[str, Any]] = field(default_factory=list)
    changed: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    times: bool = False

    def __str__(self) -> str:
        names = [part.get("name") or part.get("time") or part["header"] for part in self.partitions]
        return "/".join([self.fixed.rstrip("/"), *(f"{name}=…" for name in names)])


def escapes(text: str) -> list[str]:
    """The escapes of a text, `%%` not among them."""
    return [match[0] for match in _ESCAPE.finditer(text) if match[0] != "%%"]


def has_times(text: str) -> bool:
    """Whether a text has escapes of times."""
    return any(match[3] in _UNIT_OF for match in _ESCAPE.finditer(text) if match[3])


def read_layout(path: str, rounding: Rounding | None = None) -> Layout:
    """What becomes of a path, segment by segment."""
    start = path.index("%") if "%" in path else len(path)
    cut = path[:start].rfind("/") + 1 if start < len(path) else start
    fixed, rest = path[:cut].rstrip("/") if cut < len(path) else path, path[cut:]
    reader = _Reader(Layout(fixed or "/"), rounding.step if rounding else None)
    for segment in filter(None, rest.split("/")):
        reader.read(segment)
    return reader.layout


class _Reader:
    def __init__(self, layout: Layout, rounding: Rounding | None) -> None:
        self.layout = layout
        self.rounding = rounding
        self.known: set[str] = set()
        self.finest = ""

    def read(self, segment: str) -> None:
        found = list(_ESCAPE.finditer(segment))
        named = _NAMED.fullmatch(segment)
        name, value = (named[1], named[2]) if named else ("", segment)
        if name and not _NAME.fullmatch(name):
            self._refuse(segment, f"{name} cannot be the name of a partition")
        elif not found or all(match[0] == "%%" for match in found):
            self._refuse(segment, "a fixed directory cannot stand below a partition")
        elif _wrong(found):
            self._refuse(segment, f"{_wrong(found)} has no equivalent")
        elif any(match[1] for match in found):
            self._header(segment, name, value, found)
        else:
            self._time(segment, name, value, [match[3] for match in found])

    def _refuse(self, segment: str, why: str) -> None:
        self.layout.problems.append(f"{segment}: {why}")

    def _header(self, segment: str, name: str, value: str, found: list[re.Match[str]]) -> None:
        header = found[0][1]
        if value != found[0][0]:
            self._refuse(segment, "a partition is one header or one time, with no other text")
            return
        self.layout.partitions.append({"header": header} | ({"name": name} if name else {}))
        if not name:
            self.layout.changed.append(f"{segment} became {header}=VALUE")

    def _time(self, segment: str, name: str, value: str, letters: list[str]) -> None:
        self.layout.times = True
        own = {unit for letter in letters for unit in _units(letter)}
        self.known |= own
        if why := self._inexpressible(segment, name, value, letters):
            self._refuse(segment, why)
            return
        unit = self._capped(own)
        if not unit or unit == self.finest:
            self.layout.changed.append(f"{segment} was omitted, since it adds nothing to the directory above it")
            return
        self.finest = unit
        self.layout.partitions.append({"time": unit} | ({"name": name} if name else {}))
        if not name:
            self.layout.changed.append(f"{segment} became {unit}={_WRITTEN[unit]}")

    def _capped(self, units: set[str]) -> str:
        """The finest of these units that rounding leaves, or nothing."""
        limit = UNITS.index(self.rounding.unit) if self.rounding else len(UNITS)
        return max((unit for unit in units if UNITS.index(unit) <= limit), key=UNITS.index, default="")

    def _inexpressible(self, segment: str, name: str, value: str, letters: list[str]) -> str:
        """Why a segment of times cannot be a partition, or nothing."""
        finest = self._capped(self.known)
        rounding = self.rounding
        if rounding and rounding.value > 1 and finest == rounding.unit:
            self.known.discard(finest)
            return f"a partition cannot be {rounding} long"
        if finest == "second":
            return "a minute is the shortest partition"
        missing = [unit for unit in UNITS[: UNITS.index(finest) + 1] if unit not in self.known] if finest else ["year"]
        if missing:
            return f"the path has no {missing[0]} above it, and a partition always has"
        if not name and re.search(r"\w", _ESCAPE.sub("", value)):
            return "a partition is one header or one time, with no other text"
        unit = self._capped({unit for letter in letters for unit in _units(letter)})
        if name and unit and value != _WRITTEN[unit]:
            return f"a partition would have the value {_WRITTEN[unit]} instead of {value}"
        if name and unit in ("", self.finest):
            return "the directory above it has the same time"
        return ""


def _wrong(found: list[re.Match[str]]) -> str:
    """The first escape that nothing corresponds to."""
    for match in found:
        header, host, letter = match.groups()
        if (header is not None and not _HEADER.fullmatch(header)) or host is not None:
            return match[0]
        if header is None and letter not in _UNIT_OF:
            return match[0]
    return ""


def _units(letter: str) -> set[str]:
    return set(UNITS) if letter in _ABSOLUTE else {_UNIT_OF[letter]}
