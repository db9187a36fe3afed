"""Records that are looked for in a source or a sink, within a time, and what was found."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pipelines.domain.base.positions import TopicPartition

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_AGAIN = 0.2
"""A job that starts after its time was over is cancelled, too."""
_GROUP = "spark.jobGroup.id"


@dataclass(frozen=True)
class Wanted:
    """One record of a query's source, written to the sink between two instants in milliseconds; without `until`, up to
    now. `once`: its batch was not written again."""

    source: str
    channel: str
    topic: str
    partition: int
    offset: int
    since: int | None
    until: int | None
    once: bool = False


@dataclass(frozen=True)
class Marked:
    """Records of one partition with one header, written between two instants in milliseconds; without `until`, up to
    now."""

    header: str
    value: str
    key: TopicPartition
    since: int
    until: int | None


@dataclass(frozen=True)
class Located:
    """A record of a sink that was made of another one. `at`: its timestamp in milliseconds; `copy`: 0 for the first
    event that was made of it, then 1, 2, …"""

    key: TopicPartition
    offset: int
    at: int | None
    copy: int


@dataclass(frozen=True)
class Search:
    """What came of looking for a record. `left_out`: why one that is not found may be there all the same; empty where
    it is not."""

    found: list[Located]
    searched: int
    left_out: str = ""


@contextmanager
def within(spark: SparkSession, seconds: float) -> Iterator[None]:
    """Cancel what this thread has Spark do after so many seconds. Raises TimeoutError then. The thread has no job group
    of its own."""
    context, group = spark.sparkContext, uuid.uuid4().hex
    over, late = threading.Event(), threading.Event()

    def cancel() -> None:
        wait = seconds
        while not over.wait(wait):
            late.set()
            context.cancelJobGroup(group)
            wait = _AGAIN

    context.setLocalProperty(_GROUP, group)
    canceller = threading.Thread(target=cancel, name="canceller", daemon=True)
    canceller.start()
    try:
        yield
    except Exception as error:
        if late.is_set():
            raise TimeoutError(f"it took longer than {seconds:g} s") from error
        raise
    finally:
        over.set()
        canceller.join()
        context.setLocalProperty(_GROUP, None)  # type: ignore[arg-type]  # which removes it
