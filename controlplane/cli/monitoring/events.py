"""`headgate events`: what Headgate has recorded."""

from __future__ import annotations

from typing import Annotated

import typer

from controlplane.cli.base.session import Limit, Session


def events(
    session: Session,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Print new events until Ctrl-C.")] = False,
    pipeline: Annotated[str | None, typer.Option("--pipeline", help="Only this pipeline.")] = None,
    limit: Limit = 50,
) -> None:
    """Print events, oldest first. With --follow it continues with new events."""
    from controlplane.cli.base import following, reports

    found = list(reversed(session.client().pages("events", pipeline=pipeline, limit=limit)))
    if not follow and session.printed(found):
        return
    for event in found:
        reports.event(session, event)
    if follow:
        following.follow_events(session, pipeline=pipeline, last_id=str(found[-1]["id"]) if found else "")
