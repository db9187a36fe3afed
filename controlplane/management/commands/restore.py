"""The control plane's state out of a file."""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError

from controlplane.backup import BackupError, check, restore


class Command(BaseCommand):
    """`manage.py restore FILE`: all or nothing, into the database of this installation, SQLite or PostgreSQL.

    Pipelines whose hosts know more than the restored database are BLOCKED by their workers, and ask.
    """

    help = "Read the control plane's state from a file that `backup` has written."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """From where, and whether what is there may go."""
        parser.add_argument("file", type=Path)
        parser.add_argument("--replace", action="store_true", help="delete what the database holds now")

    def handle(self, *_: Any, **given: Any) -> None:
        """Check the whole file before anything is touched."""
        try:
            check(given["file"])
            call_command("migrate", interactive=False, verbosity=0)
            summary = restore(given["file"], replace=given["replace"])
        except BackupError as error:
            raise CommandError(f"{error} {error.hint}") from error
        self.stdout.write(f"{summary.total} rows of {len(summary.rows)} tables as of {summary.created_at}.")
        self.stdout.write("Where a host is ahead of it, its pipelines are BLOCKED: choose the source of truth.")
