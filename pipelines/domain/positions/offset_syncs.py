"""Offset syncs as MirrorMaker 2 writes them (KIP-382, org.apache.kafka.connect.mirror.OffsetSync). Pure.

A record's key is the topic's name (16-bit length, UTF-8) and the partition (32 bits) on the cluster that is mirrored;
its value the offset of one record there and on the cluster with the copy (64 bits each). All numbers are big-endian;
there is no version. The topic is compacted, so old pairs may be gone; the newest of each partition is there.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable
from typing import NamedTuple

from pipelines.domain.base.positions import TopicPartition

Pair = tuple[int, int]
"""Where one record lies: its offset on the cluster that is mirrored, and on the one with the copy."""

_LENGTH, _PARTITION, _OFFSETS = struct.Struct(">h"), struct.Struct(">i"), struct.Struct(">qq")


class NotASync(ValueError):
    """The record is none that MirrorMaker 2 writes there."""


class OffsetSync(NamedTuple):
    """One record lies at `upstream` of the mirrored partition, and at `downstream` of its copy."""

    topic: str
    partition: int
    upstream: int
    downstream: int


def decode(key: bytes | None, value: bytes | None) -> OffsetSync:
    """Read one record. Raises NotASync."""
    try:
        topic, partition = _key(key or b"")
        upstream, downstream = _OFFSETS.unpack(value or b"")
    except (struct.error, UnicodeDecodeError) as error:
        raise NotASync(f"It is no offset sync: {error}.") from None
    if not topic or min(partition, upstream, downstream) < 0:
        raise NotASync("It is no offset sync: it has no topic, or a negative number.")
    return OffsetSync(topic, partition, upstream, downstream)


def _key(key: bytes) -> TopicPartition:
    (length,) = _LENGTH.unpack_from(key)
    name, rest = key[_LENGTH.size : _LENGTH.size + length], key[_LENGTH.size + length :]
    (partition,) = _PARTITION.unpack(rest)
    return TopicPartition(name.decode(), partition)


def pairs(syncs: Iterable[OffsetSync]) -> dict[TopicPartition, list[Pair]]:
    """The pairs of each partition, ascending, from syncs in the order in which they were written.

    One that goes back on either side tells that the mirror began anew there, or that a topic was made again: what
    was written before and does not lie below it on both sides is no truth any more.
    """
    found: dict[TopicPartition, list[Pair]] = {}
    for sync in syncs:
        known = found.setdefault(TopicPartition(sync.topic, sync.partition), [])
        while known and (known[-1][0] >= sync.upstream or known[-1][1] >= sync.downstream):
            known.pop()
        known.append((sync.upstream, sync.downstream))
    return found
