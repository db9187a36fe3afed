"""Commands about positions: show them, plan a change, apply it."""

from __future__ import annotations

import time
from typing import Annotated, Any

import typer

from controlplane.cli.base.commands import Group
from controlplane.cli.base.governed import Right, sent
from controlplane.cli.base.session import Name, Session, path

WAIT_S = 30
"""How long the server waits for the host's answer."""
PLAN_S = 60.0

app = Group("Show the positions of a pipeline, and change them by a reviewed plan.")


@app.verb()
def show(session: Session, name: Name) -> None:
    """Show each partition by ledger, checkpoint, committed offset and log. The pipeline's host inspects them."""
    from controlplane.cli.base import output

    found = session.client().get(path(name, "positions"), wait=WAIT_S)
    if session.printed(found):
        return
    columns = (
        "source.channel",
        "partition",
        "ledger",
        "checkpoint",
        "committed",
        "log start",
        "log end",
        "verdict",
    )
    output.table(columns, map(_row, found["partitions"]), empty="No positions yet.")
    for finding in found["findings"]:
        output.print_line(f"{finding['code']}: {finding['message']}")
    _print_age(found)
    if found["choices"]:
        _print_choices(name, found["choices"])


def _row(row: dict[str, Any]) -> tuple[object, ...]:
    where = f"{row['source']}.{row['channel']}", f"{row['topic']}/{row['partition']}"
    known = (row[name] for name in ("ledger", "checkpoint", "group", "log_start", "log_end"))
    return (*where, *known, row["verdict"])


def _print_age(found: dict[str, Any]) -> None:
    from controlplane.cli.base import output

    if found["error"]:
        output.note(f"The host cannot inspect them: {found['error']['message']} {found['error']['hint']}")
    elif not found["fresh"]:
        shown = f"the snapshot of {output.ago(found['taken_at'])}" if found["taken_at"] else "the ledger alone"
        output.note(f"The pipeline's host has not answered; this is {shown}.")


def _print_choices(name: str, choices: list[dict[str, Any]]) -> None:
    from controlplane.cli.base import output, reports

    output.print_line("Action required: choose a position.")
    output.console().print(reports.choices(name, choices))


@app.verb()
def plan(
    session: Session,
    name: Name,
    to: Annotated[
        str,
        typer.Option(
            "--to",
            help="unread, ledger, checkpoint, group, earliest, latest, timestamp=-30m, timestamp=TIME, "
            "before=EVENT-30m, or offsets=TOPIC/PARTITION:OFFSET,… (earliest, latest, -30m or TIME in place of OFFSET; "
            "other partitions keep the ledger's position).",
        ),
    ],
    source: Annotated[str | None, typer.Option("--source", help="Only this source; others keep theirs.")] = None,
) -> None:
    """Plan a change of positions, with the exact numbers of records skipped and reread. Changes nothing."""
    from controlplane.cli.base import output

    client = session.client()
    _, made = client.post(path(name, "positions", "plan"), {"to": to, "source": source})
    made = _answered(client, name, made)
    if session.printed(made):
        return
    _print_moves(made)
    if duplicates := made["possible_duplicates"]:
        output.print_line(f"Possible duplicates in the sinks: at most {duplicates}.")
    output.print_line(f"Apply it: headgate positions apply {name} {made['hash']}")


def _answered(client: Any, name: str, made: dict[str, Any]) -> dict[str, Any]:
    """The plan, once the host has answered. CommandError after PLAN_S seconds."""
    from controlplane.cli.base.errors import CommandError, ExitCode

    deadline = time.monotonic() + PLAN_S
    while made["state"] == "PENDING":
        if time.monotonic() > deadline:
            raise CommandError(
                title=f"The host of {name} has not answered within {PLAN_S:g} s",
                detail="Nothing has been changed.",
                hint="Check that its worker runs: headgate hosts list",
                code="timed_out",
                exit_code=ExitCode.TIMED_OUT,
            )
        time.sleep(0.5)
        made = client.get(path(name, "positions", "plans", made["id"]))
    return made


def _print_moves(made: dict[str, Any]) -> None:
    from controlplane.cli.base import output

    show_moves(made["partitions"])
    output.print_line(f"Expected impact: {made['skip']} records skipped, {made['replay']} records reread.")


def show_moves(moves: list[dict[str, Any]]) -> None:
    """The current and the new position of each partition, and the records skipped and reread."""
    from controlplane.cli.base import output

    columns = ("source.channel", "partition", "current", "new", "skipped", "of these expired", "reread")
    rows = (
        (
            f"{move['source']}.{move['channel']}",
            f"{move['topic']}/{move['partition']}",
            move["old"],
            move["new"],
            move["skip"],
            move["gone"],
            move["replay"],
        )
        for move in moves
    )
    output.table(columns, rows, empty="No partitions.")


@app.verb()
def apply(
    session: Session,
    name: Name,
    digest: Annotated[str, typer.Argument(help="The digest of the plan that you reviewed.", metavar="DIGEST")],
    right: Right,
) -> None:
    """Apply a plan while the pipeline is STOPPED or BLOCKED. Its next start reads from the new positions."""
    from controlplane.cli.base import output

    if sent(session, name, "positions", {"hash": digest}, right):
        return
    _, done = session.client().post(path(name, "positions", "apply"), {"hash": digest})
    if session.printed(done):
        return
    _print_moves(done)
    output.print_line(f"Applied. Start the pipeline: headgate start {name}", style="green")
