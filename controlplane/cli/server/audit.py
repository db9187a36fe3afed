"""The check of the audit, in the database."""

from __future__ import annotations

from typing import Annotated

import typer

from controlplane.cli.server.running import manage, options

app = typer.Typer(help="Check the audit.", no_args_is_help=True)


@app.callback()
def audit() -> None:
    """Check the audit: who did what."""


@app.command()
def verify(
    public_key: Annotated[
        str, typer.Option("--public-key", metavar="KEY", help="The key of the head; that of this installation if none.")
    ] = "",
    head: Annotated[
        str, typer.Option("--head", metavar="SEQUENCE:DIGEST", help="An earlier head that you kept elsewhere.")
    ] = "",
    sign_again: Annotated[
        bool,
        typer.Option("--sign-again", help="Sign the head with the present key if the chain holds by --public-key."),
    ] = False,
) -> None:
    """Check in the database that no audit row was changed, removed, inserted or moved since it was sealed.

    0: everything holds. 1: the first row that does not is named.
    """
    manage("verify_audit", *options(public_key=public_key, head=head, sign_again=sign_again))
