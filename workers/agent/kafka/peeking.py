"""Records of one topic as they are, read beside everything else: no group is joined, and nothing is committed.

Each partition is read in windows that grow until there are enough records, backwards from its end or onwards from an
offset. What a read is bounded by, and every offset that has no record, is told.
"""

from __future__ import annotations

import heapq
import itertools
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from confluent_kafka import (
    TIMESTAMP_LOG_APPEND_TIME,
    TIMESTAMP_NOT_AVAILABLE,
    KafkaError,
    KafkaException,
    Message,
)

from pipelines.domain.base.positions import TopicPartition
from pipelines.domain.peek.protocol import Hole, HoleKind
from pipelines.domain.peek.question import PeekQuestion
from pipelines.domain.preview.outcomes import Content
from workers.agent.kafka import windows
from workers.agent.kafka.admin import KafkaCluster

SECONDS = 10.0
"""After which nothing more is read."""
MOST_SEARCHED = 100_000
"""Offsets of all partitions together."""
MOST_BYTES = 64 * 1024 * 1024
MOST_BODY = 64 * 1024
"""Bytes of a body that are kept."""
MOST_KEPT = 2_000
"""Records that are kept of all partitions together, before the ones to be shown are chosen."""
MOST_HOLES = 20
"""Of a partition."""
_FIRST = 20
_GROWTH = 4
_LOOKED_AGAIN = 20_000
"""Offsets that are read once more to find out why there are holes among them."""


class Found(NamedTuple):
    """A record. `timestamp`: milliseconds; `by_broker`: the broker has set it."""

    offset: int
    timestamp: int | None
    by_broker: bool
    tombstone: bool
    content: Content


@dataclass
class Part:
    """One partition: what can be read of it is [start, end), what was looked at [since, until). `offsets`: those that
    have a record; `open`: offsets behind the end, of transactions that are not over."""

    key: TopicPartition
    start: int
    end: int
    since: int
    until: int
    open: int = 0
    found: list[Found] = field(default_factory=list)
    offsets: list[int] = field(default_factory=list)
    holes: list[Hole] = field(default_factory=list)
    missing: int = 0

    def window(self, size: int, *, newest: bool) -> tuple[int, int]:
        """The next part of it."""
        if newest:
            return max(self.start, self.since - size), self.since
        return self.until, min(self.end, self.until + size)

    def take(self, read: _Read, *, newest: bool) -> None:
        """Add a window."""
        if newest:
            self.since = read.start
            self.found, self.offsets = [*read.found, *self.found], [*read.offsets, *self.offsets]
        else:
            self.until = read.end
            self.found, self.offsets = [*self.found, *read.found], [*self.offsets, *read.offsets]

    def keep(self, number: int, *, newest: bool) -> bool:
        """Leave out all but so many; then less of it was looked at. False where there were no more."""
        left_out = len(self.found) - number
        if left_out <= 0:
            return False
        if newest:
            self.found = self.found[left_out:]
            self.since = self.found[0].offset if self.found else self.until
        else:
            self.found = self.found[:number]
            self.until = self.found[-1].offset + 1 if self.found else self.since
        self.offsets = [each for each in self.offsets if self.since <= each < self.until]
        return True


@dataclass
class _Read:
    """A window as far as it was read."""

    start: int
    end: int
    found: list[Found] = field(default_factory=list)
    offsets: list[int] = field(default_factory=list)


@dataclass
class Peeked:
    """`more`: records beyond those that were asked for; `notes`: what ended it before."""

    parts: list[Part]
    searched: int
    more: bool
    compacted: bool
    notes: list[str]


Shows = Callable[[Content], bool]
"""Whether what is searched for may be seen in a record."""


def peek(
    cluster: KafkaCluster, topic: str, question: PeekQuestion, path: str, *, committed: bool, shows: Shows
) -> Peeked:
    """The records that are asked for, of each partition in the order of its offsets. Raises Refused and
    KafkaException."""
    return _Peek(cluster, topic, question, path, committed, shows).result()


class _Peek:
    def __init__(
        self, cluster: KafkaCluster, topic: str, question: PeekQuestion, path: str, committed: bool, shows: Shows
    ) -> None:
        self._cluster, self._topic, self._question, self._committed = cluster, topic, question, committed
        self._shows = shows
        self._deadline = time.monotonic() + SECONDS
        self._notes: list[str] = []
        self._searched = self._bytes = 0
        self._stopped = False
        self._parts = self._located(path)
        self._quota = max(1, min(question.limit, MOST_KEPT // max(1, len(self._parts))))

    def _located(self, path: str) -> list[Part]:
        """Where each partition is read from. Raises Refused."""
        keys = self._cluster.partitions([self._topic], path, "READ")
        wanted = self._question.partition
        if wanted is not None:
            known = [key for key in keys if key.partition == wanted]
            if not known:
                raise NoPartition(f"{self._topic} has the partitions 0 to {len(keys) - 1}; there is no {wanted}.")
            keys = known
        starts, last = self._cluster.earliest(keys), self._cluster.latest(keys)
        ends = self._cluster.latest_committed(keys) if self._committed else last
        times = self._at_time(keys)
        return [self._part(key, starts[key], max(starts[key], ends[key]), last[key], times) for key in keys]

    def _at_time(self, keys: list[TopicPartition]) -> Mapping[TopicPartition, int]:
        at = self._question.time
        return {} if at is None else self._cluster.at(keys, round(at.timestamp() * 1000))

    def _part(self, key: TopicPartition, start: int, end: int, last: int, times: Mapping[TopicPartition, int]) -> Part:
        begin = end
        if self._question.offset is not None:
            begin = min(max(start, self._question.offset), end)
            self._notes += _outside(key, self._question.offset, start, end)
        elif self._question.time is not None:
            begin = min(max(start, times.get(key, end)), end)
        return Part(key, start, end, begin, begin, max(0, last - end))

    def result(self) -> Peeked:
        """Read windows until there is enough."""
        newest, size = self._question.newest, _FIRST
        while not self._stopped and (open_ones := [part for part in self._parts if self._wants(part)]):
            self._read(open_ones, size, newest=newest)
            size *= _GROWTH
        more = self._chosen(newest=newest)
        compacted = self._is_compacted()
        for part in self._parts:
            self._explain(part, compacted=compacted)
        return Peeked(self._parts, self._searched, more, compacted, self._notes)

    def _wants(self, part: Part) -> bool:
        start, end = part.window(1, newest=self._question.newest)
        return len(part.found) < self._quota and end > start

    def _read(self, parts: Sequence[Part], size: int, *, newest: bool) -> None:
        """One window of each. One that ends early counts as far as it was read; backwards, not at all."""
        left = MOST_SEARCHED - self._searched
        if left < len(parts):
            self._stop(f"{MOST_SEARCHED:,} offsets were searched.")
            return
        reads = {part.key: _Read(*part.window(min(size, left // len(parts)), newest=newest)) for part in parts}
        whole = self._fill(reads)
        for part in parts:
            read = reads[part.key]
            if whole:
                part.take(read, newest=newest)
            elif not newest and read.offsets:
                part.take(_Read(read.start, read.offsets[-1] + 1, read.found, read.offsets), newest=False)

    def _fill(self, reads: dict[TopicPartition, _Read]) -> bool:
        """Whether all of it was read."""
        ranges = {key: (read.start, read.end) for key, read in reads.items()}
        left = max(0.1, self._deadline - time.monotonic())
        try:
            for message in windows.messages(self._cluster, ranges, seconds=left, committed=self._committed):
                read = reads[TopicPartition(str(message.topic()), int(message.partition() or 0))]
                self._take(message, read)
                if self._bytes > MOST_BYTES:
                    self._stop(f"{MOST_BYTES // (1 << 20)} MiB were read.")
                    return False
        except KafkaException as error:
            if error.args[0].code() != KafkaError._TIMED_OUT or not self._searched:
                raise
            self._stop(f"{SECONDS:g} s have passed.")
            return False
        return True

    def _stop(self, why: str) -> None:
        self._stopped = True
        self._notes.append(f"The search ended early: {why}")

    def _take(self, message: Message, read: _Read) -> None:
        found = _found(message)
        self._searched += 1
        self._bytes += found.content.size
        read.offsets.append(found.offset)
        if matches(self._question, found.content):
            kept = _beginning(found.content)
            if self._shows(kept):
                read.found.append(found._replace(content=kept))

    def _chosen(self, *, newest: bool) -> bool:
        """Keep those that are asked for: of each partition a part without gaps, the newest or the oldest of all."""
        limit = self._question.limit
        cut = sum(part.keep(self._quota, newest=newest) for part in self._parts)
        numbers: dict[TopicPartition, int] = defaultdict(int)
        in_turn = _merged({part.key: part.found for part in self._parts}, newest=newest)
        for key, _ in itertools.islice(in_turn, limit):
            numbers[key] += 1
        cut += sum(part.keep(numbers[part.key], newest=newest) for part in self._parts)
        return cut > 0 or any(part.since > part.start if newest else part.until < part.end for part in self._parts)

    def _is_compacted(self) -> bool:
        known = self._cluster.settings_of([self._topic]).get(self._topic, {})
        return "compact" in known.get("cleanup.policy", "")

    def _explain(self, part: Part, *, compacted: bool) -> None:
        """Why offsets of what was looked at have no record."""
        ranges = list(_gaps(part))
        part.missing = sum(end - start for start, end in ranges)
        aborted = self._aborted(part, ranges) if ranges and self._committed else set[int]()
        rest = HoleKind.COMPACTED if compacted else HoleKind.MARKERS
        for start, end in ranges[:MOST_HOLES]:
            kinds = itertools.groupby(range(start, min(end, start + _LOOKED_AGAIN)), key=lambda at: _in(aborted, at))
            for was_aborted, offsets in kinds:
                own = list(offsets)
                kind = HoleKind.UNKNOWN if aborted is None else HoleKind.ABORTED if was_aborted else rest
                part.holes.append(Hole(start=own[0], end=own[-1] + 1, kind=kind))
        del part.holes[MOST_HOLES:]

    def _aborted(self, part: Part, ranges: Sequence[tuple[int, int]]) -> set[int] | None:
        """Offsets of records that are there and not committed; None where that cannot be found out in time."""
        start, end, left = ranges[0][0], ranges[-1][1], self._deadline - time.monotonic()
        if end - start > _LOOKED_AGAIN or left <= 0:
            return None
        try:
            found = windows.messages(self._cluster, {part.key: (start, end)}, seconds=left, committed=False)
            return {int(each.offset() or 0) for each in found}
        except KafkaException:
            return None


class NoPartition(ValueError):
    """The topic has no such partition; the text says which it has."""


def _in(offsets: set[int] | None, at: int) -> bool:
    return offsets is not None and at in offsets


def _outside(key: TopicPartition, offset: int, start: int, end: int) -> Iterator[str]:
    if offset < start:
        yield f"Partition {key.partition}: the log begins at offset {start}; {start - offset} offsets have expired."
    if offset >= end:
        yield f"Partition {key.partition}: the log ends at offset {end}; there is no record at {offset} yet."


def _gaps(part: Part) -> Iterator[tuple[int, int]]:
    """What of [since, until) has no record."""
    at = part.since
    for offset in part.offsets:
        if offset > at:
            yield at, offset
        at = offset + 1
    if at < part.until:
        yield at, part.until


def _merged(found: Mapping[TopicPartition, Sequence[Found]], *, newest: bool) -> Iterator[tuple[TopicPartition, Found]]:
    """All of them by time, and of each partition in its order."""

    def of(key: TopicPartition) -> Iterator[tuple[int, TopicPartition, Found]]:
        turn = -1 if newest else 1
        for each in found[key][::turn]:
            yield turn * (each.timestamp or 0), key, each

    for _, key, each in heapq.merge(*map(of, found), key=lambda item: item[0]):
        yield key, each


def in_order(parts: Iterable[Part], *, newest: bool) -> list[tuple[TopicPartition, Found]]:
    """The records of all partitions, the newest or the oldest first."""
    return list(_merged({part.key: part.found for part in parts}, newest=newest))


def matches(question: PeekQuestion, content: Content) -> bool:
    """Whether a record is one of those that are searched for."""
    if question.key is not None and content.key != question.key.encode():
        return False
    if question.contains is None:
        return True
    wanted = question.contains.encode()
    return any(wanted in part for part in (content.body, content.key or b"", *(value for _, value in content.headers)))


def _found(message: Message) -> Found:
    kind, at = message.timestamp()
    value = message.value()
    data = value if isinstance(value, bytes) else b""
    key = message.key()
    headers = tuple((pair[0], pair[1] if isinstance(pair[1], bytes) else b"") for pair in message.headers() or [])
    return Found(
        offset=int(message.offset() or 0),
        timestamp=None if kind == TIMESTAMP_NOT_AVAILABLE else at,
        by_broker=kind == TIMESTAMP_LOG_APPEND_TIME,
        tombstone=value is None,
        content=Content(key if isinstance(key, bytes) else None, headers, data, len(data), digest=""),
    )


def _beginning(content: Content) -> Content:
    """What is kept of it."""
    return replace(content, body=content.body[:MOST_BODY])
