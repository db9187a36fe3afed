"""`headgate peek`: records of the topics that a pipeline reads or writes, read beside it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any

import typer

from controlplane.cli.base import host_tasks
from controlplane.cli.base.durations import seconds
from controlplane.cli.base.errors import CommandError
from controlplane.cli.base.session import Name, Session, path

DEFAULT_LAST = 20
_HOLES = {
    "aborted": "records of an aborted transaction",
    "markers": "markers of transactions, which are no records",
    "compacted": "removed by compaction, or markers of transactions",
    "unknown": "no record; not found out why in time",
}
_BODY = 200


@dataclass(frozen=True)
class Of:
    """Which component; the only Kafka source where nothing is said."""

    source: Annotated[str | None, typer.Option("--source", help="The topic that this source reads.")] = None
    sink: Annotated[str | None, typer.Option("--sink", help="The topic that this sink writes.")] = None
    channel: Annotated[str | None, typer.Option("--channel", help="The topic of this channel.")] = None
    dead_letters: Annotated[bool, typer.Option("--dead-letters", help="The topic of dead letters.")] = False
    component: Annotated[
        str | None,
        typer.Option("--component", help="What this interceptor or selector takes out of the stream.", metavar="PATH"),
    ] = None

    def path(self) -> str | None:
        """The path of the component; None where none is named. CommandError where several are."""
        named = {"sources": self.source, "sinks": self.sink, "channels": self.channel}
        given = [f"{kind}.{name}" for kind, name in named.items() if name]
        given += ["errors.dead_letter"] * self.dead_letters
        given += [self.component] if self.component else []
        if len(given) > 1:
            raise CommandError.of_usage("Give one of --source, --sink, --channel, --dead-letters and --component.")
        return given[0] if given else None


@dataclass(frozen=True)
class Records:
    """Which of its records; the newest 20 where nothing is said."""

    topic: Annotated[str | None, typer.Option("--topic", help="The topic, where there are several.")] = None
    partition: Annotated[int | None, typer.Option("--partition", min=0, help="One partition alone.")] = None
    offset: Annotated[int | None, typer.Option("--offset", min=0, help="From this offset on.")] = None
    since: Annotated[
        str | None, typer.Option("--since", help="From this time on, or so long ago, for example 15m.", metavar="TIME")
    ] = None
    last: Annotated[
        int | None, typer.Option("--last", min=1, max=200, help="How many records; by default 20.", metavar="NUMBER")
    ] = None
    search: Annotated[
        str | None, typer.Option("--search", help="With this text in key, headers or body.", metavar="TEXT")
    ] = None
    key: Annotated[str | None, typer.Option("--key", help="With this key.", metavar="KEY")] = None

    def body(self) -> dict[str, Any]:
        """The rest of the question as the API takes it. CommandError where both starts are given."""
        if self.offset is not None and self.since is not None:
            raise CommandError.of_usage("Give one of --offset and --since.")
        found = {"topic": self.topic, "partition": self.partition, "offset": self.offset, "key": self.key}
        found |= {"contains": self.search, "time": _time(self.since) if self.since else None}
        given = {name: value for name, value in found.items() if value is not None}
        return {**given, "limit": self.last or DEFAULT_LAST}


def _time(text: str) -> str:
    """A time as it is written, or a duration before now."""
    try:
        written = datetime.fromisoformat(text)
    except ValueError:
        return (datetime.now(UTC) - timedelta(seconds=seconds(text))).isoformat()
    return (written if written.tzinfo else written.replace(tzinfo=UTC)).isoformat()


def peek(
    session: Session,
    name: Name,
    of: Of,
    records: Records,
    timeout: Annotated[float, typer.Option("--timeout", min=1, help="Seconds to wait for the records.")] = 60.0,
) -> None:
    """Show records of a topic that the pipeline reads or writes. Joins no group and commits nothing.

    The newest records come first; with --offset and --since the oldest do. Offsets without a record are explained. The
    audit says which records were shown to you.
    """
    client = session.client()
    body = {"of": of.path() or _only_source(client.get(path(name))), **records.body()}
    running = "Reading records beside the pipeline."
    made = host_tasks.made(session, client, "peek", name, body, running=running, timeout=timeout)
    if not session.printed(made):
        _print(made)


def _only_source(pipeline: dict[str, Any]) -> str:
    sources = (pipeline.get("definition") or {}).get("sources", {})
    found = [f"sources.{name}" for name, each in sources.items() if each.get("type") == "kafka"]
    if len(found) != 1:
        raise CommandError.of_usage("Name a --source, a --sink, a --channel, or --dead-letters.")
    return found[0]


def _print(made: dict[str, Any]) -> None:
    from controlplane.cli.base import output

    result = made["result"]
    columns = ("record", "written", "key", "bytes", "made of", "batch")
    rows = [_row(each) for each in result["records"]]
    output.table(columns, rows, empty=_empty(made["question"], result))
    for each in result["records"]:
        output.print_line(f"{_place(each)}  {_shown(each)}")
    searched = output.counted(result["searched"], "record", "records")
    output.note(f"{searched} of {result['topic']} read{'; there are more' if result['more'] else ''}.")
    for note in result["notes"]:
        output.note(note)
    for partition in result["partitions"]:
        for line in _explained(partition):
            output.note(line)


def _row(record: dict[str, Any]) -> tuple[object, ...]:
    origin = record["origin"] or {}
    place = origin.get("place")
    batch = "-" if not origin.get("run") else f"run {origin['run']}, batch {_batch(origin)}"
    made_of = f"{place['topic']}/{place['partition']}:{place['offset']}" if place else record["component"] or "-"
    return (
        _place(record),
        _at(record["timestamp"]),
        record["event"]["key"] or "-",
        record["event"]["bytes"],
        made_of,
        batch,
    )


def _batch(origin: dict[str, Any]) -> str:
    first, last = origin["first_batch"], origin["last_batch"]
    return str(first) if first == last else f"{first}-{last}"


def _place(record: dict[str, Any]) -> str:
    return f"{record['topic']}/{record['partition']}:{record['offset']}"


def _at(milliseconds: int | None) -> str:
    return "-" if milliseconds is None else datetime.fromtimestamp(milliseconds / 1000, UTC).isoformat()


def _shown(record: dict[str, Any]) -> str:
    event = record["event"]
    if record["tombstone"]:
        return "(tombstone: no value)"
    encoded = event.get("body_base64")
    text = event.get("body") if encoded is None else f"base64:{encoded}"
    if text is None:
        return "(withheld)"
    cut = len(text) > _BODY or event["note"] == "truncated"
    return f"{text[:_BODY]}{'…' * cut}{' ' + record['cause'] if record['cause'] else ''}"


def _empty(question: dict[str, Any], result: dict[str, Any]) -> str:
    if question["key"] or question["contains"]:
        return "No record matches."
    if not result["searched"] and all(each["start"] == each["end"] for each in result["partitions"]):
        return "The topic is empty."
    return "No record."


def _explained(partition: dict[str, Any]) -> list[str]:
    """Offsets that have no record, and those that cannot be read yet."""
    place = f"{partition['topic']}/{partition['partition']}"
    lines = [f"{place}:{each['start']}-{each['end']}: {_HOLES[each['kind']]}." for each in partition["holes"]]
    listed = sum(each["end"] - each["start"] for each in partition["holes"])
    if partition["missing"] > listed:
        lines.append(f"{place}: {partition['missing'] - listed} further offsets have no record.")
    if partition["open"]:
        lines.append(f"{place}: {partition['open']} offsets from {partition['end']} on are of open transactions.")
    return lines
