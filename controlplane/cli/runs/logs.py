"""`headgate logs`: the log of a pipeline's agent."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from controlplane.cli.base.session import Name, Session

Level = Literal["DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL"]


def logs(
    session: Session,
    name: Name,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Print new lines until Ctrl-C.")] = False,
    tail: Annotated[int, typer.Option("--tail", min=1, max=10_000, help="Start with this number of lines.")] = 200,
    level: Annotated[Level | None, typer.Option("--level", help="Print lines of this level and above.")] = None,
    run: Annotated[int | None, typer.Option("--run", min=1, help="The run's number. Default: the latest.")] = None,
) -> None:
    """Print the log of a pipeline's agent. With --follow it continues with the next run."""
    from controlplane.cli.base import following

    following.print_log(session, name, run=run, tail=tail, follow=follow, level=level)
