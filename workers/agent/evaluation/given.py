"""Records that are given instead of read: a frame of them, as a source has it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from pipelines.domain.definitions.document.spec import Definition
from workers.agent.base.event import HEADERS_TYPE

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_FRAME = (
    f"key binary, value binary, headers {HEADERS_TYPE}, topic string, partition int, offset bigint, timestamp timestamp"
)


@dataclass(frozen=True)
class Record:
    """`timestamp`: milliseconds since 1970."""

    value: bytes | None
    headers: Mapping[str, str]
    key: str | None = None
    timestamp: int | None = None


def given(spark: SparkSession, topic: str, records: Sequence[Record]) -> DataFrame:
    """Records as the first ones of a partition."""
    rows = [
        (
            None if each.key is None else each.key.encode(),
            each.value,
            [(name, value.encode()) for name, value in each.headers.items()],
            topic,
            0,
            number,
            None if each.timestamp is None else datetime.fromtimestamp(each.timestamp / 1000, UTC),
        )
        for number, each in enumerate(records)
    ]
    return spark.createDataFrame(rows, _FRAME).coalesce(1)


def topic_of(definition: Definition, source: str) -> str:
    """The origin of given records: they stand at the beginning of the first topic that the source names, if it names
    any. So what follows from the origin, as a UUID or a channel does, is what an agent makes of such a topic."""
    topics: list[str] = getattr(definition.sources[source], "topics", [])
    return topics[0] if topics else source
