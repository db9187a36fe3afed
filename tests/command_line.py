"""The command line as a user runs it, against an installation that runs."""

from __future__ import annotations

import os
import subprocess
import sys


def headgate(url: str, token: str, *arguments: str) -> tuple[int, str]:
    """Its exit code and what it printed."""
    environment = {**os.environ, "HEADGATE_URL": url, "HEADGATE_TOKEN": token}
    code = "from controlplane.cli.app import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments],
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    return done.returncode, done.stdout + done.stderr
