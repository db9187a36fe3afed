"""Lines of a run's log: records, and which of them are wanted."""

from __future__ import annotations

from datetime import UTC, datetime
from zlib import crc32

import pytest

from pipelines.domain.runs.log_lines import (
    MOST_LINES,
    Head,
    LogFilter,
    LogLevel,
    address_of,
    head_of,
    records,
    stamp_of,
)

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


def taken(**wanted: object) -> list[str]:
    filtered = LogFilter(**wanted)  # type: ignore[arg-type]
    found = [each for each in records(enumerate(LINES)) if filtered.takes(each)]
    return [line for record in found for _, line in record.lines]


@pytest.mark.parametrize(
    ("line", "head"),
    [
        (LINES[1], Head("2026-01-01T00:00:00.000Z", LogLevel.INFO, "driver")),
        (LINES[2], Head("2026-01-01T00:00:01.000Z", LogLevel.ERROR, "jvm")),
        (LINES[3], None),
        ("", None),
    ],
)
def test_a_line_states_time_level_and_component_or_belongs_to_the_one_before(line: str, head: Head | None) -> None:
    assert head_of(line) == head


def test_a_line_without_a_level_goes_with_the_one_before_it() -> None:
    assert taken(level=LogLevel.WARNING) == [LINES[0], *LINES[2:6]]
    assert taken(level=LogLevel.ERROR) == [LINES[0], *LINES[2:5]]
    assert taken() == LINES


def test_records_are_taken_by_component_time_and_text_of_any_of_their_lines() -> None:
    assert taken(component="driver") == [LINES[1], *LINES[6:]]
    assert taken(since="2026-01-01T00:00:02.000Z") == LINES[5:]
    assert taken(find="no SPACE") == LINES[2:5]
    assert taken(find="late", level=LogLevel.ERROR) == []
    assert taken(find="printed") == [LINES[0]]


def test_a_record_that_never_ends_is_cut_and_keeps_its_head() -> None:
    lines = [LINES[2], *(f"\tat {number}" for number in range(2 * MOST_LINES))]
    found = list(records(enumerate(lines)))
    assert [len(each.lines) for each in found] == [MOST_LINES, MOST_LINES, 1]
    assert {each.head for each in found} == {head_of(LINES[2])}


def test_the_address_of_a_line_is_its_time_and_checksum() -> None:
    assert address_of(LINES[1] + "\n") == f"2026-01-01T00:00:00.000Z~{crc32(LINES[1].encode()):08x}"
    assert address_of(LINES[3]) == ""


def test_a_time_is_written_as_lines_have_it() -> None:
    assert stamp_of(datetime(2026, 1, 1, 0, 0, 3, 45_678, tzinfo=UTC)) == "2026-01-01T00:00:03.045Z"
