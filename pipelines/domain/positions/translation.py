"""A position on one Kafka cluster as a position on another: proven by the records themselves, or not at all. Pure.

What is asked of a partition is which offset of the copy follows the record that was read last. A mirror's pairs or the
record's time say where to look; what is taken is only what records with the same time, key and value confirm.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from pipelines.domain.positions.cluster_move import Seen
from pipelines.domain.positions.offset_syncs import Pair

GIVE = "Or give the offsets to continue at: positions {by: given, offsets: …}."


@dataclass(frozen=True)
class Stand:
    """Where one partition stands on the old cluster. `tail`: the last records before the position, oldest first;
    `ahead`: the first ones behind it; `start` and `end` of its log."""

    position: int
    start: int
    end: int
    tail: Sequence[Seen] = ()
    ahead: Sequence[Seen] = ()


@dataclass(frozen=True)
class Copy:
    """The log of the partition on the new cluster, and records of it."""

    start: int
    end: int
    records: Sequence[Seen] = ()


@dataclass(frozen=True)
class Found:
    """It goes on at `new`. `same_as`: the old offset that is the same place, where that is known."""

    new: int
    exact: bool
    skip: int | None = 0
    replay: int | None = 0
    evidence: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Behind:
    """The mirror has not brought that many records yet."""

    records: int
    evidence: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Impossible:
    """Nobody can say where it goes on."""

    code: str
    reason: str
    suggestion: str = GIVE
    evidence: dict[str, Any] = field(default_factory=dict)


Outcome = Found | Behind | Impossible


def anchor(pairs: Sequence[Pair], position: int) -> Pair | None:
    """The last pair that is not behind the position."""
    place = bisect_right(pairs, position, key=lambda pair: pair[0])
    return pairs[place - 1] if place else None


def expected(pairs: Sequence[Pair], position: int) -> int | None:
    """Where the position lies on the copy, if each record since the last pair has one offset there."""
    last = anchor(pairs, position)
    return None if last is None else last[1] + position - last[0]


def by_mapping(stand: Stand, copy: Copy, pairs: Sequence[Pair]) -> Outcome:
    """By a mirror's pairs, ascending. `copy.records`: those around the expected offset."""
    at = expected(pairs, stand.position)
    if at is None and nothing_read(stand):
        return _from_the_start(copy)
    if at is None:
        words = "no pair" if not pairs else f"pairs from {pairs[0][0]} on alone"
        return Impossible(
            "NO_SYNC",
            f"The offset syncs have {words} of it, and its position is {stand.position}.",
            f"Check that the mirror copies it and emits syncs, or translate by timestamp. {GIVE}",
        )
    evidence: dict[str, Any] = {"pair": list(anchor(pairs, stand.position) or ()), "expected": at}
    if at > copy.end:
        return Behind(at - copy.end, evidence)
    if at < copy.start:
        return _below(at, copy, evidence)
    return _proven(stand, copy, pairs, at, evidence)


def _proven(stand: Stand, copy: Copy, pairs: Sequence[Pair], at: int, evidence: dict[str, Any]) -> Outcome:
    if not stand.tail or at == copy.start:
        if reported(pairs, stand.position):
            evidence |= {"proof": "pairs", "same_as": stand.position}
            return Found(at, exact=True, evidence=evidence)
        return _gone(stand, evidence)
    ends = places(stand.tail, copy)
    found = at if at in ends else ends[0] if len(ends) == 1 else None
    if found is None or (found != at and reported(pairs, stand.position)):
        return _different(stand, ends, evidence)
    evidence |= {"proof": "records", "compared": len(stand.tail), "last_read": stand.tail[-1].offset}
    return Found(found, exact=True, evidence={**evidence, "same_as": stand.position})


def reported(pairs: Sequence[Pair], position: int) -> bool:
    """Whether the pairs alone say where a position lies: one is of that very record, or it lies between two with as
    many offsets between them on either side; a mirror makes a pair wherever it leaves something out."""
    place = bisect_right(pairs, position, key=lambda pair: pair[0])
    if not place:
        return False
    before = pairs[place - 1]
    if before[0] == position or place == len(pairs):
        return before[0] == position
    after = pairs[place]
    return after[0] - before[0] == after[1] - before[1]


def places(tail: Sequence[Seen], copy: Copy) -> list[int]:
    """Offsets of the copy behind records that are the same as the tail, all of it; at the beginning of the copy's log
    as much of it as can be there."""
    records = copy.records
    least = 1 if records and records[0].offset == copy.start else len(tail)
    found = []
    for end in range(least, len(records) + 1):
        count = min(len(tail), end)
        if alike(records[end - count : end], tail[-count:]):
            found.append(records[end - 1].offset + 1)
    return found


def alike(some: Sequence[Seen], others: Sequence[Seen]) -> bool:
    """Whether these are the same records, one by one. Times are compared where no broker has set them."""
    return len(some) == len(others) and all(
        one.digest == other.digest and (one.timestamp == other.timestamp or one.appended or other.appended)
        for one, other in zip(some, others, strict=True)
    )


def by_timestamp(stand: Stand, copy: Copy, *, same: Sequence[Seen], first: int | None, most: int) -> Outcome:
    """By the time of the last record that was read. `same`: the old records from the first one of that time up to the
    position; `first`: the first offset of the copy that is not older, with `copy.records` from there on; `most`: so
    many of them are compared."""
    if nothing_read(stand):
        return _from_the_start(copy)
    if not stand.tail:
        return _gone(stand, {})
    time = stand.tail[-1].timestamp
    same, records = _not_older(same, time), _not_older(copy.records, time)
    evidence: dict[str, Any] = {
        "timestamp": time,
        "times_of": "broker" if stand.tail[-1].appended else "producer",
        "last_read": stand.tail[-1].offset,
    }
    if doubt := _doubt(stand, copy, same, time):
        return Impossible("TIMESTAMPS_NOT_MONOTONIC", doubt, f"Translate by mapping. {GIVE}", evidence)
    if len(same) > most:
        words = f"More than {most} records of the time {time} were read; all of them would be reread."
        return Impossible("TOO_MANY_OF_ONE_TIME", words, f"Translate by mapping. {GIVE}", evidence)
    if first is None or not records:
        return Behind(len(same), evidence)
    first, there = records[0].offset, records[: len(same)]
    evidence |= {"first": first, "candidates": sum(record.timestamp == time for record in records)}
    if not alike(there, same):
        brought = len(there) < len(same) and alike(there, same[: len(there)])
        return Behind(len(same) - len(there), evidence) if brought else _different(stand, [], evidence)
    evidence |= {"proof": "records", "compared": len(same), "same_as": same[0].offset}
    return Found(first, exact=not same, replay=len(same), evidence=evidence)


def _not_older(records: Sequence[Seen], time: int) -> Sequence[Seen]:
    """Without what comes before the first record that is not older: a broker also finds the end of a transaction by its
    time, which is no record."""
    return records[next((place for place, each in enumerate(records) if each.timestamp >= time), len(records)) :]


def _doubt(stand: Stand, copy: Copy, same: Sequence[Seen], time: int) -> str:
    """Why times do not say what was read and what was not."""
    late = [record for record in stand.ahead if record.timestamp < time]
    if late:
        return (
            f"The record {late[0].offset} was not read and is older than the record {stand.tail[-1].offset}, which "
            f"was: {late[0].timestamp} and {time}."
        )
    if any(record.timestamp != time for record in same):
        return f"Records from {same[0].offset} to {same[-1].offset} do not ascend in time."
    if any(record.appended for record in copy.records):
        return (
            "The new cluster keeps the time at which a record was appended to it, which is not the time on the old one."
        )
    return ""


def by_given(stand: Stand, copy: Copy, given: int | None) -> Outcome:
    """By a person. `copy.records`: those with the time of the last one that was read, and around them; what is skipped
    or comes again is counted where it is among them."""
    if given is None:
        return Impossible("OFFSET_MISSING", "The partition has no given offset.", "Give one for every partition.")
    if not copy.start <= given <= copy.end:
        words = f"{given} is not in the log, which holds {copy.start} to {copy.end}."
        return Impossible("OUTSIDE_LOG", words, "Give another offset.")
    ends = [copy.start] if nothing_read(stand) and copy.start == 0 else places(stand.tail, copy) if stand.tail else []
    if len(ends) != 1:
        return Found(given, exact=False, skip=None, replay=None, evidence={"proof": ""})
    (at,) = ends
    evidence: dict[str, Any] = {"proof": "records", "expected": at}
    if given == at:
        evidence["same_as"] = stand.position
    return Found(given, exact=given == at, skip=max(0, given - at), replay=max(0, at - given), evidence=evidence)


def nothing_read(stand: Stand) -> bool:
    """Whether no record of it can have been read."""
    return stand.position == 0


def _from_the_start(copy: Copy) -> Outcome:
    if copy.start == 0:
        return Found(0, exact=True, evidence={"proof": "nothing was read of it", "same_as": 0})
    words = f"Nothing was read of the partition, and the first {copy.start} records are missing on the new cluster."
    return Impossible("BELOW_LOG_START", words)


def _below(at: int, copy: Copy, evidence: dict[str, Any]) -> Impossible:
    words = (
        f"The source would continue at {at}; the new log starts at {copy.start}: {copy.start - at} records are "
        "gone there."
    )
    return Impossible("BELOW_LOG_START", words, GIVE, evidence)


def _gone(stand: Stand, evidence: dict[str, Any]) -> Impossible:
    words = (
        f"The records before {stand.position} are gone from one of the clusters, so nothing proves where it continues; "
        f"the old log starts at {stand.start}."
    )
    return Impossible("LAST_RECORD_GONE", words, GIVE, evidence)


def _different(stand: Stand, ends: Sequence[int], evidence: dict[str, Any]) -> Impossible:
    if ends:
        code = "SYNC_DISAGREES"
        words = f"The last records that were read end at {', '.join(map(str, ends[:5]))} on the new cluster."
    else:
        code = "RECORDS_DIFFER"
        words = "The records there are not those that were read here: other times, keys or values."
    words = f"{words} The position is {stand.position}; the new offset would be {evidence.get('expected', 'unknown')}."
    return Impossible(code, words, f"Check that it is a mirror of this topic. {GIVE}", evidence)
