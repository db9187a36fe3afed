"""The choices that a finding leaves: best first, with the reason; what means nothing is left out."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.domain.positions.choices import advice, choices, why
from pipelines.domain.positions.plan import Goal, PartitionSurvey, Survey

LEDGER, CHECKPOINT, GROUP, EARLIEST, LATEST = Goal.LEDGER, Goal.CHECKPOINT, Goal.GROUP, Goal.EARLIEST, Goal.LATEST

OF_OLD_LOG = "The log of in is new: positions of ledger and checkpoint are offsets of the old one."


def row(partition: int = 0, **known: Any) -> PartitionSurvey:
    fields = {"source": "shop", "channel": "lake", "topic": "in", "ledger": 100, "checkpoint": 100, "group": 100}
    return PartitionSurvey(**{**fields, "log_start": 0, "log_end": 300, **known}, partition=partition)


def survey(*rows: PartitionSurvey) -> Survey:
    return Survey(at=0, rows=list(rows))


@pytest.mark.parametrize(
    ("rows", "offered"),
    [
        ([row(group=90)], [LEDGER, CHECKPOINT, GROUP, EARLIEST, LATEST]),
        ([row(0), row(1, group=None)], [LEDGER, CHECKPOINT, EARLIEST, LATEST]),
        ([row(ledger=None, checkpoint=None, group=None)], [EARLIEST, LATEST]),
        ([row(ledger=60, group=None, codes=["LEDGER_BEHIND"])], [LEDGER, EARLIEST, CHECKPOINT, LATEST]),
        ([row(log_start=130, codes=["BELOW_LOG_START"])], [LEDGER, CHECKPOINT, EARLIEST, LATEST]),
        ([row(group=None, log_end=50_000, codes=["TOPIC_RECREATED"])], [EARLIEST, LATEST]),
        ([row(group=7, log_end=50_000, codes=["TOPIC_RECREATED"])], [EARLIEST, GROUP, LATEST]),
        ([row(group_ours=True, codes=["TOPIC_RECREATED"])], [EARLIEST, LATEST]),
        ([row(group=None, codes=["CLUSTER_CHANGED", "BEYOND_LOG_END"])], [EARLIEST, LATEST]),
        ([row(log_start=None, log_end=None, codes=["PARTITION_REMOVED"])], []),
    ],
)
def test_what_skips_least_is_first_and_what_means_nothing_is_left_out(
    rows: list[PartitionSurvey], offered: list[Goal]
) -> None:
    assert list(choices(survey(*rows))) == offered


def test_where_one_topic_of_two_was_created_again_the_unread_records_of_both_are_the_first_choice() -> None:
    found = survey(row(0), row(0, topic="new", group=None, log_end=50_000, codes=["TOPIC_RECREATED"]))
    made = choices(found)
    assert list(made) == [Goal.UNREAD, EARLIEST, LATEST]
    assert [(move.topic, move.new) for move in made[Goal.UNREAD].moves] == [("in", 100), ("new", 0)]
    assert (made[Goal.UNREAD].skip, made[Goal.UNREAD].replay) == (0, 0)


@pytest.mark.parametrize(
    ("known", "reason"),
    [
        ({}, "It skips no record and rereads none."),
        (
            {"ledger": 60, "group": None, "codes": ["LEDGER_BEHIND"]},
            "It skips no record and rereads 40 records, fewest of all such choices.",
        ),
        (
            {"log_start": 130, "codes": ["BELOW_LOG_START"]},
            "Every choice skips records: it skips the fewest, 30 records, of which 30 have expired, and rereads none.",
        ),
        (
            {"group": None, "codes": ["TOPIC_RECREATED"]},
            f"It skips no record and rereads none. {OF_OLD_LOG}",
        ),
    ],
)
def test_the_recommendation_says_why(known: dict[str, Any], reason: str) -> None:
    found = survey(row(**known))
    assert why(found, choices(found)) == reason


def test_advice_names_the_first_choice_and_then_the_others() -> None:
    found = survey(row(group=None, log_end=50_000, codes=["TOPIC_RECREATED"]))
    assert advice(found).startswith("Recommended: --to earliest. ")
    assert advice(found).endswith("Other choices: latest (skips 50000 records, rereads 0 records).")
    assert advice(None) == advice(survey()) == ""


places = st.none() | st.integers(0, 400)
CODES = st.sampled_from([[], ["TOPIC_RECREATED"], ["CLUSTER_CHANGED"], ["LEDGER_BEHIND"], ["BELOW_LOG_START"]])
known = st.fixed_dictionaries({"ledger": places, "checkpoint": places, "group": places, "codes": CODES})


@given(st.lists(known, min_size=1, max_size=4))
def test_no_later_choice_skips_less(found: list[dict[str, Any]]) -> None:
    made = list(choices(survey(*(row(number, **each) for number, each in enumerate(found)))).values())
    assert [(each.skip, each.replay) for each in made] == sorted((each.skip, each.replay) for each in made)
    assert made, "the beginning and the end of the log are always possible"
