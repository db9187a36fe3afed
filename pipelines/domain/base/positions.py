"""Positions in a source: offsets that cannot be negative, half-open ranges, and continuity between them.

Kafka answers -1 for "no commit" and Spark reads -1 as "latest" and -2 as "earliest"; librdkafka adds -1001. None of
them is a position, so the type refuses every negative number.
"""

from __future__ import annotations

from typing import Annotated, NamedTuple

from pydantic import BaseModel, ConfigDict, Field, model_validator

Offset = Annotated[int, Field(ge=0, strict=True)]
"""A record offset or byte position: an integer that is zero or more."""


class TopicPartition(NamedTuple):
    """A partition of a topic, as Kafka's clients name it.

    A source that reads files has a name and a number of its own: of a group and an inode, or of itself and 0.
    """

    topic: str
    partition: int


FINDING_CODES = frozenset(
    {
        "LEDGER_BEHIND",
        "LEDGER_LOST",
        "CHECKPOINT_LOST",
        "CHECKPOINT_DISAGREES",
        "BELOW_LOG_START",
        "BEYOND_LOG_END",
        "TOPIC_RECREATED",
        "CLUSTER_CHANGED",
        "GROUP_LOST",
        "PARTITION_REMOVED",
        "CHANNELS_APART",
        "INGEST_BUFFER_LOST",
        "INGEST_BUFFER_DAMAGED",
        "TRUNCATED",
        "INODE_REPLACED",
        "FILE_GONE",
        "FILE_CHANGED",
    }
)
"""Findings of an agent that ask a person for a decision about a position."""


class Frozen(BaseModel):
    """A value object: immutable, and unknown keys are errors."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class PartitionRange(Frozen):
    """The half-open range [start, end) of one partition."""

    topic: str
    partition: Offset
    start: Offset
    end: Offset

    @model_validator(mode="after")
    def _ordered(self) -> PartitionRange:
        if self.end < self.start:
            raise ValueError(
                f"range of {self.topic}/{self.partition} ends at {self.end}, before its start {self.start}"
            )
        return self

    @property
    def key(self) -> TopicPartition:
        """(topic, partition)."""
        return TopicPartition(self.topic, self.partition)

    def until(self, end: int) -> PartitionRange:
        """The same start with another end."""
        return PartitionRange(topic=self.topic, partition=self.partition, start=self.start, end=end)


class PartitionPosition(Frozen):
    """The next offset to read of one partition."""

    topic: str
    partition: Offset
    offset: Offset

    @property
    def key(self) -> TopicPartition:
        """(topic, partition)."""
        return TopicPartition(self.topic, self.partition)


class SourceIdentity(Frozen):
    """Which log a source's positions are offsets of: the id of its cluster, and of each topic by name."""

    source: str
    cluster_id: str
    topics: dict[str, str]


def merge_ranges(earlier: list[PartitionRange], later: list[PartitionRange]) -> list[PartitionRange] | None:
    """Join two adjoining sets of ranges, partition by partition.

    Returns None where a partition of both does not start where it ended before: such batches must stay apart.
    """
    joined = {r.key: r for r in earlier}
    for r in later:
        before = joined.get(r.key)
        if before is not None and before.end != r.start:
            return None
        joined[r.key] = r if before is None else before.until(r.end)
    return [joined[key] for key in sorted(joined)]


class Discontinuity(Frozen):
    """Records between two ranges that nobody read (gap) or that were read twice (overlap)."""

    topic: str
    partition: Offset
    expected: Offset
    actual: Offset

    @property
    def gap(self) -> int:
        """Records skipped."""
        return max(0, self.actual - self.expected)

    @property
    def overlap(self) -> int:
        """Records read again."""
        return max(0, self.expected - self.actual)


def discontinuities(positions: dict[TopicPartition, int], ranges: list[PartitionRange]) -> list[Discontinuity]:
    """Compare where each range starts with where the previous one ended; a partition without history agrees."""
    return [
        Discontinuity(topic=r.topic, partition=r.partition, expected=positions[r.key], actual=r.start)
        for r in ranges
        if r.key in positions and positions[r.key] != r.start
    ]
