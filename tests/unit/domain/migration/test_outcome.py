"""The outcome of a migration: what is expected of records, and when what was found is judged."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.domain.definitions.checks.validate import validate_data
from pipelines.domain.definitions.document.spec import Definition
from pipelines.domain.migration import outcome as outcomes
from pipelines.domain.migration.observation import (
    CERTAIN_RECORDS,
    FIRST_RESULT_SECONDS,
    JUDGED_RECORDS,
    Check,
    Conclusion,
    ObservationRules,
    Observed,
    Sample,
    evaluate,
)
from pipelines.domain.migration.outcome import ChannelOutcome, Expected, Outcome, changed_interceptors, expected
from tests.factories import definition_data

FILTER = "sources.shop.interceptors[0]"
RULES = ObservationRules(window=60)
OUTCOME_RULES = {"delivering", "delivered_share", "filtered_share", "output_rate"}


def counts(read: int, delivered: int, added: int = 0, by: int = 0) -> ChannelOutcome:
    parts = {FILTER: by} if by else {}
    return ChannelOutcome(read=read, events=read + added, delivered=delivered, filtered=parts)


def of(**channels: ChannelOutcome) -> Outcome:
    return Outcome(sources={"shop": channels})


ALL = of(main=counts(1000, 1000))
NONE = of(main=counts(1000, 0, by=1000))


def judged(
    wanted: Outcome, found: Outcome, seconds: float = 60, rules: ObservationRules = RULES, lag: int = 10, **more: Any
) -> Observed:
    return evaluate(
        rules,
        Sample(rate=100.0, lag=10),
        Sample(rate=100.0, lag=lag, outcome=found, span=seconds),
        seconds=seconds,
        expected=Expected(outcome=wanted, predicted=frozenset({"shop"})),
        **more,
    )


def check(found: Observed, name: str) -> Check:
    return next(each for each in found.checks if each.name == name)


def names(checks: list[Check]) -> set[str]:
    return {each.name for each in checks}


def test_a_revision_that_filters_every_record_is_rolled_back_without_the_whole_window() -> None:
    found = judged(ALL, NONE, seconds=2)
    assert found.conclusion is Conclusion.ROLL_BACK
    assert names(found.breaches) == OUTCOME_RULES


@pytest.mark.parametrize("read", [1, JUDGED_RECORDS - 1, JUDGED_RECORDS, CERTAIN_RECORDS - 1])
def test_a_few_records_without_a_delivered_one_have_the_window_and_are_not_committed(read: int) -> None:
    few = of(main=counts(read, 0, by=read))
    within = judged(ALL, few, seconds=59)
    assert within.conclusion is Conclusion.WAIT
    assert check(within, "delivering").waits is (read < JUDGED_RECORDS)
    assert judged(ALL, few).conclusion is Conclusion.ROLL_BACK


def test_nothing_delivered_never_holds_even_where_it_was_predicted() -> None:
    found = judged(NONE, NONE)
    assert names(found.breaches) == {"delivering"}
    assert found.conclusion is Conclusion.ROLL_BACK


@pytest.mark.parametrize(
    ("lag", "seconds", "conclusion"),
    [
        (0, 10, Conclusion.WAIT),
        (0, 60, Conclusion.ASK),
        (10, 60, Conclusion.WAIT),
        (10, 60 + FIRST_RESULT_SECONDS, Conclusion.ASK),
    ],
)
def test_without_a_record_the_outcome_is_neither_good_nor_bad_and_a_user_decides(
    lag: int, seconds: float, conclusion: Conclusion
) -> None:
    """Where there are records to read, the first batch of the new side is waited for."""
    found = judged(ALL, of(main=counts(0, 0)), seconds=seconds, lag=lag)
    assert found.conclusion is conclusion
    assert check(found, "delivering").waits
    assert not check(found, "delivering").holds
    assert not found.breaches


def test_a_source_without_records_keeps_no_migration_that_leaves_the_definition_as_it_is() -> None:
    assert judged(ALL, Outcome(), changed=False).conclusion is Conclusion.COMMIT


def test_what_is_as_expected_is_committed() -> None:
    found = judged(ALL, of(main=counts(5000, 4990, by=10)))
    assert found.conclusion is Conclusion.COMMIT
    assert names(found.checks) >= OUTCOME_RULES


def test_within_the_window_a_few_records_are_not_judged() -> None:
    found = judged(ALL, of(main=counts(50, 1, by=49)), seconds=10)
    assert {each.name for each in found.waiting} == OUTCOME_RULES - {"delivering"}
    assert found.conclusion is Conclusion.WAIT


@pytest.mark.parametrize(
    ("filtered_before", "filtered_now", "holds"),
    [
        (0, 4000, True),
        (0, 6000, False),
        (9000, 9400, True),
        (9000, 9700, False),  # of those that were left, more than half are filtered besides
        (9000, 5000, True),
        (9000, 4000, False),  # a filter that lets through what it kept
    ],
)
def test_the_share_that_a_component_filters_stays_within_its_band(
    filtered_before: int, filtered_now: int, holds: bool
) -> None:
    wanted = of(main=counts(10_000, 10_000 - filtered_before, by=filtered_before))
    found = judged(wanted, of(main=counts(10_000, 10_000 - filtered_now, by=filtered_now)))
    seen = check(found, "filtered_share")
    assert (seen.holds, seen.component) == (holds, FILTER)


def test_records_that_are_split_more_often_than_expected_break_the_output_rate_alone() -> None:
    wanted = of(main=counts(1000, 2000, added=1000))
    found = judged(wanted, of(main=counts(1000, 100_000, added=99_000)))
    assert names(found.breaches) == {"output_rate"}
    assert check(found, "output_rate").after == pytest.approx(100_000 / 60, abs=0.1)


def sized(read: int, size: int, sized: int | None = None) -> ChannelOutcome:
    """All is delivered, with so many bytes in each body."""
    known = read if sized is None else sized
    return counts(read, read).model_copy(update={"size": size * known, "sized": known})


@pytest.mark.parametrize(
    ("size", "holds"), [(0, False), (90, False), (105, True), (200, True), (395, True), (430, False)]
)
def test_the_size_of_bodies_stays_within_its_band(size: int, holds: bool) -> None:
    found = judged(of(main=sized(100_000, 200)), of(main=sized(100_000, size)))
    assert check(found, "record_size").holds is holds
    assert names(found.breaches) == (set() if holds else {"record_size"})
    assert found.conclusion is (Conclusion.COMMIT if holds else Conclusion.ROLL_BACK)


def test_bodies_of_different_channels_are_compared_with_their_own() -> None:
    """The one with small bodies is ahead, so that the mean of both is below what was expected of them together."""
    wanted = of(main=sized(1000, 1000), audit=sized(1000, 10))
    assert check(judged(wanted, of(main=sized(200, 1000), audit=sized(9000, 10))), "record_size").holds


def test_bodies_of_which_the_size_is_not_known_are_not_compared() -> None:
    for wanted, found in [(ALL, of(main=sized(900, 5))), (of(main=sized(900, 200)), ALL)]:
        assert "record_size" not in names(judged(wanted, found).checks)
    assert check(judged(of(main=sized(1000, 200, sized=1)), of(main=sized(900, 200))), "record_size").holds


def test_what_bodies_were_like_says_nothing_of_those_that_another_interceptor_makes() -> None:
    before = Outcome(sources={name: {"main": sized(10, 200)} for name in ("shop", "pos")})
    made = expected(before, Outcome(), ["sources.shop.interceptors[1]"]).outcome
    assert [made.sources[name]["main"].sized for name in ("shop", "pos")] == [0, 10]


def test_channels_that_have_come_differently_far_are_compared_by_their_own_records() -> None:
    wanted = of(big=counts(1000, 900), small=counts(1000, 100))
    behind = of(big=counts(100, 90), small=counts(5000, 500))
    seen = outcomes.delivered(wanted, behind)
    assert (round(seen.expected), seen.found, seen.of) == (590, 590, 5100)


def test_records_that_nobody_has_counted_by_component_are_not_compared_by_it() -> None:
    old = of(main=ChannelOutcome(read=100, events=100, delivered=10, filtered={"": 90}))
    assert outcomes.filtered(old, of(main=counts(100, 10, by=90))) == {}


def test_a_band_of_zero_compares_nothing_and_a_window_of_zero_observes_nothing() -> None:
    assert names(judged(ALL, NONE, rules=ObservationRules(outcome_band=0)).breaches) == {"delivering"}
    found = judged(ALL, NONE, rules=ObservationRules(window=0))
    assert not OUTCOME_RULES & names(found.checks)


def test_of_a_paused_pipeline_no_outcome_is_judged() -> None:
    assert not OUTCOME_RULES & names(judged(ALL, Outcome(), flows=False).checks)


def test_only_what_was_counted_since_is_judged_after_another_try() -> None:
    assert of(main=counts(1500, 400, by=1100)).since(of(main=counts(1000, 0, by=1000))) == of(
        main=counts(500, 400, by=100)
    )


def revision(*interceptors: dict[str, Any]) -> Definition:
    data = definition_data("orders")
    found = validate_data({**data, "sources": {"shop": {**data["sources"]["shop"], "interceptors": [*interceptors]}}})
    assert found.definition is not None, found.findings
    return found.definition


def test_what_an_interceptor_has_filtered_says_nothing_of_another_one_at_its_place() -> None:
    keep = {"type": "regex_filter", "regex": "a", "exclude_events": True}
    old, new = revision(keep, keep), revision(keep, {**keep, "regex": "b"}, keep)
    paths = changed_interceptors(old, new)
    assert paths == ["sources.shop.interceptors[1]", "sources.shop.interceptors[2]"]
    before = of(main=ChannelOutcome(read=9, events=9, filtered={FILTER: 4, paths[0]: 5}))
    made = expected(before, Outcome(), paths)
    assert made.outcome.sources["shop"]["main"].filtered == {FILTER: 4}


def test_a_prediction_comes_before_the_last_hour_of_the_same_source() -> None:
    other = Outcome(sources={"shop": ALL.sources["shop"], "pos": NONE.sources["shop"]})
    made = expected(other, NONE, [])
    assert made.predicted == {"shop"}
    assert made.outcome.sources == {"shop": NONE.sources["shop"], "pos": NONE.sources["shop"]}


shares = st.floats(0, 1)
numbers = st.integers(1, 10**6)


@given(before=numbers, now=numbers, share=shares, band=st.floats(0.01, 1))
def test_the_same_shares_hold_whatever_the_numbers_are(before: int, now: int, share: float, band: float) -> None:
    wanted, found = (
        of(main=counts(number, kept := round(number * share), by=number - kept)) for number in (before, now)
    )
    exact = abs(round(before * share) / before - round(now * share) / now) < 0.1 / max(before, now) ** 0.5
    breached = names(judged(wanted, found, rules=ObservationRules(outcome_band=band)).breaches)
    assert not exact or breached <= {"delivering"}


@given(before=numbers, now=numbers, share=shares, band=st.floats(0, 1), seconds=st.floats(0, 120))
def test_nothing_delivered_is_never_committed(before: int, now: int, share: float, band: float, seconds: float) -> None:
    wanted = of(main=counts(before, round(before * share)))
    found = judged(wanted, of(main=counts(now, 0, by=now)), seconds, ObservationRules(window=60, outcome_band=band))
    assert found.conclusion is not Conclusion.COMMIT


@given(st.lists(st.tuples(numbers, numbers), min_size=1, max_size=5))
def test_what_was_counted_since_nothing_is_everything(rows: list[tuple[int, int]]) -> None:
    found = of(**{f"c{number}": counts(read, kept) for number, (read, kept) in enumerate(rows)})
    assert found.since(Outcome()) == found
    assert found.since(found).read == found.since(found).delivered == 0
