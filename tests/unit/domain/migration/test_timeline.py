"""The timeline of a migration: the pause is that of the report, and the sides never deliver at the same time."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.domain.base.states import MigrationStage
from pipelines.domain.migration.timeline.building import AgentRun, Facts, timeline
from pipelines.domain.migration.timeline.parts import Side, Timeline, TimelineSpan, Way, without_idle_time

START = datetime(2026, 3, 1, 12, tzinfo=UTC)
STAGES = {
    "prepare_standby": "PREFLIGHT",
    "shadow": "SHADOWING",
    "pause": "PAUSING",
    "prove_pause": "PAUSE_PROVEN",
    "end_old_run": "APPLYING",
    "check_standby": "READY_TO_CUT_OVER",
    "promote": "RESUMING",
    "observe": "VERIFYING",
}


def at(seconds: float) -> datetime:
    return START + timedelta(seconds=seconds)


def step(name: str, since: float | None, until: float | None = None, state: str = "", **more: Any) -> dict[str, Any]:
    found = state or ("done" if until is not None else "pending" if since is None else "running")
    return {
        "name": name,
        "stage": STAGES.get(name, "ROLLING_BACK"),
        "state": found,
        "intent_at": None if since is None else at(since).isoformat(),
        "done_at": None if until is None else at(until).isoformat(),
        **more,
    }


OLD = AgentRun(Side.OLD, 4, 3, "alpha", at(-900), at(-900), at(-890), at(24))
NEW = AgentRun(Side.NEW, 5, 4, "beta", at(1), at(25), at(27), None)
FORWARD = [
    step("prepare_standby", 0, 18),
    step("pause", 20, 21),
    step("prove_pause", 21, 22),
    step("end_old_run", 22, 24),
    step("check_standby", 24, 25),
    step("promote", 25, 27),
    step("observe", 27, 87),
]
BACK = [
    step("pause_new", 60, 61),
    step("end_new_run", 61, 64),
    step("restore", 64, 65),
    step("start_old", 65, 80),
]


def made(**more: Any) -> Timeline:
    given: dict[str, Any] = {
        "started_at": START,
        "ended_at": at(87),
        "now": at(3600),
        "log": FORWARD,
        "passed": [],
        "runs": [OLD, NEW],
        "deliveries": {Way.MIGRATION: without_idle_time(at(20.5), at(27), at(20), at(27))},
        "last_delivered_at": at(20.5),
        "has_delivered": True,
        "was_paused": False,
        "waits_for": None,
    }
    return timeline(Facts(**given | more))


def spans(found: Sequence[TimelineSpan]) -> list[tuple[float, float | None]]:
    return [(offset(each.since), None if each.until is None else offset(each.until)) for each in found]


def offset(moment: datetime) -> float:
    return (moment - START).total_seconds()


def delivering(found: Timeline) -> dict[int, list[tuple[float, float | None]]]:
    return {bar.run: spans(bar.delivering) for bar in found.bars}


def test_the_sides_deliver_before_and_after_the_pause_of_the_report() -> None:
    found = made()
    (pause,) = found.pauses
    assert (spans([pause]), pause.seconds, pause.measured, pause.way) == ([(20.5, 27)], 6.5, True, Way.MIGRATION)
    assert delivering(found) == {4: [(-890, 20.5)], 5: [(27, None)]}
    assert (offset(found.since), offset(found.until)) == (-43.5, 130.5)
    assert [(each.stage, each.seconds) for each in found.stages][:2] == [("PREFLIGHT", 20), ("PAUSING", 1)]


def test_a_short_migration_is_shown_with_half_a_minute_before_and_after() -> None:
    found = made(ended_at=at(40))
    assert (offset(found.since), offset(found.until)) == (-30, 70)


def test_a_long_migration_is_shown_with_no_more_than_ten_minutes_before_and_after() -> None:
    found = made(ended_at=at(86_400), now=at(90_000))
    assert (offset(found.since), offset(found.until)) == (-600, 87_000)


def test_what_is_under_way_has_open_ends() -> None:
    log = [*FORWARD[:3], step("end_old_run", 22), *(step(row["name"], None) for row in FORWARD[4:])]
    standby = AgentRun(Side.NEW, 5, 4, "beta", at(1), None, None, None)
    old = AgentRun(Side.OLD, 4, 3, "alpha", at(-900), at(-900), at(-890), None)
    found = made(ended_at=None, now=at(23), log=log, runs=[old, standby], deliveries={}, has_delivered=False)
    (pause,) = found.pauses
    assert (spans([pause]), pause.seconds, pause.measured) == ([(20.5, None)], None, False)
    assert delivering(found) == {4: [(-890, 20.5)], 5: []}
    assert spans(found.stages)[-1] == (22, None)
    assert offset(found.until) == 23


def test_one_that_is_given_up_before_its_pause_has_none() -> None:
    log = [step("prepare_standby", 0, 9, "failed"), *(step(row["name"], None, None, "skipped") for row in FORWARD[1:])]
    old = AgentRun(Side.OLD, 4, 3, "alpha", at(-900), at(-900), at(-890), None)
    nothing: dict[str, Any] = {"deliveries": {}, "has_delivered": False, "last_delivered_at": None}
    found = made(log=log, runs=[old], ended_at=at(10), **nothing)
    assert (found.pauses, delivering(found)) == ([], {4: [(-890, None)]})


def test_a_pause_that_the_old_agent_ends_itself_lies_between_steps() -> None:
    back = [step("resume_old", 40, 42), step("discard_standby", 42, 44)]
    log = [*FORWARD[:2], step("prove_pause", 21, 40, "failed"), *back]
    old = AgentRun(Side.OLD, 4, 3, "alpha", at(-900), at(-900), at(-890), None)
    found = made(log=log, runs=[old], ended_at=at(44), deliveries={}, has_delivered=False, last_delivered_at=None)
    (pause,) = found.pauses
    assert (spans([pause]), pause.seconds, pause.measured) == ([(21, 42)], 21, False)
    assert delivering(found) == {4: [(-890, 21), (42, None)]}


HEIR = AgentRun(Side.OLD, 6, 3, "alpha", at(66), at(66), at(79), None)


def test_one_that_is_rolled_back_has_a_second_pause() -> None:
    new = AgentRun(Side.NEW, 5, 4, "beta", at(1), at(25), at(27), at(64))
    log = [*FORWARD[:6], step("observe", 27, 60, "failed"), *BACK]
    pauses = {
        Way.MIGRATION: without_idle_time(at(20.5), at(27), at(20), at(27)),
        Way.ROLLBACK: without_idle_time(at(60.5), at(79), at(60), at(80)),
    }
    found = made(log=log, runs=[OLD, new, HEIR], deliveries=pauses)
    assert [(each.way, each.seconds) for each in found.pauses] == [(Way.MIGRATION, 6.5), (Way.ROLLBACK, 18.5)]
    assert delivering(found) == {4: [(-890, 20.5)], 5: [(27, 60.5)], 6: [(79, None)]}


def test_a_rollback_under_way_has_an_open_pause_of_its_own() -> None:
    new = AgentRun(Side.NEW, 5, 4, "beta", at(1), at(25), at(27), at(64))
    log = [*FORWARD[:6], step("observe", 27, 60, "failed"), *BACK[:3], step("start_old", 65)]
    found = made(log=log, runs=[OLD, new], ended_at=None, now=at(70))
    assert [(each.seconds, each.measured) for each in found.pauses] == [(6.5, True), (None, False)]
    assert delivering(found) == {4: [(-890, 20.5)], 5: [(27, 61)]}


def test_a_new_agent_that_has_delivered_nothing_stands_in_the_one_pause() -> None:
    new = AgentRun(Side.NEW, 5, 4, "beta", at(1), at(25), None, at(64))
    log = [*FORWARD[:5], step("promote", 25, 60, "failed"), step("observe", None, None, "skipped"), *BACK]
    until_heir = {Way.MIGRATION: without_idle_time(at(20.5), at(79), at(20), None)}
    found = made(log=log, runs=[OLD, new, HEIR], deliveries=until_heir, has_delivered=False)
    assert [each.seconds for each in found.pauses] == [58.5]
    assert delivering(found) == {4: [(-890, 20.5)], 5: [], 6: [(79, None)]}


def test_a_source_that_was_idle_makes_no_pause_longer() -> None:
    pause = without_idle_time(at(-3000), at(7200), at(20), at(27))
    found = made(deliveries={Way.MIGRATION: pause}, runs=[OLD, NEW])
    assert [each.seconds for each in found.pauses] == [7]
    assert delivering(found) == {4: [(-890, 20)], 5: [(27, None)]}


def test_a_pipeline_that_was_paused_before_has_no_pause_of_the_migration() -> None:
    assert made(was_paused=True).pauses == []


def test_without_an_old_run_there_is_the_new_one_alone() -> None:
    found = made(runs=[NEW], deliveries={}, last_delivered_at=None)
    assert delivering(found) == {5: [(27, None)]}
    assert [(spans([each]), each.measured) for each in found.pauses] == [([(21, 27)], False)]


def test_gates_have_the_time_that_was_waited() -> None:
    log = [
        *FORWARD[:3],
        step("end_old_run", 52, 54, held_at=at(22.5).isoformat()),
        *(step(row["name"], None) for row in FORWARD[4:]),
    ]
    passed = [{"stage": "APPLYING", "by": "ana", "at": at(52).isoformat()}]
    found = made(log=log, passed=passed, ended_at=None, now=at(60), waits_for=MigrationStage.READY_TO_CUT_OVER)
    assert [(each.stage, each.by, spans([each])) for each in found.gates] == [
        ("APPLYING", "ana", [(22.5, 52)]),
        ("READY_TO_CUT_OVER", "", [(54, None)]),
    ]


def test_the_gate_before_the_commit_is_waited_at_after_the_verification() -> None:
    found = made(ended_at=None, now=at(100), waits_for=MigrationStage.COMMITTED)
    assert [(each.stage, spans([each])) for each in found.gates] == [("COMMITTED", [(87, None)])]
    by_rules = [{"stage": "COMMITTED", "by": "rules", "at": at(87.5).isoformat()}]
    assert made(passed=by_rules).gates == []
    passed = [{"stage": "COMMITTED", "by": "ana", "at": at(95).isoformat()}]
    assert spans(made(passed=passed, ended_at=at(96)).gates) == [(87, 95)]


def test_a_gate_that_nobody_has_passed_ends_with_the_rollback() -> None:
    waited = step("end_old_run", None, None, "skipped", held_at=at(22).isoformat())
    log = [*FORWARD[:3], waited, step("resume_old", 3622, 3624)]
    found = made(log=log, ended_at=at(3624), deliveries={}, has_delivered=False)
    assert [(each.stage, each.by, spans([each])) for each in found.gates] == [("APPLYING", "", [(22, 3622)])]


def test_a_shadow_is_a_stage_of_the_timeline() -> None:
    log = [FORWARD[0], step("shadow", 18, 20), *FORWARD[1:]]
    assert [each.stage for each in made(log=log).stages][:3] == ["PREFLIGHT", "SHADOWING", "PAUSING"]


SECONDS = st.floats(min_value=0, max_value=600, allow_nan=False).map(lambda value: round(value, 3))


@given(st.lists(SECONDS, min_size=9, max_size=9), st.booleans(), st.booleans())
def test_nobody_delivers_in_a_pause_or_beside_another(lengths: list[float], back: bool, running: bool) -> None:
    """Runs that follow one another as the protocol has it, whatever each part takes."""
    moments = [sum(lengths[: place + 1]) for place in range(len(lengths))]
    asked, last, ended, promoted, first, asked_back, last_back, ended_back, first_back = moments
    runs = [
        AgentRun(Side.OLD, 1, 1, "alpha", at(-60), at(-60), at(-50), at(ended)),
        AgentRun(Side.NEW, 2, 2, "beta", at(0), at(promoted), at(first), at(ended_back) if back else None),
        *([AgentRun(Side.OLD, 3, 1, "alpha", at(ended_back), at(ended_back), at(first_back), None)] if back else []),
    ]
    log = [step("pause", asked, last), step("promote", promoted, first)]
    pauses = {Way.MIGRATION: without_idle_time(at(last), at(first), at(asked), at(first))}
    if back:
        log += [step("pause_new", asked_back, last_back), step("start_old", ended_back, first_back)]
        pauses[Way.ROLLBACK] = without_idle_time(at(last_back), at(first_back), at(asked_back), at(first_back))
    over = None if running else at(moments[-1])
    found = made(runs=runs, log=log, deliveries=pauses, ended_at=over, now=at(moments[-1] + 1))
    assert [each.seconds for each in found.pauses] == [
        pytest.approx(end - start, abs=0.001) for start, end in [(last, first), (last_back, first_back)][: 1 + back]
    ]
    known = [each for bar in found.bars for each in bar.delivering]
    times = sorted([*known, *found.pauses], key=lambda each: (each.since, each.until or at(1e6)))
    for before, after in pairwise(times):
        assert before.until is not None
        assert before.until <= after.since
    assert found.since <= START <= found.until
