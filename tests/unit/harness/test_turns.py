"""What `make test` leaves to other seeds: between all turns every test runs, and in each turn every module."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.seed import VARIABLE
from tests.turns import TIERS, TURNS, others

ROOT = Path(__file__).resolve().parents[3]
SEEDS = [turn << 16 for turn in range(TURNS)]
"""One for each turn."""
MODULES = {
    "tests/chaos/test_three.py": "def test_a(): pass\ndef test_b(): pass\ndef test_c(): pass",
    "tests/chaos/test_one.py": "def test_alone(): pass",
    "tests/e2e/test_left.py": "import pytest\n@pytest.mark.skipif(True, reason='minutes')\ndef test_long(): pass\n"
    "def test_short(): pass",
    "tests/agent/test_whole.py": "import pytest\n@pytest.fixture\ndef session(): pass\n"
    "def test_x(session): pass\ndef test_y(session): pass",
}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    for path, text in MODULES.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    (tmp_path / "pytest.ini").write_text("[pytest]")
    return tmp_path


def chosen(project: Path, seed: int, *options: str) -> set[str]:
    command = [sys.executable, "-m", "pytest", "-p", "tests.seed", "-p", "tests.turns", *options]
    own = {VARIABLE: str(seed), "PYTHONPATH": str(ROOT), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    words = [*command, "--collect-only", "-q"]
    done = subprocess.run(words, cwd=project, env=os.environ | own, check=True, capture_output=True, text=True)
    return {line for line in done.stdout.splitlines() if "::" in line}


def test_all_turns_have_all_tests_and_each_turn_all_modules(project: Path) -> None:
    turns = [chosen(project, seed, "--by-turns") for seed in SEEDS]
    for turn in turns:
        assert {test.partition("::")[0] for test in turn} == MODULES.keys()
        assert {"tests/agent/test_whole.py::test_x", "tests/agent/test_whole.py::test_y"} < turn
        assert {"tests/e2e/test_left.py::test_long", "tests/e2e/test_left.py::test_short"} < turn
    assert turns[0] != turns[1] != turns[2]
    assert set().union(*turns) == chosen(project, 0)


def test_without_the_option_nothing_is_left_out(project: Path) -> None:
    assert len(chosen(project, 0)) == 8


def test_the_cases_of_a_test_do_not_follow_its_turn(project: Path) -> None:
    """Else half of the cases of a test would never be seen."""
    assert chosen(project, 0, "--by-turns") == chosen(project, 1, "--by-turns")


def test_a_turn_has_every_third_test_and_one_at_least() -> None:
    assert [others(list("abcd"), turn) for turn in range(TURNS)] == [["b", "c"], ["a", "c", "d"], ["a", "b", "d"]]
    assert [others(list("ab"), turn) for turn in range(TURNS)] == [["b"], ["a"], ["b"]]
    assert [others(["a"], turn) for turn in range(TURNS)] == [[], [], []]


def test_the_tiers_that_take_turns_are_there() -> None:
    assert [tier for tier in TIERS if not list((ROOT / tier).glob("test_*.py"))] == []
