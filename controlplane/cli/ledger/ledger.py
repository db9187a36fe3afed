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
        typer.Option(
            "--since",
            metavar="DURATION",
            help="Show what became of the records of so long: 5m, 2h, 7d. With --outcome: the batches of so long.",
        ),
    ] = None,
    outcome: Annotated[
        str | None, typer.Option("--outcome", help="Only batches in which records were: filtered, dead_lettered, ...")
    ] = None,
    component: Annotated[
        str | None,
        typer.Option("--component", metavar="PATH", help="Only batches in which this component has decided it."),
    ] = None,
    source: Annotated[str | None, typer.Option("--source", help="Only this source.")] = None,
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

    which = {"source": source, "channel": channel, "run": run, "outcome": outcome, "component": component}
    past = None if since is None else minutes(since)
    if past and not outcome and (totals or any(which.values())):
        raise CommandError.of_usage(
            "--since shows all channels and runs: leave out --totals, --source, --channel and --run, or add --outcome."
        )
    if totals and (outcome or component):
        raise CommandError.of_usage("--totals shows every outcome: leave out --outcome and --component.")
    client = session.client()
    if past and not outcome:
        found = client.get(path(name, "ledger", "flow"), minutes=past)
        if not session.printed(found):
            reports.flow(found)
        return
    if not totals:
        batches = client.pages(path(name, "ledger"), **which, minutes=past, limit=limit)
        if not session.printed(batches):
            reports.batches(batches)
        return
    found = client.get(path(name, "ledger", "summary"))
    if not session.printed(found):
        reports.totals(found)
    if not found["balanced"]:
        raise typer.Exit(ExitCode.FAILED)
