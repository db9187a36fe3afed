"""`make test` runs every test module of the project, and each of them has something in the short selection."""

from __future__ import annotations

import ast
import os
import shlex
import subprocess
from pathlib import Path

from tests.chaos.faults import FAULTS, ROOT, functions

PROJECT = ROOT.parent
MODULES = sorted(ROOT.rglob("test_*.py"))
SEEDS = ROOT / "unit" / "harness" / "test_seed.py"
LEAVE_OUT = {"--ignore", "--ignore-glob", "--deselect", "-k", "-m"}
MARK = "whole_only"
TURNS = "by_turns"
GIVEN_TO_MAKE = {"MAKEFLAGS", "MFLAGS", "TURNS"}
"""Of a `make` that runs this test."""


def sessions(*variables: str) -> list[list[str]]:
    """What pytest is told by each command of `make test` with these variables."""
    environment = {name: value for name, value in os.environ.items() if name not in GIVEN_TO_MAKE}
    words = ["make", "--dry-run", "test", *variables]
    recipe = subprocess.run(words, cwd=PROJECT, env=environment, check=True, capture_output=True, text=True)
    commands = map(shlex.split, recipe.stdout.replace("\\\n", " ").splitlines())
    return [words[words.index("pytest") + 1 :] for words in commands if "pytest" in words]


def marked(*marks: str) -> dict[Path, set[str]]:
    """The tests that carry one of the marks, by their module. A function can be marked, and nothing else."""
    texts = {module: module.read_text() for module in MODULES if module not in {Path(__file__), SEEDS}}
    return {module: _marked(text, marks) for module, text in texts.items() if any(mark in text for mark in marks)}


def _marked(text: str, marks: tuple[str, ...]) -> set[str]:
    nodes = [
        node
        for node in ast.parse(text).body
        if any(mark in ast.unparse(node) for mark in marks) and not isinstance(node, ast.ImportFrom)
    ]
    assert [ast.unparse(node) for node in nodes if not isinstance(node, ast.FunctionDef)] == []
    return {node.name for node in nodes if isinstance(node, ast.FunctionDef)}


def test_every_module_is_below_a_path_that_make_test_runs() -> None:
    paths = [PROJECT / word for words in sessions() for word in words if word.startswith("tests/")]
    assert [path for path in paths if not path.exists()] == []
    assert [module for module in MODULES if not any(module.is_relative_to(path) for path in paths)] == []


def test_make_test_leaves_nothing_of_these_paths_out() -> None:
    options = {word.partition("=")[0] for words in sessions() for word in words}
    assert options & LEAVE_OUT == set()


def test_the_tests_of_stacks_and_agents_take_turns_unless_all_are_asked_for() -> None:
    assert [("--by-turns" in words, "tests/e2e" in words) for words in sessions()] == [(False, False), (True, True)]
    assert not any("--by-turns" in words for words in sessions("TURNS="))


def test_each_module_has_a_test_in_the_short_selection() -> None:
    """With every seed: what runs by turns does not count."""
    assert [module for module, names in marked(MARK, TURNS).items() if not functions(module).keys() - names] == []


def test_what_is_left_to_make_chaos_is_in_its_table() -> None:
    left = {f"{module.relative_to(PROJECT)}::{name}" for module, names in marked(MARK).items() for name in names}
    assert left - {test for fault in FAULTS for test in fault.tests} == set()
