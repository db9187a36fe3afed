"""The events of a frame that stand at given origins: what a sink refused after it had seen only their rows."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

from pyspark.sql import functions as f

from workers.agent.graph.batch import Refusal
from workers.agent.spark.executor_writer import EVENT

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


class Origin(Protocol):
    """Where a refused row came from, and why it was refused."""

    @property
    def topic(self) -> str: ...
    @property
    def partition(self) -> int: ...
    @property
    def offset(self) -> int: ...
    @property
    def cause(self) -> str: ...


def events_at(events: DataFrame, refused: Sequence[Origin]) -> list[Refusal]:
    """One refusal for each origin; the frame is evaluated again, which only a refused row costs."""
    if not refused:
        return []
    causes: dict[tuple[str, int, int], list[str]] = defaultdict(list)
    for item in refused:
        causes[item.topic, item.partition, item.offset].append(item.cause)
    wanted = [f.struct(f.lit(t), f.lit(p).cast("bigint"), f.lit(o).cast("bigint")) for t, p, o in causes]
    place = f.struct("topic", f.col("partition").cast("bigint"), f.col("offset").cast("bigint"))
    found: list[Refusal] = []
    for row in events.select(*EVENT).where(place.isin(*wanted)).collect():
        left = causes[row["topic"], row["partition"], row["offset"]]
        if left:
            found.append(
                Refusal(
                    key=None if row["key"] is None else bytes(row["key"]),
                    body=None if row["body"] is None else bytes(row["body"]),
                    headers=[(pair["key"], bytes(pair["value"] or b"")) for pair in row["headers"] or []],
                    topic=row["topic"],
                    partition=row["partition"],
                    offset=row["offset"],
                    cause=left.pop(),
                )
            )
    return found
