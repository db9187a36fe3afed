"""`headgate ledger`: the accounting of a pipeline, by batch, in total or of a while."""

from __future__ import annotations

from typing import Annotated

import typer

from controlplane.cli.base.session import Limit, Name, Session, path


def ledger(
    session: Session,
    name: Name,
    totals: Annotated[bool, typer.Option("--totals", help="Show the ledger totals instead of batches.")] = False,
    since: Annotated[
        str | None,
        typer.Option("--since", metavar="DURATION", help="Show what became of the records of so long: 5m, 2h, 7d."),
    ] = None,
    channel: Annotated[str | None, typer.Option("--channel", help="Only this channel.")] = None,
    run: Annotated[int | None, typer.Option("--run", min=1, help="Only the run of this number.")] = None,
    limit: Limit = 50,
) -> None:
    """Show the ledger: what was read and what became of it, by batch, in total or of a while.

    With --totals the exit code is 1 where the ledger is unbalanced.
    """
    from controlplane.cli.base import reports
    from controlplane.cli.base.durations import minutes
    from controlplane.cli.base.errors import CommandError, ExitCode

    if since is not None and (totals or channel is not None or run is not None):
        raise CommandError.of_usage("--since shows all channels and runs: leave out --totals, --channel and --run.")
    client = session.client()
    if since is not None:
        found = client.get(path(name, "ledger", "flow"), minutes=minutes(since))
        if not session.printed(found):
            reports.flow(found)
        return
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
