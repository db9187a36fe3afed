"""A log on this host as a source: one partition, whose offsets count the events that were appended."""

from __future__ import annotations

import json
from abc import abstractmethod
from pathlib import Path
from typing import TYPE_CHECKING

from pipelines.domain.base.positions import PartitionPosition, TopicPartition
from workers.agent.base.batch_limits import BatchLimits
from workers.agent.base.event import Event
from workers.agent.graph.component import SourceBuilder
from workers.agent.positions.checkpoint import Offsets
from workers.agent.positions.guard import LogRange
from workers.agent.push import log as logs
from workers.agent.push.log import IngestBuffer
from workers.agent.push.reader import IngestBufferReader

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


class LogSource(SourceBuilder):
    """Reads the log in `directory`, and lets go of what has been delivered."""

    @property
    @abstractmethod
    def directory(self) -> Path:
        """Of the log."""

    def _open_log(self) -> IngestBuffer:
        return IngestBuffer(self.directory, self.spec, durable=True)

    @property
    def _key(self) -> TopicPartition:
        return TopicPartition(self.place.name, 0)

    def _log_range(self) -> LogRange:
        """What the log holds; a torn last transaction is cut off now. Raises LogBusy, LogDamaged, OSError."""
        log = self._open_log()
        log.close()
        return LogRange(logs.first(self.directory), log.end)

    def ends(self, partitions: list[TopicPartition]) -> Offsets:
        """The end of the log."""
        return {self._key: logs.end(self.directory)}

    def acknowledge(self, positions: list[PartitionPosition]) -> None:
        """Let the log go of what every required channel has delivered."""
        for position in positions:
            logs.acknowledge(self.directory, position.offset)

    def _read_log(
        self, spark: SparkSession, starts: Offsets, limits: BatchLimits, *, may_skip: bool
    ) -> tuple[DataFrame, Event]:
        from workers.agent.ranges.source import stream

        log = {"directory": str(self.directory), "topic": self.place.name, "may_skip": may_skip}
        config = json.dumps({**log, **self._full_at})
        return stream(spark, IngestBufferReader, config, starts=starts, limits=limits, path=self.place.path)

    @property
    def _full_at(self) -> dict[str, int]:
        """Events and bytes that wait for a larger batch at most: half of the log, and a transaction still fits."""
        spec = self.spec
        free = spec.capacity - spec.transaction_capacity
        return {"full_events": min(spec.capacity // 2, free), "full_bytes": logs.usable_bytes(spec) // 2}
