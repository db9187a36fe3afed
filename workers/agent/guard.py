"""The guard: ledger head, checkpoint and log range must agree before a query starts. Pure comparisons.

Agreement is: the checkpoint's last committed batch is the ledger's last done one, or the one before it (Spark's commit
of a done batch was lost; the batch returns without writing), with equal ends; and at most one batch beyond it that is
planned and not committed. Anything else is a finding: nothing is guessed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from pipelines.domain.journal import Planned
from pipelines.domain.positions import PartitionPosition
from pipelines.domain.protocol import AgentFinding
from workers.agent.checkpoint import Key, Offsets, View

_DECIDE = "Decide where to continue: the ledger's position, or a new one, which starts a new lineage."


@dataclass(frozen=True)
class Head:
    """Where the ledger stands with one (source, channel)."""

    path: str
    positions: Offsets
    done_batch: int | None = None
    planned: Planned | None = None


@dataclass(frozen=True)
class LogRange:
    """First offset that can still be read, and the end, of one partition."""

    start: int
    end: int


def compare(head: Head, checkpoint: View) -> list[AgentFinding]:
    """Ledger against checkpoint."""
    return [_finding(head, code, message) for code, message in _disagreements(head, checkpoint)]


def _finding(head: Head, code: str, message: str) -> AgentFinding:
    return AgentFinding(path=head.path, code=code, message=message, suggestion=_DECIDE)


def _disagreements(head: Head, checkpoint: View) -> Iterator[tuple[str, str]]:
    committed = -1 if checkpoint.committed is None else checkpoint.committed
    planned = -1 if checkpoint.planned is None else checkpoint.planned
    done = -1 if head.done_batch is None else head.done_batch
    if head.planned is not None and head.planned.open_ended and committed == head.planned.batch == done + 1:
        return  # its end and its counts are read from the checkpoint and the source when the run begins
    if committed >= 0 and not head.positions:
        yield "LEDGER_LOST", f"The checkpoint has finished batch {committed}, and the ledger knows no position at all."
    elif committed > done:
        apart = _all_apart(head.positions, (checkpoint.ends or {}).get(committed, {}))
        yield (
            "LEDGER_BEHIND",
            f"The checkpoint has finished batch {committed}; the ledger's last finished one is {_number(done)}{apart}.",
        )
    elif not checkpoint.used and (done >= 0 or head.planned):
        yield (
            "CHECKPOINT_LOST",
            f"The ledger's last finished batch is {_number(done)}; the checkpoint is empty or gone.",
        )
    elif planned not in {done, done + 1} or committed < done - 1:
        yield (
            "CHECKPOINT_DISAGREES",
            (
                f"The checkpoint planned batch {_number(planned)} and finished {_number(committed)}; "
                f"the ledger finished {_number(done)}."
            ),
        )
    else:
        yield from _different_ends(head, checkpoint, done)
        yield from _different_plan(head, checkpoint, planned)


def _different_ends(head: Head, checkpoint: View, done: int) -> Iterator[tuple[str, str]]:
    ends = (checkpoint.ends or {}).get(done) if done >= 0 else checkpoint.initial
    if ends is None:
        if done >= 0:
            yield "CHECKPOINT_DISAGREES", f"The checkpoint no longer says where batch {done} ended."
        return
    for key in sorted(ends.keys() | head.positions.keys()):
        ledger, spark = head.positions.get(key), ends.get(key)
        if ledger is not None and spark is None and done < 0:
            continue  # a position of an earlier lineage for a partition that this checkpoint has not met yet
        if ledger is None and spark == 0:
            continue  # a partition that was added and has not moved yet
        if ledger != spark:
            yield (
                "CHECKPOINT_DISAGREES",
                f"{_name(key)}: the ledger continues at {ledger}, the checkpoint at {spark}{_apart(ledger, spark)}.",
            )


def _apart(ledger: int | None, spark: int | None) -> str:
    """What the ledger would record if the checkpoint were believed: records that are skipped, or read again."""
    if ledger is None or spark is None or ledger == spark:
        return ""
    return f": GAP {spark - ledger}" if spark > ledger else f": OVERLAP {ledger - spark}"


def _all_apart(ledger: Offsets, spark: Offsets) -> str:
    """The same for every partition."""
    found = [f"{_name(key)}{_apart(ledger.get(key, 0), end)}" for key, end in sorted(spark.items())]
    return "".join(f"; {text}" for text in found if ": " in text)


def _different_plan(head: Head, checkpoint: View, planned: int) -> Iterator[tuple[str, str]]:
    if head.planned is None or head.planned.open_ended:
        return
    ends = (checkpoint.ends or {}).get(head.planned.batch)
    if head.planned.batch != planned or ends is None:
        yield (
            "CHECKPOINT_DISAGREES",
            f"The ledger planned batch {head.planned.batch}; the checkpoint's newest is {_number(planned)}.",
        )
        return
    for item in head.planned.ranges:
        if ends.get(item.key) != item.end:
            yield (
                "CHECKPOINT_DISAGREES",
                (
                    f"{_name(item.key)}: batch {planned} ends at {item.end} in the ledger "
                    f"and at {ends.get(item.key)} in the checkpoint."
                ),
            )


def within_log(path: str, positions: list[PartitionPosition], log: dict[Key, LogRange]) -> list[AgentFinding]:
    """Positions against what the source still holds, with the exact number of records."""
    return [
        AgentFinding(path=path, code=code, message=message, suggestion=_DECIDE)
        for position in positions
        for code, message in _outside(position, log.get(position.key))
    ]


def _outside(position: PartitionPosition, log: LogRange | None) -> Iterator[tuple[str, str]]:
    name, at = _name(position.key), position.offset
    if log is None:
        yield "PARTITION_REMOVED", f"{name}: the ledger continues at {at}, and the partition does not exist."
    elif at < log.start:
        yield (
            "BELOW_LOG_START",
            (
                f"{name}: the position {at} is gone; the log starts at {log.start}: "
                f"{log.start - at} records cannot be read any more."
            ),
        )
    elif at > log.end:
        yield (
            "BEYOND_LOG_END",
            f"{name}: the position {at} is beyond the log's end {log.end} by {at - log.end} records.",
        )


def _name(key: Key) -> str:
    return f"{key[0]}/{key[1]}"


def _number(batch: int) -> str:
    return "none" if batch < 0 else str(batch)
