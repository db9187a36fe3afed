"""The prediction of a plan: what has to be acknowledged, what is expected, and how that stands beside the outcome."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.domain.definitions.checks.validate import validate_data
from pipelines.domain.definitions.document.spec import Definition
from pipelines.domain.migration import prediction as predicting
from pipelines.domain.migration.outcome import ChannelOutcome, Outcome
from pipelines.domain.migration.prediction import Prediction, side_by_side, to_acknowledge
from pipelines.domain.preview import comparing
from pipelines.domain.preview.comparing import Totals
from pipelines.domain.preview.outcomes import Content, Origin
from pipelines.domain.preview.outcomes import Outcome as EventOutcome
from tests.factories import definition_data

FILTER = "sources.shop.interceptors[0]"


def totals(delivered: int, filtered: int = 0) -> Totals:
    return Totals(
        events=delivered + filtered,
        delivered=delivered,
        channels={"main": delivered},
        filtered={FILTER: filtered} if filtered else {},
        size=delivered * 100,
    )


def prediction(before: Totals, after: Totals, source: str = "shop") -> Prediction:
    return Prediction(source=source, preview=uuid4(), records=1000, before=before, after=after)


@pytest.mark.parametrize(
    ("before", "after", "number"),
    [(1000, 0, 1000), (1000, 499, 501), (1000, 500, None), (1000, 1000, None), (10, 900, None), (0, 0, None)],
)
def test_less_than_half_of_what_is_delivered_has_to_be_acknowledged(
    before: int, after: int, number: int | None
) -> None:
    found = prediction(totals(before, 1000 - before), totals(after, 1000 - after))
    assert to_acknowledge([found]) == number


def test_a_source_that_loses_most_is_not_made_good_by_another_one() -> None:
    lost, kept = prediction(totals(100), totals(0, 100)), prediction(totals(900), totals(900), "pos")
    assert to_acknowledge([lost, kept]) == 100


def test_what_is_not_predicted_says_why_and_needs_no_number() -> None:
    found = Prediction(source="shop", reason="the source has no records of the last 10 minutes")
    assert found.words == "Not predicted, because the source has no records of the last 10 minutes."
    assert to_acknowledge([found]) is None
    assert predicting.outcome([found]) == Outcome()


def test_an_empty_source_is_not_predicted() -> None:
    found = predicting.of_result("shop", uuid4(), {"records": 0, "before": None, "after": None})
    assert "no records" in found.reason


def test_a_plan_waits_for_previews_that_are_being_made() -> None:
    (finding,) = predicting.pending([Prediction(source="shop", pending=True), prediction(totals(1), totals(1))])
    assert (finding.path, finding.code) == ("sources.shop", "PREDICTING")


def revision(*interceptors: dict[str, Any], topic: str = "out") -> Definition:
    data = definition_data("orders")
    data["sinks"]["out"]["topic"] = topic
    found = validate_data({**data, "sources": {"shop": {**data["sources"]["shop"], "interceptors": [*interceptors]}}})
    assert found.definition is not None, found.findings
    return found.definition


def test_only_changes_of_what_becomes_of_records_are_previewed() -> None:
    drop = {"type": "regex_filter", "regex": "a", "exclude_events": True}
    assert predicting.unchanged(revision(drop), revision({**drop, "regex": "."}), "shop") == ""
    assert "as they are" in predicting.unchanged(revision(drop), revision(drop, topic="other"), "shop")
    renamed = revision().model_copy(update={"sources": {"pos": revision().sources["shop"]}})
    assert "does not have" in predicting.unchanged(revision(), renamed, "pos")


def event(number: int, component: str = "", **verdicts: str) -> EventOutcome:
    content = Content(None, (), b"body", 4, "digest")
    return EventOutcome(Origin("in", 0, number), verdicts, content, component)


def test_totals_count_events_and_what_every_channel_delivers() -> None:
    found = comparing.totals(
        [
            event(0, a="delivered", b="delivered"),
            event(1, a="routed_elsewhere", b="delivered"),
            event(2, FILTER, a="filtered", b="filtered"),
            event(3, FILTER, a="dead_lettered", b="routed_elsewhere"),
            event(4, "sources.shop.selector", a="unrouted", b="routed_elsewhere"),
        ]
    )
    assert found == Totals(
        events=5,
        delivered=2,
        channels={"a": 1, "b": 2},
        filtered={FILTER: 1},
        dead_letters=1,
        unrouted=1,
        size=12,
        sizes={"a": 4, "b": 8},
    )
    assert comparing.totals([event(0, FILTER, a="filtered")]).channels == {"a": 0}


def test_the_bytes_of_each_channel_are_expected_where_the_preview_has_them() -> None:
    after = totals(900, 100).model_copy(update={"channels": {"a": 9, "b": 2}, "sizes": {"a": 90}})
    channels = predicting.outcome([prediction(totals(1000), after)]).sources["shop"]
    assert [(each.size, each.sized) for each in channels.values()] == [(90, 9), (0, 0)]


def test_prediction_and_outcome_stand_side_by_side() -> None:
    own = ChannelOutcome(read=200, events=200, delivered=20, filtered={FILTER: 180}, size=480, sized=16)
    found = Outcome(sources={"shop": {"main": own}})
    rows = side_by_side([prediction(totals(1000), totals(900, 100))], Outcome(), found)
    assert {(row.figure, row.component): (row.present, row.predicted, row.found) for row in rows} == {
        ("delivered_share", ""): (1.0, 0.9, 0.1),
        ("filtered_share", FILTER): (0.0, 0.1, 0.9),
        ("output_per_record", ""): (1.0, 0.9, 0.1),
        ("bytes_per_output", ""): (100.0, 100.0, 30.0),
    }


def test_without_a_prediction_the_last_hour_stands_beside_the_outcome() -> None:
    before = Outcome(sources={"shop": {"main": ChannelOutcome(read=10, events=10, delivered=10)}})
    rows = side_by_side([Prediction(source="shop", reason="why")], before, Outcome())
    assert [(row.figure, row.present, row.predicted, row.found) for row in rows] == [
        ("delivered_share", 1.0, None, None),
        ("output_per_record", 1.0, None, None),
    ]


@given(st.integers(0, 10**6), st.integers(0, 10**6))
def test_the_number_is_that_of_the_records_which_are_lost(before: int, after: int) -> None:
    number = to_acknowledge([prediction(totals(before), totals(after))])
    assert number == (before - after if after * 2 < before else None)
