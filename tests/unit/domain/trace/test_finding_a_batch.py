"""Which rows of the ledger hold an offset: those whose range of its partition does, and no others."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from pipelines.domain.trace.covering import Row, covering
from pipelines.domain.trace.question import Place

QUERY = ("shop", "lake")


def held(topic: str, partition: int, start: int, end: int) -> dict[str, Any]:
    return {"topic": topic, "partition": partition, "start": start, "end": end}


def at(offset: int, topic: str = "in", partition: int = 0) -> Place:
    return Place(topic=topic, partition=partition, offset=offset)


@given(
    st.lists(st.integers(min_value=1, max_value=9), min_size=1, max_size=20),
    st.integers(min_value=0, max_value=99),
    st.integers(min_value=0, max_value=300),
)
def test_an_offset_is_in_one_of_adjoining_batches(sizes: list[int], begin: int, offset: int) -> None:
    rows, start = [], begin
    for number, size in enumerate(sizes):
        rows.append(Row(number, QUERY, False, [held("other", 0, 0, 999), held("in", 0, start, start + size)]))
        start += size
    found = covering(rows, at(offset))
    ends = [(row.ranges[1]["start"], row.ranges[1]["end"]) for row in rows]
    expected = [number for number, each in enumerate(ends) if offset in range(*each)]
    assert found.rows == expected
    assert len(found.rows) == (begin <= offset < start)
    assert found.first == {QUERY: begin}


def test_a_record_that_was_read_twice_has_all_its_rows() -> None:
    rows = [Row(1, QUERY, False, [held("in", 0, 0, 10)]), Row(5, QUERY, False, [held("in", 0, 4, 6)])]
    assert covering(rows, at(5)).rows == [1, 5]


def test_other_partitions_and_topics_hold_other_records() -> None:
    rows = [Row(1, QUERY, False, [held("in", 0, 0, 10)])]
    assert covering(rows, at(5, partition=1)).rows == []
    assert covering(rows, at(5, topic="out")).rows == []


def test_a_batch_without_an_end_may_hold_what_follows_its_start() -> None:
    rows = [Row(1, QUERY, True, [held("in", 0, 4, 4)])]
    assert covering(rows, at(9)).rows == [1]
    assert covering(rows, at(3)).rows == []


def test_the_first_offset_is_known_for_each_channel() -> None:
    rows = [Row(1, QUERY, False, [held("in", 0, 7, 9)]), Row(2, ("shop", "audit"), False, [held("in", 0, 3, 9)])]
    assert covering(rows, at(0)).first == {QUERY: 7, ("shop", "audit"): 3}
