"""Create a token for the command line and the REST API."""

from __future__ import annotations

from argparse import ArgumentParser
from datetime import timedelta
from typing import Any

from django.contrib.auth.models import User
from django.core.management.base import BaseCommand, CommandError

from pipelines.domain.access.scopes import TOKEN_DAYS
from pipelines.domain.base.roles import ROLE_NAMES, Role
from pipelines.services.access import access


class Command(BaseCommand):
    """`manage.py create_token NAME`: prints the token, once."""

    help = "Create a token and print it; only its hash is stored. With --role, a missing user is created."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Whose token, what for and how long."""
        parser.add_argument("username")
        parser.add_argument("--role", choices=ROLE_NAMES, help="give the user this role, and create the user if needed")
        parser.add_argument("--name", default="", help="what the token is for")
        parser.add_argument("--expires-days", type=int, default=TOKEN_DAYS, help="days until it expires")
        parser.add_argument("--never-expires", action="store_true", help="it is valid until revoked")

    def handle(self, *_: Any, **options: Any) -> None:
        """Write the token's hash, print its text."""
        if options["role"]:
            access.create_user(username=options["username"], password=None, role=Role.named(options["role"]))
        user = User.objects.filter(username=options["username"]).first()
        if user is None:
            raise CommandError(f"There is no user {options['username']!r}. Give --role to create it.")
        days = options["expires_days"]
        if days < 1:
            raise CommandError("--expires-days needs a positive number.")
        expires = None if options["never_expires"] else timedelta(days=days)
        self.stdout.write(access.create_token(user=user, name=options["name"], expires=expires))
