"""`python -m tests.on_postgres ARGUMENTS`: pytest with a PostgreSQL of its own as the control plane's database."""

from __future__ import annotations

import os
import subprocess
import sys

from tests.postgres import running_postgres


def main(arguments: list[str]) -> int:
    """Start the server, run pytest, say how that ended."""
    with running_postgres() as address:
        environment = {**os.environ, "HEADGATE_TEST_DATABASE_URL": address}
        return subprocess.run([sys.executable, "-m", "pytest", *arguments], env=environment, check=False).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
