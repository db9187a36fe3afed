"""The parts of a sum add up to it, whatever is added; what nobody counted by component stays unknown."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from pipelines.domain.ledger.journal import Done
from pipelines.domain.ledger.ledger import CAUSES, Counts, added_up, total

FIRST, SECOND, SINK = "sources.shop.interceptors[0]", "sources.shop.interceptors[1]", "sinks.lake"
PARTS = st.dictionaries(
    st.sampled_from([FIRST, SECOND, SINK]), st.dictionaries(st.sampled_from(CAUSES), st.integers(1, 10**9))
)


def counts(parts: dict[str, dict[Any, int]]) -> Counts:
    """Counts of which all is accounted for."""
    sums = {name: sum(each.get(name, 0) for each in parts.values()) for name in CAUSES}
    verdicts = sum(sums.values()) - sums["added"]
    read = max(0, verdicts - sums["added"])
    return Counts(read=read, delivered=read + sums["added"] - verdicts, components=parts, **sums)


@given(st.lists(PARTS, max_size=6))
def test_sums_of_balanced_parts_balance_and_keep_every_part(each: list[dict[str, dict[Any, int]]]) -> None:
    totals = total(map(counts, each))
    assert totals.balanced
    assert totals.parts is not None
    for path in (FIRST, SECOND, SINK):
        for name in CAUSES:
            wanted = sum(parts.get(path, {}).get(name, 0) for parts in each)
            assert totals.parts.get(path, {}).get(name, 0) == wanted


@pytest.mark.parametrize(
    ("parts", "missing"),
    [
        ({}, 3),
        ({FIRST: {"filtered": 2}}, 1),
        ({FIRST: {"filtered": 2}, SECOND: {"filtered": 2}}, 1),
        ({FIRST: {"dead_lettered": 3}}, 6),
        ({FIRST: {"filtered": 1}, SECOND: {"filtered": 2}}, 0),
    ],
)
def test_parts_that_differ_from_their_sum_unbalance_a_batch(parts: dict[str, dict[Any, int]], missing: int) -> None:
    found = Counts(read=5, delivered=2, filtered=3, components=parts)
    assert found.difference == 0
    assert (found.unattributed, found.balanced) == (missing, missing == 0)


def test_what_nobody_has_counted_by_component_is_unknown_and_no_difference() -> None:
    earlier = Done.model_validate(
        {
            "source": "shop",
            "channel": "lake",
            "batch": 0,
            "ranges": [],
            "counts": {"read": 3, "filtered": 3},
            "sink": "",
        }
    ).counts
    assert (earlier.parts, earlier.unattributed, earlier.balanced) == (None, 0, True)
    assert (earlier + counts({FIRST: {"filtered": 1}})).parts is None, "a part of it is not known"
    assert earlier.refused(SINK, 0).parts is None


def test_where_components_decide_nothing_no_part_is_missing() -> None:
    plain = Counts(read=3, delivered=3)
    assert plain.parts == {}
    assert (plain + counts({FIRST: {"filtered": 1}})).parts == {FIRST: {"filtered": 1}}
    assert "components" not in plain.model_dump(exclude_defaults=True)


def test_what_a_sink_refuses_is_its_own() -> None:
    found = counts({FIRST: {"dead_lettered": 2}}) + Counts(read=9, delivered=9)
    after = found.refused(SINK, 3).refused(SINK, 1)
    assert (after.delivered, after.dead_lettered, after.balanced) == (5, 6, True)
    assert after.parts == {FIRST: {"dead_lettered": 2}, SINK: {"dead_lettered": 4}}
    assert Counts(read=1, delivered=1).refused(SINK, 1).parts == {SINK: {"dead_lettered": 1}}


def test_what_is_added_up_to_nothing_is_left_out() -> None:
    assert added_up({FIRST: {"filtered": 0, "added": 1}}, {SECOND: {}}) == {FIRST: {"added": 1}}


@pytest.mark.parametrize("wrong", [{FIRST: {"delivered": 1}}, {FIRST: {"filtered": -1}}, {FIRST: 1}])
def test_a_part_is_of_a_counter_that_components_decide(wrong: Any) -> None:
    with pytest.raises(ValidationError):
        Counts(read=1, components=wrong)
