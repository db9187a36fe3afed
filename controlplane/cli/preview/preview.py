"""`headgate preview`: what a definition would make of real records, beside what the present revision makes of them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Annotated, Any

import typer

from controlplane.cli.base import host_tasks
from controlplane.cli.base.durations import seconds
from controlplane.cli.base.errors import CommandError
from controlplane.cli.base.session import Limit, Name, Session, path

DEFAULT_LAST = 1000
_RANGE = re.compile(r"(?P<topic>[^/:\s]+)/(?P<partition>\d{1,9}):(?P<start>\d{1,18})-(?P<end>\d{1,18})")
_PERCENT = re.compile(r"(\d{1,3}(?:\.\d{1,6})?)\s?%")


@dataclass(frozen=True)
class Records:
    """Which records are read; the last 1,000 where nothing is said."""

    last: Annotated[
        int | None, typer.Option("--last", min=1, help="The last so many records; by default 1000.", metavar="NUMBER")
    ] = None
    since: Annotated[
        str | None, typer.Option("--since", help="Those of the last time, for example 1h.", metavar="DURATION")
    ] = None
    ranges: Annotated[
        list[str] | None,
        typer.Option("--range", help="A range of a partition; repeatable.", metavar="TOPIC/PARTITION:START-END"),
    ] = None
    sample: Annotated[
        str | None, typer.Option("--sample", help="The share of them that is taken, for example 0.1%.", metavar="SHARE")
    ] = None

    def body(self) -> dict[str, Any]:
        """The selection as the API takes it. CommandError for what has another form, or where several are given."""
        given = [option for option in (self.last, self.since, self.ranges) if option]
        if len(given) > 1:
            raise CommandError.of_usage("Give one of --last, --since and --range.")
        share = {} if self.sample is None else {"sample": _share(self.sample)}
        if self.since:
            return {"since": seconds(self.since), **share}
        if self.ranges:
            return {"ranges": [_range(text) for text in self.ranges], **share}
        return {"last": self.last or DEFAULT_LAST, **share}


def _range(text: str) -> dict[str, Any]:
    found = _RANGE.fullmatch(text)
    if found is None:
        raise CommandError.of_usage(f"{text} is not a range: write TOPIC/PARTITION:START-END.")
    numbers = {name: int(found[name]) for name in ("partition", "start", "end")}
    return {"topic": found["topic"], **numbers}


def _share(text: str) -> float:
    found = _PERCENT.fullmatch(text)
    if found is None or not 0 < float(found[1]) <= 100:
        raise CommandError.of_usage(f"{text} is not a share: write a percentage such as 0.1%.")
    return float(found[1]) / 100


def preview(
    session: Session,
    name: Name,
    records: Records,
    file: Annotated[
        str | None, typer.Option("--file", "-f", help="A definition in YAML or JSON; - for standard input.")
    ] = None,
    revision: Annotated[
        int | None, typer.Option("--revision", min=1, help="A revision in place of a file.", metavar="NUMBER")
    ] = None,
    source: Annotated[
        str | None, typer.Option("--source", help="The source, where the definition has several.")
    ] = None,
    kind: Annotated[
        str | None,
        typer.Option("--kind", help="Only events that differ in this way, such as newly_filtered.", metavar="KIND"),
    ] = None,
    component: Annotated[
        str | None, typer.Option("--component", help="Only what this component changed.", metavar="PATH")
    ] = None,
    limit: Limit = 20,
    timeout: Annotated[float, typer.Option("--timeout", min=1, help="Seconds to wait for the preview.")] = 120.0,
) -> None:
    """Run a definition and the present revision on real records, and compare. Commits and delivers nothing.

    The worker of the pipeline's host reads them beside the pipeline. The exit code is 0 also where events differ.
    """
    client = session.client()
    body = {**_candidate(file, revision), "selection": records.body(), "source": source or ""}
    running = "Reading records and running both revisions."
    made = host_tasks.made(session, client, "preview", name, body, running=running, timeout=timeout)
    filters = {"kind": kind, "component": component}
    found = client.pages(path(name, "previews", made["id"], "differences"), limit=limit, **filters)
    if not session.printed({**made, "differences": found}):
        _print(made, found)


def _candidate(file: str | None, revision: int | None) -> dict[str, Any]:
    from controlplane.cli.definitions.definitions import read_text

    if (file is None) == (revision is None):
        raise CommandError.of_usage("Give either --file or --revision.")
    return {"revision": revision} if file is None else {"definition": read_text(file)}


def _print(made: dict[str, Any], found: list[dict[str, Any]]) -> None:
    from controlplane.cli.base import differences, output

    result = made["result"]
    read = output.counted(result["records"], "record", "records")
    output.print_line(f"{read} of sources.{result['source']} read, {result['size']} bytes. Nothing was committed.")
    for note in result["notes"]:
        output.note(note)
    counts = ((row["result"], row["component"] or "-", row["before"], row["after"]) for row in result["counts"])
    output.table(("outcome", "component", f"revision {made['base']}", "new"), counts, empty="No records.")
    if without := differences.not_compared(result["not_compared"]):
        output.note(f"Not compared, since each run gives another value: {without}.")
    output.print_line(f"{output.counted(result['differing'], 'event differs', 'events differ')}.")
    differences.table(found, empty="No such difference." if result["differing"] else "")
    if found and not made["shows_records"]:
        output.note("Your role or token does not show what events hold.")
