"""Writers in Python that run on the executors: one per task, fed with Arrow batches, with one deadline for the task.

A task is not tried again by Spark in local mode. On a cluster it can be, where an executor is lost: a writer must be
such that a second one for the same partition does no harm beyond what the sink announces (it is at least once, or
identifies what it wrote).
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from workers.agent.base.arrow import map_in_arrow
from workers.agent.graph.batch import Refusal

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

EVENT = ("key", "body", "headers", "topic", "partition", "offset")
MOST_REFUSED = 1000
"""A task that is refused more events than this fails: something else than the events is wrong."""
MOST_REFUSED_BYTES = 32 << 20

_RESULT = (
    "key binary, body binary, headers array<struct<key:string,value:binary>>, topic string, partition bigint, "
    "offset bigint, cause string"
)


class TooManyRefused(Exception):
    """The sink refuses nearly everything."""


class DeadlineReached(Exception):
    """A task did not come to an end in time."""


@dataclass(frozen=True)
class Deadline:
    """An instant of the monotonic clock of this process."""

    at: float

    @classmethod
    def after(cls, seconds: float) -> Deadline:
        """So many seconds from now."""
        return cls(time.monotonic() + seconds)

    def left(self, what: str, most: float = float("inf")) -> float:
        """Seconds left, `most` at the most. Raises DeadlineReached where there are none."""
        left = self.at - time.monotonic()
        if left <= 0:
            raise DeadlineReached(f"{what}: the deadline has passed")
        return min(left, most)


class Writer(ABC):
    """Delivers the events of one task. Made on the driver and pickled: connections are made in `open`."""

    def open(self, deadline: Deadline) -> None:  # noqa: B027 - nothing to open is a fine answer
        """Connect. Every later call ends before the deadline, too."""

    @abstractmethod
    def write(self, events: pa.RecordBatch) -> list[tuple[int, str]]:
        """Deliver some events in their order; returns the index and the cause of each that is refused for good."""

    def finish(self) -> None:  # noqa: B027 - a writer without a commit has nothing to do
        """All events were written: make them final."""

    def close(self) -> None:  # noqa: B027
        """Let go of everything, whether the task ended well or not."""


def deliver(events: DataFrame, writer: Writer, seconds: float) -> list[Refusal]:
    """Write a frame on the executors, in one action; returns what was refused for good.

    The frame has the columns that the writer reads, and those of EVENT where it can refuse an event. Raises what a
    writer raised, wrapped by Spark.
    """

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return run_task(writer, batches, seconds)

    rows = map_in_arrow(events, run, _RESULT).collect()
    return [
        Refusal(
            key=_bytes(row["key"]),
            body=_bytes(row["body"]),
            headers=[(pair["key"], _bytes(pair["value"]) or b"") for pair in row["headers"] or []],
            topic=row["topic"],
            partition=row["partition"],
            offset=row["offset"],
            cause=row["cause"],
        )
        for row in rows
    ]


def run_task(writer: Writer, batches: Iterator[pa.RecordBatch], seconds: float) -> Iterator[pa.RecordBatch]:
    """What one task does; yields the refused events with their causes."""
    refused = _Refused()
    try:
        writer.open(Deadline.after(seconds))
        for batch in batches:
            if batch.num_rows:
                refused.add(batch, writer.write(batch))
        writer.finish()
    finally:
        writer.close()
    yield from refused.batches


class _Refused:
    def __init__(self) -> None:
        self.batches: list[pa.RecordBatch] = []
        self._count = self._size = 0

    def add(self, batch: pa.RecordBatch, refused: list[tuple[int, str]]) -> None:
        if not refused:
            return
        refused = sorted(refused)
        indices = pa.array([index for index, _ in refused])
        columns = [batch.column(name).take(indices) for name in EVENT]
        columns[4] = columns[4].cast(pa.int64())  # of a source whose partitions are inodes it is one already
        found = pa.RecordBatch.from_arrays(
            [*columns, pa.array([cause[:1000] for _, cause in refused])], names=[*EVENT, "cause"]
        )
        self._count += found.num_rows
        self._size += found.nbytes
        if self._count > MOST_REFUSED or self._size > MOST_REFUSED_BYTES:
            raise TooManyRefused(f"the sink rejected {self._count} events of one task, the last with: {refused[-1][1]}")
        self.batches.append(found)


def _bytes(value: Any) -> bytes | None:
    return None if value is None else bytes(value)
