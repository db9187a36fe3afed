"""The channel that is a log on disk: each batch of its source is one transaction, exactly once.

A transaction is named by its batch, with the counts of the pass that made it; the log knows the name of its last one,
so a batch that comes again after a crash is found there and not appended a second time.
"""

from __future__ import annotations

import json
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from pipelines.domain.base.positions import TopicPartition
from pipelines.domain.ledger.journal import Planned
from pipelines.domain.ledger.ledger import Counts
from workers.agent.base.batch_limits import BatchLimits
from workers.agent.base.event import Event
from workers.agent.base.findings import refuse
from workers.agent.graph.batch import Attempt
from workers.agent.graph.component import ChannelBuilder, Place, Resolution, SinkBuilder, SourceBuilder
from workers.agent.positions.checkpoint import Offsets
from workers.agent.positions.guard import LogRange
from workers.agent.push import frames
from workers.agent.push.frames import LogDamaged
from workers.agent.push.log import IngestBuffer, LogBusy
from workers.agent.push.log_source import LogSource

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


_WRITE_DEADLINE = 300.0


class Builder(ChannelBuilder):
    """One log, written by the inlet and read by the outlet."""

    def inlet(self) -> SinkBuilder:
        """Appends."""
        return Inlet(self.spec, self.place)

    def outlet(self) -> SourceBuilder:
        """Reads by range, and lets go of what has been delivered."""
        return Outlet(self.spec, self.place)


def _directory(place: Place) -> Path:
    return place.state / "channels" / place.name


class Inlet(SinkBuilder):
    """The log as a sink."""

    @property
    def write_deadline(self) -> float:
        """A local disk either takes a batch within minutes, or hangs."""
        return _WRITE_DEADLINE

    @cached_property
    def _log(self) -> IngestBuffer:
        return IngestBuffer(_directory(self.place), self.spec, durable=True)

    def write(self, attempt: Attempt) -> Counts:
        """Append the batch as one transaction. Raises LogFull where there is no space in time."""
        known = self._known(attempt.planned)
        if known is not None:
            return known
        table = attempt.events.select("key", "body", "headers").toArrow()
        counts = attempt.counts
        name = json.dumps({"batch": _name(attempt.planned), "counts": counts.model_dump(exclude_defaults=True)})
        self._log.append(_as_one(table), name)
        return counts

    def resolve(self, planned: Planned) -> Resolution:
        """In the log as a whole, or not at all."""
        known = self._known(planned)
        if known is None:
            return Resolution(delivered_before=0)
        return Resolution(delivered_before=known.delivered, committed=True)

    def _known(self, planned: Planned) -> Counts | None:
        last: dict[str, Any] = json.loads(self._log.last_key or "{}")
        return Counts(**last["counts"]) if last.get("batch") == _name(planned) else None


def _name(planned: Planned) -> list[Any]:
    ranges = [[r.topic, r.partition, r.start, r.end] for r in planned.ranges]
    return [planned.source, planned.batch, ranges]


def _as_one(table: pa.Table) -> pa.RecordBatch:
    problem = pa.nulls(table.num_rows, pa.string())
    cast = table.append_column("problem", problem).cast(frames.SCHEMA).combine_chunks()
    batches = cast.to_batches()
    return batches[0] if batches else pa.RecordBatch.from_pylist([], schema=frames.SCHEMA)


class Outlet(LogSource):
    """The log as a source."""

    @property
    def directory(self) -> Path:
        """That of the inlet."""
        return _directory(self.place)

    def log_ranges(self) -> dict[TopicPartition, LogRange]:
        """What the log holds. Raises Refused."""
        try:
            return {self._key: self._log_range()}
        except (LogBusy, LogDamaged, OSError) as error:
            suggestion = "Restore the directory, or remove it and choose where to continue."
            message = f"The channel's log cannot be used: {error}."
            raise refuse(self.place.path, "CHANNEL_LOG_DAMAGED", message, suggestion) from error

    def first_positions(
        self, partitions: list[TopicPartition], log: dict[TopicPartition, LogRange]
    ) -> tuple[Offsets, str]:
        """Everything that is in the log."""
        return {key: log[key].start for key in partitions}, "the start of the channel"

    def stream(self, spark: SparkSession, starts: Offsets, limits: BatchLimits) -> tuple[DataFrame, Event]:
        """The log, from `starts` where the checkpoint is new."""
        return self._read_log(spark, starts, limits, may_skip=False)
