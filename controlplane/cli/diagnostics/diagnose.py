"""`headgate diagnose`: one archive with what is known of a pipeline, or of the installation, for those who help."""

from __future__ import annotations

import json
import zipfile
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import typer

from controlplane.cli.base.errors import CommandError
from controlplane.cli.base.session import Session, path


def diagnose(
    session: Session,
    name: Annotated[
        str | None, typer.Argument(help="The pipeline's name. Default: the installation.", metavar="[NAME]")
    ] = None,
    file: Annotated[
        Path | None,
        typer.Option("--file", "-o", help="Write to this file. Default: headgate-NAME-TIME.zip.", metavar="FILE"),
    ] = None,
) -> None:
    """Download a diagnostic bundle: state, events, runs and logs in one archive, without values of secrets.

    It has what your role may read. The bundle of the installation needs an administrator of every team.
    """
    from controlplane.cli.base import output

    address = "diagnostics" if name is None else path(name, "diagnostics")
    target = file or Path(f"headgate-{name or 'installation'}-{datetime.now(UTC):%Y%m%dT%H%M%SZ}.zip")
    try:
        output.write_file(target, session.client().download(address))
        manifest = _manifest(target)
    except OSError as error:
        raise CommandError(f"{target} cannot be written: {error.strerror}", code="unwritable") from None
    output.print_line(f"{target}: {target.stat().st_size:,} bytes.")
    _print(manifest)


def _manifest(file: Path) -> dict[str, Any]:
    """What the bundle says of itself. Raises CommandError where it is no bundle."""
    try:
        with zipfile.ZipFile(file) as archive:
            found: dict[str, Any] = json.loads(archive.read("manifest.json"))
    except (zipfile.BadZipFile, KeyError, ValueError):
        raise CommandError("The download is not a diagnostic bundle", str(file), "Try again.", "not_a_bundle") from None
    return found


def _print(manifest: dict[str, Any]) -> None:
    from controlplane.cli.base import output

    parts = ((part["name"], part["bytes"], part["cut"]) for part in manifest["parts"])
    output.table(("inside", "bytes", "cut"), parts, empty="The bundle is empty.")
    if missing := manifest["left_out"]:
        output.table(("left out", "reason"), ((each["name"], each["reason"]) for each in missing), empty="")
    if unknown := manifest["stored_secrets_unknown"]:
        output.note(
            f"The server does not know the values in the secret store, so it has not searched for them: {unknown}"
        )
    output.note("Read the bundle before you send it to others: texts of your programs are in the logs.")
