"""`headgate history`: a pipeline over a range of time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

import typer

from controlplane.cli.base.session import Name, Session, path

POINTS_SHOWN = 30
COLUMNS = ("at", "read/s", "delivered/s", "lag, records", "lag, seconds", "batches", "batch, ms", "restarts")

Since = Annotated[
    str | None,
    typer.Option("--since", help="From a time (RFC 3339) or a duration ago on: 15m, 6h, 30d.", metavar="TIME"),
]
Until = Annotated[
    str | None, typer.Option("--until", help="Up to a time or a duration ago. Default: now.", metavar="TIME")
]


def history(session: Session, name: Name, since: Since = None, until: Until = None) -> None:
    """Show what a pipeline read and delivered, its lag, the time of its batches and its restarts over time.

    The table has the newest points; -o json has all of them, and the time of batches by step.
    """
    from controlplane.cli.base import output

    found = session.client().get(path(name, "charts"), since=since, until=until)
    if not session.printed(found):
        output.table(COLUMNS, _rows(found)[-POINTS_SHOWN:], empty="Nothing was measured in this range.")


def _rows(found: dict[str, Any]) -> list[tuple[Any, ...]]:
    """The points of which anything is known."""
    from controlplane.cli.base import output

    totals = [_total(steps) for steps in zip(*found["batch_seconds"].values(), strict=True)]
    names = ("read_per_second", "delivered_per_second", "lag_records", "lag_seconds", "batches")
    columns = [*(found[name] for name in names), totals, found["restarts"]]
    measured = zip(found["at"], zip(*columns, strict=True), strict=True)
    return [(output.clock(at), *row) for at, row in measured if any(value is not None for value in row[:-1])]


def _total(steps: Sequence[float | None]) -> int | None:
    known = [each for each in steps if each is not None]
    return round(1000 * sum(known)) if known else None
