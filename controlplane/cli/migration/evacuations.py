"""Commands about evacuations: all pipelines of a host move to other hosts by migrations."""

from __future__ import annotations

import time
from typing import Annotated, Any

import typer

from controlplane.cli.base.commands import Group
from controlplane.cli.base.session import Limit, Session
from controlplane.cli.migration.changes import Observation
from controlplane.cli.migration.migrations import DEFAULT_TIMEOUT_S, Reason, Timeout, Waiting
from controlplane.cli.migration.output import Progress
from controlplane.cli.migration.waiting import POLL_S

Id = Annotated[
    str, typer.Argument(help="The evacuation's id; `headgate hosts evacuations list` shows it.", metavar="ID")
]

app = Group("List, follow and cancel evacuations.")


def evacuate(
    session: Session,
    host: Annotated[str, typer.Argument(help="The host's name.", metavar="HOST")],
    reason: Reason,
    observation: Observation,
    wait_for: Waiting,
    parallel: Annotated[int, typer.Option("--parallel", min=1, max=50, help="The number of parallel migrations.")] = 1,
    continue_on_failure: Annotated[
        bool,
        typer.Option("--continue-on-failure", help="Continue if a pipeline fails after changes were applied."),
    ] = False,
) -> None:
    """Evacuate a host: migrate its running pipelines to other hosts. Pipelines that cannot move keep running.

    With --wait 0: no pipeline remains; 1: pipelines remain; 5: not ended in time.
    """
    client = session.client()
    body = {
        "host": host,
        "at_once": parallel,
        "go_on": continue_on_failure,
        "reason": reason,
        **observation.spec(),
    }
    _, made = client.post("evacuations", body)
    if wait_for.wait:
        made = _wait_for_end(session, client, made, wait_for.timeout)
    _print(session, made)
    if wait_for.wait:
        _require_evacuated(made, wait_for.timeout)


@app.verb("list")
def list_evacuations(session: Session, limit: Limit = 50) -> None:
    """List evacuations, newest first."""
    from controlplane.cli.base import output

    found = session.client().pages("evacuations", limit=limit)
    if session.printed(found):
        return
    columns = ("id", "host", "state", "moved", "remaining", "waiting", "started", "by", "reason")
    output.table(columns, map(_row, found), empty="No evacuations. Start one: headgate hosts evacuate HOST")


def _row(made: dict[str, Any]) -> tuple[object, ...]:
    from controlplane.cli.base.output import ago

    moved = sum(each["stage"] == "COMMITTED" for each in made["migrations"])
    figures = (moved, len(made["left"]), len(made["waiting"]))
    state = made["outcome"] if made["ended_at"] else "in progress"
    return made["id"], made["host"], state, *figures, ago(made["created_at"]), made["created_by"], made["reason"]


@app.verb()
def show(session: Session, evacuation: Id) -> None:
    """Show an evacuation: the pipelines that have moved, that remain, with the reason, and that wait."""
    _print(session, session.client().get(_address(evacuation)))


@app.verb()
def watch(session: Session, evacuation: Id, timeout: Timeout = DEFAULT_TIMEOUT_S) -> None:
    """Follow an evacuation until it ends.

    0: no pipeline remains; 1: pipelines remain; 5: not ended in time.
    """
    client = session.client()
    made = _wait_for_end(session, client, client.get(_address(evacuation)), timeout)
    _print(session, made)
    _require_evacuated(made, timeout)


@app.verb()
def cancel(session: Session, evacuation: Id) -> None:
    """Cancel an evacuation: it starts no more migrations. Migrations in progress continue."""
    client = session.client()
    address = _address(evacuation)
    client.delete(address)
    _print(session, client.get(address))


def _address(evacuation: str) -> str:
    from uuid import UUID

    from controlplane.cli.base.errors import CommandError

    try:
        return f"evacuations/{UUID(evacuation)}"
    except ValueError:
        raise CommandError.of_usage(
            f"{evacuation} is not the id of an evacuation", hint="`headgate hosts evacuations list` shows the ids."
        ) from None


def _wait_for_end(session: Session, client: Any, made: dict[str, Any], timeout: float) -> dict[str, Any]:
    """The evacuation when it has ended, or after `timeout` seconds."""
    deadline, progress = time.monotonic() + timeout, Progress(quiet=session.for_programs)
    while made["ended_at"] is None and time.monotonic() < deadline:
        time.sleep(POLL_S)
        made = _current(client, made)
        progress.show(_so_far(made))
    return made


def _current(client: Any, made: dict[str, Any]) -> dict[str, Any]:
    """The evacuation as it is now; as it was, while the server is unreachable."""
    from controlplane.cli.base.errors import CommandError

    try:
        found: dict[str, Any] = client.get(f"evacuations/{made['id']}")
    except CommandError as error:
        if not error.is_temporary:
            raise
        return made
    return found


def _so_far(made: dict[str, Any]) -> str:
    moves = [f"{each['pipeline']} {each['stage']}" for each in made["migrations"]]
    moving = {each["pipeline"] for each in made["migrations"]}
    moves += [f"{name} remains" for name in made["left"] if name not in moving]
    moves += [f"{name} waits" for name in made["waiting"]]
    return f"{made['host']}: {', '.join(moves) or 'no pipelines'}"


def _print(session: Session, made: dict[str, Any]) -> None:
    from controlplane.cli.base import output

    if session.printed(made):
        return
    if made["ended_at"] is None:
        words = f"evacuating {made['host']}. Follow it: headgate hosts evacuations watch {made['id']}"
    else:
        words = f"the evacuation of {made['host']} has ended: {made['outcome']}."
    output.print_line(f"{made['id']}: {words}")
    rows = [(each["pipeline"], each["stage"], each["new_host"], each["message"]) for each in made["migrations"]]
    rows += [(name, "remains", made["host"], why) for name, why in made["left"].items()]
    rows += [(name, "waits", None, "") for name in made["waiting"]]
    output.table(("pipeline", "stage", "host", "message"), rows, empty="No pipelines.")


def _require_evacuated(made: dict[str, Any], timeout: float) -> None:
    from controlplane.cli.base import output
    from controlplane.cli.base.errors import CommandError, ExitCode

    if made["ended_at"] is None:
        raise CommandError(
            title=f"The evacuation of {made['host']} has not ended after {timeout:g} s",
            detail=f"It continues. Follow it: headgate hosts evacuations watch {made['id']}",
            hint=f"Cancel it: headgate hosts evacuations cancel {made['id']}",
            code="timed_out",
            exit_code=ExitCode.TIMED_OUT,
        )
    if made["left"]:
        remaining = output.counted(len(made["left"]), "pipeline remains", "pipelines remain")
        raise CommandError(f"{remaining} on {made['host']}", code="not_empty")
    if made["outcome"] != "done":
        raise CommandError(f"The evacuation of {made['host']} was {made['outcome']}", code="not_empty")
