"""Facts about how Flume behaves. Each has a test that compares Headgate with it, or an exemption with its reason."""

from __future__ import annotations

import functools
import json
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, cast

import pytest

_HERE = Path(__file__).parent
_SELF_EVIDENT = {"configure", "build", "parse", "materialise", "create", "start"}
"""Inputs that say no more than that the configuration is put to use."""
DRIVERS: defaultdict[str, list[str]] = defaultdict(list)
"""The tests that drive each vector, filled by `drives` when their modules are imported."""


class Expected(Mapping[str, Any]):
    """What comes of it in Flume. Remembers which values were looked at, as dotted paths."""

    def __init__(self, values: Mapping[str, Any], read: set[str] | None = None, path: str = "") -> None:
        self._values, self._path = values, path
        self.read: set[str] = set() if read is None else read

    def __getitem__(self, key: str) -> Any:
        value, path = self._values[key], f"{self._path}{key}"
        self.read.add(path)
        return Expected(value, self.read, f"{path}.") if isinstance(value, dict) else value

    def __contains__(self, key: object) -> bool:
        return key in self._values

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __repr__(self) -> str:
        return repr(self._values)


class Vector:
    """One fact: what is configured, what is done, what is expected. `notes` may say where ours must differ."""

    def __init__(self, fact: Mapping[str, Any]) -> None:
        self.id: str = fact["id"]
        self.component: str = fact["component"]
        self.notes: str = fact["notes"]
        self._fact = fact
        self._read: set[str] = set()
        self.expected = Expected(fact["expected_events_or_error"])

    @property
    def config(self) -> Any:
        """Flume's properties, or words about them."""
        self._read.add("config")
        return self._fact["config"]

    @property
    def input_events(self) -> list[Any]:
        """Events to send, or steps to make."""
        self._read.add("input_events")
        return list(self._fact["input_events"])

    @property
    def steps(self) -> list[str]:
        """What the input says has to be done."""
        return [step["op"] for step in self.input_events]

    @property
    def error(self) -> str:
        """The kind of the expected error, and none where none is expected."""
        return str(self.expected.get("error", {}).get("kind", ""))

    def unread(self) -> set[str]:
        """What its driver has not looked at: parts of the input, and expectations that no exemption waives."""
        expected = set(leaves(self._fact["expected_events_or_error"])) - self.expected.read
        given = {part for part in ("config", "input_events") if self._says_more(part)} - self._read
        return given | {f"expected {leaf}" for leaf in expected if f"{self.id}.{leaf}" not in exemptions()}

    def _says_more(self, part: str) -> bool:
        said = self._fact[part]
        return bool(said) and not (part == "input_events" and all(step.get("op") in _SELF_EVIDENT for step in said))

    def __str__(self) -> str:
        return self.id


def leaves(values: Mapping[str, Any], path: str = "") -> Iterator[str]:
    """Dotted paths of single values; an error, with its kind and Flume's words for it, is one."""
    for key, value in values.items():
        if isinstance(value, dict) and value and "kind" not in value:
            yield from leaves(value, f"{path}{key}.")
        else:
            yield f"{path}{key}"


@cache
def facts() -> dict[str, dict[str, Any]]:
    """All of them, as they are written, by id."""
    return {fact["id"]: fact for fact in json.loads((_HERE / "flume_behaviour.json").read_text())}


@cache
def exemptions() -> dict[str, str]:
    """The reasons for which vectors, or single values that they expect (`ID.key`), are not followed."""
    return dict(json.loads((_HERE / "exemptions.json").read_text()))


@cache
def vector(identifier: str) -> Vector:
    """One of them."""
    return Vector(facts()[identifier])


def drives(*identifiers: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Make a test the driver of vectors: it gets each as `vector`, and fails where it ignores what that one says."""

    def decorate(test: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(test)
        def driven(*args: Any, vector: Vector, **fixtures: Any) -> None:
            test(*args, vector=vector, **fixtures)
            assert not vector.unread(), f"the test of {vector} does not look at {sorted(vector.unread())}"

        for identifier in identifiers:
            DRIVERS[identifier].append(f"{test.__module__}::{test.__name__}")
        vectors = pytest.mark.parametrize("vector", [vector(each) for each in identifiers], ids=str)
        return cast("Callable[..., None]", vectors(driven))

    return decorate
