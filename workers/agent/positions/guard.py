"""The guard: ledger head, checkpoint, log and group must agree before a query starts. Pure comparisons.

Agreement is: the checkpoint's last committed batch is the ledger's last done one, or the one before it (Spark's commit
of a done batch was lost; the batch returns without writing), with equal ends; and at most one batch beyond it that is
planned and not committed. Anything else is a finding: nothing is guessed. Of a log that is not the one that the ledger
knows, nothing else is compared: its offsets mean something else. The group is only a mirror: what it lacks is a notice,
and what it alone knows of a later position is a finding.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from pipelines.domain.base.positions import PartitionPosition, SourceIdentity, TopicPartition
from pipelines.domain.ledger.journal import Noticed, Planned
from pipelines.domain.runs.protocol import AgentFinding
from workers.agent.positions.checkpoint import CheckpointState, LedgerBatchEnd, Offsets, ranges

NOTICES = ("GROUP_LOST", "GROUP_MOVED", "EXPIRING")
"""What somebody should know, and is no reason to stop."""
_REPORTED = 5
"""Partitions that a notice names."""
_DECIDE = "Choose where to continue: headgate positions show lists the choices. The next start begins a new lineage."


@dataclass(frozen=True)
class Head:
    """Where the ledger stands with one (source, channel)."""

    path: str
    positions: Offsets
    done_batch: int | None = None
    planned: Planned | None = None
    channel: str = ""
    incomplete: bool = False

    @property
    def done(self) -> LedgerBatchEnd:
        """The batch that was finished last, and where it ended."""
        return LedgerBatchEnd(-1 if self.done_batch is None else self.done_batch, self.positions)

    @property
    def plan(self) -> LedgerBatchEnd:
        """The batch that may have touched its sink, and where it ends; none where that is not known yet."""
        if self.planned is None or self.planned.open_ended:
            return LedgerBatchEnd(-1, {})
        return LedgerBatchEnd(
            self.planned.batch, {**self.positions, **{item.key: item.end for item in self.planned.ranges}}
        )


def lost_plan(source: str, head: Head, checkpoint: CheckpointState) -> Planned | None:
    """The batch that the checkpoint has planned beyond the ledger, where a damaged journal may have held the entry of
    it: its sinks may have been touched. None where the ledger knows of everything that was begun."""
    number = head.done.batch + 1
    ends = (checkpoint.ends or {}).get(number)
    if not head.incomplete or head.planned is not None or checkpoint.planned != number or ends is None:
        return None
    return Planned(source=source, channel=head.channel, batch=number, ranges=ranges(head.positions, ends))


@dataclass(frozen=True)
class LogRange:
    """First offset that can still be read, and the end, of one partition."""

    start: int
    end: int


@dataclass(frozen=True)
class Mirrored:
    """What a group has committed of a partition; `ours`: this pipeline wrote it."""

    offset: int
    ours: bool


def compare(head: Head, checkpoint: CheckpointState) -> list[AgentFinding]:
    """Ledger against checkpoint."""
    return [_finding(head, *found) for found in _disagreements(head, checkpoint)]


_Found = tuple[str, str] | tuple[str, str, TopicPartition]
"""Code and message, and the partition where it is about one."""


def _finding(head: Head, code: str, message: str, key: TopicPartition | None = None) -> AgentFinding:
    return AgentFinding(
        path=head.path, code=code, message=message, suggestion=_DECIDE, channel=head.channel, **_about(key)
    )


def _about(key: TopicPartition | None) -> dict[str, Any]:
    return {} if key is None else {"topic": key.topic, "partition": key.partition}


def _disagreements(head: Head, checkpoint: CheckpointState) -> Iterator[_Found]:
    committed = -1 if checkpoint.committed is None else checkpoint.committed
    planned = -1 if checkpoint.planned is None else checkpoint.planned
    done = -1 if head.done_batch is None else head.done_batch
    if head.planned is not None and head.planned.open_ended and committed == head.planned.batch == done + 1:
        return  # its end and its counts are read from the checkpoint and the source when the run begins
    if committed >= 0 and not head.positions:
        yield "LEDGER_LOST", f"The checkpoint has finished batch {committed}, and the ledger has no position."
    elif committed > done:
        apart = _all_apart(head.positions, (checkpoint.ends or {}).get(committed, {}))
        yield (
            "LEDGER_BEHIND",
            f"The checkpoint has finished batch {committed}; the ledger's last finished one is {_number(done)}{apart}.",
        )
    elif not checkpoint.used and (done >= 0 or (head.planned and not head.planned.open_ended)):
        yield (
            "CHECKPOINT_LOST",
            f"The ledger's last finished batch is {_number(done)}; the checkpoint is empty or missing.",
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


def _different_ends(head: Head, checkpoint: CheckpointState, done: int) -> Iterator[_Found]:
    ends = (checkpoint.ends or {}).get(done) if done >= 0 else checkpoint.initial
    if ends is None:
        if done >= 0:
            yield "CHECKPOINT_DISAGREES", f"The checkpoint no longer has the end of batch {done}."
        return
    for key in sorted(ends.keys() | head.positions.keys()):
        ledger, spark = head.positions.get(key), ends.get(key)
        if ledger is not None and spark is None and done < 0:
            continue  # a position of an earlier lineage for a partition that this checkpoint has not met yet
        if {ledger, spark} == {None, 0}:
            continue  # a partition that was added and has not moved yet: one of them has heard of it
        if ledger != spark:
            yield (
                "CHECKPOINT_DISAGREES",
                f"{_name(key)}: the ledger continues at {ledger}, the checkpoint at {spark}{_apart(ledger, spark)}.",
                key,
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


def _different_plan(head: Head, checkpoint: CheckpointState, planned: int) -> Iterator[_Found]:
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
                item.key,
            )


def within_log(
    path: str, positions: list[PartitionPosition], log: dict[TopicPartition, LogRange]
) -> list[AgentFinding]:
    """Positions against what the source still holds, with the exact number of records."""
    return [
        AgentFinding(path=path, code=code, message=message, suggestion=_DECIDE, **_about(position.key))
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
                f"{name}: the position {at} has expired; the log starts at {log.start}: "
                f"{log.start - at} records can no longer be read."
            ),
        )
    elif at > log.end:
        yield (
            "BEYOND_LOG_END",
            f"{name}: the position {at} is beyond the log's end {log.end} by {at - log.end} records.",
        )


def same_log(known: SourceIdentity | None, seen: SourceIdentity | None, read: Collection[str]) -> bool:
    """Whether the log is the one that the ledger's positions are offsets of, as far as that is known; `read`: topics
    that have any."""
    if known is None or seen is None or not read:
        return True
    return known.cluster_id == seen.cluster_id and not _made_anew(known, seen, read)


def _made_anew(known: SourceIdentity, seen: SourceIdentity, read: Collection[str]) -> list[str]:
    ids = known.topics
    return [topic for topic in sorted(read) if topic in ids and ids[topic] != seen.topics.get(topic, ids[topic])]


def another_log(
    path: str,
    known: SourceIdentity | None,
    seen: SourceIdentity | None,
    read: Collection[str],
    log: Mapping[TopicPartition, LogRange],
) -> list[AgentFinding]:
    """What is said where it is not `same_log`; `log`: what can be read now."""
    if known is None or seen is None or same_log(known, seen, read):
        return []
    if known.cluster_id != seen.cluster_id:
        return [_another_cluster(path, known, seen, read, log)]
    return [
        _made_again(path, topic, known.topics[topic], seen.topics[topic], log)
        for topic in _made_anew(known, seen, read)
    ]


def _another_cluster(
    path: str,
    known: SourceIdentity,
    seen: SourceIdentity,
    read: Collection[str],
    log: Mapping[TopicPartition, LogRange],
) -> AgentFinding:
    message = (
        f"The cluster's id was {known.cluster_id} and is {seen.cluster_id}: the ledger's positions are offsets of the "
        f"old cluster. {_unread(log, read)}"
    )
    return AgentFinding(path=path, code="CLUSTER_CHANGED", message=message, suggestion=_DECIDE)


def _made_again(path: str, topic: str, old: str, new: str, log: Mapping[TopicPartition, LogRange]) -> AgentFinding:
    message = (
        f"{topic} was deleted and created again: its id was {old} and is {new}; the ledger's positions are offsets of "
        "the "
        f"old topic. {_unread(log, [topic])}"
    )
    return AgentFinding(path=path, code="TOPIC_RECREATED", message=message, suggestion=_DECIDE, topic=topic)


def _unread(log: Mapping[TopicPartition, LogRange], topics: Collection[str]) -> str:
    """The records that are there and that nobody has read."""
    own = {key: held for key, held in sorted(log.items()) if key.topic in topics}
    total = sum(held.end - held.start for held in own.values())
    each = ", ".join(f"{_name(key)} from {held.start} to {held.end}" for key, held in own.items())
    return f"The new one holds {total} records, none of which was read: {each}."


def ahead_of_ledger(
    path: str, furthest: Offsets, mirror: Mapping[TopicPartition, Mirrored], decided: Offsets
) -> list[AgentFinding]:
    """What the group knows and the ledger does not. `furthest`: per partition, where any channel stands.

    `decided`: what was told of when a person decided where to go on. A group that still says so, since nothing has
    been read since, says nothing new.
    """
    found = []
    for key, at in sorted(mirror.items()):
        position, by = furthest.get(key), "this pipeline" if at.ours else "another client"
        if not furthest and at.ours:
            code, message = "LEDGER_LOST", f"this pipeline has read up to {at.offset}; the ledger has no position."
        elif position is not None and at.offset > max(position, decided.get(key, 0)):
            code = "LEDGER_BEHIND"
            message = (
                f"{at.offset} was committed to the group by {by}; the ledger continues at {position}, "
                f"{at.offset - position} records before."
            )
        else:
            continue
        found.append(
            AgentFinding(path=path, code=code, message=f"{_name(key)}: {message}", suggestion=_DECIDE, **_about(key))
        )
    return found


def notices(source: str, furthest: Offsets, mirror: Mapping[TopicPartition, Mirrored]) -> list[Noticed]:
    """What happened to the mirror: it is written again, and somebody should know."""
    lost, moved = [], []
    for key, position in sorted(furthest.items()):
        at = mirror.get(key)
        if at is None:
            lost.append(f"{_name(key)}: the group no longer has a commit; the ledger continues at {position}.")
        elif not at.ours and at.offset != position:
            moved.append(f"{_name(key)}: another client has committed {at.offset}; the ledger continues at {position}.")
    return [*_summed_up(source, "GROUP_LOST", lost), *_summed_up(source, "GROUP_MOVED", moved)]


def expiring(source: str, positions: Offsets, within: Mapping[TopicPartition, float]) -> list[Noticed]:
    """Positions that retention is about to pass."""
    reported = [
        f"{_name(key)}: the records at {positions[key]} can expire unread within {seconds:.0f} s."
        for key, seconds in sorted(within.items())
    ]
    return _summed_up(source, "EXPIRING", reported)


def _summed_up(source: str, code: str, reported: list[str]) -> list[Noticed]:
    """One notice for all partitions, which may be many."""
    if not reported:
        return []
    more = [f"The same holds for {len(reported) - _REPORTED} more partitions."] if len(reported) > _REPORTED else []
    return [Noticed(source=source, code=code, message=" ".join([*reported[:_REPORTED], *more]))]


def _name(key: TopicPartition) -> str:
    return f"{key.topic}/{key.partition}"


def _number(batch: int) -> str:
    return "none" if batch < 0 else str(batch)
