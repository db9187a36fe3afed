"""`headgate flume import`: definitions from configurations of Flume. It needs no server."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from controlplane.cli.base.commands import Group
from controlplane.cli.base.session import Session
from controlplane.cli.definitions import imported
from controlplane.cli.definitions.definitions import read_text

app = Group("Import configurations of Apache Flume. Needs no server.")


@app.verb("import")
def import_flume(
    session: Session,
    file: Annotated[str, typer.Argument(metavar="FILE", help="A properties file of Flume 1.x; - for standard input.")],
    agent: Annotated[str | None, typer.Option("--agent", help="The agent, where the file has several.")] = None,
    target: Annotated[
        Path | None, typer.Option("--write", help="Write the definition to this file.", metavar="FILE")
    ] = None,
) -> None:
    """Convert a Flume agent to a definition, and report differences. The exit code is 4 if a finding is an error."""
    from pipelines.domain.flume.importing.importer import import_flume as import_text

    text = read_text(file)
    imported.show(session, lambda: import_text(text, agent), target)
