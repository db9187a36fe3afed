"""Which part of a log a preview reads."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from pipelines.domain.base.positions import TopicPartition
from pipelines.domain.preview.selection import Extent, PreviewSelection, WantedRange, bounded, newest, of_ranges

LOGS = st.dictionaries(
    st.builds(TopicPartition, st.sampled_from(["a", "b"]), st.integers(0, 3)),
    st.tuples(st.integers(0, 50), st.integers(0, 50)),
)


@given(LOGS, st.integers(1, 300))
def test_the_newest_offsets_are_as_many_as_asked_and_spread_evenly(
    log: dict[TopicPartition, tuple[int, int]], most: int
) -> None:
    starts = {key: start for key, (start, _) in log.items()}
    ends = {key: start + size for key, (start, size) in log.items()}
    found = newest(starts, ends, most)
    assert found.size == min(most, sum(size for _, size in log.values()))
    taken = {key: ends[key] - found.starts.get(key, ends[key]) for key in ends}
    for key, number in taken.items():
        assert found.starts.get(key, starts[key]) >= starts[key]
        if number < ends[key] - starts[key]:
            assert number >= max(taken.values()) - 1


@given(st.integers(0, 20), st.integers(1, 20), st.integers(0, 20), st.integers(0, 20))
def test_what_of_a_range_is_not_there_is_said(start: int, size: int, first: int, held: int) -> None:
    key = TopicPartition("t", 0)
    wanted = WantedRange(topic="t", partition=0, start=start, end=start + size)
    found = of_ranges([wanted], {key: first}, {key: first + held})
    there = range(max(start, first), min(start + size, first + held))
    assert found.size == len(there)
    assert bool(found.notes) == (len(there) < size)


def test_unknown_and_double_ranges_are_refused() -> None:
    key, wanted = TopicPartition("t", 0), WantedRange(topic="t", partition=0, start=0, end=1)
    with pytest.raises(ValueError, match="does not read u/0"):
        of_ranges([wanted.model_copy(update={"topic": "u"})], {key: 0}, {key: 1})
    with pytest.raises(ValueError, match="two ranges"):
        of_ranges([wanted, wanted], {key: 0}, {key: 1})


def test_too_large_a_part_is_cut_to_its_newest_and_said() -> None:
    key = TopicPartition("t", 0)
    found = bounded(Extent({key: 0}, {key: 1_000_000}), PreviewSelection(since=60))
    assert (found.starts[key], found.size) == (990_000, 10_000)
    assert "1000000 offsets were selected" in found.notes[0]
    assert bounded(Extent({key: 0}, {key: 1_000_000}), PreviewSelection(since=60, sample=0.01)).notes == ()


@pytest.mark.parametrize(
    "keys",
    [
        {},
        {"last": 1, "since": 2},
        {"last": 0},
        {"last": 10_001},
        {"since": 0},
        {"last": 1, "sample": 0},
        {"last": 1, "sample": 1.1},
        {"ranges": [{"topic": "t", "partition": 0, "start": 2, "end": 2}]},
    ],
)
def test_selections_without_sense_are_refused(keys: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        PreviewSelection.model_validate(keys)
