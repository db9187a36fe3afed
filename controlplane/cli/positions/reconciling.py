"""Whom to believe where a host knows more of a pipeline than the database."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from controlplane.cli.base.session import AsJson, Name, begin, path


class Believe(StrEnum):
    """Whom."""

    HOST = "host"
    DATABASE = "database"


def reconcile(
    ctx: typer.Context,
    name: Name,
    believe: Annotated[
        Believe,
        typer.Option("--believe", help="host: its journals are taken in; database: it goes on from its positions."),
    ],
    reason: Annotated[str, typer.Option("--reason", help="Why; it is kept in the audit.")] = "",
    as_json: AsJson = False,
) -> None:
    """Answer the finding DATABASE_BEHIND, which a restored backup brings: whom to believe, the host or the database."""
    from controlplane.cli.base import output

    client = begin(ctx, as_json=as_json)
    _, found = client.post(path(name, "reconcile"), {"believe": believe.value, "reason": reason})
    if as_json:
        output.write_json(found)
    else:
        output.say(f"The {believe.value} is believed. Look: headgate status {name} --watch", style="green")
