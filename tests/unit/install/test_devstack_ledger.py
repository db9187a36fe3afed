from __future__ import annotations

from dataclasses import replace

import pytest

from controlplane.devstack.ledger import LedgerTotals, Readback, read_back
from controlplane.devstack.records import body, is_noise, number_of

PRODUCED = 100
KEPT = [number for number in range(PRODUCED) if not is_noise(number)]
GOOD = LedgerTotals(
    produced=PRODUCED,
    summary={"read": 100, "delivered": 95, "filtered": 5, "duplicates_max": 0, "balanced": True},
    sink=Readback(records=95, missing=0, duplicates=0, foreign=0),
    restarts=1,
    pause_still=True,
    processes_left=0,
    first_record=4.2,
)


def test_a_kept_record_carries_its_number() -> None:
    assert [number_of(body(number)) for number in KEPT] == KEPT


def test_a_whole_sink_has_nothing_missing_doubled_or_foreign() -> None:
    found = read_back((body(number) for number in KEPT), PRODUCED)
    assert found == Readback(records=95, missing=0, duplicates=0, foreign=0)


def test_missing_doubled_and_foreign_records_are_counted_apart() -> None:
    bodies = [body(number) for number in KEPT[2:]] + [body(KEPT[5])] * 3
    bodies += [body(0), b"garbage", b'"text"', body(PRODUCED + 1)]
    found = read_back(bodies, PRODUCED)
    assert found == Readback(records=100, missing=2, duplicates=3, foreign=4)


def test_good_books_have_no_problem() -> None:
    assert list(GOOD.problems()) == []


@pytest.mark.parametrize(
    ("totals", "words"),
    [
        (replace(GOOD, sink=replace(GOOD.sink, missing=3)), "3 records are missing"),
        (replace(GOOD, sink=replace(GOOD.sink, duplicates=1)), "1 duplicates, and the ledger has at most 0"),
        (replace(GOOD, sink=replace(GOOD.sink, foreign=2)), "2 records of the sink should not be there"),
        (replace(GOOD, summary=GOOD.summary | {"balanced": False}), "is unbalanced"),
        (replace(GOOD, summary=GOOD.summary | {"read": 99}), "100 records were produced and 99 read"),
        (replace(GOOD, pause_still=False), "moved during the pause"),
        (replace(GOOD, restarts=0), "was not started again"),
        (replace(GOOD, processes_left=2), "2 processes"),
        (replace(GOOD, first_record=None), "never delivered"),
    ],
)
def test_each_thing_that_must_not_be_is_said(totals: LedgerTotals, words: str) -> None:
    problems = list(totals.problems())
    assert len(problems) == 1
    assert words in problems[0]


def test_announced_duplicates_are_no_problem() -> None:
    totals = replace(GOOD, sink=replace(GOOD.sink, duplicates=7), summary=GOOD.summary | {"duplicates_max": 7})
    assert list(totals.problems()) == []


def test_the_table_is_aligned() -> None:
    assert len({len(line) for line in GOOD.table().splitlines()}) == 1
