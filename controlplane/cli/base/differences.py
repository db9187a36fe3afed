"""How commands print the events that differ between two revisions."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from controlplane.cli.base import output

_COLUMNS = ("event", "kinds", "before", "after", "changed by")


def table(found: Iterable[dict[str, Any]], *, empty: str) -> None:
    """A row for each event: where it was read, how it differs, and what either revision makes of it."""
    output.table(_COLUMNS, map(_row, found), empty=empty)


def not_compared(found: dict[str, Any]) -> str:
    """The parts of events that no run repeats, by name; empty where there are none."""
    parts = [*(f"header {name}" for name in found["headers"]), *(part for part in ("key", "body") if found[part])]
    return ", ".join(parts)


def _row(found: dict[str, Any]) -> tuple[object, ...]:
    copy = f"+{found['copy_number']}" if found["copy_number"] else ""
    place = f"{found['topic']}/{found['partition']}:{found['offset']}{copy}"
    changes = [f"{each['name']}: {each['before']} -> {each['after']}" for each in (*found["headers"], *found["body"])]
    by = ", ".join(found["components"]) or "-"
    before, after = _side(found["before"]), _side(found["after"])
    return place, ", ".join(found["kinds"]), before, "\n".join([after, *changes]), by


def _side(side: dict[str, Any] | None) -> str:
    if side is None:
        return "-"
    where = side["component"] or ", ".join(side["channels"])
    words = f"{side['result']} ({where})" if where else side["result"]
    return f"{words}: {side['cause']}" if side["cause"] else words
