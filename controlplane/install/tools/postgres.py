"""PostgreSQL's server programs, for the tests of the sink that writes there."""

from __future__ import annotations

import shutil
from pathlib import Path

from controlplane.install.tools import apt
from controlplane.install.tools.errors import SetupError

PACKAGE = "postgresql"
_DEBIAN = Path("/usr/lib/postgresql")


def programs() -> Path:
    """The directory of initdb and postgres; Debian has one for each version. Raises SetupError where there is none."""
    on_path = shutil.which("initdb")
    if on_path:
        return Path(on_path).resolve().parent
    found = [path.parent for path in _DEBIAN.glob("*/bin/initdb")]
    if not found:
        raise SetupError(
            "The tests of the postgres sink need a PostgreSQL server, and there is none.",
            f"Debian and Ubuntu: sudo apt-get install -y {PACKAGE}",
        )
    return max(found, key=lambda path: int(path.parent.name.split(".")[0]))


def ensure() -> str:
    """Find the programs, or install them. Returns where they are; raises SetupError."""
    try:
        return str(programs())
    except SetupError:
        if not apt.can_install():
            raise
    apt.install(PACKAGE)
    return str(programs())
