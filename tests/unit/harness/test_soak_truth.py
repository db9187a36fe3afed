"""Every kind of disagreement between a page and the measurement is found, and a page that is true has none."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.chaos.soak.truth import Agent, Judge, Kind, Measured, Patience, Shown, disagreements, steady

SLACK = 1000
AGENT = Agent("orders/7", driver=True, complete=True, halted=False)
HALTED = replace(AGENT, halted=True)
RUNS = Shown(
    phase="RUNNING",
    desired="RUNNING",
    conditions={"Stable": "True", "LedgerBalanced": "True", "PositionsSafe": "True", "Supervised": "True"},
    lag=20,
    read=900,
    delivered=800,
    positions={0: 500, 1: 400},
)
WELL = Measured(agents=(AGENT,), ends=920, committed=900, records=805, lost=0)
CASES: list[tuple[Kind, dict[str, Any], dict[str, Any]]] = [
    (Kind.AGENT_DEAD, {}, {"agents": ()}),
    (Kind.AGENT_DEAD, {"alerts": frozenset({"agent_crashed"})}, {"agents": ()}),
    (Kind.AGENT_DEAD, {"phase": "PAUSED", "desired": "PAUSED"}, {"agents": (replace(AGENT, driver=False),)}),
    (Kind.AGENT_HALTED, {}, {"agents": (HALTED,)}),
    (Kind.DIRECTORY_GONE, {}, {"whole": False}),
    (Kind.SOURCE_AWAY, {}, {"source": False}),
    (Kind.SINK_AWAY, {}, {"sink": False}),
    (Kind.STILL_ALIVE, {"phase": "STOPPED", "desired": "STOPPED"}, {}),
    (Kind.STILL_ALIVE, {"phase": "BLOCKED"}, {}),
    (Kind.TWO_AGENTS, {}, {"agents": (AGENT, replace(AGENT, run="orders/8"))}),
    (Kind.TWO_AGENTS, {"supervised": False}, {"agents": (AGENT, replace(AGENT, run="orders/8"))}),
    (Kind.WORKER_AWAY, {}, {"worker": False}),
    (Kind.WORKER_THERE, {"supervised": False, "conditions": {}}, {}),
    (Kind.TOTALS, {"delivered": 806}, {}),
    (Kind.TOTALS, {"positions": {0: 500, 1: 421}}, {}),
    (Kind.MISSING, {}, {"lost": 1}),
    (Kind.LAG, {"lag": 0}, {"ends": 2901}),
    (Kind.LAG, {"lag": 3000}, {}),
    (Kind.CONTRADICTION, {"phase": "BLOCKED"}, {"agents": ()}),
    (Kind.CONTRADICTION, {"balanced": False}, {}),
    (Kind.CONTRADICTION, {"supervised": False}, {"worker": False}),
    (Kind.STANDS_STILL, {}, {"still": 2.0}),
    (Kind.ALERT_AFTER_RECOVERY, {"alerts": frozenset({"unknown"})}, {}),
    (Kind.PHASE_AFTER_RECOVERY, {"phase": "DEGRADED"}, {}),
    (Kind.UNAVAILABLE, {"refused": "database_unavailable"}, {}),
]


@pytest.mark.parametrize(("kind", "shown", "measured"), CASES, ids=lambda each: str(each))
def test_each_kind_is_found(kind: Kind, shown: dict[str, Any], measured: dict[str, Any]) -> None:
    assert kind in disagreements(replace(RUNS, **shown), replace(WELL, **measured), SLACK)


def test_an_api_without_an_answer_is_found() -> None:
    assert set(disagreements(None, WELL, SLACK)) == {Kind.NO_ANSWER}


def test_every_kind_has_a_case() -> None:
    assert {kind for kind, *_ in CASES} | {Kind.NO_ANSWER} == set(Kind)


TRUE: list[tuple[str, Shown | None, Measured]] = [
    ("all is well", RUNS, WELL),
    ("nothing could be measured", RUNS, replace(WELL, ends=None, committed=None, records=None, lost=None)),
    ("the web server is dead", None, replace(WELL, web=False)),
    ("the database is locked", replace(RUNS, refused="database_unavailable"), replace(WELL, database=False)),
    ("an agent is dead and the page waits", replace(RUNS, phase="BACKOFF", conditions={}), replace(WELL, agents=())),
    ("halted and unknown", replace(RUNS, phase="UNKNOWN", conditions={}), replace(WELL, agents=(HALTED,))),
    ("the sink is away and it is known", replace(RUNS, phase="DEGRADED"), replace(WELL, sink=False)),
    (
        "nobody watches, and the page says so",
        replace(RUNS, supervised=False, conditions={"Supervised": "False"}),
        replace(WELL, worker=False, agents=()),
    ),
    (
        "records were reread, and it is said",
        replace(RUNS, balanced=False, conditions={"LedgerBalanced": "True", "PositionsSafe": "False"}),
        WELL,
    ),
    ("unbalanced and missing", replace(RUNS, balanced=False, conditions={}), replace(WELL, lost=3)),
    ("a crash of a moment ago", replace(RUNS, alerts=frozenset({"agent_crashed"})), WELL),
    ("paused with a lag", replace(RUNS, phase="PAUSED", desired="PAUSED", lag=None), replace(WELL, still=60.0)),
    ("at the end of the log", RUNS, replace(WELL, still=60.0, committed=920)),
]


@pytest.mark.parametrize(("shown", "measured"), [case[1:] for case in TRUE], ids=[case[0] for case in TRUE])
def test_what_is_true_is_not_found(shown: Shown | None, measured: Measured) -> None:
    assert disagreements(shown, measured, SLACK) == {}


def test_trouble_that_came_or_went_during_the_question_says_nothing() -> None:
    trouble = Measured(agents=(HALTED,), whole=False, source=False, sink=False, worker=False, web=False, database=False)
    assert steady(trouble, WELL) == WELL
    assert replace(steady(WELL, trouble), ends=920, committed=900, records=805, lost=0) == WELL
    assert steady(trouble, trouble) == trouble


def test_counts_are_those_after_the_question() -> None:
    assert steady(WELL, replace(WELL, records=900)).records == 900


def test_an_agent_that_died_or_came_during_the_question_is_not_there() -> None:
    assert steady(WELL, replace(WELL, agents=())).agents == ()
    assert steady(replace(WELL, agents=()), WELL).agents == ()


FOUND = {Kind.AGENT_DEAD: "dead"}


def test_a_disagreement_counts_when_it_outlasts_its_patience_and_is_told_with_its_end() -> None:
    judge = Judge(Patience(usual=10.0))
    told = {at: judge.look("orders", FOUND, at) for at in (0.0, 4.0, 8.0, 10.0, 12.0)}
    assert {at: [each.kind for each in found] for at, found in told.items() if found} == {10.0: [Kind.AGENT_DEAD]}
    (ended,) = judge.look("orders", {}, 14.0)
    assert (ended.since, ended.until, ended.seconds) == (0.0, 12.0, 12.0)
    assert judge.look("orders", {}, 16.0) == []


def test_one_that_ends_in_time_is_none() -> None:
    judge = Judge()
    assert [judge.look("orders", FOUND if at < 9 else {}, float(at)) for at in range(0, 30, 2)] == [[]] * 15


def test_what_was_not_looked_at_was_not_seen_to_last() -> None:
    judge = Judge(Patience(usual=10.0), break_after=5.0)
    assert [judge.look("orders", FOUND, at) for at in (0.0, 4.0, 12.0, 16.0, 20.0)] == [[]] * 5
    assert judge.look("orders", FOUND, 22.0) != []


def test_pipelines_are_judged_apart() -> None:
    judge = Judge()
    for at in range(0, 10, 2):
        assert judge.look("orders", FOUND if at % 4 else {}, float(at)) == []
        assert judge.look("carts", FOUND if at % 4 == 0 else {}, float(at)) == []


def test_records_that_are_not_in_the_sink_have_no_moment_of_grace() -> None:
    assert [each.kind for each in Judge().look("orders", {Kind.MISSING: "3"}, 0.0)] == [Kind.MISSING]


@given(st.lists(st.booleans(), max_size=60), st.integers(1, 5))
def test_told_is_exactly_what_lasted(looks: list[bool], every: int) -> None:
    judge, lasted, told, expected = Judge(Patience(usual=10.0)), 0, 0, 0
    for number, found in enumerate(looks):
        told += len([each for each in judge.look("orders", FOUND if found else {}, float(number * every)) if found])
        lasted = lasted + 1 if found else 0
        expected += found and (lasted - 1) * every >= 10 and (lasted - 2) * every < 10
    assert told == expected
