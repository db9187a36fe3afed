"""`headgate status`: one pipeline in detail, or all of them."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Annotated, Any

import typer

from controlplane.cli.base.errors import CommandError
from controlplane.cli.base.session import OfHost, Session, path


def status(
    session: Session,
    name: Annotated[str | None, typer.Argument(help="The pipeline's name.", metavar="[NAME]")] = None,
    host: OfHost = None,
    watch: Annotated[bool, typer.Option("--watch", "-w", help="Refresh every second until Ctrl-C.")] = False,
) -> None:
    """Show the status of a pipeline, or of all pipelines."""
    from controlplane.cli.base import reports

    if name is not None and host is not None:
        raise CommandError.of_usage("Give either the NAME of a pipeline or --host.")
    client = session.client()
    if name is None:
        page, line = partial(reports.fleet, host=host), partial(reports.fleet_line, host=host)
        _show(session, watch, lambda: client.pages("pipelines", host=host), page, line)
    else:
        address = path(name, "status")
        _show(session, watch, lambda: client.get(address), reports.status, reports.status_line)


def _show(
    session: Session, watch: bool, read: Callable[[], Any], page: Callable[[Any], Any], line: Callable[[Any], str]
) -> None:
    from controlplane.cli.base import following, output

    if watch:
        following.watch(session, read, page, line)
        return
    found = read()
    if not session.printed(found):
        output.console().print(page(found))
