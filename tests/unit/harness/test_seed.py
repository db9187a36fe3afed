"""Each commit is tested with other examples, and one variable brings the examples of a run back."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from hypothesis import core

from tests.chaos import extent
from tests.seed import VARIABLE, of_the_commit, pytest_report_header


def commit(directory: Path, text: str) -> None:
    author = ["-c", "user.name=ana", "-c", "user.email=ana@example.org"]
    command = ["git", *author, "commit", "--quiet", "--allow-empty", "--no-gpg-sign", "-m", text]
    subprocess.run(command, cwd=directory, check=True)


def test_each_commit_has_a_seed_of_its_own_and_keeps_it(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "--quiet"], cwd=tmp_path, check=True)
    commit(tmp_path, "one")
    first = of_the_commit(tmp_path)
    assert of_the_commit(tmp_path) == first
    commit(tmp_path, "two")
    assert of_the_commit(tmp_path) != first


def test_there_is_a_seed_where_there_is_no_repository(tmp_path: Path) -> None:
    assert of_the_commit(tmp_path) == "0"


def test_this_run_has_the_seed_that_its_header_names() -> None:
    assert pytest_report_header() == f"seed: {VARIABLE}={core.global_force_seed}"
    assert os.environ[VARIABLE] == str(core.global_force_seed)


def test_seeds_choose_every_instant_between_them(monkeypatch: pytest.MonkeyPatch) -> None:
    chosen: list[int] = []
    monkeypatch.setattr(extent, "WHOLE", False)
    for seed in range(5):
        monkeypatch.setenv(VARIABLE, str(seed))
        chosen += extent.sweep(18, 5)
    assert sorted(chosen) == list(range(18))


def test_of_few_cases_there_is_one_whatever_the_seed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(extent, "WHOLE", False)
    for seed in range(3):
        monkeypatch.setenv(VARIABLE, str(seed))
        assert extent.some("a", 2) == ["a"]


def test_the_whole_suite_has_every_case_whatever_the_seed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(extent, "WHOLE", True)
    assert extent.some("abcdefg", 3) == list("abcdefg")


@pytest.mark.parametrize(("seed", "whole", "left_out"), [("4", False, False), ("5", False, True), ("5", True, False)])
def test_what_runs_by_turns_has_its_seeds_and_the_whole_suite(
    monkeypatch: pytest.MonkeyPatch, seed: str, whole: bool, left_out: bool
) -> None:
    monkeypatch.setattr(extent, "WHOLE", whole)
    monkeypatch.setenv(VARIABLE, seed)
    assert extent.by_turns(0).args == (left_out,)
