"""Which interceptors two revisions do not share."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from pipelines.domain.preview.chains import Changed, State, changed, effective, needed
from pipelines.domain.preview.comparing import Volatile
from pipelines.domain.preview.outcomes import Content

CHAINS = st.lists(st.sampled_from("abc").map(lambda name: {"type": name}), max_size=6)


@given(CHAINS, CHAINS)
def test_outside_of_the_changed_stretches_both_are_the_same(
    old: list[dict[str, str]], new: list[dict[str, str]]
) -> None:
    at, there = 0, 0
    for each in [*changed(old, new), Changed((len(old), len(old)), (len(new), len(new)))]:
        assert old[at : each.before[0]] == new[there : each.after[0]]
        at, there = each.before[1], each.after[1]


def test_the_states_around_changed_interceptors_are_needed() -> None:
    assert needed([(1, 3)]) == [0, 1, 2, 3]
    assert needed([(2, 2)]) == [0, 2]
    assert needed([]) == [0]


def test_an_interceptor_is_effective_where_the_event_is_another_behind_it() -> None:
    whole = State(Content(None, (), b"a", 1, "a"), kept=True, problem="")
    filtered = State(whole.content, kept=False, problem="")
    assert effective((0, 2), {0: whole, 1: whole, 2: filtered}, Volatile()) == [1]


def test_an_interceptor_behind_the_one_that_filtered_or_refused_the_event_is_not_effective() -> None:
    whole = State(Content(None, (), b"a", 1, "a"), kept=True, problem="")
    stamped = Content(None, (("seen", b"yes"),), b"a", 1, "a")
    for gone in (replace(whole, kept=False), replace(whole, problem="no number")):
        states = {0: whole, 1: gone, 2: replace(gone, content=stamped)}
        assert effective((0, 2), states, Volatile()) == [0]
        assert effective((1, 2), states, Volatile()) == []


def test_what_no_run_repeats_makes_no_interceptor_effective() -> None:
    at = [State(Content(None, (("at", time),), b"a", 1, "a"), kept=True, problem="") for time in (b"1", b"2")]
    states = dict(enumerate(at))
    assert effective((0, 1), states, Volatile()) == [0]
    assert effective((0, 1), states, Volatile(headers=frozenset({"at"}))) == []
