"""Commands about quarantine: records that make a pipeline crash become dead letters unread."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from controlplane.cli.base.commands import Group
from controlplane.cli.base.errors import CommandError, ExitCode
from controlplane.cli.base.governed import Right, sent
from controlplane.cli.base.session import Name, Session, path

RANGE = "SOURCE.CHANNEL:TOPIC/PARTITION:FROM-TO"

app = Group("Quarantine records that make a pipeline crash: they become dead letters unread, and the pipeline resumes.")


@app.verb("list")
def list_quarantine(session: Session, name: Name) -> None:
    """List the records in quarantine, and the records at which the last runs crashed."""
    from controlplane.cli.base import output

    found = session.client().get(path(name, "quarantine"))
    if session.printed(found):
        return
    _print(found)
    if found["offered"]:
        output.table(_COLUMNS[:4], map(_row, found["offered"]), empty="")
        output.print_line(f"The last runs crashed at these: headgate quarantine add {name} --offered --start")


@app.verb()
def add(
    session: Session,
    name: Name,
    right: Right,
    offered: Annotated[bool, typer.Option("--offered", help="The records at which the last runs crashed.")] = False,
    records: Annotated[
        list[str] | None,
        typer.Option("--range", help=f"These records: {RANGE}, with the last offset included. Repeatable."),
    ] = None,
    reason: Annotated[
        str, typer.Option("--reason", help="The reason, recorded in the audit log and with each dead letter.")
    ] = "",
    start: Annotated[bool, typer.Option("--start", help="Start the pipeline afterwards.")] = False,
) -> None:
    """Put records in quarantine. The next run makes dead letters of them before any interceptor or sink reads them."""
    from controlplane.cli.base import output

    client = session.client()
    ranges = [_range(text) for text in records or []]
    if not ranges and not offered:
        raise CommandError.of_usage(f"Give --offered, or --range {RANGE}.")
    if offered:
        ranges += _offered(client.get(path(name, "quarantine")))
    body = {"ranges": ranges, "reason": reason, "start": start}
    if sent(session, name, "quarantine", body, right):
        return
    _, found = client.post(path(name, "quarantine"), body)
    if session.printed(found):
        return
    _print(found)
    hint = "" if found["operation"] else f" Start the pipeline: headgate start {name}"
    output.print_line(f"In quarantine. The next run makes dead letters of them.{hint}", style="green")


def _offered(found: dict[str, Any]) -> list[dict[str, Any]]:
    if not found["offered"]:
        message = "No records are offered: the last run left no in-flight batch."
        raise CommandError(message, exit_code=ExitCode.REFUSED)
    return [{key: value for key, value in each.items() if key != "records"} for each in found["offered"]]


def _range(text: str) -> dict[str, Any]:
    """Parse SOURCE.CHANNEL:TOPIC/PARTITION:FROM-TO."""
    query, _, rest = text.partition(":")
    place, _, offsets = rest.rpartition(":")
    source, _, channel = query.rpartition(".")
    topic, _, partition = place.rpartition("/")
    first, _, last = offsets.partition("-")
    numbers = (partition, first, last or first)
    if not (source and channel and topic) or not all(number.isdigit() for number in numbers):
        raise CommandError.of_usage(f"{text!r} is not a range: write {RANGE}.")
    return {
        "source": source,
        "channel": channel,
        "topic": topic,
        "partition": int(partition),
        "start": int(first),
        "end": int(last or first) + 1,
    }


_COLUMNS = ("query", "partition", "offsets", "records", "cause", "passed")


def _print(found: dict[str, Any]) -> None:
    from controlplane.cli.base import output

    rows = [(*_row(each), each["cause"], each["passed"]) for each in found["ranges"]]
    output.table(_COLUMNS, rows, empty="No records are in quarantine.")


def _row(each: dict[str, Any]) -> tuple[object, ...]:
    place = f"{each['topic']}/{each['partition']}"
    return f"{each['source']}.{each['channel']}", place, f"{each['start']}-{each['end'] - 1}", each["records"]
