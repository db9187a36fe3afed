"""Numbered events by the clock: what is not read yet waits like in any other log."""

from __future__ import annotations

import json
import time
from functools import cached_property
from typing import TYPE_CHECKING

from pipelines.domain.base.files import write_atomically
from pipelines.domain.base.positions import TopicPartition
from pipelines.domain.preview.selection import Extent
from workers.agent.base.batch_limits import BatchLimits
from workers.agent.base.event import Event
from workers.agent.base.findings import refuse
from workers.agent.graph.component import SourceBuilder
from workers.agent.positions.checkpoint import Offsets
from workers.agent.positions.guard import LogRange
from workers.agent.ranges.sequence import SequenceReader

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


class Builder(SourceBuilder):
    """The clock starts with the first run, and is kept."""

    def log_ranges(self) -> dict[TopicPartition, LogRange]:
        """Everything that is due, from the first event."""
        return {key: LogRange(0, end) for key, end in self._reader.ends().items()}

    def first_positions(
        self, partitions: list[TopicPartition], log: dict[TopicPartition, LogRange]
    ) -> tuple[Offsets, str]:
        """The first event."""
        return dict.fromkeys(partitions, 0), "the start of the sequence"

    def ends(self, partitions: list[TopicPartition]) -> Offsets:
        """What is due now."""
        return self._reader.ends()

    def stream(self, spark: SparkSession, starts: Offsets, limits: BatchLimits) -> tuple[DataFrame, Event]:
        """The sequence, from `starts` where the checkpoint is new."""
        from workers.agent.ranges.source import stream

        return stream(spark, SequenceReader, self._config, starts=starts, limits=limits, path=self.place.path)

    def at_time(self, partitions: list[TopicPartition], milliseconds: int) -> Offsets | None:
        """The first event that was not due before; without a rate, none has a time."""
        return self._reader.ends(milliseconds / 1000) if self.spec.rate else None

    def open_beside(self) -> None:
        """What is due can be counted as soon as it is known since when the pipeline counts."""
        if self.place.beside is None:
            super().open_beside()

    def other_log(self, before: SourceBuilder) -> str:
        """The same number of partitions deals out the same events."""
        if found := super().other_log(before):
            return found
        same = self.spec.partitions == before.spec.partitions
        return "" if same else "The revisions deal out the events of this source to different numbers of partitions"

    def newest(self, starts: Offsets, ends: Offsets, most: int) -> Extent:
        """Raises Refused where all events that there can ever be are due."""
        if not self.spec.rate and self.spec.limit is None:
            message = "A sequence without a rate and a limit has no last events."
            raise refuse(f"{self.place.path}.rate", "NO_LAST_RECORDS", message, "Select a range instead.")
        return super().newest(starts, ends, most)

    def records(self, spark: SparkSession, starts: Offsets, ends: Offsets) -> DataFrame:
        """The same events again."""
        from workers.agent.ranges.source import records

        return records(spark, SequenceReader, self._config, starts, ends)

    @cached_property
    def _reader(self) -> SequenceReader:
        return SequenceReader(self._config)

    @cached_property
    def _config(self) -> str:
        spec = self.spec
        return json.dumps(
            {
                "topic": self.place.name,
                "rate": spec.rate,
                "limit": spec.limit,
                "body": spec.body,
                "partitions": spec.partitions,
                "began": self._started(),
            }
        )

    def _started(self) -> float:
        path = (self.place.beside or self.place.state) / "sequences" / f"{self.place.name}.json"
        if not path.exists():
            if self.place.beside is not None:
                return time.time()
            path.parent.mkdir(parents=True, exist_ok=True)
            write_atomically(path, json.dumps({"began": time.time()}).encode())
        return float(json.loads(path.read_bytes())["began"])
