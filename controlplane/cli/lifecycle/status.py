"""`headgate status`: one pipeline in detail, or all of them."""

from __future__ import annotations

from functools import partial
from typing import Annotated, Any

import typer

from controlplane.cli.base.session import Session, path


def status(
    session: Session,
    name: Annotated[str | None, typer.Argument(help="The pipeline's name.", metavar="[NAME]")] = None,
    watch: Annotated[bool, typer.Option("--watch", "-w", help="Refresh every second until Ctrl-C.")] = False,
) -> None:
    """Show the status of a pipeline, or of all pipelines."""
    from controlplane.cli.base import following, output, reports

    client = session.client()
    fleet: tuple[Any, ...] = partial(client.pages, "pipelines"), reports.fleet, reports.fleet_line
    read, page, line = fleet
    if name is not None:
        read, page, line = partial(client.get, path(name, "status")), reports.status, reports.status_line
    if watch:
        following.watch(session, read, page, line)
        return
    found = read()
    if not session.printed(found):
        output.console().print(page(found))
