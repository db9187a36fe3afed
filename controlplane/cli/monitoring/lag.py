"""`headgate lag`: the lag of a pipeline, and tables of lag."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from controlplane.cli.base.session import Name, Session, path

POINTS_SHOWN = 20

Since = Annotated[
    str, typer.Option("--since", help="Since a time (RFC 3339) or a duration ago: 30m, 2h, 7d.", metavar="TIME")
]
Step = Annotated[str | None, typer.Option("--step", help="1m, 5m or 1h. Default: by the length of the period.")]


def lag(session: Session, name: Name, since: Since = "1h", step: Step = None) -> None:
    """Show the lag of each partition in records and seconds, now and over time."""
    found = session.client().get(path(name, "lag"), since=since, step=step)
    if not session.printed(found):
        print_partitions(found["partitions"])
        print_points(found["points"])


def print_partitions(parts: list[dict[str, Any]]) -> None:
    """The lag of each partition."""
    from controlplane.cli.base import output

    rows = [
        (
            f"{part['source']}.{part['channel']}".strip("."),
            f"{part['topic']}/{part['partition']}",
            part["position"],
            part["end"],
            part["records"],
            part["seconds"],
        )
        for part in parts
    ]
    columns = ("channel", "partition", "position", "log end", "lag, records", "lag, seconds")
    output.table(columns, rows, empty="No lag has been measured yet.")


def print_points(points: list[dict[str, Any]]) -> None:
    """The lag over time."""
    from controlplane.cli.base import output

    rows = [(output.clock(point["at"]), point["records"], point["seconds"]) for point in points[-POINTS_SHOWN:]]
    if rows:
        output.table(("at", "lag, records", "lag, seconds"), rows, empty="")
