"""Tests that start stacks and agents by turns: each takes a minute, and all of them more than anybody waits for."""

from __future__ import annotations

import os
from itertools import groupby
from typing import TYPE_CHECKING, TypeVar

from tests.seed import VARIABLE

if TYPE_CHECKING:
    import pytest

T = TypeVar("T")
TIERS = ("tests/chaos/", "tests/e2e/", "tests/agent/")
TURNS = 3
"""With two, CI came within five minutes of its limit of ninety."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--by-turns",
        action="store_true",
        help="of each module that starts stacks or agents run every third test; the seed of the commit chooses which",
    )


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deselect the tests that have their turn with other seeds. A module keeps one at least."""
    if not config.getoption("by_turns"):
        return
    turn = int(os.environ[VARIABLE]) >> 16  # the low bits choose among the cases of one test (tests/chaos/extent.py)
    left_out: list[pytest.Item] = []
    modules = groupby((item for item in items if _takes_turns(item)), key=lambda item: item.path)
    for number, (_, tests) in enumerate(modules):
        left_out += others(list(tests), turn + number)
    config.hook.pytest_deselected(items=left_out)
    away = set(left_out)
    items[:] = [item for item in items if item not in away]


def others(tests: list[T], turn: int) -> list[T]:
    """What other turns run; of fewer tests than turns each has one, and a test that is alone is in each."""
    every = min(TURNS, len(tests))
    return [test for number, test in enumerate(tests) if (number - turn) % every]


def _takes_turns(item: pytest.Item) -> bool:
    """What is skipped whatever the turn takes none, nor does what shares one Spark session and takes a second."""
    skipped = any(mark.args[0] is True for mark in item.iter_markers("skipif") if mark.args)
    shares = "session" in getattr(item, "fixturenames", ())
    return item.nodeid.startswith(TIERS) and not skipped and not shares
