"""What the answers of the API look like on a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from controlplane.cli.base import output

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
    """The status as a page: what it does, whether that is well, how each channel fares."""
    from rich.console import Group
    from rich.text import Text

    headline = found.get("headline") or found["phase_message"] or found["phase_reason"]
    style = output.style(found["phase"])
    parts: list[Any] = [
        Text.assemble((found["name"], "bold"), "  ", (found["phase"], style), f"  {output.safe(headline)}")
    ]
    parts.append(output.grid(("condition", "", "why"), map(_condition, found["conditions"])))
    if found["queries"]:
        columns = ("source", "channel", "batch", "in flight", "records/s", "delivered", "lag", "last batch", "holding")
        parts.append(output.grid(columns, map(_query, found["queries"])))
    if found["intakes"]:
        names = ("pushed to", "taken in", "held", "capacity", "answers", "held up by")
        parts.append(output.grid(names, map(_intake, found["intakes"])))
    failed = [component for component in found["components"] if component["state"] != "ready"]
    if failed:
        rows = [(c["kind"], c["name"], c["type"], c["state"], c["detail"]) for c in failed]
        parts.append(output.grid(("kind", "component", "type", "state", "detail"), rows))
    if found["findings"]:
        parts.append(output.findings_grid(found["findings"]))
    if found.get("choices"):
        ways = [(choice["to"], choice["skip"], choice["replay"]) for choice in found["choices"]]
        parts.append(output.grid(("ways on: headgate positions plan NAME --to", "skips", "replays"), ways))
    return Group(*parts)


def _condition(condition: Document) -> tuple[object, ...]:
    return condition["type"], condition["status"], condition["message"] or condition["reason"]


def _query(query: Document) -> tuple[object, ...]:
    lags = [cursor["lag"] for cursor in query["cursor"]]
    holding = query["holding"]
    return (
        query["source"],
        query["channel"],
        query["batch"],
        "yes" if query["in_flight"] else "no",
        query["records_per_second"],
        query["delivered"],
        sum(lags) if lags and None not in lags else None,
        output.ago(query["last_batch_at"]),
        f"{holding['component']}: {holding['cause']} ({output.counted(holding['attempts'], 'attempt', 'attempts')})"
        if holding
        else None,
    )


def _intake(intake: Document) -> tuple[object, ...]:
    answers = ", ".join(f"{status}: {times}" for status, times in sorted(intake["answers"].items()))
    held = intake["failure"] or intake["held_up_by"] or None
    return intake["source"], intake["taken"], intake["held"], intake["capacity"], answers or None, held


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


def books(found: Document) -> None:
    """The books in sum, per channel, and the positions."""
    counts = ("read", "delivered", "filtered", "unrouted", "dead_lettered", "duplicates_max", "gaps", "overlaps")
    names = ("read", "delivered", "filtered", "unrouted", "dead", "duplicates at most", "gaps", "overlaps")
    rows = [
        (books["source"], books["channel"], *(books[count] for count in counts), books["balanced"])
        for books in found["channels"]
    ]
    output.table(("source", "channel", *names, "balanced"), rows, empty="Nothing has been read yet.")
    positions = [
        (p["source"], p["channel"], p["topic"], str(p["partition"]), p["next_offset"]) for p in found["positions"]
    ]
    output.table(("source", "channel", "topic", "partition", "next offset"), positions, empty="No positions yet.")
    verdict = "The books balance." if found["balanced"] else "The books do NOT balance."
    output.say(verdict, style="green" if found["balanced"] else "bold red")


def runs(found: Sequence[Document]) -> None:
    """The runs."""
    columns = ("run", "state", "outcome", "exit", "reason", "revision", "host", "lineage", "started", "ended")
    rows = [
        (
            run["number"],
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


def event(found: Document, *, as_json: bool) -> None:
    """One event in one line."""
    if as_json:
        output.write_json_line(found)
        return
    where = found["pipeline"] or "-"
    output.say(f"{output.clock(found['at'])}  {where}  {found['kind']}  {found['message']}  ({found['actor']})")
