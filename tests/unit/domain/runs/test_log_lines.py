"""Lines of a run's log by their level."""

from __future__ import annotations

import pytest

from pipelines.domain.runs.log_lines import LogLevel, at_least, level_of

LINES = [
    "printed by an interceptor",
    "2026-01-01T00:00:00.000Z INFO    driver orders/1: phase RUNNING",
    "2026-01-01T00:00:01.000Z ERROR   jvm orders/1: Executor: failed",
    "java.io.IOException: No space left on device",
    "\tat org.example.Thing",
    "2026-01-01T00:00:02.000Z WARNING keeper orders/1: late",
    "2026-01-01T00:00:03.000Z INFO    driver orders/1: ERROR is only a word here",
    "it goes on",
]


@pytest.mark.parametrize(
    ("line", "level"), [(LINES[1], LogLevel.INFO), (LINES[2], LogLevel.ERROR), (LINES[3], None), ("", None)]
)
def test_a_line_states_its_level_or_none(line: str, level: LogLevel | None) -> None:
    assert level_of(line) is level


def test_a_line_without_a_level_goes_with_the_one_before_it() -> None:
    assert list(at_least(LINES, LogLevel.WARNING)) == [LINES[0], *LINES[2:6]]
    assert list(at_least(LINES, LogLevel.ERROR)) == [LINES[0], *LINES[2:5]]
    assert list(at_least(LINES, LogLevel.DEBUG)) == LINES
