"""The seed of whatever the tests choose at random: another one for each commit, one for all processes of a run."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

VARIABLE = "HEADGATE_TEST_SEED"
ROOT = Path(__file__).resolve().parent.parent


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Give hypothesis the seed; workers of this run inherit it."""
    config.option.hypothesis_seed = int(os.environ.setdefault(VARIABLE, of_the_commit(ROOT)))


def pytest_report_header() -> str:
    """How to run with the same examples again."""
    return f"seed: {VARIABLE}={os.environ[VARIABLE]}"


def of_the_commit(directory: Path) -> str:
    """The seed of what is checked out; 0 where git knows nothing of the directory."""
    try:
        head = subprocess.run(["git", "rev-parse", "HEAD"], cwd=directory, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return "0"
    return str(int(head.stdout[:8], 16))
