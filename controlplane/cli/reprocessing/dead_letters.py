"""Commands about dead letters: list, show, retry, discard."""

from __future__ import annotations

import base64
from dataclasses import dataclass
from typing import Annotated, Any

import typer

from controlplane.cli.base.commands import Group
from controlplane.cli.base.errors import CommandError
from controlplane.cli.base.session import Limit, Name, Reason, Session, Waiting, path

MAX_BYTES = 8 * 1024 * 1024
"""Of an edited body; the server has a limit of its own."""

app = Group("Show dead letters (records that could not be processed), retry them or discard them.")

Ids = Annotated[list[str] | None, typer.Argument(help="Ids of dead letters.", metavar="[ID]...")]


@dataclass(frozen=True)
class Filter:
    """Which dead letters."""

    component: Annotated[str | None, typer.Option("--component", help="Only this component, such as sinks.lake.")] = (
        None
    )
    cause: Annotated[str | None, typer.Option("--cause", help="Only causes that contain this text.")] = None
    source: Annotated[str | None, typer.Option("--source", help="Only this source.")] = None
    since: Annotated[
        str | None, typer.Option("--since", help="Only since a time (RFC 3339) or a duration ago: 90s, 15m, 2h, 7d.")
    ] = None

    def query(self) -> dict[str, Any]:
        """What is given, as the API takes it."""
        given = {"component": self.component, "cause": self.cause, "source": self.source}
        given["since"] = self.since and _moment(self.since)
        return {name: value for name, value in given.items() if value}


@app.verb("list")
def list_dead_letters(
    session: Session,
    name: Name,
    wanted: Filter,
    state: Annotated[str | None, typer.Option("--state", help="new, retried or discarded.")] = None,
    limit: Limit = 50,
) -> None:
    """List dead letters, newest first, and the causes of the new ones."""
    from controlplane.cli.base import output

    client = session.client()
    query = {**wanted.query(), "state": state and state.upper()}
    found = client.pages(path(name, "dead-letters"), limit=limit, **query)
    if session.printed(found):
        return
    columns = ("id", "at", "component", "cause", "origin", "bytes", "state")
    output.table(columns, map(_row, found), empty=output.none("dead letters", query.values()))
    if found:
        _print_causes(client.get(path(name, "dead-letters", "summary"), **query))


def _row(found: dict[str, Any]) -> tuple[object, ...]:
    from controlplane.cli.base.output import ago

    origin = f"{found['topic']}/{found['partition']}@{found['offset']}"
    state = f"{found['state']} (in doubt)" if found["in_doubt"] else found["state"]
    return found["id"], ago(found["at"]), found["component"], found["cause"], origin, found["size"], state


def _print_causes(summary: dict[str, Any]) -> None:
    from controlplane.cli.base import output

    rows = [(cause["component"], cause["cause"], cause["dead_letters"]) for cause in summary["causes"]]
    if rows:
        output.table(("component", "cause", "new dead letters"), rows, empty="")
    output.print_line(f"{summary['new']} new, {summary['retried']} retried, {summary['discarded']} discarded.")


@app.verb()
def show(
    session: Session,
    name: Name,
    dead_letter: Annotated[str, typer.Argument(help="The dead letter's id.", metavar="ID")],
) -> None:
    """Show a dead letter: its cause, its origin, its headers and the first 16 KiB of its body."""
    from controlplane.cli.base import output

    found = session.client().get(_path(name, dead_letter))
    if session.printed(found):
        return
    origin = f"{found['source']}: {found['topic']}/{found['partition']}@{found['offset']}"
    facts = [
        ("state", found["state"]),
        ("at", found["at"]),
        ("component", found["component"]),
        ("cause", found["cause"]),
        ("origin", origin),
        ("channel", found["channel"]),
        ("bytes", found["size"]),
        ("complete event", f"{found['location']} on {found['host']}"),
        ("key", _content(found, "key")),
        *((f"header {header['name']}", _content(header, "value")) for header in found["headers"]),
    ]
    output.table(("", found["id"]), facts, empty="")
    output.write_text(f"{_content(found, 'body')}\n")
    if found["truncated"]:
        output.note("The body is truncated here; a retry sends the complete event.")


def _content(of: dict[str, Any], name: str) -> str | None:
    encoded = of[f"{name}_base64"]
    text: str | None = of[name]
    return f"(base64) {encoded}" if encoded is not None else text


@app.verb()
def retry(
    session: Session,
    name: Name,
    wanted: Filter,
    waiting: Waiting,
    ids: Ids = None,
    everything: Annotated[
        bool, typer.Option("--all", help="All new dead letters that match the other options.")
    ] = False,
    rate: Annotated[float, typer.Option("--rate", min=0.1, max=1000, help="Dead letters per second.")] = 100.0,
    body: Annotated[
        str | None, typer.Option("--body", help="A file with an edited body for one dead letter; - for standard input.")
    ] = None,
    header: Annotated[
        list[str] | None,
        typer.Option("--header", help="NAME=VALUE; replaces all headers of one dead letter. Repeatable."),
    ] = None,
    reason: Reason = "",
) -> None:
    """Retry dead letters: each is sent to its source as a new record and passes all interceptors again."""
    from controlplane.cli.base.waiting import finish, require_success

    chosen = _chosen(ids or [], everything, wanted.query(), _edited(body, header or []))
    client = session.client()
    _, operation = client.post(path(name, "dead-letters", "retry"), {**chosen, "rate": rate, "reason": reason})
    operation = finish(session, client, operation, waiting)
    if not session.printed(operation):
        _print(operation)
    require_success(operation)


def _chosen(ids: list[str], everything: bool, query: dict[str, Any], edited: dict[str, Any]) -> dict[str, Any]:
    if everything == bool(ids) or (query and not everything):
        raise CommandError.of_usage(
            "Name dead letters by ID, or give --all; --component, --cause, --source and --since restrict --all."
        )
    if edited and len(ids) != 1:
        raise CommandError.of_usage("--body and --header edit exactly one dead letter.")
    if edited:
        return {"repair": {"id": ids[0], **edited}}
    return {"filter": query} if everything else {"ids": ids}


def _edited(body: str | None, headers: list[str]) -> dict[str, Any]:
    from controlplane.cli.base.inputs import pairs, read_bytes

    edited: dict[str, Any] = {}
    if body is not None:
        content = read_bytes(body, most=MAX_BYTES, what="a body")
        edited["body_base64"] = base64.b64encode(content).decode()
    if headers:
        edited["headers"] = pairs(headers, "--header NAME=VALUE")
    return edited


def _print(operation: dict[str, Any]) -> None:
    from controlplane.cli.base import output
    from controlplane.cli.base.waiting import OPEN_STATES

    others = operation["progress"].get("also_delivered_to") or []
    if operation["state"] in OPEN_STATES:
        output.print_line(f"Requested: {operation['message']}")
        output.print_line(
            f"Follow it: headgate dead-letters list {operation['pipeline']} (operation {operation['id']})"
        )
    elif operation["state"] == "SUCCEEDED":
        output.print_line(operation["message"], style="green")
    if others:
        output.note(f"Other channels of the source receive these events again: {', '.join(others)}.")


@app.verb()
def discard(
    session: Session,
    name: Name,
    ids: Annotated[list[str], typer.Argument(help="Ids of dead letters.", metavar="ID...")],
    reason: Reason = "",
) -> None:
    """Discard dead letters. They stay in the list until their retention ends, and cannot be retried."""
    from controlplane.cli.base import output

    _, done = session.client().post(path(name, "dead-letters", "discard"), {"ids": ids, "reason": reason})
    if not session.printed(done):
        output.print_line(f"{done['discarded']} discarded")


def _path(name: str, dead_letter: str) -> str:
    from urllib.parse import quote

    return path(name, "dead-letters", quote(dead_letter, safe=""))


_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400}


def _moment(since: str) -> str:
    """An RFC 3339 time from one, or from a duration before now."""
    from datetime import UTC, datetime, timedelta

    from controlplane.cli.base.inputs import moment

    if since[:-1].isdigit() and since[-1] in _UNITS and len(since) < 10:
        return (datetime.now(UTC) - timedelta(seconds=int(since[:-1]) * _UNITS[since[-1]])).isoformat()
    return moment(since, wrong="is neither a time nor a duration such as 15m")
