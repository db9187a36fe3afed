"""How much work the patterns of one document may be to check, all of them together."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

ALL_STEPS = 400_000
"""Counted and not timed, so that every machine finds the same: a definition that was published stays valid."""


class OverBudgetError(ValueError):
    """The patterns before have used up what all of them have together."""


class _Budget:
    def __init__(self) -> None:
        self.left = ALL_STEPS


_present: ContextVar[_Budget | None] = ContextVar("present", default=None)


@contextmanager
def shared() -> Iterator[None]:
    """Give the patterns that are checked meanwhile one budget."""
    token = _present.set(_Budget())
    try:
        yield
    finally:
        _present.reset(token)


def spend(steps: int) -> None:
    """Count steps of a check. Raises OverBudgetError."""
    budget = _present.get()
    if budget is None:
        return
    budget.left -= steps
    if budget.left < 0:
        raise OverBudgetError("The patterns of this definition take too long to check.")
