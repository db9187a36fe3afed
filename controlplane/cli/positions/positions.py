"""Commands about positions: look at them, plan a decision, apply it."""

from __future__ import annotations

import time
from typing import Annotated, Any

import typer

from controlplane.cli.base.groups import falling_to
from controlplane.cli.base.session import AsJson, Name, begin, path

WAIT_S = 30
"""How long the server waits for the host's answer."""
PLAN_S = 60.0


app = typer.Typer(
    cls=falling_to("show"),
    no_args_is_help=True,
    help="Where a pipeline stands (`headgate positions NAME`), and decisions to go on elsewhere: plan, apply.",
)


@app.command()
def show(ctx: typer.Context, name: Name, as_json: AsJson = False) -> None:
    """Show each partition by ledger, checkpoint, group and log, with a verdict. The pipeline's host is asked."""
    from controlplane.cli.base import output

    found = begin(ctx, as_json=as_json).get(path(name, "positions"), wait=WAIT_S)
    if as_json:
        output.write_json(found)
        return
    columns = (
        "source.channel",
        "partition",
        "ledger",
        "checkpoint",
        "group",
        "log starts",
        "log ends",
        "verdict",
    )
    output.table(columns, map(_row, found["partitions"]), empty="No position yet.")
    for finding in found["findings"]:
        output.say(f"{finding['code']}: {finding['message']}")
    _tell_age(found)
    if found["choices"]:
        _tell_choices(name, found["choices"])


def _row(row: dict[str, Any]) -> tuple[object, ...]:
    where = f"{row['source']}.{row['channel']}", f"{row['topic']}/{row['partition']}"
    known = (row[name] for name in ("ledger", "checkpoint", "group", "log_start", "log_end"))
    return (*where, *known, row["verdict"])


def _tell_age(found: dict[str, Any]) -> None:
    from controlplane.cli.base import output

    if found["error"]:
        output.note(f"The host could not look: {found['error']['message']} {found['error']['hint']}")
    elif not found["fresh"]:
        taken = f" what was found {output.ago(found['taken_at'])}" if found["taken_at"] else " what the ledger knows"
        output.note(f"The pipeline's host has not answered; this is{taken}.")


def _tell_choices(name: str, choices: list[dict[str, Any]]) -> None:
    from controlplane.cli.base import output

    output.say("A position asks for a decision. The ways on:")
    output.table(("--to", "skips", "replays"), ((c["to"], c["skip"], c["replay"]) for c in choices), empty="")
    output.say(f"Plan one: headgate positions plan {name} --to {choices[0]['to']}")


@app.command()
def plan(
    ctx: typer.Context,
    name: Name,
    to: Annotated[
        str,
        typer.Option(
            "--to",
            help="ledger, checkpoint, group, earliest, latest, timestamp=-30m, timestamp=TIME, before=EVENT-30m, "
            "or offsets=TOPIC/PARTITION:OFFSET,… (what is not named stays at the ledger).",
        ),
    ],
    source: Annotated[str | None, typer.Option("--source", help="Only of this source; the others stay.")] = None,
    as_json: AsJson = False,
) -> None:
    """Say what going on elsewhere would skip and replay, to the record. Nothing is changed; the hash applies it."""
    from controlplane.cli.base import output

    client = begin(ctx, as_json=as_json)
    _, made = client.post(path(name, "positions", "plan"), {"to": to, "source": source})
    made = _answered(client, name, made)
    if as_json:
        output.write_json(made)
        return
    _tell_moves(made)
    if twice := made["possible_duplicates"]:
        records = output.counted(twice, "record", "records")
        output.say(f"Batches that were not finished: up to {records} may be there already.")
    output.say(f"Apply it: headgate positions apply {name} {made['hash']}")


def _answered(client: Any, name: str, made: dict[str, Any]) -> dict[str, Any]:
    """The plan, once the host has answered. CommandError after PLAN_S seconds."""
    from controlplane.cli.base.errors import CommandError, ExitCode

    deadline = time.monotonic() + PLAN_S
    while made["state"] == "PENDING":
        if time.monotonic() > deadline:
            raise CommandError(
                title=f"The host of {name} has not answered",
                detail="Nothing was changed.",
                hint="See that its worker runs: headgate hosts.",
                code="timed_out",
                exit_code=ExitCode.TIMED_OUT,
            )
        time.sleep(0.5)
        made = client.get(path(name, "positions", "plans", made["id"]))
    return made


def _tell_moves(made: dict[str, Any]) -> None:
    from controlplane.cli.base import output

    show_moves(made["partitions"])
    skipped = output.counted(made["skip"], "record", "records")
    output.say(f"{skipped} would be skipped, {made['replay']} would come again.")


def show_moves(moves: list[dict[str, Any]]) -> None:
    """Where each partition stands and goes on, and what that skips and replays."""
    from controlplane.cli.base import output

    columns = ("source.channel", "partition", "stands at", "goes on at", "skips", "of these gone", "replays")
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
    output.table(columns, rows, empty="No partition.")


@app.command()
def apply(
    ctx: typer.Context,
    name: Name,
    named: Annotated[str, typer.Argument(help="The hash of the plan that you reviewed.", metavar="HASH")],
    as_json: AsJson = False,
) -> None:
    """Do what a plan said, while the pipeline is STOPPED or BLOCKED; its next start goes on from there."""
    from controlplane.cli.base import output

    _, done = begin(ctx, as_json=as_json).post(path(name, "positions", "apply"), {"hash": named})
    if as_json:
        output.write_json(done)
        return
    _tell_moves(done)
    output.say(f"Done. Go on: headgate start {name}", style="green")
