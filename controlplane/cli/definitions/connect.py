"""`headgate connect import`: definitions from connectors of Kafka Connect. It needs no server."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from controlplane.cli.base.commands import Group
from controlplane.cli.base.session import Session
from controlplane.cli.definitions import imported
from controlplane.cli.definitions.definitions import read_text

app = Group("Import connectors of Kafka Connect. Needs no server.")


@app.verb("import")
def import_connect(
    session: Session,
    file: Annotated[
        str, typer.Argument(metavar="FILE", help="The configuration as JSON or properties; - for standard input.")
    ],
    connector: Annotated[
        str | None, typer.Option("--connector", help="The connector, where the file has several.", metavar="NAME")
    ] = None,
    servers: Annotated[
        str | None,
        typer.Option("--bootstrap-servers", help="The brokers of the Connect worker.", metavar="HOST:PORT"),
    ] = None,
    target: Annotated[
        Path | None, typer.Option("--write", help="Write the definition to this file.", metavar="FILE")
    ] = None,
) -> None:
    """Convert a connector to a definition, and report differences. The exit code is 4 if a finding is an error."""
    from pipelines.domain.connect.importing.importer import import_connect as import_text

    text = read_text(file)
    imported.show(session, lambda: import_text(text, name=connector, servers=servers), target)
