"""Offsets are never negative, ranges join only where they adjoin, and the books add up."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from pipelines.domain.base.positions import (
    Discontinuity,
    PartitionPosition,
    PartitionRange,
    TopicPartition,
    discontinuities,
    merge_ranges,
)
from pipelines.domain.base.states import LIVE_PHASES, RESTING_PHASES, TRANSITIONS, Phase, can
from pipelines.domain.ledger.ledger import Counts, total
from pipelines.domain.lifecycle.vocabulary import PHASES


def span(start: int, end: int, partition: int = 0) -> PartitionRange:
    return PartitionRange(topic="t", partition=partition, start=start, end=end)


@pytest.mark.parametrize("offset", [-1, -2, -1001, 1.5, "7", None])
def test_a_position_takes_nothing_that_a_client_library_may_return_for_no_commit(offset: object) -> None:
    with pytest.raises(ValidationError):
        PartitionPosition.model_validate({"topic": "t", "partition": 0, "offset": offset})


def test_a_range_does_not_end_before_it_starts() -> None:
    with pytest.raises(ValidationError, match="before its start"):
        span(5, 4)


def test_adjoining_ranges_join_and_others_stay_apart() -> None:
    assert merge_ranges([span(0, 5)], [span(5, 9), span(0, 3, 1)]) == [span(0, 9), span(0, 3, 1)]
    assert merge_ranges([span(0, 5)], [span(6, 9)]) is None
    assert merge_ranges([span(0, 5)], [span(4, 9)]) is None


def test_a_start_elsewhere_than_the_last_end_is_a_gap_or_an_overlap_with_its_count() -> None:
    positions = {TopicPartition("t", 0): 100, TopicPartition("t", 1): 50}
    found = discontinuities(positions, [span(200, 300), span(40, 60, 1), span(7, 8, 2)])
    assert found == [
        Discontinuity(topic="t", partition=0, expected=100, actual=200),
        Discontinuity(topic="t", partition=1, expected=50, actual=40),
    ]
    assert (found[0].gap, found[0].overlap) == (100, 0)
    assert (found[1].gap, found[1].overlap) == (0, 10)


@given(st.lists(st.tuples(st.integers(0, 10**9), st.integers(0, 10**9)), max_size=20))
def test_sums_of_balanced_books_balance(parts: list[tuple[int, int]]) -> None:
    totals = total(Counts(read=a + b, delivered=a, filtered=b) for a, b in parts)
    assert totals.balanced
    assert totals.read == sum(a + b for a, b in parts)


def test_a_record_without_a_verdict_is_seen() -> None:
    assert Counts(read=10, delivered=9).difference == 1
    assert not Counts(read=10, delivered=9).balanced
    assert Counts(read=10, added=2, delivered=5, filtered=3, unrouted=1, dead_lettered=2, dropped_optional=1).balanced


def test_every_phase_is_described_and_has_a_way_out() -> None:
    assert set(PHASES) == set(Phase) == set(TRANSITIONS)
    assert all(TRANSITIONS[phase] for phase in Phase)
    assert all(phase not in TRANSITIONS[phase] for phase in Phase)


def test_every_live_phase_can_be_stopped_and_everything_can_come_to_rest() -> None:
    for phase in LIVE_PHASES - {Phase.STOPPING}:
        assert can(phase, Phase.STOPPING), phase
    for phase in set(Phase) - {Phase.STOPPED}:
        assert can(phase, Phase.STOPPED) or can(phase, Phase.STOPPING), phase


def test_nothing_runs_out_of_rest_without_a_preflight() -> None:
    for phase in RESTING_PHASES | {Phase.BACKOFF}:
        assert not TRANSITIONS[phase] & {Phase.STARTING, Phase.RUNNING, Phase.PAUSED}
