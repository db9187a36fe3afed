"""Range readers as a source of Spark: offsets in Kafka's form, events in Arrow batches.

Spark asks for offsets in one Python process per query and reads in its Python workers, so that a reader is named by its
class and made anew in each of them.
"""

from __future__ import annotations

import importlib
import itertools
import json
from collections.abc import Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.sql import functions as f
from pyspark.sql.datasource import DataSource, DataSourceReader, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadLimit, ReadMaxRows

from workers.agent.base.batch_limits import BatchLimits
from workers.agent.base.event import HEADERS_TYPE, Event
from workers.agent.positions.checkpoint import Offsets, dump
from workers.agent.ranges import ranges
from workers.agent.ranges.ranges import RangeReader, Slice

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_NAME = "headgate_ranges"
_SCHEMA = (
    f"key binary, value binary, headers {HEADERS_TYPE}, topic string, partition bigint, offset bigint, problem string"
)
_numbers = itertools.count()
_TASKS = 8
"""Partitions are spread over at most so many tasks; one partition is never divided, which keeps its order."""


class Slices(InputPartition):
    """What one task reads."""

    def __init__(self, parts: list[Slice]) -> None:
        super().__init__(None)
        self.parts = parts


class RangeStream(DataSourceStreamReader):
    """Plans and reads the batches of one query."""

    def __init__(self, reader: RangeReader, starts: Offsets, limits: BatchLimits) -> None:
        self._reader = reader
        self._starts = starts
        self._most = limits.most
        self._pace = ranges.Pace(reader, limits)

    def initialOffset(self) -> dict[str, Any]:  # noqa: N802 - Spark's name
        """Where a new checkpoint begins."""
        return dump(self._starts)

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802 - Spark's name
        """The most events of a batch."""
        return ReadAllAvailable() if self._most is None else ReadMaxRows(self._most)

    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:  # noqa: N802 - Spark's name
        """Where the next batch ends; `start` where nothing is to be read yet."""
        most = None if isinstance(limit, ReadAllAvailable) else self._most
        return dump(self._pace.advance(ranges.load(start), most))

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> list[Slices]:
        """One task for each partition, or for several of them."""
        return _tasks(self._reader, ranges.load(start), ranges.load(end))

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The events of a task."""
        return _read(self._reader, partition)


class RangeBatch(DataSourceReader):
    """Reads one range of a log."""

    def __init__(self, reader: RangeReader, starts: Offsets, ends: Offsets) -> None:
        self._reader, self._starts, self._ends = reader, starts, ends

    def partitions(self) -> list[Slices]:
        """One task for each partition, or for several of them."""
        return _tasks(self._reader, self._starts, self._ends)

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The events of a task."""
        return _read(self._reader, partition)


def _tasks(reader: RangeReader, starts: Offsets, ends: Offsets) -> list[Slices]:
    parts = ranges.slices(starts, ends, reader.rank)
    return [Slices(parts[number::_TASKS]) for number in range(min(_TASKS, len(parts)))]


def _read(reader: RangeReader, partition: InputPartition) -> Iterator[pa.RecordBatch]:
    for part in partition.parts:  # type: ignore[attr-defined]
        yield from reader.batches(part)


class RangeSource(DataSource):
    """Spark's way to a reader."""

    def schema(self) -> str:
        """The columns of `ranges.EVENTS`."""
        return _SCHEMA

    def streamReader(self, schema: Any) -> DataSourceStreamReader:  # noqa: N802 - Spark's name
        """Make the reader of a stream out of the options."""
        return RangeStream(self._reader(), self._offsets("starts"), BatchLimits(**json.loads(self.options["limits"])))

    def reader(self, schema: Any) -> DataSourceReader:
        """Make the reader of a range out of the options."""
        return RangeBatch(self._reader(), self._offsets("starts"), self._offsets("ends"))

    def _reader(self) -> RangeReader:
        module, _, name = self.options["reader"].partition(":")
        found: RangeReader = getattr(importlib.import_module(module), name)(self.options["config"])
        return found

    def _offsets(self, name: str) -> Offsets:
        return ranges.load(json.loads(self.options[name]))


def stream(
    spark: SparkSession, reader: type[RangeReader], config: str, *, starts: Offsets, limits: BatchLimits, path: str
) -> tuple[DataFrame, Event]:
    """The endless frame of a reader, and the event in it. `path`: of the source, for its bad events."""
    options = {**_options(reader, config, starts), "limits": json.dumps(asdict(limits))}
    frame = spark.readStream.format(_registered(spark)).options(**options).load()
    event = Event(key=f.col("key"), body=f.col("value"), carried=f.col("headers"))
    return frame, event.failed_where(f.col("problem").isNotNull(), path, f.col("problem"))


def records(spark: SparkSession, reader: type[RangeReader], config: str, starts: Offsets, ends: Offsets) -> DataFrame:
    """The events of [starts, ends), read without a query."""
    options = {**_options(reader, config, starts), "ends": ranges.as_json(ends)}
    return spark.read.format(_registered(spark)).options(**options).load()


def _options(reader: type[RangeReader], config: str, starts: Offsets) -> dict[str, str]:
    return {
        "reader": f"{reader.__module__}:{reader.__qualname__}",
        "config": config,
        "starts": ranges.as_json(starts),
    }


def _registered(spark: SparkSession) -> str:
    """The name of a source for one query alone. Spark puts variables into the environment that a source was registered
    with when a query starts (4.2, `PythonStreamingSourceRunner`); two queries that do so at once damage that map, and
    none of its tasks can be read any more."""
    number = next(_numbers)

    class Source(RangeSource):
        @classmethod
        def name(cls) -> str:
            return f"{_NAME}_{number}"

    spark.dataSource.register(Source)
    return Source.name()
