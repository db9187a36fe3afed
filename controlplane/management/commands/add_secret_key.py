"""Make a key of the secret store."""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from pipelines.foundation.keyring import StoreClosed, add_key


class Command(BaseCommand):
    """`manage.py add_secret_key`: the new key becomes the current one; older ones still decrypt."""

    help = "Put a new key before those in the secret store's key file; the file is created if needed."
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Another file than the configured one, for example before it is copied to the hosts."""
        parser.add_argument("--file", type=Path, default=settings.HEADGATE.key_file, help="the key file")

    def handle(self, *_: Any, **options: Any) -> None:
        """Write the file; the key itself is not printed."""
        file: Path = options["file"]
        if settings.HEADGATE.secret_keys is not None and file == settings.HEADGATE.key_file:
            raise CommandError("HEADGATE_SECRET_KEYS holds the keys of this installation; put a new key first there.")
        try:
            add_key(file)
        except (StoreClosed, OSError) as error:
            raise CommandError(f"{error} {getattr(error, 'hint', '')}".strip()) from None
        self.stdout.write(f"{file} has a new current key. Copy the file to every host with a worker or a web server,")
        self.stdout.write("then run `headgate secrets rotate`; after that you can remove the older lines.")
