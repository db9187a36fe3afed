"""How much of the suite runs: a short selection, in which every module has its part, or all of it with the seeds that
HEADGATE_CHAOS names."""

from __future__ import annotations

import os

import pytest

VARIABLE = "HEADGATE_CHAOS"
WHOLE = VARIABLE in os.environ
EXAMPLES = 120 if WHOLE else 10
"""Of a simulated installation to which anything may happen."""
SEEDS = [int(seed) for seed in os.environ.get(VARIABLE, "1").split(",")]
whole_only = pytest.mark.skipif(not WHOLE, reason=f"takes minutes: {VARIABLE}=1 runs it")
"""For a test; one that is not marked so must be left in each module."""


def sweep(count: int, nth: int) -> range:
    """Instants at which something fails, one test for each: all in the whole suite, every nth in a short one."""
    return range(0, count, 1 if WHOLE else nth)
