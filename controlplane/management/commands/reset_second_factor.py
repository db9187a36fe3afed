"""Take the second factor of a user away, who has lost it."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.contrib.auth.models import User
from django.core.management.base import BaseCommand, CommandError

from pipelines.foundation.errors import HeadgateError
from pipelines.services.access import second_factor
from pipelines.services.base.audit import Actor


class Command(BaseCommand):
    """`manage.py reset_second_factor NAME`."""

    help = "Take the second factor of a user away, who has lost it."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Whose."""
        parser.add_argument("username")

    def handle(self, *_: Any, **options: Any) -> None:
        """Remove it and say so."""
        user = User.objects.filter(username=options["username"]).first()
        if user is None:
            raise CommandError(f"There is no user {options['username']}.")
        try:
            second_factor.reset(user=user, actor=Actor("system"))
        except HeadgateError as error:
            raise CommandError(f"{user.username} has no second factor.") from error
        self.stdout.write(f"{user.username} logs in with a password alone until a new second factor is set up.")
