"""Counts and kinds of difference of two lists of outcomes."""

from __future__ import annotations

import hashlib
from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from pipelines.domain.preview.comparing import DifferenceKind, Volatile, by_kind, counts, differences, volatile
from pipelines.domain.preview.outcomes import Content, EventResult, Origin, Outcome

VERDICTS = {
    EventResult.DELIVERED: ({"a": "delivered", "b": "delivered"}, {"a": "delivered", "b": "routed_elsewhere"}),
    EventResult.FILTERED: ({"a": "filtered", "b": "filtered"},),
    EventResult.DEAD_LETTERED: ({"a": "dead_lettered", "b": "routed_elsewhere"},),
    EventResult.UNROUTED: ({"a": "unrouted", "b": "routed_elsewhere"},),
}


def content(body: bytes = b"", **headers: bytes) -> Content:
    return Content(None, tuple(headers.items()), body, len(body), hashlib.sha256(body).hexdigest())


@st.composite
def outcome(draw: st.DrawFn, number: int) -> Outcome:
    result = draw(st.sampled_from(EventResult))
    component = "" if result is EventResult.DELIVERED else draw(st.sampled_from(["x", "y"]))
    made = content(draw(st.sampled_from([b"1", b"2"])), h=draw(st.sampled_from([b"1", b"2"])))
    return Outcome(Origin("t", 0, number), draw(st.sampled_from(VERDICTS[result])), made, component)


@st.composite
def run(draw: st.DrawFn) -> list[Outcome]:
    return [draw(outcome(number)) for number in draw(st.sets(st.integers(0, 5)))]


@given(run(), run())
def test_the_counts_are_those_of_the_outcomes(before: list[Outcome], after: list[Outcome]) -> None:
    found = counts(before, after)
    for side, outcomes in (("before", before), ("after", after)):
        expected = Counter(each.result for each in outcomes if each.result is not EventResult.DELIVERED)
        for result in VERDICTS:
            rows = sum(getattr(row, side) for row in found if row.result is result)
            channels = sum(len(each.channels) for each in outcomes)
            assert rows == (channels if result is EventResult.DELIVERED else expected[result])


@given(run(), run())
def test_what_does_not_differ_is_not_listed(before: list[Outcome], after: list[Outcome]) -> None:
    assert not differences(before, list(reversed(before)), Volatile())
    old, new = {each.origin: each for each in before}, {each.origin: each for each in after}
    found = differences(before, after, Volatile())
    assert {each.origin for each in found} >= {*old} ^ {*new}
    assert len({each.origin for each in found}) == len(found)
    for each in found:
        assert each.before == old.get(each.origin)
        assert each.after == new.get(each.origin)
        assert each.before != each.after


@given(run(), run())
def test_both_ways_have_as_many_differences(before: list[Outcome], after: list[Outcome]) -> None:
    there, back = differences(before, after, Volatile()), differences(after, before, Volatile())
    assert [each.origin for each in there] == [each.origin for each in back]
    forward, backward = by_kind(there), by_kind(back)
    pairs = (
        (DifferenceKind.NEWLY_FILTERED, DifferenceKind.NO_LONGER_FILTERED),
        (DifferenceKind.NEWLY_DEAD, DifferenceKind.NO_LONGER_DEAD),
    )
    for one, other in (
        *pairs,
        (DifferenceKind.ADDED, DifferenceKind.GONE),
        (DifferenceKind.NEWLY_UNROUTED, DifferenceKind.NO_LONGER_UNROUTED),
    ):
        assert forward.get(one, 0) == backward.get(other, 0)


def test_what_two_runs_of_one_revision_do_not_agree_on_is_ignored() -> None:
    verdicts = VERDICTS[EventResult.DELIVERED][0]

    def made(body: bytes, **headers: bytes) -> list[Outcome]:
        return [Outcome(Origin("t", 0, 1), verdicts, content(body, **headers))]

    ignored = volatile(made(b"x", at=b"1", k=b"1"), made(b"x", at=b"2", k=b"1"))
    assert ignored == Volatile(headers=frozenset({"at"}))
    assert not differences(made(b"x", at=b"1"), made(b"x", at=b"9"), ignored)
    (found,) = differences(made(b"x", at=b"1"), made(b"y", at=b"9", k=b"1"), ignored)
    assert found.kinds == (DifferenceKind.HEADERS, DifferenceKind.BODY)


def test_another_reason_for_the_same_outcome_differs() -> None:
    old = Outcome(Origin("t", 0, 1), VERDICTS[EventResult.FILTERED][0], content(), "x")
    new = Outcome(Origin("t", 0, 1), VERDICTS[EventResult.FILTERED][0], content(b"other"), "y")
    (found,) = differences([old], [new], Volatile())
    assert found.kinds == (DifferenceKind.OTHER_REASON,)
