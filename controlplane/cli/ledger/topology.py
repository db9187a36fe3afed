"""`headgate topology`: the components of a pipeline, and what goes through them."""

from __future__ import annotations

from typing import Annotated

import typer

from controlplane.cli.base.session import Name, Session, path


def topology(
    session: Session,
    name: Name,
    since: Annotated[
        str, typer.Option("--since", metavar="DURATION", help="Of how long the figures are: 1m, 2h, 7d.")
    ] = "1m",
) -> None:
    """Show the components of a pipeline as a tree, with what each received and what became of it."""
    from controlplane.cli.base import reports
    from controlplane.cli.base.durations import minutes

    found = session.client().get(path(name, "topology"), minutes=minutes(since))
    if not session.printed(found):
        reports.topology(found)
