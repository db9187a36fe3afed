"""Commands that write files which are made from the code and committed with it."""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError


class RenderPages(BaseCommand):
    """Writes files, or with --check only says whether they are what would be written."""

    def render_all(self) -> dict[str, str]:
        """The files' contents by path."""
        raise NotImplementedError

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Whether to write."""
        parser.add_argument("--check", action="store_true", help="write nothing; fail where a file is stale")

    def handle(self, *_: Any, **options: Any) -> None:
        """Write or compare."""
        for path, content in self.render_all().items():
            file: Path = settings.BASE_DIR / path
            if not options["check"]:
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text(content)
            elif not file.exists() or file.read_text() != content:
                command = Path(type(self).__module__.replace(".", "/")).name
                raise CommandError(f"{path} is stale. Run `manage.py {command}` and commit it.")


class RenderCommand(RenderPages):
    """Writes one file, `path`."""

    path: str

    def render(self) -> str:
        """The file's content."""
        raise NotImplementedError

    def render_all(self) -> dict[str, str]:
        """The one file."""
        return {self.path: self.render()}
