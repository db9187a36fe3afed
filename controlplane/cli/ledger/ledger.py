"""`headgate ledger`: the accounting of a pipeline, by batch or in total."""

from __future__ import annotations

from typing import Annotated

import typer

from controlplane.cli.base.session import Limit, Name, Session, path


def ledger(
    session: Session,
    name: Name,
    totals: Annotated[bool, typer.Option("--totals", help="Show the ledger totals instead of batches.")] = False,
    channel: Annotated[str | None, typer.Option("--channel", help="Only this channel.")] = None,
    run: Annotated[int | None, typer.Option("--run", min=1, help="Only the run of this number.")] = None,
    limit: Limit = 50,
) -> None:
    """Show the ledger: what was read and what became of it, by batch or in total.

    With --totals the exit code is 1 where the ledger is unbalanced.
    """
    from controlplane.cli.base import reports
    from controlplane.cli.base.errors import ExitCode

    client = session.client()
    if not totals:
        batches = client.pages(path(name, "ledger"), channel=channel, run=run, limit=limit)
        if not session.printed(batches):
            reports.batches(batches)
        return
    found = client.get(path(name, "ledger", "summary"))
    if not session.printed(found):
        reports.totals(found)
    if not found["balanced"]:
        raise typer.Exit(ExitCode.FAILED)
