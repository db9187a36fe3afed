"""Answers of the API as pages, tables and lines of text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from controlplane.cli.base import output
from controlplane.cli.base.session import Session

if TYPE_CHECKING:
    from rich.console import Group

Document = dict[str, Any]


def status_line(found: Document) -> str:
    """The status in one line."""
    live = found["live"]
    parts = [
        found["name"],
        found["phase"],
        f"{output.cell(live['records_per_second'])} records/s",
        f"lag {output.cell(live['lag_records'])}",
    ]
    if found["operation"]:
        parts.append(f"{found['operation']['kind']} {found['operation']['state']}")
    return "  ".join(parts)


def status(found: Document) -> Group:
    """The status as a page: phase, conditions, channels, components and findings."""
    from rich.console import Group
    from rich.text import Text

    headline = found.get("headline") or found["phase_message"] or found["phase_reason"]
    style = output.style(found["phase"])
    parts: list[Any] = [
        Text.assemble((found["name"], "bold"), "  ", (found["phase"], style), f"  {output.safe(headline)}")
    ]
    if found.get("drain"):
        parts += map(Text, drain(found["drain"]))
    parts.append(output.grid(("condition", "status", "message"), map(_condition, found["conditions"])))
    if found["queries"]:
        progress = ("batch", "in flight", "records/s", "delivered", "lag", "last batch", "delayed by")
        columns = ("source", "channel", "guarantee", *progress)
        parts.append(output.grid(columns, map(_query, found["queries"])))
    if found["ingest_buffers"]:
        names = ("push source", "accepted", "buffered", "capacity", "answers", "blocked by")
        parts.append(output.grid(names, map(_ingest_buffer, found["ingest_buffers"])))
    failed = [component for component in found["components"] if component["state"] != "ready"]
    if failed:
        rows = [(c["kind"], c["name"], c["type"], c["state"], c["detail"]) for c in failed]
        parts.append(output.grid(("kind", "component", "type", "state", "detail"), rows))
    if found["findings"]:
        parts.append(output.findings_grid([_beside(headline, each) for each in found["findings"]]))
    if found.get("choices"):
        parts.append(choices(found["name"], found["choices"]))
    if outdated := found.get("outdated_secrets"):
        older = [(each["name"], each["running"], each["current"]) for each in outdated]
        parts.append(output.grid(("older secret in use", "version", "current"), older))
        parts.append(Text(f"headgate restart {found['name']} takes the current values, and so does a migration."))
    return Group(*parts)


def _beside(headline: str, finding: Document) -> Document:
    """A finding whose message the headline has keeps its place, its code and what to do."""
    return {**finding, "message": ""} if finding["message"] in headline else finding


def drain(found: Document) -> list[str]:
    """What a pause or a stop waits for, how long still, and what a forced stop means."""
    records, left = found["records"], found["seconds_left"]
    remaining = "an unknown number of records remains" if records is None else f"up to {records:,} records remain"
    rate = f"{output.cell(found['rate'])} records/s"
    time = "time left unknown" if left is None else f"about {left} s left"
    stale = f" These figures are old: the agent last reported {output.ago(found['as_of'])}." if found["stale"] else ""
    held = f" Delayed by {', '.join(found['held_by'])}." if found["held_by"] else ""
    batches = output.counted(found["batches"], "batch", "batches")
    twice = found["possible_duplicates"]
    duplicates = f"at most {twice:,} possible duplicates" if twice else "no duplicates"
    return [
        f"The {found['kind']} waits for {batches}: {remaining}, {rate}, {time}.{held}{stale}",
        f"It times out at {output.clock(found['deadline'])}. A forced stop rereads these records: {duplicates}.",
    ]


def choices(name: str, found: Sequence[Document]) -> Group:
    """The positions to choose from as commands, in the order of the server: the best first, and why it is."""
    from rich.console import Group
    from rich.text import Text

    rows = [(f"headgate positions plan {name} --to {each['to']}", each["skip"], each["replay"]) for each in found]
    reasons = [Text(f"Recommended: --to {each['to']}. {each['reason']}") for each in found if each["recommended"]]
    return Group(output.grid(("choose a position", "records skipped", "records reread"), rows), *reasons)


def _condition(condition: Document) -> tuple[object, ...]:
    return condition["type"], condition["status"], condition["message"] or condition["reason"]


def _query(query: Document) -> tuple[object, ...]:
    lags = [position["lag"] for position in query["positions"]]
    return (
        query["source"],
        query["channel"],
        (query["guarantee"] or "").replace("_", " ") or None,
        query["batch"],
        "yes" if query["in_flight"] else "no",
        query["records_per_second"],
        query["delivered"],
        sum(lags) if lags and None not in lags else None,
        output.ago(query["last_batch_at"]),
        _delay(query),
    )


def _delay(query: Document) -> str | None:
    """What the in-flight batch waits for."""
    if holding := query["holding"]:
        attempts = output.counted(holding["attempts"], "attempt", "attempts")
        return f"{holding['component']}: {holding['cause']} ({attempts})"
    if checking := query["checking"]:
        return f"{checking['sink']}: checking {checking['looked_at']:,} of {checking['records']:,} records"
    return None


def _ingest_buffer(found: Document) -> tuple[object, ...]:
    answers = ", ".join(f"{status}: {times}" for status, times in sorted(found["answers"].items()))
    blocked = found["failure"] or found["held_up_by"] or None
    return found["source"], found["taken"], found["held"], found["capacity"], answers or None, blocked


def fleet(found: Sequence[Document], *, host: str | None = None) -> Group:
    """The status of all pipelines, or of those on a host: a line each, and the sums."""
    from rich.console import Group
    from rich.text import Text

    columns = ("name", "phase", "host", "records/s", "lag", "in flight", "condition")
    return Group(output.grid(columns, map(_fleet_row, found)), Text(fleet_line(found, host=host)))


def _fleet_row(pipeline: Document) -> tuple[object, ...]:
    live, known = pipeline["live"], pipeline["live"]["as_of"] is not None
    figures = (live["records_per_second"], live["lag_records"], live["in_flight"] if known else None)
    return pipeline["name"], pipeline["phase"], pipeline["host"], *figures, pipeline["headline"]


def fleet_line(found: Sequence[Document], *, host: str | None = None) -> str:
    """All pipelines in one line: how many are in each phase, their lag and in-flight batches."""
    if not found:
        return output.no_pipelines((host,))
    phases = Counter(pipeline["phase"] for pipeline in found)
    lags = [lag for pipeline in found if (lag := pipeline["live"]["lag_records"]) is not None]
    batches = sum(pipeline["live"]["in_flight"] for pipeline in found)
    parts = [
        f"{output.counted(len(found), 'pipeline', 'pipelines')}: "
        + ", ".join(f"{count} {phase}" for phase, count in phases.most_common()),
        f"lag {output.cell(sum(lags) if lags else None)}",
        f"{output.counted(batches, 'batch', 'batches')} in flight",
    ]
    return "; ".join(parts)


def batches(found: Sequence[Document]) -> None:
    """The ledger, batch by batch."""
    columns = (
        "run",
        "source",
        "channel",
        "batches",
        "state",
        "read",
        "delivered",
        "bytes",
        "filtered",
        "sink",
        "done",
        "balanced",
    )
    rows = [
        (
            batch["run"],
            batch["source"],
            batch["channel"],
            _span(batch["first_batch"], batch["last_batch"]),
            batch["state"],
            batch["read"],
            batch["delivered"],
            batch["delivered_bytes"],
            batch["filtered"],
            batch["sink"],
            output.clock(batch["done_at"]),
            batch["balanced"],
        )
        for batch in found
    ]
    output.table(columns, rows, empty="No batches yet.")


def _span(first: int, last: int) -> str:
    return str(first) if first == last else f"{first} to {last}"


def totals(found: Document) -> None:
    """The ledger's totals per channel, and the positions."""
    verdicts = ("filtered", "unrouted", "dead_lettered", "duplicates_max", "gaps", "overlaps")
    counts = ("read", "delivered", "delivered_bytes", *verdicts)
    ends = ("filtered", "unrouted", "dead letters", "possible duplicates", "gaps", "overlaps")
    names = ("read", "delivered", "bytes", *ends)
    rows = [
        (each["source"], each["channel"], *(each[count] for count in counts), each["balanced"])
        for each in found["channels"]
    ]
    output.table(("source", "channel", *names, "balanced"), rows, empty="No records have been read yet.")
    if without := found["delivered_without_bytes"]:
        records = output.counted(without, "delivered record", "delivered records")
        output.print_line(f"The bytes of {records} are not known: an earlier version counted no bytes.")
    _components(found["channels"])
    positions = [
        (p["source"], p["channel"], p["topic"], str(p["partition"]), p["next_offset"]) for p in found["positions"]
    ]
    output.table(("source", "channel", "topic", "partition", "position"), positions, empty="No positions yet.")
    verdict = (
        "Balanced: every record is accounted for." if found["balanced"] else "Unbalanced: records are unaccounted for."
    )
    output.print_line(verdict, style="green" if found["balanced"] else "bold red")


def flow(found: Document) -> None:
    """What was read in a while and what became of it, per channel and component."""
    counts = ("batches", "read", "delivered", "filtered", "unrouted", "dead_lettered", "routed_elsewhere")
    names = ("batches", "read", "delivered", "filtered", "unrouted", "dead letters", "routed elsewhere")
    rows = [(each["source"], each["channel"], *(each[count] for count in counts)) for each in found["channels"]]
    output.table(("source", "channel", *names), rows, empty="No batch was finished in this time.")
    _components(found["channels"])


_DEPTHS = {"source": 0, "interceptor": 1, "selector": 1, "channel": 2, "sink_group": 3, "sink": 4}


def topology(found: Document) -> None:
    """The components in the order in which events go through them, each with what became of what it received."""
    counts = ("received", "added", "filtered", "unrouted", "dead_lettered", "dropped", "passed")
    rows = [
        (f"{'  ' * _DEPTHS[node['kind']]}{node['path']}", node["type"], *(node[count] or "" for count in counts))
        for node in found["nodes"]
    ]
    names = ("received", "added", "filtered", "unrouted", "dead letters", "dropped", "passed")
    output.table(("component", "type", *names), rows, empty="No revision is published.")


_DECIDED = ("added", "routed_elsewhere", "filtered", "unrouted", "dead_lettered")


def _components(channels: Sequence[Document]) -> None:
    """The parts of what components decide, below the channel that they are of."""
    rows: list[tuple[Any, ...]] = []
    for each in channels:
        parts = [(f"  {part['component']}", part) for part in each["components"]]
        if each["not_by_component"]:
            parts.append(("  not counted by component", each["not_by_component"]))
        if parts:
            rows.append((f"{each['source']} > {each['channel']}", "", "", *(each[name] for name in _DECIDED)))
        rows += [
            (name, part.get("type", ""), _revisions(part), *(part.get(count) or "" for count in _DECIDED))
            for name, part in parts
        ]
    if rows:
        names = ("added", "routed elsewhere", "filtered", "unrouted", "dead letters")
        output.table(("component", "type", "revisions", *names), rows, empty="")


def _revisions(part: Document) -> str:
    return _span(part["first_revision"], part["last_revision"]) if "first_revision" in part else ""


def runs(found: Sequence[Document]) -> None:
    """The runs."""
    columns = ("run", "role", "state", "outcome", "exit", "reason", "revision", "host", "lineage", "started", "ended")
    rows = [
        (
            run["number"],
            run["role"],
            run["state"],
            run["outcome"],
            run["exit_code"],
            run["exit_reason"],
            run["revision"],
            run["host"],
            run["lineage"],
            output.clock(run["started_at"]),
            output.clock(run["ended_at"]),
        )
        for run in found
    ]
    output.table(columns, rows, empty="No runs yet.")


def event(session: Session, found: Document) -> None:
    """One event in one line."""
    where = found["pipeline"] or "-"
    line = f"{output.clock(found['at'])}  {where}  {found['kind']}  {found['message']}  ({found['actor']})"
    if not session.printed_record(found):
        output.print_line(line)
