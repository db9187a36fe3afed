"""`headgate simulate`, as an operator runs it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

TIMEOUT = 300
PROJECT = Path(__file__).resolve().parents[2]


def simulate(directory: Path, *options: str) -> subprocess.CompletedProcess[str]:
    code = "from controlplane.cli.app import main; main()"
    return subprocess.run(
        [sys.executable, "-c", code, "simulate", *options],
        cwd=directory,
        env=os.environ | {"PYTHONPATH": str(PROJECT)},
        capture_output=True,
        text=True,
        timeout=TIMEOUT,
        check=False,
    )


def test_a_small_fleet_is_simulated_and_reported_and_leaves_nothing_behind(tmp_path: Path) -> None:
    ended = simulate(
        tmp_path, "--hosts", "3", "--pipelines", "3", "--lose", "1", "--rest", "1", "--out", "simulation.md"
    )
    assert ended.returncode == 0, ended.stderr[-3000:]
    page = (tmp_path / "simulation.md").read_text()
    assert "## Loss of hosts" in page
    assert "| pipelines | 3 |" in page
    assert "loss: begins" in ended.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["simulation.md"]


def test_a_fleet_that_would_have_no_host_left_is_refused(tmp_path: Path) -> None:
    ended = simulate(tmp_path, "--hosts", "3", "--lose", "2")
    assert ended.returncode == 2
    assert "Use --lose 1 or less" in ended.stderr
