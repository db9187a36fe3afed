"""Commands that look: status, ledger, runs, logs, events."""

from __future__ import annotations

from typing import Annotated

import typer

from controlplane.cli.base.session import AsJson, Limit, Name, begin, path

Follow = Annotated[bool, typer.Option("--follow", "-f", help="Go on as more comes; Ctrl-C ends it.")]
Run = Annotated[int | None, typer.Option("--run", min=1, help="The run's number; the latest, unless given.")]


def status(
    ctx: typer.Context,
    name: Name,
    watch: Annotated[bool, typer.Option("--watch", help="Look every second; Ctrl-C ends it.")] = False,
    as_json: AsJson = False,
) -> None:
    """Show what a pipeline does now."""
    from controlplane.cli.base import following, output, reports

    client = begin(ctx, as_json=as_json)
    if watch:
        following.watch_status(client, path(name, "status"), as_json=as_json)
        return
    found = client.get(path(name, "status"))
    if as_json:
        output.write_json(found)
    else:
        output.console().print(reports.status(found))


def ledger(
    ctx: typer.Context,
    name: Name,
    balance: Annotated[bool, typer.Option("--balance", help="The books in sum, instead of the batches.")] = False,
    channel: Annotated[str | None, typer.Option(help="Only this channel.")] = None,
    run: Run = None,
    limit: Limit = 50,
    as_json: AsJson = False,
) -> None:
    """Show what was read and what became of it, batch by batch or in sum (1: it does not balance)."""
    from controlplane.cli.base import output, reports
    from controlplane.cli.base.errors import ExitCode

    client = begin(ctx, as_json=as_json)
    if not balance:
        batches = client.pages(path(name, "ledger"), channel=channel, run=run, limit=limit)
        output.write_json(batches) if as_json else reports.batches(batches)
        return
    books = client.get(path(name, "ledger", "summary"))
    output.write_json(books) if as_json else reports.books(books)
    if not books["balanced"]:
        raise typer.Exit(ExitCode.FAILED)


def runs(ctx: typer.Context, name: Name, limit: Limit = 50, as_json: AsJson = False) -> None:
    """List the runs of a pipeline, newest first."""
    from controlplane.cli.base import output, reports

    found = begin(ctx, as_json=as_json).pages(path(name, "runs"), limit=limit)
    output.write_json(found) if as_json else reports.runs(found)


def logs(
    ctx: typer.Context,
    name: Name,
    follow: Follow = False,
    tail: Annotated[int, typer.Option("--tail", min=1, max=10_000, help="How many lines to begin with.")] = 200,
    run: Run = None,
    as_json: AsJson = False,
) -> None:
    """Print the log of a pipeline's agent. With --follow it goes on with the next run."""
    from controlplane.cli.base import following

    client = begin(ctx, as_json=as_json)
    following.print_log(client, name, run=run, tail=tail, follow=follow, as_json=as_json)


def events(
    ctx: typer.Context,
    follow: Follow = False,
    pipeline: Annotated[str | None, typer.Option("--pipeline", help="Only of this pipeline.")] = None,
    limit: Limit = 50,
    as_json: AsJson = False,
) -> None:
    """Print what happened, oldest first; with --follow, also what happens from now on."""
    from controlplane.cli.base import following, output, reports

    client = begin(ctx, as_json=as_json)
    found = list(reversed(client.pages("events", pipeline=pipeline, limit=limit)))
    if as_json and not follow:
        output.write_json(found)
        return
    for event in found:
        reports.event(event, as_json=as_json)
    if follow:
        last_id = str(found[-1]["id"]) if found else ""
        following.follow_events(client, pipeline=pipeline, last_id=last_id, as_json=as_json)
