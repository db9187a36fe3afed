"""`python -m controlplane.provision COMMAND`: what `make` calls once there is a virtual environment."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable

from controlplane.provision import frontend, jars, lock, setup
from controlplane.provision.errors import SetupError
from controlplane.provision.java import find_java
from controlplane.provision.node import find_node


def _npm(*arguments: str) -> Callable[[], None]:
    return lambda: find_node().npm(*arguments, cwd=frontend.FRONTEND, timeout=900)


def _jars() -> None:
    for name in (jars.SPARK_KAFKA, jars.KAFKA_BROKER):
        jars.ensure(name, find_java())


COMMANDS: dict[str, tuple[str, Callable[[], None]]] = {
    "setup": ("everything that running Headgate needs", setup.setup),
    "runtime": ("what agents need alone: Java, jars, start-up archive", setup.runtime),
    "browser": ("a Chromium for the end-to-end tests", setup.browser),
    "postgres": ("a PostgreSQL server for the tests", setup.postgres),
    "jars": ("check and download the locked jars", _jars),
    "lock-jars": ("maintainers: write jars.lock.json anew", lambda: lock.write_lock(find_java())),
    "check-frontend": ("types and lint of the dashboard", _npm("run", "--silent", "check")),
    "test-frontend": ("unit tests of the dashboard", _npm("run", "--silent", "test")),
    "format-frontend": ("format the dashboard", _npm("run", "--silent", "format")),
}


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m controlplane.provision", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    for name, (summary, _) in COMMANDS.items():
        commands.add_parser(name, help=summary)
    try:
        COMMANDS[parser.parse_args().command][1]()
    except SetupError as error:
        print(f"\n{error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
