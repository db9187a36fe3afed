"""`headgate logs`: the log of a pipeline's agent."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Annotated, Literal

import typer

from controlplane.cli.base.errors import CommandError
from controlplane.cli.base.session import Name, Session

Level = Literal["DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL"]


@dataclass(frozen=True)
class Lines:
    """Which lines; all of them without an option."""

    level: Annotated[Level | None, typer.Option("--level", help="Print lines of this level and above.")] = None
    component: Annotated[
        str | None, typer.Option("--component", help="Print lines of this component: driver, jvm, keeper, ingest.")
    ] = None
    since: Annotated[
        str | None, typer.Option("--since", help="Print lines since this time (RFC 3339), or 5m, 1h, 2d ago.")
    ] = None
    find: Annotated[str | None, typer.Option("--find", help="Print lines with this text, in any case.")] = None


def logs(
    session: Session,
    name: Name,
    lines: Lines,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Print new lines until Ctrl-C.")] = False,
    tail: Annotated[int, typer.Option("--tail", min=1, max=10_000, help="Start with this number of lines.")] = 200,
    run: Annotated[int | None, typer.Option("--run", min=1, help="The run's number. Default: the latest.")] = None,
    previous: Annotated[bool, typer.Option("--previous", "-p", help="Print the log of the run before it.")] = False,
    at: Annotated[
        str | None, typer.Option("--at", help="Print the lines around this one: TIME~CHECKSUM of its link.")
    ] = None,
) -> None:
    """Print the log of a pipeline's agent. With --follow it continues with the next run.

    A line without a level, as of a stack trace, belongs to the line before it. Filters search the last 16 MiB.
    """
    from controlplane.cli.base import following

    if at and (follow or any(asdict(lines).values())):
        raise CommandError.of_usage("--at shows every line around one: omit --follow and the filters.")
    following.print_log(session, name, run=run, tail=tail, follow=follow, previous=previous, at=at, **asdict(lines))
