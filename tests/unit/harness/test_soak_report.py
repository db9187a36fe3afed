"""The report of a soak: when a page was true, when all went well again, and what makes it fail."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests.chaos.soak.caretaker import decision, waits_for_its_user
from tests.chaos.soak.schedule import Strike
from tests.chaos.soak.summary import Report, Struck, Totals, document, is_well, merged, rows, text, timing

STRIKE = Strike(1, 0.0, "agent_halted", "orders", 15.0, 0.5)
STRUCK = Struck(STRIKE, 100.0, 115.0)
WELL = Totals("orders", 1000, 0, 5, 5, 0, 2, 2, True)
DISAGREEMENT = {"pipeline": "orders", "disagreement": "agent_dead", "since": 104.0, "seconds": 11.0, "detail": "dead"}


def look(at: float, phase: str = "RUNNING", *alerts: str, name: str = "orders", **more: Any) -> dict[str, Any]:
    shown = {"phase": phase, "supervised": True, "refused": "", "alerts": list(alerts)} | more.pop("shown", {})
    measured = {"healthy": True, "still": 0.0, "source": True, "sink": True, "records": 1} | more
    return {"at": at, "pipeline": name, "shown": shown, "measured": measured, "found": {}}


LOOKS = [
    look(99.0, "RUNNING", "agent_crashed"),
    look(102.0, "RUNNING", "agent_crashed"),
    look(106.0, "UNKNOWN", "agent_crashed"),
    look(108.0, "UNKNOWN", "agent_crashed", "unknown"),
    look(116.0, "UNKNOWN", "unknown"),
    look(118.0, "RUNNING", still=4.0),
    look(121.0),
]


def test_a_strike_has_the_seconds_until_it_is_shown_and_until_all_is_well() -> None:
    assert timing(STRUCK, 120.0, LOOKS) == {"shown": 6.0, "alert": 8.0, "recovered": 6.0}


def test_what_comes_after_the_next_strike_is_not_of_this_one() -> None:
    assert timing(STRUCK, 105.0, LOOKS) == {"shown": None, "alert": None, "recovered": 6.0}


def test_a_strike_at_all_has_the_seconds_of_the_slowest() -> None:
    others = [look(99.0, name="carts"), look(103.0, "UNKNOWN", name="carts"), look(130.0, name="carts")]
    everything = sorted([*LOOKS, *others], key=lambda each: each["at"])
    shared = replace(STRUCK, strike=replace(STRIKE, pipeline=""))
    assert timing(shared, 120.0, everything) == {"shown": 6.0, "alert": 8.0, "recovered": 15.0}


@pytest.mark.parametrize(
    "unwell",
    [
        look(1.0, "DEGRADED"),
        look(1.0, shown={"supervised": False}),
        look(1.0, healthy=False),
        look(1.0, still=2.0),
        {**look(1.0), "shown": None},
    ],
)
def test_only_what_runs_and_is_shown_so_is_well(unwell: dict[str, Any]) -> None:
    assert not is_well(unwell)
    assert is_well(look(1.0))


def report(**changes: Any) -> Report:
    given: dict[str, Any] = {"struck": [STRUCK], "looks": LOOKS, "totals": [WELL], **changes}
    return Report(seed=7, seconds=40.0, every=20.0, **given)


def test_a_soak_without_problems_passes() -> None:
    assert report().problems() == []
    assert document(report())["passed"] is True
    assert "FAILED" not in text(report())


BAD: list[dict[str, Any]] = [
    {"missing": 1},
    {"doubled": 6},
    {"foreign": 1},
    {"dead_lettered": 1},
    {"balanced": False},
    {"alerts": ["unknown"]},
    {"trouble": "it does not run"},
]


@pytest.mark.parametrize("changes", BAD, ids=lambda each: next(iter(each)))
def test_whatever_is_wrong_with_the_numbers_fails_it(changes: dict[str, Any]) -> None:
    found = report(totals=[WELL, replace(WELL, pipeline="carts", **changes)])
    (problem,) = found.problems()
    assert problem.startswith("carts: ")
    assert "FAILED" in text(found)
    assert document(found)["passed"] is False


def test_a_disagreement_fails_it() -> None:
    (problem,) = report(disagreements=[DISAGREEMENT]).problems()
    assert problem == "orders: agent_dead for 11.0 s: dead"


def test_an_observer_that_never_looked_fails_it() -> None:
    assert report(looks=[]).problems() == ["the observer has not looked"]


def test_an_observer_that_cannot_read_topics_that_answer_fails_it() -> None:
    def seen(*blind: int, **more: Any) -> list[str]:
        looks = [look(float(n), records=None if n in blind else 1, **(more if n in blind else {})) for n in range(60)]
        return Report(1, 60.0, 20.0, [], looks, [WELL]).problems()

    assert seen(*range(10, 40)) == []
    assert seen(*range(10, 42)) == ["orders: the observer did not read the topics for 31 s"]
    assert seen(*range(10, 55), sink=False) == []


def test_a_disagreement_that_was_written_twice_is_one() -> None:
    later = {**DISAGREEMENT, "seconds": 30.0}
    other = {**DISAGREEMENT, "since": 90.0}
    assert merged([DISAGREEMENT, other, later]) == [other, later]


def test_a_fault_that_could_not_be_done_says_why() -> None:
    (row,) = rows(report(struck=[replace(STRUCK, skipped="no agent lives")]))
    assert row["skipped"] == "no agent lives"
    assert "shown" not in row
    assert "not done: no agent lives" in text(report(struck=[replace(STRUCK, skipped="no agent lives")]))


STATUS: dict[str, Any] = {"phase": "RUNNING", "desired_state": "RUNNING", "operation": None, "choices": []}
WAITING: list[tuple[dict[str, Any], str | None]] = [
    ({}, None),
    ({"phase": "PAUSED", "desired_state": "PAUSED"}, "resume"),
    ({"phase": "PAUSED", "operation": {}}, None),
    ({"phase": "STOPPED", "desired_state": "STOPPED"}, "start"),
    ({"phase": "BLOCKED"}, "start"),
    ({"phase": "FAILED"}, "start"),
    ({"phase": "BACKOFF"}, None),
    ({"phase": "UNKNOWN"}, None),
]


@pytest.mark.parametrize(("changes", "action"), WAITING)
def test_the_user_lets_run_what_waits_for_one(changes: dict[str, Any], action: str | None) -> None:
    assert waits_for_its_user(STATUS | changes) == action


def test_the_user_decides_as_the_page_recommends() -> None:
    choices = [{"to": "earliest", "recommended": False}, {"to": "unread", "recommended": True}]
    blocked = STATUS | {"phase": "BLOCKED"}
    assert decision(blocked | {"choices": choices}, 1) == "unread"
    assert decision(blocked, 1) is None
    assert decision(blocked, 2) == "ledger"
    assert decision(STATUS | {"phase": "STOPPED"}, 2) is None
