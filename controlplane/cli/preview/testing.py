"""`headgate test`: run the tests of a definition by the code that agents run."""

from __future__ import annotations

from typing import Annotated

import typer

from controlplane.cli.base.errors import CommandError, ExitCode
from controlplane.cli.base.session import Session, path
from controlplane.cli.base.testing import print_tests, run_tests


def run(
    session: Session,
    file: Annotated[
        str | None, typer.Option("--file", "-f", help="A definition in YAML or JSON; - for standard input.")
    ] = None,
    pipeline: Annotated[
        str | None,
        typer.Option("--pipeline", metavar="NAME", help="The present revision of a pipeline in place of a file."),
    ] = None,
    team: Annotated[
        str | None,
        typer.Option("--team", metavar="TEAM", help="The team of a new pipeline: your only one, or default."),
    ] = None,
    timeout: Annotated[float, typer.Option("--timeout", min=1, help="Seconds to wait for the tests.")] = 120.0,
) -> None:
    """Run the tests of a definition on its host. Reads, delivers and commits nothing.

    The exit code is 4 where a test fails.
    """
    from controlplane.cli.definitions.definitions import read_text

    if (file is None) == (pipeline is None):
        raise CommandError.of_usage("Give either --file or --pipeline.")
    client = session.client()
    definition = client.get(path(pipeline))["definition"] if pipeline else read_text(file or "-")
    done = run_tests(session, client, pipeline or file or "", definition, team, timeout)
    if not session.printed(done):
        print_tests(done)
    if not done["passed"]:
        raise typer.Exit(ExitCode.REFUSED)
