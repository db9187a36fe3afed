"""Real workers against each other: one holder per pipeline at most, whoever is stopped or killed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.chaos.extent import WHOLE

PROJECT = Path(__file__).resolve().parents[2]
NAMESPACE = ["unshare", "--user", "--map-root-user", "--pid", "--fork", "--kill-child", "--mount-proc"]
PAIRS = 100 if WHOLE else 10
PATIENCE = 1800.0


def test_of_many_pairs_of_starts_each_pipeline_gets_one_holder_whoever_is_stopped_or_killed(tmp_path: Path) -> None:
    done = subprocess.run(
        [*NAMESPACE, sys.executable, "-m", "tests.chaos.race", str(tmp_path), str(PAIRS)],
        cwd=PROJECT,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert (done.returncode, done.stdout) == (0, "one holder at most, always\n"), done.stderr[-4000:]
