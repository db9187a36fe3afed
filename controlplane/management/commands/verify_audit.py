"""Whether the audit is as it was sealed."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from pipelines.foundation import clock
from pipelines.foundation.errors import HeadgateError
from pipelines.foundation.signing import NotAKey, PublicKey
from pipelines.selectors.access.audit import ChainState, head, verify_chain
from pipelines.services.access.audit.sealing import sign_again


class Command(BaseCommand):
    """`manage.py verify_audit`: every sealed row, in the database."""

    help = "Check that no row of the audit was changed, removed, inserted or moved since it was sealed."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """By which key, and what else is known."""
        parser.add_argument("--public-key", default="", help="by default that of this installation")
        parser.add_argument("--head", default="", help="SEQUENCE:DIGEST of a head that was kept elsewhere")
        parser.add_argument("--sign-again", action="store_true", help="sign the head by the present key if all holds")

    def handle(self, *_: Any, **given: Any) -> None:
        """Say how far the chain holds."""
        signer = settings.HEADGATE.signer
        key = PublicKey(given["public_key"]) if given["public_key"] else signer.public
        try:
            state = verify_chain(key=key, kept=_kept(given["head"]))
            if state.verified.holds and given["sign_again"]:
                sign_again(old=key, signer=signer)
        except NotAKey as error:
            raise CommandError(str(error)) from error
        except HeadgateError as error:
            raise CommandError(f"{error.detail} {error.hint}") from error
        if not state.verified.holds:
            raise CommandError(state.verified.problem)
        self._report(state)

    def _report(self, state: ChainState) -> None:
        self.stdout.write(f"{state.verified.rows} rows are as they were sealed.")
        if (end := head()) is not None:
            self.stdout.write(f"Head: {end.sequence}:{end.digest}, signed by {end.key} at {end.at.isoformat()}.")
        if state.oldest_unsealed is not None:
            age = int((clock.now() - state.oldest_unsealed).total_seconds())
            self.stdout.write(f"{state.unsealed} rows wait to be sealed, the oldest for {age} s.")


def _kept(text: str) -> tuple[int, str] | None:
    if not text:
        return None
    sequence, _, digest = text.partition(":")
    if not sequence.isdecimal() or len(digest) != 64:
        raise CommandError("--head is SEQUENCE:DIGEST, as `headgate audit verify` prints it.")
    return int(sequence), digest
