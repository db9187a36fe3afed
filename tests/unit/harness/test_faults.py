"""The table of faults: complete, and every test that it names exists."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.chaos.faults import FAULTS, ROOT, Fault, functions, in_order
from tests.chaos.report import rendered, result, write
from tests.chaos.running import Outcome, outcomes
from workers.crash_points import POINTS
from workers.crash_points import Fault as CrashFault

PROJECT = ROOT.parent


def test_every_fault_is_there_once_with_tests_or_a_reason() -> None:
    assert [fault.number for fault in FAULTS] == list(range(1, 85))
    assert [fault.number for fault in FAULTS if bool(fault.tests) == bool(fault.reason)] == []


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: str(fault.number))
def test_the_tests_of_a_fault_exist(fault: Fault) -> None:
    for test in fault.tests:
        file, _, name = test.partition("::")
        assert name in functions(PROJECT / file), test


def test_tests_run_in_the_order_in_which_they_are_written() -> None:
    file = "tests/chaos/test_kills_in_mid_stream.py"
    names = list(functions(PROJECT / file))
    ids = [f"{file}::{name}" for name in names]
    assert in_order(reversed(ids)) == ids


FAULT = Fault(7, "One | thing", ("tests/unit/a.py::test_a", "tests/unit/a.py::test_b"))


def test_a_row_sums_what_its_tests_told() -> None:
    outcomes = [
        Outcome("tests/unit/a.py::test_a[1]", True, 1.0, {"missing": 0, "duplicates": 3, "recovery_seconds": 2.04}),
        Outcome("tests/unit/a.py::test_a[2]", True, 1.0, {"tries": 5, "duplicates": 4, "recovery_seconds": 1.0}),
        Outcome("tests/unit/a.py::test_b", True),
        Outcome("tests/unit/a.py::test_bc", False),
    ]
    row = result(FAULT, outcomes)
    figures = (row["tries"], row["missing"], row["duplicates"], row["announced"], row["recovery_seconds"])
    assert figures == (7, 0, 7, None, 2.0)
    assert (row["passed"], row["failures"], row["shown_seconds"]) == (True, [], None)


def test_a_row_has_the_longest_time_until_all_was_shown() -> None:
    first, second = {"seconds until shown": 3.04}, {"seconds until the source is shown": 8.0, "seconds of a stop": 60.0}
    outcomes = [
        Outcome("tests/unit/a.py::test_a", True, 1.0, first),
        Outcome("tests/unit/a.py::test_b", True, 1.0, second),
    ]
    assert result(FAULT, outcomes)["shown_seconds"] == 8.0


def test_a_row_of_a_short_selection_says_so() -> None:
    outcomes = [Outcome(test, True) for test in FAULT.tests]
    assert rendered([result(FAULT, outcomes)], [1]).count("| passed |") == 1
    assert rendered([result(FAULT, outcomes, short=True)], [1]).count("| passed (short selection) |") == 1


def test_what_a_short_selection_skips_is_no_failure_and_no_try() -> None:
    skipped = [Outcome(test, False, why="takes minutes", skipped=True) for test in FAULT.tests]
    outcomes = [skipped[0], Outcome(FAULT.tests[1], True)]
    row = result(FAULT, outcomes, short=True)
    assert (row["passed"], row["tries"], row["failures"]) == (True, 1, [])
    assert result(FAULT, outcomes)["passed"] is False
    assert result(FAULT, skipped, short=True)["passed"] is False


def test_a_row_of_an_earlier_report_can_still_be_shown() -> None:
    row = result(FAULT, [Outcome(test, True) for test in FAULT.tests])
    del row["shown_seconds"], row["short"]
    assert "passed |" in rendered([row], [1])


def test_a_row_fails_with_a_test_that_failed_or_never_ran() -> None:
    row = result(FAULT, [Outcome("tests/unit/a.py::test_a", False, why="assert 1 == 2")])
    assert row["passed"] is False
    assert row["failures"] == ["tests/unit/a.py::test_a: assert 1 == 2", "tests/unit/a.py::test_b: not run"]


def test_a_single_row_takes_its_place_among_those_of_an_earlier_run(tmp_path: Path) -> None:
    report, page = tmp_path / "chaos.json", tmp_path / "chaos.md"
    first, second, third = (result(fault, []) for fault in FAULTS[:3])
    write([first, third], [1, 2], report, page)
    write([second, {**third, "tries": 9}], [1], report, page)
    content = json.loads(report.read_text())
    assert content["seeds"] == [1]
    assert [(row["fault"], row["tries"]) for row in content["results"]] == [(1, 0), (2, 0), (3, 9)]
    assert page.read_text() == rendered(content["results"], [1])


def test_a_test_that_was_begun_and_never_finished_has_failed(tmp_path: Path) -> None:
    record = tmp_path / "record.jsonl"
    passed = {"finished": "a", "passed": True, "seconds": 1.0, "figures": {"tries": 2}, "why": ""}
    error = {**passed, "finished": "b", "passed": False, "why": "left a process behind"}
    lines = [{"started": "a"}, passed, {"started": "b"}, {**passed, "finished": "b"}, error, {"started": "c"}]
    record.write_text("".join(json.dumps(line) + "\n" for line in lines) + '{"finished": "c", "pas')
    found = {each.node: (each.passed, each.why) for each in outcomes(record, "its session ended")}
    assert found == {"a": (True, ""), "b": (False, "left a process behind"), "c": (False, "its session ended")}


def test_every_crash_point_is_named_once_and_reached_somewhere() -> None:
    reached: list[str] = []
    for path in sorted((PROJECT / "workers").rglob("*.py")):
        reached += set(re.findall(r'crash_points\.reach\("([^"]+)"\)', path.read_text()))
    assert set(reached) == set(POINTS)


def test_a_crash_point_strikes_when_it_was_reached_so_often() -> None:
    fault = CrashFault.parse("agent.writing:3+0.25")
    assert fault.delay == 0.25
    assert [fault.reached(point) for point in ("agent.writing", "agent.done", "agent.writing")] == [False] * 3
    assert [fault.reached("agent.writing") for _ in range(2)] == [True, False]


@pytest.mark.parametrize("text", ["", "agent", "agent.nowhere", "agent.done:0", "agent.done+x", "agent.done:1:2"])
def test_a_fault_that_would_never_strike_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="HEADGATE_FAULT_AT"):
        CrashFault.parse(text)
