"""What differs between two JSON values says how to get from one to the other."""

from __future__ import annotations

import copy
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from pipelines.domain.preview.json_changes import MISSING, JsonChange, changes, parsed

LEAVES = st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from([0.0, 1.0, 2.5]) | st.text("ab/~", max_size=3)
VALUES = st.recursive(
    LEAVES, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text("ab/~", max_size=2), inner, max_size=4)
)


def applied(value: Any, change: JsonChange) -> Any:
    if not change.path:
        return change.after
    held: Any = value
    for part in change.path[:-1]:
        held = held[part]
    last: Any = change.path[-1]
    if change.after is not MISSING:
        if isinstance(held, list) and last == len(held):
            held.append(change.after)
        else:
            held[last] = change.after
    elif isinstance(held, list):
        held[last] = MISSING
    else:
        del held[last]
    return value


def without_missing(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: without_missing(item) for key, item in value.items()}
    if isinstance(value, list):
        return [without_missing(item) for item in value if item is not MISSING]
    return value


@given(VALUES, VALUES)
def test_the_changes_lead_from_one_value_to_the_other(before: Any, after: Any) -> None:
    found = copy.deepcopy(before)
    for change in changes(before, after):
        found = applied(found, copy.deepcopy(change))
    assert repr(sorted_keys(without_missing(found))) == repr(sorted_keys(after))


def sorted_keys(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: sorted_keys(value[key]) for key in sorted(value)}
    return [sorted_keys(item) for item in value] if isinstance(value, list) else value


@given(VALUES)
def test_a_value_does_not_differ_from_itself(value: Any) -> None:
    assert not list(changes(value, copy.deepcopy(value)))


def test_numbers_and_truth_are_told_apart() -> None:
    assert [change.pointer for change in changes({"a": 1, "b/c": True}, {"a": 1.0, "b/c": 1})] == ["/a", "/b~1c"]


def test_what_is_no_json_has_no_value() -> None:
    assert parsed(b"{") is MISSING
    assert parsed(b"\xff") is MISSING
    assert parsed(b"[" * 100_000) is MISSING
    assert parsed(b"null") is None
