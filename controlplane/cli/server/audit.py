"""The check of the audit, in the database or in a file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from controlplane.cli.access.audit import app as app
from controlplane.cli.base.errors import CommandError
from controlplane.cli.server.running import manage, options


@app.command()
def verify(
    file: Annotated[
        Path | None, typer.Argument(metavar="[FILE]", help="An export as JSON Lines without a filter; needs no server.")
    ] = None,
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
    """Check in the database, or in FILE, that no audit row was changed, removed, inserted or moved since it was sealed.

    0: everything holds. 1: the first row that does not is named.
    """
    if file is not None:
        _verify_file(file, public_key)
        return
    manage("verify_audit", *options(public_key=public_key, head=head, sign_again=sign_again))


def _verify_file(file: Path, public_key: str) -> None:
    from pipelines.domain.access.audit.export import NotAnExport, verify_export
    from pipelines.foundation.signing import NotAKey, PublicKey

    if not public_key:
        raise CommandError.of_usage("FILE needs --public-key; GET /api/v1/signing-key has it")
    try:
        with file.open(encoding="utf-8") as lines:
            found = verify_export(lines, PublicKey(public_key))
    except (OSError, NotAnExport, NotAKey) as error:
        raise CommandError(f"{file} cannot be verified: {error}", code="audit_unreadable") from None
    if not found.holds:
        raise CommandError(f"{file} does not verify", detail=found.problem, code="audit_differs")
    typer.echo(f"{found.rows} rows are as they were sealed.")
