"""`headgate events`: what Headgate has recorded."""

from __future__ import annotations

from typing import Annotated

import typer

from controlplane.cli.base.session import Limit, Session


def events(
    session: Session,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Print new events until Ctrl-C.")] = False,
    pipeline: Annotated[str | None, typer.Option("--pipeline", help="Only this pipeline.")] = None,
    kind: Annotated[
        list[str] | None,
        typer.Option(
            "--kind", help="Only this kind (phase.changed), or every kind with this prefix (alert.*). Repeatable."
        ),
    ] = None,
    category: Annotated[
        list[str] | None,
        typer.Option("--category", help="Only states, requests, migrations, faults or configuration. Repeatable."),
    ] = None,
    limit: Limit = 50,
) -> None:
    """Print events, oldest first. With --follow it continues with new events."""
    from controlplane.cli.base import following, output, reports

    wanted = {"pipeline": pipeline, "kind": kind, "category": category}
    found = list(reversed(session.client().pages("events", limit=limit, **wanted)))
    if not follow and session.printed(found):
        return
    for event in found:
        reports.event(session, event)
    if follow:
        following.follow_events(session, wanted, last_id=str(found[-1]["id"]) if found else "")
    elif not found:
        output.print_line(output.none("events", wanted.values()))
