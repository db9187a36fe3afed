"""`python -m controlplane.provision COMMAND`: what `make` calls once there is a virtual environment."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable

from controlplane.install.tools.errors import SetupError
from controlplane.install.tools.java import find_java
from controlplane.install.tools.paths import cache_dir
from controlplane.provision import setup, steps

CACHE_HINT = f"Downloads are kept in {cache_dir()}; HEADGATE_CACHE=/path/to/directory chooses another place."


def _npm(script: str) -> Callable[[], None]:
    def run() -> None:
        from controlplane.install.tools.frontend import FRONTEND
        from controlplane.install.tools.node import find_node

        find_node().npm("run", "--silent", script, cwd=FRONTEND, timeout=900)

    return run


def _lock_jars() -> None:
    from controlplane.install.tools.lock import write_lock

    write_lock(find_java())


COMMANDS: dict[str, tuple[str, Callable[[], str | None]]] = {
    "java": ("a Java that Spark runs on", setup.java),
    "jars": ("check and download the locked jars", setup.jars),
    "module": ("what agents have in their JVM beside Spark", setup.module),
    "archive": ("the start-up archive of the agents", setup.archive),
    "redis": ("a redis-server", setup.redis),
    "packages": ("what the dashboard is built from", setup.packages),
    "page": ("the dashboard", setup.page),
    "browser": ("a Chromium for the end-to-end tests", setup.browser),
    "postgres": ("a PostgreSQL server for the tests", setup.postgres),
    "lock-jars": ("maintainers: write jars.lock.json anew", _lock_jars),
    "check-frontend": ("types and lint of the dashboard", _npm("check")),
    "test-frontend": ("unit tests of the dashboard", _npm("test")),
    "format-frontend": ("format the dashboard", _npm("format")),
}


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m controlplane.provision", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("setup", help="everything that a checkout needs")
    for name, (summary, _) in COMMANDS.items():
        commands.add_parser(name, help=summary)
    command = parser.parse_args().command
    if command == "setup":
        return steps.run(setup.SETUP)
    try:
        outcome = COMMANDS[command][1]()
    except SetupError as error:
        print(f"\n{error}", file=sys.stderr)
        return 1
    except OSError as error:
        print(f"\n{error}\n  {CACHE_HINT}", file=sys.stderr)
        return 1
    if outcome:
        print(outcome)
    return 0


if __name__ == "__main__":
    sys.exit(main())
