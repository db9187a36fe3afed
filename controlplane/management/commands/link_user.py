"""Let a user of the OpenID Connect provider sign in as one who exists here."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from pipelines.foundation.errors import HeadgateError
from pipelines.services.access import identities
from pipelines.services.base.audit import Actor


class Command(BaseCommand):
    """`manage.py link_user NAME --subject SUBJECT`."""

    help = "Let a user of the OpenID Connect provider sign in as one who exists here."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Who is whom."""
        parser.add_argument("username")
        parser.add_argument("--subject", required=True, help="what the provider calls the user: the claim `sub`")
        parser.add_argument("--issuer", default="", help="by default HEADGATE_OIDC_ISSUER")

    def handle(self, *_: Any, **options: Any) -> None:
        """Write the link and say what was done."""
        issuer = options["issuer"] or settings.HEADGATE.oidc_issuer
        if not issuer:
            raise CommandError("Set HEADGATE_OIDC_ISSUER, or give --issuer.")
        try:
            identities.link(
                username=options["username"], issuer=issuer, subject=options["subject"], actor=Actor("system")
            )
        except HeadgateError as error:
            raise CommandError(error.detail) from error
        self.stdout.write(f"{options['subject']} of {issuer} signs in as {options['username']}.")
