"""The age of the oldest record that waits, and series that are rolled up."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.domain.monitoring.lag import (
    Appended,
    PartitionLag,
    as_rows,
    from_rows,
    rolled_up,
    step_for,
    total,
    window_of,
)


def appended(*looks: tuple[float, int]) -> Appended:
    history = Appended()
    for at, end in looks:
        history.saw(at, end)
    return history


def test_a_record_was_appended_between_the_two_looks_that_its_offset_lies_between() -> None:
    history = appended((100.0, 0), (110.0, 0), (120.0, 50), (130.0, 100))
    assert history.between(0) == (110.0, 120.0)
    assert history.between(50) == (120.0, 130.0)
    assert history.age(75, 200.0) == pytest.approx(75.0)
    assert history.age(0, 200.0) == pytest.approx(90.0)


def test_nothing_waits_at_the_end_of_the_log() -> None:
    assert appended((100.0, 50)).age(50, 200.0) == 0.0


def test_what_is_older_than_every_look_has_no_age_until_the_log_is_asked() -> None:
    history = appended((100.0, 50))
    assert history.age(10, 200.0) is None
    history.learn(40.0, 20)
    assert history.age(10, 200.0) is None
    history.learn(20.0, 5)
    assert history.between(10) == (20.0, 40.0)


@given(
    written=st.lists(st.floats(0, 86_000), min_size=1, max_size=200).map(sorted),
    data=st.data(),
)
def test_questions_about_times_find_the_age_of_any_record_in_few_rounds(
    written: list[float], data: st.DataObject
) -> None:
    """The broker is a sorted list of times: offset = index."""
    now, oldest = 86_400.0, 7 * 86_400.0
    position = data.draw(st.integers(0, len(written) - 1))
    history = appended((now, len(written)))
    rounds = 0
    while (asked := history.question(position, now, oldest)) is not None:
        answer = next((number for number, at in enumerate(written) if at >= asked), len(written))  # the end: none is
        history.learn(asked, answer)
        rounds += 1
        assert rounds <= 20
    age = history.age(position, now)
    before, after = history.between(position)
    assert after is not None
    assert (now - oldest if before is None else before) <= written[position] <= after
    assert age is None or abs(age - (now - written[position])) <= 60 + 0.03 * age


@given(st.lists(st.tuples(st.floats(0.1, 50), st.integers(0, 1000)), min_size=2, max_size=2000))
def test_a_history_is_bounded_and_stays_in_order(steps: list[tuple[float, int]]) -> None:
    history, at, end = Appended(), 0.0, 0
    for seconds, records in steps:
        at, end = at + seconds, end + records
        history.saw(at, end)
    assert len(history.points) <= 241
    assert history.points == sorted(history.points)
    assert history.points[-1][2] == end


def test_a_log_that_is_shorter_than_before_begins_a_new_history() -> None:
    history = appended((100.0, 500), (110.0, 600), (120.0, 3))
    assert history.points == [(120.0, 120.0, 3)]


def test_records_that_are_older_than_the_look_that_met_them_are_as_old_as_they_say() -> None:
    history = appended((100.0, 50), (110.0, 60))
    history.learn(10.0, 60)  # every record is older than that
    assert history.between(55) == (None, 10.0)
    history.learn(5.0, 0)
    assert history.age(30, 110.0) == pytest.approx(102.5)


def lag(number: int, position: int, records: int | None, seconds: float | None) -> PartitionLag:
    return PartitionLag("shop", "main", "orders", number, position, position + (records or 0), records, seconds)


def test_a_rolled_up_window_has_the_last_position_and_the_worst_lag() -> None:
    windows = [[lag(0, 10, 100, 5.0), lag(1, 1, None, None)], [lag(0, 90, 20, 1.0)], [lag(0, 110, 0, None)]]
    assert rolled_up(windows) == [
        PartitionLag("shop", "main", "orders", 0, 110, 110, 100, 5.0),
        PartitionLag("shop", "main", "orders", 1, 1, 1, None, None),
    ]


def test_a_sum_with_an_unknown_part_is_unknown() -> None:
    assert (total([1, 2]), total([1, None]), total([])) == (3, None, None)


def test_points_survive_being_stored() -> None:
    partitions = [lag(0, 10, 5, 1.5)]
    assert from_rows(as_rows(partitions)) == partitions


def test_windows_begin_at_multiples_of_their_step() -> None:
    at = datetime(2026, 1, 1, 12, 7, 31, tzinfo=UTC)
    assert window_of(at, 60).minute == 7
    assert window_of(at, 300) == datetime(2026, 1, 1, 12, 5, tzinfo=UTC)
    assert window_of(at, 3600) == datetime(2026, 1, 1, 12, tzinfo=UTC)


def test_the_step_fits_the_span() -> None:
    assert [step_for(timedelta(days=days)) for days in (1, 3, 30)] == [60, 300, 3600]
