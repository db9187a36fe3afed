"""`headgate trace`: where one record went, by what the ledger proves and by evaluating it again."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated, Any

import typer

from controlplane.cli.base import host_tasks
from controlplane.cli.base.errors import CommandError
from controlplane.cli.base.session import Name, Session

_PLACE = re.compile(r"(?P<topic>[^/:\s]+)/(?P<partition>\d{1,18}):(?P<offset>\d{1,18})")
_EVIDENCE = {
    "ledger": "proved by the ledger",
    "sink": "found in the sink",
    "evaluation": "evaluated again, not recorded",
    "source": "as the source is now",
    "none": "-",
}


@dataclass(frozen=True)
class Wanted:
    """Which record."""

    at: Annotated[
        str | None, typer.Option("--at", help="Its place in the source.", metavar="TOPIC/PARTITION:OFFSET")
    ] = None
    from_sink: Annotated[
        str | None,
        typer.Option(
            "--from-sink", help="The place of a record of a sink that was made of it.", metavar="TOPIC/PARTITION:OFFSET"
        ),
    ] = None
    key: Annotated[str | None, typer.Option("--key", help="Search the source for this key.", metavar="KEY")] = None
    contains: Annotated[
        str | None, typer.Option("--contains", help="Search the source for this text in bodies.", metavar="TEXT")
    ] = None
    time: Annotated[
        str | None,
        typer.Option("--time", help="Search from this time on, such as 2026-03-01T09:00:00Z.", metavar="TIME"),
    ] = None
    source: Annotated[
        str | None, typer.Option("--source", help="The source to search, where the pipeline has several.")
    ] = None

    def body(self) -> dict[str, Any]:
        """The question as the API takes it. CommandError where it has another form."""
        searched = {"key": self.key, "contains": self.contains, "time": self.time}
        if sum((self.at is not None, self.from_sink is not None, any(searched.values()))) != 1:
            raise CommandError.of_usage("Give one of --at, --from-sink, and a search by --key, --contains or --time.")
        places = {"at": self.at, "from_sink": self.from_sink}
        given = {name: _place(text) for name, text in places.items() if text is not None}
        return {**given, **{name: text for name, text in searched.items() if text}, "source": self.source or ""}


def trace(
    session: Session,
    name: Name,
    wanted: Wanted,
    timeout: Annotated[float, typer.Option("--timeout", min=1, help="Seconds to wait for the trace.")] = 60.0,
) -> None:
    """Find out where a record went. Commits and delivers nothing.

    Shows which batch, run and revision had it, what each component did to it, and what became of it in each channel.
    What cannot be known any more is said with the reason. A search that several records match lists them.
    """
    client = session.client()
    running = "Reading the record beside the pipeline."
    made = host_tasks.made(session, client, "trace", name, wanted.body(), running=running, timeout=timeout)
    if not session.printed(made):
        _print(made)


def _place(text: str) -> dict[str, Any]:
    found = _PLACE.fullmatch(text)
    if found is None:
        raise CommandError.of_usage(f"{text} is not a place: write TOPIC/PARTITION:OFFSET.")
    return {"topic": found["topic"], "partition": int(found["partition"]), "offset": int(found["offset"])}


def _print(made: dict[str, Any]) -> None:
    from controlplane.cli.base import output

    result = made["result"]
    if result["search"]:
        _print_search(result["search"])
    if result["place"] is None:
        return
    output.print_line(_written(result["place"]))
    if result["came_from"]:
        output.print_line(f"It was made of {_lead(result['came_from'], back=True)}.")
    _print_found(result)
    for each in result["evaluated"]:
        _print_evaluated(each)
    _print_unknown(result)
    for each in result["onward"]:
        output.print_line(f"It continues as {_lead(each['lead'])}:")
        _print_found(each)
        _print_unknown(each)
    if not made["shows_records"]:
        output.note("Your role or token does not show what records hold.")


def _print_found(result: dict[str, Any]) -> None:
    """What became of the record at one place."""
    from controlplane.cli.base import output

    columns = ("channel", "outcome", "by", "evidence")
    rows = [
        (f"{each['source']}.{each['channel']}", each["outcome"], each["component"] or "-", _EVIDENCE[each["evidence"]])
        for each in result["channels"]
    ]
    output.table(columns, rows, empty="No channel of this pipeline has read this partition.")
    _print_ledger(result)
    _print_sinks(result)


def _print_unknown(result: dict[str, Any]) -> None:
    from controlplane.cli.base import output

    for unknown in result["unknown"]:
        output.note(f"Not known{_of(unknown['about'])}: {unknown['reason']}")


def _lead(lead: dict[str, Any], *, back: bool = False) -> str:
    place = _written(lead["place"])
    if lead["kind"] == "retry":
        return f"{place} by the retry of the dead letter {lead['of']}"
    return place if back else f"{place} in the store of the channel {lead['of']}"


def _written(place: dict[str, Any]) -> str:
    return f"{place['topic']}/{place['partition']}:{place['offset']}"


def _print_search(search: dict[str, Any]) -> None:
    from controlplane.cli.base import output

    searched = output.counted(search["searched"], "offset", "offsets")
    matched = output.counted(search["matched"], "record matches", "records match")
    output.print_line(f"{searched} of sources.{search['source']} searched; {matched}{' at least' * search['more']}.")
    for note in search["notes"]:
        output.note(note)
    if search["matched"] != 1 or search["more"]:
        rows = [(_written(each["place"]), _at(each["timestamp"]), each["size"]) for each in search["candidates"]]
        output.table(("record", "written", "bytes"), rows, empty="No record.")
        if rows:
            output.note("Trace one of them by --at.")


def _at(milliseconds: int | None) -> str:
    return "-" if milliseconds is None else datetime.fromtimestamp(milliseconds / 1000, UTC).isoformat()


def _of(about: str) -> str:
    return f" ({about})" if about else ""


def _print_ledger(result: dict[str, Any]) -> None:
    from controlplane.cli.base import output

    found = [(channel, row) for channel in result["channels"] for row in channel["ledger"]["rows"]]
    if found:
        output.print_line("Ledger:")
        columns = ("channel", "batch", "run", "revision", "state", "sink", "done")
        output.table(columns, [_ledger_row(*each) for each in found], empty="")
    for channel in result["channels"]:
        for letter in channel["ledger"]["letters"]:
            settled = f", {letter['settled_at']} by {letter['settled_by']}" if letter["settled_at"] else ""
            words = f"{letter['id']} of {letter['component']}: {letter['cause']} ({letter['state']}{settled})"
            output.print_line(f"Dead letter {words}")


def _print_sinks(result: dict[str, Any]) -> None:
    from controlplane.cli.base import output

    for search in (each for channel in result["channels"] for each in channel["searches"]):
        places = [_written(each) for each in search["records"]]
        searched = output.counted(search["searched"], "record", "records")
        found = f"found at {', '.join(places)}" if places else "not found"
        output.print_line(f"Sink {search['sink']}: {found}; {searched} searched by origin.")


def _ledger_row(channel: dict[str, Any], row: dict[str, Any]) -> tuple[object, ...]:
    batch = f"{row['first_batch']}-{row['last_batch']}" if row["merged"] else row["first_batch"]
    state = f"{row['state']} ({row['operation']})" if row["operation"] else row["state"]
    return channel["channel"], batch, row["run"], row["revision"], state, row["sink"] or "-", row["done_at"] or "-"


def _print_evaluated(found: dict[str, Any]) -> None:
    from controlplane.cli.base import output

    if not found["events"]:
        return
    output.print_line(f"Evaluated again with revision {found['revision']}:")
    for event in found["events"]:
        rows = [(step["component"], step["type"], step["effect"], _differing(step)) for step in event["steps"]]
        where = ", ".join(f"{name}: {verdict}" for name, verdict in sorted(event["verdicts"].items()))
        rows.append(("channels", "-", event["result"], where))
        output.table(("component", "type", "effect", "what"), rows, empty="")
        if event["event"]:
            output.print_line(f"key {event['event']['key']}, {event['event']['bytes']} bytes")
            output.print_line(event["event"].get("body") or event["event"].get("body_base64") or "(withheld)")


def _differing(step: dict[str, Any]) -> str:
    parts = [*(f"header {name}" for name in step["headers"]), *(part for part in ("key", "body") if step[part])]
    return step["cause"] or ", ".join(parts) or "-"
