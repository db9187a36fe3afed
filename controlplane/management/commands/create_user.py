"""Create a user, or change the password and the role of one."""

from __future__ import annotations

import getpass
import os
import sys
from argparse import ArgumentParser
from typing import Any

from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError

from pipelines.domain.access.teams import EVERYTHING
from pipelines.domain.base.roles import ROLE_NAMES, Role
from pipelines.foundation.errors import Conflict, NotFound
from pipelines.selectors.access.teams import get_team
from pipelines.services.access import access

PASSWORD_VARIABLE = "HEADGATE_PASSWORD"  # noqa: S105 - an environment variable's name


class Command(BaseCommand):
    """`manage.py create_user NAME --role operator`: the password is asked for, or read from HEADGATE_PASSWORD."""

    help = f"Create a user, or change one. The password is asked for, or read from {PASSWORD_VARIABLE}."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Name and role."""
        parser.add_argument("username")
        parser.add_argument("--role", choices=ROLE_NAMES, default=Role.VIEWER.word)
        parser.add_argument("--team", help="the role counts in this team; by default in all")
        parser.add_argument("--no-password", action="store_true", help="the user has tokens only and cannot log in")
        parser.add_argument("--keep-tokens", action="store_true", help="a changed password does not revoke the tokens")

    def handle(self, *_: Any, **options: Any) -> None:
        """Write the user and say what was done."""
        password = None if options["no_password"] else _password()
        try:
            access.create_user(
                username=options["username"],
                password=password,
                role=Role.named(options["role"]),
                team=get_team(options["team"], EVERYTHING) if options["team"] else None,
                keep_tokens=options["keep_tokens"],
            )
        except ValidationError as error:
            raise CommandError(" ".join(error.messages)) from error
        except (Conflict, NotFound) as refused:
            raise CommandError(f"{refused.detail} {refused.hint}") from refused
        where = f" in the team {options['team']}" if options["team"] else ""
        self.stdout.write(f"{options['username']} is ready with the role {options['role']}{where}.")


def _password() -> str:
    if given := os.environ.get(PASSWORD_VARIABLE):
        return given
    if not sys.stdin.isatty():
        raise CommandError(f"Set {PASSWORD_VARIABLE}, run this in a terminal, or give --no-password.")
    first, second = getpass.getpass("Password: "), getpass.getpass("Again: ")
    if first != second:
        raise CommandError("The two passwords differ.")
    return first
