"""A pid that is used again, for real: in a pid namespace of its own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[2]
NAMESPACE = ["unshare", "--user", "--map-root-user", "--pid", "--fork", "--mount-proc"]


def test_a_bystander_on_a_reused_pid_is_never_signalled() -> None:
    done = subprocess.run(
        [*NAMESPACE, sys.executable, "-m", "tests.contracts.reused_pid"],
        cwd=PROJECT,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert (done.returncode, done.stdout) == (0, "every bystander lives\n"), done.stderr
