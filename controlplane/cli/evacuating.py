"""Emptying a host by migrations."""

from __future__ import annotations

import time
from typing import Annotated, Any

import typer

from controlplane.cli.migrating import DEFAULT_TIMEOUT_S, Ask, Reason, Timeout, Wait, Window, rules
from controlplane.cli.migration_output import Progress
from controlplane.cli.migration_waiting import LOOK_S
from controlplane.cli.session import AsJson, begin


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

    With --wait 0: the host is empty; 1: pipelines stay; 5: not over in time.
    """
    from controlplane.cli import output

    client = begin(ctx, as_json=as_json)
    body = {"host": host, "at_once": at_once, "go_on": keep_going, "reason": reason, **rules(observe, ask)}
    _, made = client.post("evacuations", body)
    deadline, progress = time.monotonic() + timeout, Progress(quiet=as_json)
    while wait and made["ended_at"] is None and time.monotonic() < deadline:
        time.sleep(LOOK_S)
        made = _looked(client, made)
        progress.tell(_so_far(made))
    if as_json:
        output.write_json(made)
    else:
        _show_evacuation(made)
    if wait:
        _require_empty(made, timeout)


def _looked(client: Any, made: dict[str, Any]) -> dict[str, Any]:
    """The evacuation as it is now; as it was, where the server is away for a moment."""
    from controlplane.cli.errors import CommandError

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


def _show_evacuation(made: dict[str, Any]) -> None:
    from controlplane.cli import output

    output.say(
        f"{made['host']} is being emptied." if made["ended_at"] is None else f"{made['host']}: {made['outcome']}."
    )
    rows = [(each["pipeline"], each["stage"], each["new_host"], each["message"]) for each in made["migrations"]]
    rows += [(name, "stays", made["host"], why) for name, why in made["left"].items()]
    rows += [(name, "waits", None, "") for name in made["waiting"]]
    output.table(("pipeline", "stage", "host", "what"), rows, empty="No pipeline runs there.")


def _require_empty(made: dict[str, Any], timeout: float) -> None:
    from controlplane.cli import output
    from controlplane.cli.errors import CommandError, ExitCode

    if made["ended_at"] is None:
        words = f"{made['host']} is not empty after {timeout:g} s; it goes on without you"
        raise CommandError(words, code="timed_out", exit_code=ExitCode.TIMED_OUT)
    if made["left"]:
        stay = output.counted(len(made["left"]), "pipeline stays", "pipelines stay")
        raise CommandError(f"{stay} on {made['host']}", code="not_empty")
    if made["outcome"] != "done":
        raise CommandError(f"The evacuation of {made['host']} was {made['outcome']}", code="not_empty")
