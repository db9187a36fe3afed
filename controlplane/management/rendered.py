"""Commands that write a file which is made from the code and committed with it."""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError


class RenderCommand(BaseCommand):
    """Writes `path`, or with --check only says whether it is what would be written."""

    path: str

    def render(self) -> str:
        """The file's content."""
        raise NotImplementedError

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Whether to write."""
        parser.add_argument("--check", action="store_true", help="write nothing; fail where the file is stale")

    def handle(self, *_: Any, **options: Any) -> None:
        """Write or compare."""
        file: Path = settings.BASE_DIR / self.path
        content = self.render()
        if not options["check"]:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(content)
        elif not file.exists() or file.read_text() != content:
            command = Path(type(self).__module__.replace(".", "/")).name
            raise CommandError(f"{self.path} is stale. Run `manage.py {command}` and commit it.")
