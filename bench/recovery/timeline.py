"""The arithmetic of a recovery: when it is over, and the parts of the time until then."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from datetime import datetime

from pipelines.domain.ledger.journal import Entry, EntryKind

PARTS = (
    "agent_end",
    "detection",
    "backoff",
    "process",
    "jvm_and_session",
    "preflight",
    "query_start",
    "sink_tail",
    "first_batch",
)
"""Each begins where the one before ends; the first begins with the kill, the last ends with the first new record."""
OPTIONAL = frozenset({"agent_end", "sink_tail"})
"""Parts that a recovery may do without: nothing was left to end in order, or no batch was in flight."""
Marks = Mapping[str, float]
"""Wall seconds at which parts end, by their name."""

_LINE = re.compile(r"^(\S+Z) \S+ +driver \S+: (.*)$", re.MULTILINE)
_ENDS = {
    "process": "The driver starts as process",
    "jvm_and_session": "the Spark session is open",
    "preflight": "every component is ready",
}
"""How lines of agent.log begin that end a part."""


def first_new(appended: Mapping[int, int], resumed: float) -> float | None:
    """The wall time of the first record appended since `resumed`; `appended`: the millisecond of its first append, by
    number. A record that was there before is none, however often it comes again. The log's clock counts whole
    milliseconds; half of one is added, so that the mean is right."""
    new = [at for at in appended.values() if at >= resumed * 1000]
    return (min(new) + 0.5) / 1000 if new else None


def split(killed: float, marks: Marks, first: float) -> dict[str, float]:
    """Seconds by part, which add up to the time from the kill to the first new record. A part that was over before the
    one before it, as with an agent that stood by, took none; without a mark its time is that of the next part."""
    parts, at = {}, killed
    for part in PARTS[:-1]:
        until = min(max(marks.get(part, at), at), first)
        parts[part], at = until - at, until
    return {**parts, PARTS[-1]: first - at}


def missing(marks: Marks) -> list[str]:
    """Parts whose end is not known although each recovery has it."""
    return [part for part in PARTS[:-1] if part not in marks and part not in OPTIONAL]


def log_marks(log: str) -> dict[str, float]:
    """What agent.log tells: the first line of each kind counts."""
    found: dict[str, float] = {}
    for stamp, text in _LINE.findall(log):
        for part, beginning in _ENDS.items():
            if text.startswith(beginning):
                found.setdefault(part, datetime.fromisoformat(stamp).timestamp())
    return found


def journal_marks(entries: Iterable[Entry]) -> dict[str, float]:
    """What the journal of the next run tells: its first batch was planned, and the sink was asked what it has of it."""
    found: dict[str, float] = {}
    for entry in entries:
        if entry.kind is EntryKind.PLANNED and "query_start" not in found:
            found["query_start"] = entry.at
        elif entry.kind is EntryKind.RESOLVED and "query_start" in found:
            return found | {"sink_tail": entry.at}
        elif entry.kind is EntryKind.DONE:
            break
    return found
