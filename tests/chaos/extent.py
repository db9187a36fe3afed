"""How much of the suite runs: a short selection in which every module has its part, another one for each seed of the
tests, or all of it with the seeds that HEADGATE_CHAOS names."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TypeVar

import pytest

from tests.seed import VARIABLE as SEED

T = TypeVar("T")
VARIABLE = "HEADGATE_CHAOS"
WHOLE = VARIABLE in os.environ
EXAMPLES = 120 if WHOLE else 4
"""Of a simulated installation to which anything may happen."""
SEEDS = [int(seed) for seed in os.environ.get(VARIABLE, "1").split(",")]
whole_only = pytest.mark.skipif(not WHOLE, reason=f"takes minutes: {VARIABLE}=1 runs it")
"""For a test; one that is not marked so must be left in each module."""


def sweep(count: int, nth: int) -> range:
    """Instants at which something fails, one test for each: all in the whole suite, every nth in a short one, which
    begins at another one with each seed."""
    return range(count) if WHOLE else range(int(os.environ.get(SEED, "0")) % nth, count, nth)


def some(cases: Sequence[T], nth: int) -> list[T]:
    """All cases in the whole suite, every nth in a short one, and one of them at least."""
    return [cases[number] for number in sweep(len(cases), min(nth, len(cases)))]


def by_turns(number: int, of: int = 2) -> pytest.MarkDecorator:
    """For a test that takes minutes beside others of its module: the whole suite has it, and so has the short selection
    of every seed that leaves `number` when divided by `of`."""
    its_turn = int(os.environ.get(SEED, "0")) % of == number
    return pytest.mark.skipif(not (WHOLE or its_turn), reason=f"takes minutes, by turns: {VARIABLE}=1 runs it")


def at_most(seconds: float) -> float:
    """What something may take: so long where nothing else runs, and three times as long beside other tests."""
    return seconds if WHOLE else 3 * seconds
