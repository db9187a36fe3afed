"""The windows of a range, and what is known laid over them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from pipelines.domain.monitoring.charts import MOST_POINTS, Grid, Held, Span, range_findings

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
LATER = NOON + timedelta(days=1)


def grid(minutes: int = 5, now: datetime = LATER) -> Grid:
    """Windows of 5 s each, from noon on."""
    return Grid.of(NOON, NOON + timedelta(minutes=minutes), now)


def spread(windows: Grid, sums: list[float], span: Span, amount: float) -> None:
    """Add an amount by its shares."""
    for number, share in windows.shares(span):
        sums[number] += amount * share


@pytest.mark.parametrize(
    ("span", "step"),
    [
        (timedelta(minutes=15), 5),
        (timedelta(hours=1), 10),
        (timedelta(hours=6), 60),
        (timedelta(days=1), 300),
        (timedelta(days=7), 1_800),
        (timedelta(days=30), 7_200),
        (timedelta(days=90), 21_600),
    ],
)
def test_a_range_has_the_finest_windows_that_are_few_enough(span: timedelta, step: int) -> None:
    found = Grid.of(NOON - span + timedelta(seconds=1), NOON, NOON)
    assert found.step == step
    assert found.size <= MOST_POINTS + 1
    assert len(found.times()) == found.size


def test_windows_begin_at_multiples_of_the_step_and_cover_a_range_that_is_over() -> None:
    found = Grid.of(NOON + timedelta(seconds=7), NOON + timedelta(seconds=71), LATER)
    assert found.times()[0] == NOON + timedelta(seconds=5)
    assert found.times()[-1] == NOON + timedelta(seconds=70)


@pytest.mark.parametrize(("seconds", "last"), [(60, 50), (62, 55), (64, 55), (66, 55), (67, 60)])
def test_a_window_that_goes_on_is_there_once_a_rate_can_be_told_of_it(seconds: int, last: int) -> None:
    now = NOON + timedelta(seconds=seconds)
    assert Grid.of(NOON, now, now).times()[-1] == NOON + timedelta(seconds=last)


def test_the_rate_of_a_long_window_that_goes_on_is_of_the_time_that_is_over() -> None:
    now = NOON + timedelta(minutes=20, seconds=2)
    found = Grid.of(NOON - timedelta(days=30), now, now)
    assert found.seconds(found.size - 1) == 20 * 60
    assert found.seconds(0) == 7_200


def test_an_amount_is_spread_over_the_time_that_it_took() -> None:
    windows = grid(1)
    sums = [0.0] * windows.size
    start = NOON.timestamp()
    spread(windows, sums, Span(start + 4, start + 14), 100)
    assert sums[:4] == pytest.approx([10, 50, 40, 0])
    spread(windows, sums, Span(start + 15, start + 15), 7)
    assert sums[3] == 7


def test_what_began_before_the_range_counts_with_the_part_that_lies_in_it() -> None:
    windows = grid(1)
    sums = [0.0] * windows.size
    start = NOON.timestamp()
    spread(windows, sums, Span(start - 10, start + 10), 100)
    spread(windows, sums, Span(start - 10, start), 100)
    spread(windows, sums, Span(start + 600, start + 700), 100)
    assert sums[:3] == pytest.approx([25, 25, 0])
    assert sum(sums) == pytest.approx(50)


def test_a_measurement_holds_until_the_next_one_and_no_longer_than_it_may() -> None:
    start = NOON.timestamp()
    found = grid(1).held([Held(start, 12, 5.0), Held(start + 30, 100, 7.0), Held(start + 41, 100, None)])
    assert found == [5.0, 5.0, 5.0, None, None, None, 7.0, 7.0, 7.0, None, None, None]


def test_of_several_measurements_in_a_window_the_most_counts_and_not_what_held_before() -> None:
    start = NOON.timestamp()
    found = grid(1).held([Held(start, 60, 9.0), Held(start + 6, 60, 2.0), Held(start + 8, 60, 4.0)])
    assert found[:4] == [9.0, 4.0, 4.0, 4.0]


def test_nothing_holds_beyond_the_present() -> None:
    now = NOON + timedelta(seconds=32)
    found = grid(1, now).held([Held(NOON.timestamp(), 900, 0.0)])
    assert found == [0.0] * 6


def test_everything_that_is_wrong_with_a_range_is_told_with_what_to_do() -> None:
    ahead = NOON + timedelta(days=200)
    assert range_findings(NOON - timedelta(hours=1), NOON, NOON) == []
    found = {each.code: each for each in range_findings(NOON + timedelta(hours=1), ahead, NOON)}
    assert found.keys() == {"in_the_future", "range_too_long"}
    assert {each.path for each in range_findings(NOON + timedelta(hours=1), ahead, NOON)} == {"since", "until"}
    assert [each.code for each in range_findings(NOON, NOON - timedelta(hours=1), NOON)] == ["after_until"]
    assert [each.code for each in range_findings(NOON - timedelta(seconds=9), NOON, NOON)] == ["range_too_short"]
    assert all(each.suggestion for each in found.values())
