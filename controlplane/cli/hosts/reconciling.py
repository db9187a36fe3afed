"""`headgate hosts reconcile`: the source of truth where a host's journals are ahead of the database."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from controlplane.cli.base.governed import Right, sent
from controlplane.cli.base.session import Name, Reason, Session, path


class SourceOfTruth(StrEnum):
    """The authoritative side after a restore."""

    HOST = "host"
    DATABASE = "database"


def reconcile(
    session: Session,
    name: Name,
    source_of_truth: Annotated[
        SourceOfTruth,
        typer.Option(
            "--source-of-truth",
            help="host: its journals are ingested; database: the pipeline resumes from the database's positions.",
        ),
    ],
    right: Right,
    reason: Reason = "",
) -> None:
    """Resolve the finding DATABASE_BEHIND of a pipeline after the database was restored from a backup."""
    from controlplane.cli.base import output

    body = {"source_of_truth": source_of_truth.value, "reason": reason}
    if sent(session, name, "reconcile", body, right):
        return
    _, found = session.client().post(path(name, "reconcile"), body)
    if not session.printed(found):
        output.print_line(
            f"Source of truth of {name}: {source_of_truth.value}. Follow it: headgate status {name} --watch",
            style="green",
        )
