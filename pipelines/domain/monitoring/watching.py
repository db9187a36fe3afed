"""Consumer groups of others: what was seen of one, and what must have happened between two looks. Pure.

A commit that moves is normal. One that vanishes, goes back, or goes on further than anybody can have read is not: the
two nights of a reset to `earliest` or `latest` begin so.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from enum import StrEnum
from typing import Any

from pipelines.domain.base.positions import TopicPartition

MEMBERS_RATE = 200_000.0
"""Records per second that a partition is consumed with at most, as long as nobody knows better."""
FORESEEN = 10.0
"""So much faster than ever seen is still possible."""
FORGETTING = 0.99
"""With each look the fastest consumption that was seen counts a little less."""
SMALL_STEP = 1_000
"""Records that a group without members may move by in one look."""
LEAP_RECORDS = 100_000
"""Lag of a group that is worth an event when it appears within one look."""


@dataclass(frozen=True)
class Description:
    """A group as its coordinator describes it. `simple`: nobody ever joined; offsets are committed from outside."""

    state: str
    coordinator: str
    simple: bool = False
    members: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class GroupPartition:
    """One partition of a group in one look. `known`: the last commit that there was, at the time `known_at`."""

    committed: int | None
    start: int
    end: int
    known: int | None = None
    known_at: float = 0.0

    @property
    def lag(self) -> int | None:
        """Records that wait."""
        return None if self.committed is None else max(0, self.end - self.committed)


@dataclass(frozen=True)
class GroupInspection:
    """What was seen of a group at the time `at` (wall seconds)."""

    at: float
    description: Description
    partitions: Mapping[TopicPartition, GroupPartition] = field(default_factory=dict)

    @property
    def lag(self) -> int:
        """Records that wait in all partitions with a commit."""
        return sum(part.lag or 0 for part in self.partitions.values())

    def plain(self) -> dict[str, Any]:
        """As the database keeps it."""
        parts = [[*key, *asdict(part).values()] for key, part in sorted(self.partitions.items())]
        return {"at": self.at, "description": asdict(self.description), "partitions": parts}

    @classmethod
    def of_plain(cls, data: Mapping[str, Any]) -> GroupInspection:
        """What `plain` made."""
        reported = data["description"]
        description = Description(
            **{**reported, "members": tuple((client, host) for client, host in reported["members"])}
        )
        parts = {TopicPartition(topic, number): GroupPartition(*rest) for topic, number, *rest in data["partitions"]}
        return cls(data["at"], description, parts)


def inspected(
    before: GroupInspection | None,
    at: float,
    description: Description,
    commits: Mapping[TopicPartition, int],
    ranges: Mapping[TopicPartition, tuple[int, int]],
) -> GroupInspection:
    """One look out of the answers. A partition whose commit is gone stays in it, as long as the partition exists."""
    known = before.partitions if before else {}
    parts = {}
    for key, (start, end) in ranges.items():
        committed, last = commits.get(key), known.get(key)
        part = GroupPartition(committed, start, end, committed, at)
        if committed is None and last is not None:
            part = replace(part, known=last.known, known_at=last.known_at)
        parts[key] = part
    return GroupInspection(at, description, parts)


class Kind(StrEnum):
    """What may happen to a group; the kinds of the events."""

    COMMIT_VANISHED = "group.commit_vanished"
    COMMIT_BACK = "group.commit_back"
    JUMPED_BACK = "group.jumped_back"
    JUMPED_FORWARD = "group.jumped_forward"
    LAG_LEAPT = "group.lag_leapt"


@dataclass(frozen=True)
class Happening:
    """Something that happened between two looks, in words and in figures."""

    kind: Kind
    message: str
    data: Mapping[str, Any]


@dataclass(frozen=True)
class Limits:
    """`fastest`: records per second that a partition was consumed with. `max_rate`, `leap_records`: set by people.

    `read`: of a group that one of our own pipelines mirrors its positions to, the furthest one.
    """

    fastest: float = 0.0
    max_rate: float | None = None
    leap_records: int | None = None
    read: Mapping[TopicPartition, int] = field(default_factory=dict)


def happenings(before: GroupInspection, after: GroupInspection, limits: Limits) -> list[Happening]:
    """Everything that happened to a group between two looks."""
    found = [
        happening
        for key, part in sorted(after.partitions.items())
        if key in before.partitions
        for happening in _moves(key, before, after, before.partitions[key], part, limits)
    ]
    return found or list(_leaps(before, after, limits))


def _moves(
    key: TopicPartition,
    before: GroupInspection,
    after: GroupInspection,
    old: GroupPartition,
    new: GroupPartition,
    limits: Limits,
) -> Iterator[Happening]:
    name = f"{key.topic}/{key.partition}"
    data = _figures(key, before, after, old, new)
    if new.committed is None:
        if old.committed is not None:
            words = f"The commit of {name} is gone; it was {old.committed}, {new.end - old.committed} before the end."
            yield Happening(Kind.COMMIT_VANISHED, words, data)
        return
    if old.known is None:
        return
    if old.committed is None:
        words = f"{name} has a commit again: {new.committed}; the last one was {old.known}."
        yield Happening(Kind.COMMIT_BACK, words, data)
    if new.committed < old.known:
        again = old.known - new.committed
        words = f"The commit of {name} went back from {old.known} to {new.committed}: {again} records are reread."
        yield Happening(Kind.JUMPED_BACK, words, data)
    elif why := _too_far(key, before, after, old, new, limits):
        words = f"The commit of {name} jumped from {old.known} to {new.committed}, {why}."
        yield Happening(Kind.JUMPED_FORWARD, words, data)


def _figures(
    key: TopicPartition, before: GroupInspection, after: GroupInspection, old: GroupPartition, new: GroupPartition
) -> dict[str, Any]:
    return {
        "topic": key.topic,
        "partition": key.partition,
        "before": old.known,
        "after": new.committed,
        "before_at": old.known_at,
        "after_at": after.at,
        "log_start": new.start,
        "log_end": new.end,
        "coordinator": after.description.coordinator,
        "coordinator_before": before.description.coordinator,
        "state": after.description.state,
        "members": len(after.description.members),
    }


def _too_far(
    key: TopicPartition,
    before: GroupInspection,
    after: GroupInspection,
    old: GroupPartition,
    new: GroupPartition,
    limits: Limits,
) -> str:
    """Why nobody can have read that far; empty where somebody can."""
    committed, known = new.committed or 0, old.known or 0
    if committed > new.end:
        return f"beyond the log's end {new.end}"
    if key in limits.read:
        read = limits.read[key]
        return f"and the pipeline has read up to {read} only" if committed > max(read, known) else ""
    possible = _possible(before, after, after.at - old.known_at, limits)
    moved = committed - known
    return (
        f"and no more than {possible:.0f} of these {moved} records can have been consumed" if moved > possible else ""
    )


def _possible(before: GroupInspection, after: GroupInspection, seconds: float, limits: Limits) -> float:
    """Records of one partition that can have been consumed in a time."""
    seen = FORESEEN * limits.fastest * seconds
    if limits.max_rate is not None:
        return limits.max_rate * seconds
    if before.description.members or after.description.members:
        return max(MEMBERS_RATE * seconds, seen)
    return max(SMALL_STEP, seen)


def _leaps(before: GroupInspection, after: GroupInspection, limits: Limits) -> Iterator[Happening]:
    most = LEAP_RECORDS if limits.leap_records is None else limits.leap_records
    grown = after.lag - before.lag
    if grown > most:
        words = f"The lag grew by {grown} records within one measurement, from {before.lag} to {after.lag}."
        data = {
            "before": before.lag,
            "after": after.lag,
            "before_at": before.at,
            "after_at": after.at,
            "coordinator": after.description.coordinator,
            "coordinator_before": before.description.coordinator,
            "state": after.description.state,
            "members": len(after.description.members),
        }
        yield Happening(Kind.LAG_LEAPT, words, data)


def fastest(before: GroupInspection, after: GroupInspection, known: float) -> float:
    """The fastest consumption of a partition after one more look; what was seen long ago is slowly forgotten."""
    rates = [
        (part.committed - old.known) / (after.at - old.known_at)
        for key, part in after.partitions.items()
        if (old := before.partitions.get(key))
        and part.committed is not None
        and old.known is not None
        and after.at > old.known_at
    ]
    return max([known * FORGETTING, *rates])
