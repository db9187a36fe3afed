"""The database of the control plane: its tables, backups."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from controlplane.cli.server.running import manage, options


def migrate_db() -> None:
    """Create the tables of the database, or change them to those of this version. Does nothing where they are current.

    HEADGATE_DATABASE_URL names the database; without it, it is a file in HEADGATE_STATE.
    """
    manage("migrate", "--no-input")


def backup(file: Annotated[Path, typer.Argument(metavar="FILE", help="The file to write.")]) -> None:
    """Write the state of the control plane to a file, while pipelines, workers and web servers run.

    The keys of the secret store and the state directories of hosts are not in it.
    """
    manage("backup", str(file))


def restore(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A file of `headgate backup`.")],
    replace: Annotated[bool, typer.Option("--replace", help="Delete what the database has now.")] = False,
) -> None:
    """Read the state of the control plane from a backup, all or nothing. Stop every worker and web server first."""
    manage("restore", str(file), *options(replace=replace))
