"""Commands about events that could not be processed: list, show, replay, discard."""

from __future__ import annotations

import base64
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from controlplane.cli.base.errors import CommandError, ExitCode
from controlplane.cli.base.groups import falling_to
from controlplane.cli.base.session import AsJson, Limit, Name, begin, path
from controlplane.cli.lifecycle.lifecycle import DEFAULT_TIMEOUT_S, Timeout, Wait

MAX_BYTES = 8 * 1024 * 1024
"""Of a repaired body; the server has a limit of its own."""


app = typer.Typer(
    cls=falling_to("list"),
    no_args_is_help=True,
    help="Events that could not be processed: list (`headgate dead-letters NAME`), show, send back, give up.",
)

Ids = Annotated[list[str] | None, typer.Argument(help="Ids of letters, as the list shows them.", metavar="[ID]...")]
Component = Annotated[str | None, typer.Option("--component", help="Only of this component, as sinks.lake.")]
Cause = Annotated[str | None, typer.Option("--cause", help="Only with this text in their cause.")]
Source = Annotated[str | None, typer.Option("--source", help="Only of this source.")]
Since = Annotated[
    str | None, typer.Option("--since", help="Only since a time (RFC 3339), or for so long: 90s, 15m, 2h, 7d.")
]
Reason = Annotated[str, typer.Option("--reason", help="Why; it is kept in the audit.")]


@app.command("list")
def list_letters(
    ctx: typer.Context,
    name: Name,
    component: Component = None,
    cause: Cause = None,
    source: Source = None,
    since: Since = None,
    state: Annotated[str | None, typer.Option("--state", help="new, replayed or discarded.")] = None,
    limit: Limit = 50,
    as_json: AsJson = False,
) -> None:
    """List dead letters, newest first, and the causes of the new ones."""
    from controlplane.cli.base import output

    client = begin(ctx, as_json=as_json)
    wanted: dict[str, Any] = _filter(component, cause, source, since)
    wanted["state"] = state and state.upper()
    found = client.pages(path(name, "dead-letters"), limit=limit, **wanted)
    if as_json:
        output.write_json(found)
        return
    columns = ("id", "at", "component", "cause", "origin", "bytes", "state")
    output.table(columns, map(_row, found), empty="No dead letters.")
    if found:
        _tell_causes(client.get(path(name, "dead-letters", "summary"), **wanted))


def _row(letter: dict[str, Any]) -> tuple[object, ...]:
    from controlplane.cli.base.output import ago

    origin = f"{letter['topic']}/{letter['partition']}@{letter['offset']}"
    state = f"{letter['state']} (in doubt)" if letter["in_doubt"] else letter["state"]
    return letter["id"], ago(letter["at"]), letter["component"], letter["cause"], origin, letter["size"], state


def _tell_causes(summary: dict[str, Any]) -> None:
    from controlplane.cli.base import output

    rows = [(cause["component"], cause["cause"], cause["letters"]) for cause in summary["causes"]]
    if rows:
        output.table(("component", "cause", "new letters"), rows, empty="")
    output.say(f"{summary['new']} new, {summary['replayed']} replayed, {summary['discarded']} discarded.")


@app.command()
def show(
    ctx: typer.Context,
    name: Name,
    letter: Annotated[str, typer.Argument(help="The letter's id.", metavar="ID")],
    as_json: AsJson = False,
) -> None:
    """Show one dead letter: what was wrong, where it came from, its headers and the first 16 KiB of its body."""
    from controlplane.cli.base import output

    found = begin(ctx, as_json=as_json).get(_letter_path(name, letter))
    if as_json:
        output.write_json(found)
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
        ("whole event", f"{found['location']} on {found['host']}"),
        ("key", _content(found, "key")),
        *((f"header {header['name']}", _content(header, "value")) for header in found["headers"]),
    ]
    output.table(("", found["id"]), facts, empty="")
    output.write_text(f"{_content(found, 'body')}\n")
    if found["truncated"]:
        output.note("This is the beginning; a replay sends the whole event.")


def _content(of: dict[str, Any], name: str) -> str | None:
    encoded = of[f"{name}_base64"]
    text: str | None = of[name]
    return f"(base64) {encoded}" if encoded is not None else text


@app.command()
def replay(
    ctx: typer.Context,
    name: Name,
    ids: Ids = None,
    everything: Annotated[bool, typer.Option("--all", help="All new letters that match the options.")] = False,
    component: Component = None,
    cause: Cause = None,
    source: Source = None,
    since: Since = None,
    rate: Annotated[float, typer.Option("--rate", min=0.1, max=1000, help="Letters per second.")] = 100.0,
    body: Annotated[
        str | None, typer.Option("--body", help="A file with a repaired body for the one letter; - is stdin.")
    ] = None,
    header: Annotated[
        list[str] | None,
        typer.Option("--header", help="NAME=VALUE; replaces all headers of the one letter. May be repeated."),
    ] = None,
    reason: Reason = "",
    wait: Wait = False,
    timeout: Timeout = DEFAULT_TIMEOUT_S,
    as_json: AsJson = False,
) -> None:
    """Send dead letters back to their source: each comes again as a new record, through all interceptors."""
    from controlplane.cli.base import output, waiting

    chosen = _filter(component, cause, source, since)
    wanted = _wanted(ids or [], everything, chosen, _repair(body, header or []))
    client = begin(ctx, as_json=as_json)
    _, operation = client.post(path(name, "dead-letters", "replay"), {**wanted, "rate": rate, "reason": reason})
    if wait:
        operation = waiting.wait_for(client, operation, timeout=timeout, quiet=as_json)
    if as_json:
        output.write_json(operation)
    else:
        _tell(operation)
    if operation["state"] not in waiting.OPEN_STATES:
        waiting.require_success(operation)


def _wanted(ids: list[str], everything: bool, chosen: dict[str, str], repair: dict[str, Any] | None) -> dict[str, Any]:
    if everything == bool(ids) or (chosen and not everything):
        raise _usage("Name letters by ID, or say --all; --component, --cause, --source and --since narrow --all.")
    if repair is not None and len(ids) != 1:
        raise _usage("--body and --header are for one letter.")
    if repair is not None:
        return {"repair": {"id": ids[0], **repair}}
    return {"filter": chosen} if everything else {"ids": ids}


def _repair(body: str | None, headers: list[str]) -> dict[str, Any] | None:
    repaired: dict[str, Any] = {}
    if body is not None:
        repaired["body_base64"] = base64.b64encode(_read(body)).decode()
    if headers:
        pairs = [header.partition("=") for header in headers]
        if not all(name and equals for name, equals, _ in pairs):
            raise _usage("Write --header NAME=VALUE.")
        repaired["headers"] = {name: value for name, _, value in pairs}
    return repaired or None


def _tell(operation: dict[str, Any]) -> None:
    from controlplane.cli.base import output, waiting

    beside = operation["progress"].get("also_delivered_to") or []
    if operation["state"] in waiting.OPEN_STATES:
        output.say(f"The replay has been requested: {operation['message']}")
        output.say(f"Look: headgate dead-letters {operation['pipeline']} (operation {operation['id']})")
    elif operation["state"] == "SUCCEEDED":
        output.say(operation["message"], style="green")
    if beside:
        output.note(f"Their source feeds other channels too, which get these events again: {', '.join(beside)}.")


@app.command()
def discard(
    ctx: typer.Context,
    name: Name,
    ids: Annotated[list[str], typer.Argument(help="Ids of letters.", metavar="ID...")],
    reason: Reason = "",
    as_json: AsJson = False,
) -> None:
    """Give dead letters up. They stay in the list until their time is over, and are not replayed."""
    from controlplane.cli.base import output

    _, done = begin(ctx, as_json=as_json).post(path(name, "dead-letters", "discard"), {"ids": ids, "reason": reason})
    output.write_json(done) if as_json else output.say(f"{done['discarded']} discarded")


def _letter_path(name: str, letter: str) -> str:
    from urllib.parse import quote

    return path(name, "dead-letters", quote(letter, safe=""))


_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400}


def _filter(component: str | None, cause: str | None, source: str | None, since: str | None) -> dict[str, str]:
    given = {"component": component, "cause": cause, "source": source, "since": since and _moment(since)}
    return {name: value for name, value in given.items() if value}


def _moment(since: str) -> str:
    """An RFC 3339 time out of one, or out of how long ago it was."""
    from datetime import UTC, datetime, timedelta

    from controlplane.cli.base.inputs import moment

    if since[:-1].isdigit() and since[-1] in _UNITS and len(since) < 10:
        return (datetime.now(UTC) - timedelta(seconds=int(since[:-1]) * _UNITS[since[-1]])).isoformat()
    return moment(since, wrong="is neither a time nor a duration such as 15m")


def _read(file: str) -> bytes:
    try:
        content = sys.stdin.buffer.read(MAX_BYTES + 1) if file == "-" else _head(Path(file))
    except OSError as error:
        raise _usage(f"{file} cannot be read: {error.strerror}") from None
    if len(content) > MAX_BYTES:
        raise CommandError(f"{file} has more than {MAX_BYTES} bytes", code="too_large", exit_code=ExitCode.REFUSED)
    return content


def _head(file: Path) -> bytes:
    with file.open("rb") as stream:
        return stream.read(MAX_BYTES + 1)


def _usage(words: str) -> CommandError:
    return CommandError(words, code="usage", exit_code=ExitCode.USAGE)
