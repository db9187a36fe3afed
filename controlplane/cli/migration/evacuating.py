"""Emptying a host by migrations."""

from __future__ import annotations

import time
from typing import Annotated, Any

import typer

from controlplane.cli.base.session import AsJson, Limit, begin
from controlplane.cli.migration.migrating import DEFAULT_TIMEOUT_S, Ask, Reason, Timeout, Wait, Window, rules
from controlplane.cli.migration.output import Progress
from controlplane.cli.migration.waiting import LOOK_S

Id = Annotated[str, typer.Argument(help="The evacuation's id; `headgate evacuations list` has it.", metavar="ID")]

app = typer.Typer(
    no_args_is_help=True,
    help="Hosts that are or were emptied: list them, follow one, cancel one. `headgate evacuate HOST` begins one.",
)


def evacuate(
    ctx: typer.Context,
    host: Annotated[str, typer.Argument(help="The host to be emptied.", metavar="HOST")],
    reason: Reason,
    at_once: Annotated[int, typer.Option("--at-once", min=1, max=50, help="How many pipelines at once.")] = 1,
    keep_going: Annotated[bool, typer.Option("--keep-going", help="Do not stop at the first one that fails.")] = False,
    observe: Window = None,
    ask: Ask = False,
    wait: Wait = False,
    timeout: Timeout = DEFAULT_TIMEOUT_S,
    as_json: AsJson = False,
) -> None:
    """Move every running pipeline of a host elsewhere, by migrations. What cannot move stays, works, and is named.

    With --wait 0: the host is empty; 1: pipelines stay; 5: not over in time. `headgate evacuations` follows it later.
    """
    client = begin(ctx, as_json=as_json)
    body = {"host": host, "at_once": at_once, "go_on": keep_going, "reason": reason, **rules(observe, ask)}
    _, made = client.post("evacuations", body)
    _tell(client, made, wait=wait, timeout=timeout, as_json=as_json)


@app.command("list")
def list_evacuations(ctx: typer.Context, limit: Limit = 50, as_json: AsJson = False) -> None:
    """List evacuations, newest first."""
    from controlplane.cli.base import output

    found = begin(ctx, as_json=as_json).pages("evacuations", limit=limit)
    if as_json:
        output.write_json(found)
        return
    columns = ("id", "host", "state", "moved", "stay", "wait", "begun", "by", "reason")
    output.table(columns, map(_row, found), empty="No host was emptied yet. `headgate evacuate HOST` empties one.")


def _row(made: dict[str, Any]) -> tuple[object, ...]:
    from controlplane.cli.base.output import ago

    moved = sum(each["stage"] == "COMMITTED" for each in made["migrations"])
    figures = (moved, len(made["left"]), len(made["waiting"]))
    state = made["outcome"] if made["ended_at"] else "under way"
    return made["id"], made["host"], state, *figures, ago(made["created_at"]), made["created_by"], made["reason"]


@app.command()
def watch(
    ctx: typer.Context,
    evacuation: Id,
    wait: Wait = False,
    timeout: Timeout = DEFAULT_TIMEOUT_S,
    as_json: AsJson = False,
) -> None:
    """Show an evacuation: which pipelines have moved, which stay and why, which wait. With --wait until it has ended.

    With --wait 0: the host is empty; 1: pipelines stay; 5: not over in time.
    """
    client = begin(ctx, as_json=as_json)
    _tell(client, client.get(_address(evacuation)), wait=wait, timeout=timeout, as_json=as_json)


@app.command()
def cancel(ctx: typer.Context, evacuation: Id, as_json: AsJson = False) -> None:
    """Begin no more migrations of an evacuation; those under way go on."""
    client = begin(ctx, as_json=as_json)
    address = _address(evacuation)
    client.delete(address)
    _show_evacuation(client.get(address), as_json=as_json)


def _address(evacuation: str) -> str:
    from uuid import UUID

    from controlplane.cli.base.errors import CommandError, ExitCode

    try:
        return f"evacuations/{UUID(evacuation)}"
    except ValueError:
        raise CommandError(
            title=f"{evacuation} is no id of an evacuation",
            hint="headgate evacuations list has the ids.",
            code="usage",
            exit_code=ExitCode.USAGE,
        ) from None


def _tell(client: Any, made: dict[str, Any], *, wait: bool, timeout: float, as_json: bool) -> None:
    if wait:
        made = _waited_for(client, made, timeout=timeout, quiet=as_json)
    _show_evacuation(made, as_json=as_json)
    if wait:
        _require_empty(made, timeout)


def _waited_for(client: Any, made: dict[str, Any], *, timeout: float, quiet: bool) -> dict[str, Any]:
    """The evacuation when it is over, or after `timeout` seconds."""
    deadline, progress = time.monotonic() + timeout, Progress(quiet=quiet)
    while made["ended_at"] is None and time.monotonic() < deadline:
        time.sleep(LOOK_S)
        made = _looked(client, made)
        progress.tell(_so_far(made))
    return made


def _looked(client: Any, made: dict[str, Any]) -> dict[str, Any]:
    """The evacuation as it is now; as it was, where the server is away for a moment."""
    from controlplane.cli.base.errors import CommandError

    try:
        found: dict[str, Any] = client.get(f"evacuations/{made['id']}")
    except CommandError as error:
        if not error.may_pass:
            raise
        return made
    return found


def _so_far(made: dict[str, Any]) -> str:
    moves = [f"{each['pipeline']} {each['stage']}" for each in made["migrations"]]
    moves += [f"{name} stays" for name in made["left"] if name not in {each["pipeline"] for each in made["migrations"]}]
    moves += [f"{name} waits" for name in made["waiting"]]
    return f"{made['host']}: {', '.join(moves) or 'no pipeline runs there'}"


def _show_evacuation(made: dict[str, Any], *, as_json: bool) -> None:
    from controlplane.cli.base import output

    if as_json:
        output.write_json(made)
        return
    if made["ended_at"] is None:
        words = f"{made['host']} is being emptied. Follow it: headgate evacuations watch {made['id']} --wait"
    else:
        words = f"The evacuation of {made['host']} is over: {made['outcome']}."
    output.say(f"{made['id']}: {words}")
    rows = [(each["pipeline"], each["stage"], each["new_host"], each["message"]) for each in made["migrations"]]
    rows += [(name, "stays", made["host"], why) for name, why in made["left"].items()]
    rows += [(name, "waits", None, "") for name in made["waiting"]]
    output.table(("pipeline", "stage", "host", "what"), rows, empty="No pipeline runs there.")


def _require_empty(made: dict[str, Any], timeout: float) -> None:
    from controlplane.cli.base import output
    from controlplane.cli.base.errors import CommandError, ExitCode

    if made["ended_at"] is None:
        named = f"headgate evacuations watch {made['id']} --wait"
        raise CommandError(
            title=f"{made['host']} is not empty after {timeout:g} s",
            detail=f"It goes on without you: {named}",
            hint=f"Begin no more of its migrations: headgate evacuations cancel {made['id']}",
            code="timed_out",
            exit_code=ExitCode.TIMED_OUT,
        )
    if made["left"]:
        stay = output.counted(len(made["left"]), "pipeline stays", "pipelines stay")
        raise CommandError(f"{stay} on {made['host']}", code="not_empty")
    if made["outcome"] != "done":
        raise CommandError(f"The evacuation of {made['host']} was {made['outcome']}", code="not_empty")
