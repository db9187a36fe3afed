"""Semantic findings about expressions in SQL, as far as they can be judged without Spark."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from pipelines.domain.base.findings import Finding, PathParts
from pipelines.domain.definitions.document.outline import Outline, error, warning
from pipelines.domain.sql.checks import expressions_in, is_volatile, problems

MOST_EXPRESSIONS = 500
"""Of a definition; the rest is read when its interceptors are."""


def expressions_can_be_read(outline: Outline) -> Iterator[Finding]:
    """Every problem of every expression."""
    for path, text in _expressions(outline):
        for problem in problems(text):
            yield error(path, problem.code, problem.told(text), problem.suggestion)


def replays_look_at_the_clock_again(outline: Outline) -> Iterator[Finding]:
    """What a clock decides, a replay may decide in another way."""
    for path, text in _expressions(outline):
        if is_volatile(text):
            message = "The value depends on the time of the batch: a record that is read again can get another one."
            advice = "Use timestamp, the time of the event, where a replay must give the same result."
            yield warning(path, "sql_volatile", message, advice)


def _expressions(outline: Outline) -> Iterator[tuple[PathParts, str]]:
    left = MOST_EXPRESSIONS
    for source in outline.sources:
        listed = source.keys.get("interceptors")
        for number, keys in enumerate(listed if isinstance(listed, list) else []):
            if isinstance(keys, dict) and keys.get("type") == "sql":
                for path, text in list(expressions_in(keys).items())[:left]:
                    left -= 1
                    yield (*source.path, "interceptors", number, *path), text


CHECKS: tuple[Callable[[Outline], Iterator[Finding]], ...] = (
    expressions_can_be_read,
    replays_look_at_the_clock_again,
)
