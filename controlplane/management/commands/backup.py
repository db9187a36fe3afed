"""The control plane's state into a file."""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from controlplane.backup import BackupError, backup


class Command(BaseCommand):
    """`manage.py backup FILE`: definitions, ledger, positions, audit, users, secrets (encrypted), as of one moment."""

    help = "Write the control plane's state to a file, while everything runs."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Where to."""
        parser.add_argument("file", type=Path)

    def handle(self, *_: Any, **given: Any) -> None:
        """Say what was written, and what belongs to it and is elsewhere."""
        try:
            summary = backup(given["file"])
        except BackupError as error:
            raise CommandError(f"{error} {error.hint}") from error
        self.stdout.write(f"{summary.total} rows of {len(summary.rows)} tables as of {summary.created_at}.")
        self.stdout.write("The keys of the secret store and the state directories of hosts are not in it.")
