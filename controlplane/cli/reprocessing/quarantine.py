"""Records that make a pipeline crash: show them, put them in quarantine."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from controlplane.cli.base.errors import CommandError, ExitCode
from controlplane.cli.base.session import AsJson, Name, begin, path

RANGE = "SOURCE.CHANNEL:TOPIC/PARTITION:FROM-TO"


def quarantine(
    ctx: typer.Context,
    name: Name,
    offered: Annotated[bool, typer.Option("--offered", help="Put what is offered in quarantine.")] = False,
    records: Annotated[
        list[str] | None,
        typer.Option("--range", help=f"Put these records in quarantine: {RANGE}; the last offset included."),
    ] = None,
    reason: Annotated[str, typer.Option("--reason", help="Why; it is kept in the audit and with each letter.")] = "",
    start: Annotated[bool, typer.Option("--start", help="Start the pipeline afterwards.")] = False,
    as_json: AsJson = False,
) -> None:
    """Show the records that the last runs crashed at, or put records in quarantine: they go to the dead letters before
    any interceptor or sink sees them, and the pipeline goes on behind them."""
    from controlplane.cli.base import output

    client = begin(ctx, as_json=as_json)
    found = client.get(path(name, "quarantine"))
    wanted = [_range(text) for text in records or []] + (_plain(found["offered"]) if offered else [])
    if offered and not found["offered"]:
        raise CommandError("Nothing is offered: the last run left no batch behind.", exit_code=ExitCode.REFUSED)
    if start and not wanted:
        raise _usage("--start goes with --offered or --range.")
    if wanted:
        body = {"ranges": wanted, "reason": reason, "start": start}
        _, found = client.post(path(name, "quarantine"), body)
    output.write_json(found) if as_json else _tell(name, found, put=bool(wanted))


def _plain(offered: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{key: value for key, value in each.items() if key != "records"} for each in offered]


def _range(text: str) -> dict[str, Any]:
    """Read SOURCE.CHANNEL:TOPIC/PARTITION:FROM-TO."""
    query, _, rest = text.partition(":")
    place, _, offsets = rest.rpartition(":")
    source, _, channel = query.rpartition(".")
    topic, _, partition = place.rpartition("/")
    first, _, last = offsets.partition("-")
    numbers = (partition, first, last or first)
    if not (source and channel and topic) or not all(number.isdigit() for number in numbers):
        raise _usage(f"{text!r} is not a range: {RANGE}.")
    return {
        "source": source,
        "channel": channel,
        "topic": topic,
        "partition": int(partition),
        "start": int(first),
        "end": int(last or first) + 1,
    }


def _usage(message: str) -> CommandError:
    return CommandError(message, exit_code=ExitCode.USAGE)


def _tell(name: str, found: dict[str, Any], *, put: bool) -> None:
    from controlplane.cli.base import output

    columns = ("query", "partition", "offsets", "records", "why", "passed")
    rows = [(*_row(each), each["cause"], each["passed"]) for each in found["ranges"]]
    output.table(columns, rows, empty="Nothing is in quarantine.")
    if put:
        hint = "" if found["operation"] else f" Start it: headgate start {name}"
        output.say(f"Put in quarantine; the next run makes dead letters of them.{hint}", style="green")
    elif found["offered"]:
        output.table(columns[:4], map(_row, found["offered"]), empty="")
        output.say(f"The last runs crashed at these: headgate quarantine {name} --offered --start")


def _row(each: dict[str, Any]) -> tuple[object, ...]:
    place = f"{each['topic']}/{each['partition']}"
    return f"{each['source']}.{each['channel']}", place, f"{each['start']}-{each['end'] - 1}", each["records"]
