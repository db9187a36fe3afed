"""System packages: installed where that needs nobody's leave (root on Debian or Ubuntu), else asked for by name."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Sequence

from controlplane.install.tools.errors import SetupError

TIMEOUT = 900.0


def can_install() -> bool:
    return os.geteuid() == 0 and shutil.which("apt-get") is not None


def install(*alternatives: str) -> None:
    """Install the first of these packages that the distribution has. Raises SetupError with the last complaint."""
    _apt("update", "-q")
    result = None
    for package in alternatives:
        result = _apt("install", "-y", "-q", "--no-install-recommends", package)
        if result.returncode == 0:
            return
    complaint = result.stderr.strip()[-500:] if result else ""
    raise SetupError(
        f"apt-get could not install {' or '.join(alternatives)}: {complaint}",
        f"Run `apt-get update && apt-get install {alternatives[0]}` and read its output.",
    )


def _apt(*arguments: str) -> subprocess.CompletedProcess[str]:
    command: Sequence[str] = ["apt-get", *arguments]
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    try:
        return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=TIMEOUT, check=False)
    except subprocess.TimeoutExpired as error:
        raise SetupError(
            f"{' '.join(command)} did not end within {TIMEOUT:.0f} s.", "Run it manually, then repeat."
        ) from error
