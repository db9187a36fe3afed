"""Django, in the process of a command: the settings, and the commands of `manage.py`."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from controlplane.cli.base.errors import CommandError, ExitCode


def manage(command: str, *arguments: str) -> None:
    """Run a command of `manage.py`. Raises CommandError."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "controlplane.settings")
    import_where_this_process_does()
    with environment_errors():
        import django

        django.setup()
    from django.core import management
    from django.db import DatabaseError

    try:
        management.call_command(command, *arguments)
    except management.CommandError as error:
        raise CommandError(str(error), code="command_failed") from error
    except DatabaseError as error:
        from pipelines.foundation.availability import is_unavailable, unavailable

        if is_unavailable(error):
            away = unavailable(error)
            raise CommandError(
                away.title, away.detail, "Try again in a few seconds.", away.code, ExitCode.NO_ACCESS
            ) from error
        raise CommandError(
            f"The database cannot be used: {str(error).strip()}.",
            hint="A new database gets its tables from `headgate migrate-db`; HEADGATE_DATABASE_URL and HEADGATE_STATE "
            "choose another one.",
            code="database",
        ) from error


def options(**given: object) -> list[str]:
    """Options for a command of `manage.py`: those that have a value."""
    named = [(f"--{name.replace('_', '-')}", value) for name, value in given.items() if value not in (None, False)]
    return [option if value is True else f"{option}={value}" for option, value in named]


def import_where_this_process_does() -> None:
    """Unless this process looks for modules in the current directory, its children must not do so either: files of the
    user there may have the names of our packages."""
    if not {"", str(Path.cwd())}.intersection(sys.path):
        os.environ.setdefault("PYTHONSAFEPATH", "1")


@contextmanager
def environment_errors() -> Iterator[None]:
    """Raise CommandError where the environment variables or the state directory cannot be used."""
    from controlplane.environment import InvalidEnvironment

    try:
        yield
    except InvalidEnvironment as error:
        raise CommandError(str(error), code="environment") from error
    except OSError as error:
        raise CommandError(
            f"The state directory cannot be used: {error}.",
            hint="HEADGATE_STATE=/path/to/directory chooses another one; without it, it is `var` in this directory.",
            code="state_directory",
        ) from error
